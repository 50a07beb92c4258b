"""The thread in which functions are compiled while the calls go on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache

_busy = threading.Lock()  # held by a task that runs: a process is not copied in its midst


@cache
def _compiler() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="simpleautodiff-compiler")


_pending: list[Future[object]] = []


def attempt(task: Callable[[], object], failed: Callable[[str], None]) -> None:
    """Compile something; if that cannot be, tell why, and the calls go on without.

    Examples
    --------
    >>> attempt(lambda: [].pop(), print)
    pop from empty list
    """
    try:
        with _busy:
            task()
    except Exception as error:
        failed(str(error) or type(error).__name__)


def later(task: Callable[[], object], failed: Callable[[str], None]) -> None:
    """Attempt something in the thread that compiles."""
    _pending[:] = [future for future in _pending if not future.done()]
    with suppress(RuntimeError):  # Python is about to end: nothing is compiled any more
        _pending.append(_compiler().submit(attempt, task, failed))


def wait() -> None:
    """Wait until everything that was asked for is compiled.

    Examples
    --------
    >>> later(lambda: None, print)
    >>> wait()
    """
    for future in _pending:
        future.result()


def _start_anew() -> None:
    """Forget the thread, which a copy of the process does not have."""
    _busy.release()
    _compiler.cache_clear()
    _pending.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_busy.acquire, after_in_parent=_busy.release, after_in_child=_start_anew
    )
