"""Arrays that a recorded operation uses later: small ones are copied, large ones locked meanwhile.

What the user's code does to an array after an operation with it was recorded must not reach the
derivative. A copy makes sure of that, but of a large array it costs as much as the operation. So a
large one is made read-only until the function has run: NumPy then refuses to write to it, loudly
and on the very line. Inside nested or parallel derivatives the last one to finish unlocks it.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

SMALL = 4096  # elements: up to here a copy costs less than the bookkeeping of an operation

_lock = threading.Lock()
_locked: dict[int, list[Any]] = {}  # id -> [array, how many hold it]


class Keeper:
    """The large arrays that one derivative has locked."""

    __slots__ = ("arrays",)

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}

    def lock(self, array: Any) -> Any:
        """Return the array, locked: nobody changes it until it is released."""
        for part in _with_bases(array):
            if part.flags.writeable or id(part) in _locked:
                self._hold(part)
        return array

    def _hold(self, array: Any) -> None:
        with _lock:
            if id(array) not in self.arrays:
                self.arrays[id(array)] = array
                _locked.setdefault(id(array), [array, 0])[1] += 1
                array.flags.writeable = False

    def release(self) -> None:
        """Give the arrays back to be written to, unless another derivative holds them."""
        with _lock:
            for key in reversed(self.arrays):  # what a view is of comes before the view
                array, count = _locked[key]
                if count > 1:
                    _locked[key][1] -= 1
                else:
                    del _locked[key]
                    array.flags.writeable = True
            self.arrays.clear()


def _with_bases(array: Any) -> list[Any]:
    """Return an array and the arrays that it is a view of, the innermost last."""
    parts = [array]
    while isinstance(parts[-1].base, np.ndarray):
        parts.append(parts[-1].base)
    return parts


def is_locked() -> bool:
    """Tell whether any array is locked at the moment."""
    return bool(_locked)
