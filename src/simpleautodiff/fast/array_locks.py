"""Protect the arrays that a sweep will read: copy small ones, make large ones read-only meanwhile.

If the user's code changes an array after an operation with it was recorded, the change must not
reach the derivative. Copying ensures that, but for a large array it costs as much as the operation.
So a large one is made read-only until the function has run: NumPy then raises on the very line that
writes to it. In nested or parallel derivatives the last one to finish unlocks it. A view that was
made before can still be written through; a sample of the elements detects that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import LostDerivativeError

_lock = threading.RLock()
locked: dict[int, Any] = {}  # the arrays, by their id
_holders: set[ArrayLocks] = set()  # the derivatives that hold locked arrays


def while_holding(lock: Any, work: Callable[[], None]) -> None:
    """Run a function while holding a lock, and free it even if an interrupt comes at any step.

    A `with` statement may be interrupted after the lock is taken and before its exit is ensured.
    """
    try:
        lock.acquire()
        work()
    finally:
        try:  # noqa: SIM105 - a function of Python's could be interrupted before it begins
            lock.release()
        except RuntimeError:
            pass  # interrupted before the lock was taken


class ArrayLocks:
    """The large arrays that one derivative has locked."""

    __slots__ = ("held", "samples")

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.samples: dict[int, tuple[Any, Any]] = {}

    def lock(self, array: Any) -> Any:
        """Return the array, locked together with its bases; or a copy if that is not safe."""
        if id(array) in self.samples:
            return array
        *_, owner = bases = _list_bases(array)
        if owner.base is not None or not owner.flags.owndata:
            return array.copy()  # memory of another object might stay read-only
        if array.flags.writeable and not all(map(_can_be_unlocked, bases[1:])):
            return array.copy()
        for base in bases[1:]:
            self._hold(base)
        self.samples[id(array)] = (array, _sample(array))
        self._hold(array)
        return array

    def _hold(self, array: Any) -> None:
        """Make an array read-only while this derivative or another one holds it."""
        key = id(array)
        if key not in self.held and (array.flags.writeable or key in locked):
            while_holding(_lock, lambda: self._make_read_only(key, array))

    def _make_read_only(self, key: int, array: Any) -> None:
        _holders.add(self)
        self.held.add(key)
        locked[key] = array
        array.flags.writeable = False

    def _has_changed(self) -> bool:
        """Tell whether a sample of the arrays has changed since they were locked."""
        return any([_sample(array) != before for array, before in self.samples.values()])

    def release(self, unchanged: bool) -> None:
        """Unlock the arrays; raise if a sample has changed, if `unchanged` asks for that check."""
        changed = unchanged and self._has_changed()
        self.samples.clear()
        self._unlock()
        if changed:
            raise LostDerivativeError(
                "an array that a recorded operation has used was changed through another view of "
                "it before the derivative was computed. Use a copy in the operation: x * c.copy()"
            )

    def _unlock(self) -> None:
        """Let the arrays be written to again, unless another derivative holds them."""
        _holders.discard(self)
        self.held.clear()
        while_holding(_lock, _unlock_free)


def unlock_all() -> None:
    """Unlock every array; called when no derivative is being computed."""
    if locked:
        _holders.clear()
        while_holding(_lock, _unlock_free)


def after_fork() -> None:
    """Make a new lock, as a thread that is not in this process may have held the old one."""
    global _lock
    _lock = threading.RLock()


def _unlock_free() -> None:
    """Unlock the arrays that no derivative holds."""
    held = set().union(*[locks.held for locks in list(_holders)])  # other threads change it
    free = [array for key, array in locked.items() if key not in held]
    for array in sorted(free, key=_count_bases):
        if array.base is None or all([x.flags.writeable for x in _list_bases(array)[1:]]):
            array.flags.writeable = True  # a view can be writeable only after its base
            del locked[id(array)]


def _sample(array: Any) -> bytes:
    """Return the bits of about a hundred elements, from all over the array."""
    row = array.reshape(-1) if array.flags.c_contiguous else array.flat  # quicker
    bits: bytes = row[:: max(1, array.size // 128)].tobytes()
    return bits


def _can_be_unlocked(base: Any) -> bool:
    """Tell whether a base is writeable, or will be: NumPy unlocks no view of a locked array."""
    return base.flags.writeable or id(base) in locked


def _list_bases(array: Any) -> list[Any]:
    """Return an array and the arrays that it is a view of, the innermost last."""
    parts = [array]
    while isinstance(parts[-1].base, np.ndarray):
        parts.append(parts[-1].base)
    return parts


def _count_bases(array: Any) -> int:
    return 1 if array.base is None else len(_list_bases(array))


def is_locked() -> bool:
    """Tell whether any array is locked at the moment."""
    return bool(locked)
