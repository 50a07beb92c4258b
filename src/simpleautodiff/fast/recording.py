"""Pause garbage collection and use the memory pool while a function is recorded.

An interrupt (Ctrl-C) may come before any step of any function, even before the first one of an
`__exit__`. So temporary changes are not counted up and down: they
last while a set of uses is not empty, each exit looks at the set, and each use is ended twice:

    with engine.recording() as use, use: ...

If the exit of the inner context is interrupted, that of the outer one follows.
"""

from __future__ import annotations

import gc
import os
import threading
from threading import get_ident

from simpleautodiff.fast import array_locks
from simpleautodiff.fast.memory_pool import POOL

_uses: dict[EngineUse, int] = {}  # the running uses, and the thread of each


class _Pause:
    """Python's cyclic garbage collector, paused while any thread records.

    A graph is a large, growing, acyclic heap: scanning it again and again for cycles costs several
    times what building it does. Reference counting frees nodes; nothing here makes a cycle.
    """

    __slots__ = ("lock", "paused", "was_enabled")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may differentiate, too
        self.paused = False
        self.was_enabled = False

    def follow_uses(self) -> None:
        """Pause the collector if something is recorded; undo all temporary changes if nothing is.

        The lock is taken as in `while_holding`.
        """
        lock = self.lock
        try:
            lock.acquire()
            if _uses:
                if not self.paused:
                    self.was_enabled = gc.isenabled()
                    self.paused = True
                    gc.disable()
                    POOL.allowed = True
            elif self.paused:
                POOL.allowed = False
                if POOL.open:
                    POOL.close()
                if array_locks.locked:
                    array_locks.unlock_all()
                if self.was_enabled:
                    gc.enable()
                self.paused = False
        finally:
            try:  # noqa: SIM105 - a function of Python's could be interrupted before it begins
                lock.release()
            except RuntimeError:
                pass  # interrupted before the lock was taken


_pause = _Pause()


class EngineUse:
    """One use of the engine; the module says how it is entered."""

    __slots__ = ()

    def __enter__(self) -> None:
        _uses[self] = get_ident()
        _pause.follow_uses()

    def __exit__(self, *exception: object) -> None:
        _uses.pop(self, None)
        _pause.follow_uses()


class SurelyEnded:
    """The outer context, which ends a use of the engine if its own exit was interrupted."""

    __slots__ = ("use",)

    def __enter__(self) -> EngineUse:
        self.use = EngineUse()
        return self.use

    def __exit__(self, *exception: object) -> None:
        if self.use in _uses or (_pause.paused and not _uses):
            self.use.__exit__()


def _after_fork() -> None:
    """Forget the uses of other threads, which do not run in a forked process."""
    _pause.lock = threading.RLock()
    own = get_ident()
    for use in [use for use, thread in _uses.items() if thread != own]:
        del _uses[use]
    array_locks.after_fork()
    _pause.follow_uses()


if hasattr(os, "register_at_fork"):  # does not exist on Windows
    os.register_at_fork(after_in_child=_after_fork)
