"""The thread in which functions are compiled while the calls go on.

The end of a program does not wait for it: what it was asked for is dropped. Only LLVM itself, which
crashes if Python ends in its midst, is waited for, from one call of it to the next. A copy of the
process is made between two tasks, because a task may hold locks of others, and goes on with what
its parent had not begun.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Task = tuple[Callable[[], object], Callable[[str], None]]

_in_llvm = threading.RLock()


class Compiler:
    """The tasks that wait, the first of them being done, and the thread that does them."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.RLock()  # held by a task, in whichever thread it is done
        self.tasks: deque[Task] = deque()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.ended = False

    def add(self, task: Task) -> None:
        """Have something done after what waits already."""
        with self.changed:
            if self.ended:
                return
            self.tasks.append(task)
            self._start()
            self.changed.notify_all()

    def wait(self) -> None:
        """Wait until nothing is left to do."""
        with self.changed:
            if self.tasks:
                self._start()
            while self.tasks:
                self.changed.wait()

    def end(self) -> None:
        """Do no more; return as soon as the thread is not in LLVM, to which it does not return."""
        with self.changed:
            self.ended = True
            self.tasks.clear()
        with _in_llvm:
            pass

    def _start(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(
                target=self._work, name="simpleautodiff-compiler", daemon=True
            )
            self.thread.start()

    def _work(self) -> None:
        while True:
            with self.changed:
                while not self.tasks:
                    self.changed.wait()
                task = self.tasks[0]  # it stays there until it is done
            attempt(*task)
            with self.changed:
                if self.tasks:
                    self.tasks.popleft()
                self.changed.notify_all()


_compiler = Compiler()


def attempt(task: Callable[[], object], failed: Callable[[str], None]) -> None:
    """Compile something; if that cannot be, tell why, and the calls go on without.

    Examples
    --------
    >>> attempt(lambda: [].pop(), print)
    pop from empty list
    """
    try:
        with one_at_a_time():
            task()
    except Exception as error:
        failed(str(error) or type(error).__name__)


@contextmanager
def calling_llvm() -> Iterator[None]:
    """Let LLVM work: the process is not copied, nor does it end, in its midst.

    Examples
    --------
    >>> with calling_llvm():
    ...     print("at work")
    at work
    """
    with _in_llvm:
        if _compiler.ended and threading.current_thread() is _compiler.thread:
            raise RuntimeError("the program has ended")
        yield


def one_at_a_time() -> threading.RLock:
    """Return the lock under which things are compiled, one after another.

    Examples
    --------
    >>> with one_at_a_time():
    ...     print("alone")
    alone
    """
    return _compiler.one_at_a_time


def later(task: Callable[[], object], failed: Callable[[str], None]) -> None:
    """Attempt something in the thread that compiles."""
    _compiler.add((task, failed))


def wait() -> None:
    """Wait until everything that was asked for is compiled.

    Examples
    --------
    >>> later(lambda: None, print)
    >>> wait()
    """
    _compiler.wait()


def _pause() -> None:
    """Let nothing be compiled until the process is copied."""
    _compiler.one_at_a_time.acquire()
    _in_llvm.acquire()


def _go_on() -> None:
    _in_llvm.release()
    _compiler.one_at_a_time.release()


def _start_anew() -> None:
    """Go on in a copy of the process, which has neither the thread nor who held the locks.

    What its parent has not finished is done when something else is asked for.
    """
    global _compiler
    _in_llvm.release()
    unfinished = _compiler.tasks
    _compiler = Compiler()
    _compiler.tasks = unfinished


atexit.register(lambda: _compiler.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_start_anew)
