"""Run large batches, and loops over large arrays, in several threads, without Python's lock.

A kernel is a compiled function `void kernel(i64 start, i64 stop, ptr arguments)` that computes the
rows from `start` to `stop`, which must not depend on each other.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

BatchFunction = Callable[[int, int, int], None]  # first row, end, address of arguments

_kernel = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def batch_call(address: int) -> BatchFunction:
    """Return a kernel as a function; the caller keeps the code and the arguments alive."""
    return _kernel(address)


def run_threads(
    kernel: BatchFunction, rows: int, arguments: int, threads: int = 1, step: int = 1
) -> None:
    """Run a kernel on all rows, cut into one part for each thread.

    Parameters
    ----------
    kernel
        What `batch_call` returns.
    rows, arguments : int
        The number of rows, and the address of the arguments.
    threads : int
        How many threads share the work, the calling one among them.
    step : int
        Parts begin at multiples of it, as vectors require.

    Examples
    --------
    >>> run_threads(lambda start, stop, arguments: print(start, stop), 10, 0)
    0 10
    """
    share = -(-rows // (max(threads, 1) * step)) * step
    parts = [(start, min(start + share, rows)) for start in range(0, rows, max(share, 1))]
    running: list[Future[None]] = []
    try:
        running.extend(_pool(threads - 1).submit(kernel, *part, arguments) for part in parts[1:])
        for part in parts[:1]:
            kernel(*part, arguments)
    finally:
        wait(running)  # they use the caller's memory, also if it is interrupted
    for each in running:
        each.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="simpleautodiff")


if hasattr(os, "register_at_fork"):  # a forked process does not have the threads of a pool
    os.register_at_fork(after_in_child=_pool.cache_clear)
