"""The thread in which functions are compiled while the calls go on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache


@cache
def _compiler() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="simpleautodiff-compiler")


_pending: list[Future[object]] = []


def later(task: Callable[[], object]) -> None:
    """Do something in the thread that compiles."""
    _pending[:] = [future for future in _pending if not future.done()]
    _pending.append(_compiler().submit(task))


def wait() -> None:
    """Wait until everything that was asked for is compiled.

    Examples
    --------
    >>> later(lambda: None)
    >>> wait()
    """
    for future in _pending:
        future.result()
