"""While a function is recorded: no garbage collection, and large memory comes from the pool."""

from __future__ import annotations

import gc
import threading

from simpleautodiff.fast.memory_pool import POOL


class PausedCollector:
    """Python's cyclic garbage collector, paused while any thread records.

    A graph is a large, growing, acyclic heap: scanning it again and again for cycles costs several
    times what building it does. Reference counting frees nodes; nothing here makes a cycle.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may differentiate, too
        self._pauses = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            self._pauses += 1
            if self._pauses == 1:
                self._was_enabled = gc.isenabled()
                gc.disable()
                POOL.allowed = True

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._pauses -= 1
            if self._pauses == 0:
                POOL.close()
                if self._was_enabled:
                    gc.enable()


paused_collector = PausedCollector()
