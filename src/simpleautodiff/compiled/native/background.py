"""The thread that compiles functions while calls go on.

The end of the process does not wait for it: pending tasks are dropped. Only a running call of LLVM,
which crashes if Python ends in its midst, is waited for. A fork happens between two tasks, because
a task may hold locks; the child continues with the tasks that its parent had not begun.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BackgroundTask = tuple[Callable[[], object], Callable[[str], None]]

_in_llvm = threading.RLock()


class Compiler:
    """The pending tasks, the first of which is running, and the thread that runs them."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.RLock()  # held by the running task, in whichever thread
        self.tasks: deque[BackgroundTask] = deque()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.ended = False

    def add(self, task: BackgroundTask) -> None:
        """Append a task to the queue."""
        with self.changed:
            if self.ended:
                return
            self.tasks.append(task)
            self._start()
            self.changed.notify_all()

    def wait(self, task: BackgroundTask | None = None) -> None:
        """Wait until a task is done, or until nothing is left to do."""
        with self.changed:
            if self.tasks:
                self._start()
            while self.tasks if task is None else task in self.tasks:
                self.changed.wait()

    def end(self) -> None:
        """Stop; return as soon as the thread is not in LLVM, to which it does not return."""
        with self.changed:
            self.ended = True
            self.tasks.clear()
            self.changed.notify_all()
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
                task = self.tasks[0]  # it stays in the queue until it is done
            attempt(*task)
            with self.changed:
                if self.tasks:
                    self.tasks.popleft()
                self.changed.notify_all()


_compiler = Compiler()


def attempt(task: Callable[[], object], failed: Callable[[str], None]) -> None:
    """Run a task that compiles; if it fails, report why, and calls go on without it.

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
    """Protect a call of LLVM: the process neither forks nor ends in its midst.

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
    """Return the lock that lets only one thing be compiled at a time.

    Examples
    --------
    >>> with one_at_a_time():
    ...     print("alone")
    alone
    """
    return _compiler.one_at_a_time


def later(task: Callable[[], object], failed: Callable[[str], None]) -> BackgroundTask:
    """Queue a task for the thread that compiles; return it, so that `wait` can wait for it."""
    added = task, failed
    _compiler.add(added)
    return added


def wait(task: BackgroundTask | None = None) -> None:
    """Wait until a task, or everything that was asked for, is compiled.

    Examples
    --------
    >>> wait(later(lambda: None, print))
    """
    _compiler.wait(task)


def _pause() -> None:
    """Hold back compilation until the process has forked."""
    _compiler.one_at_a_time.acquire()
    _in_llvm.acquire()


def _go_on() -> None:
    _in_llvm.release()
    _compiler.one_at_a_time.release()


def _start_anew() -> None:
    """Restart in a forked process, which has neither the thread nor the holders of the locks.

    Tasks that its parent has not finished run with the next task.
    """
    global _compiler
    _in_llvm.release()
    unfinished = _compiler.tasks
    _compiler = Compiler()
    _compiler.tasks = unfinished


atexit.register(lambda: _compiler.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_start_anew)
