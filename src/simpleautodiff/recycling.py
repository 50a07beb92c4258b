"""Memory of large arrays, used again within a derivative: fresh memory is slow to come by.

The system hands out large memory page by page, each filled with zeros first, and takes it back
when the array goes; for a sum of large arrays that is half of the time. So results of elementwise
operations are put where an array was that nobody has any longer. Python itself says when that is
so: a block is lent to an array, and comes back when the array, and every view of it, is gone.
"""

from __future__ import annotations

import math
import operator
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

LARGE = 2**19  # bytes: less stays with the process and in its caches
KEPT = 2**28  # bytes at most that stay for the next derivative


class _Block(np.ndarray[Any, Any]):
    """Memory. A view of a lent array has that array for its base, as this is of another class."""


class _Loan(ref[Any]):
    """A weak reference to an array that lives in a block."""

    __slots__ = ("block",)
    block: _Block


class Store:
    """Blocks of memory, free or lent.

    There are no locks: what is done to the lists takes one step, and a block has one holder.
    """

    __slots__ = ("allowed", "free", "loans", "open")

    def __init__(self) -> None:
        self.allowed = False  # while a derivative is computed, at whose end the store is closed
        self.open = False  # whether a derivative of large arrays is being computed
        self.free: dict[int, list[_Block]] = {}  # by size
        self.loans: dict[int, _Loan] = {}  # by id

    def serves(self, like: Any) -> bool:
        """Tell whether an array like this one may lie in a block."""
        if not self.open or type(like) is not np.ndarray or like.nbytes < LARGE:
            return False
        return bool(like.dtype.kind == "f")

    def place(self, like: Any) -> Any:
        """Return where a result like this array may be put; None says: NumPy shall see to it."""
        return self.empty(like.shape, like.dtype) if self.serves(like) else None

    def zeros(self, like: Any) -> Any:
        """Return zeros of the shape and kind of an array."""
        if not self.open or not self.free.get(like.nbytes):
            return np.zeros(like.shape, like.dtype)
        array = self.empty(like.shape, like.dtype)
        array.fill(0)
        return array

    def empty_like(self, like: Any) -> Any:
        """Return an array of the shape and kind of another, with whatever in it."""
        out = self.place(like)
        return np.empty(like.shape, like.dtype) if out is None else out

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array in a free block, or in a new one."""
        size = math.prod(shape) * dtype.itemsize
        try:
            block = self.free[size].pop()
        except (KeyError, IndexError):
            self._make_room(size)
            block = _Block(size, np.uint8)
        array: Any = np.ndarray(shape, dtype, block)
        loan = _Loan(array, self._returned)
        loan.block = block
        self.loans[id(loan)] = loan
        return array

    def _make_room(self, wanted: int) -> None:
        """Let go of as many bytes as are wanted anew: what is free has another size."""
        for size, blocks in list(self.free.items()):
            while blocks and wanted > 0:
                del blocks[-1:]
                wanted -= size

    def _returned(self, loan: Any) -> None:
        self.loans.pop(id(loan), None)
        self.free.setdefault(loan.block.nbytes, []).append(loan.block)

    def close(self) -> None:
        """Forget what is lent, and of what is free all that is too much."""
        self.open = self.allowed = False
        self.loans = {}
        free, self.free, room = self.free, {}, KEPT
        for size, blocks in free.items():
            kept = blocks[: room // size]
            room -= size * len(kept)
            if kept:
                self.free[size] = kept


STORE = Store()


_UFUNCS = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.neg: np.negative,
}


@cache
def _ufunc_of(compute: Any) -> Any:
    """Return the ufunc that computes an operation on each number; None if there is none."""
    ufunc = _UFUNCS.get(compute, compute)
    return ufunc if type(ufunc) is np.ufunc and not ufunc.signature and ufunc.nout == 1 else None


def in_place(compute: Any, *args: Any) -> Any:
    """Compute an operation, in recycled memory if it is one on each number of large arrays."""
    ufunc = _ufunc_of(compute)
    like = args[0]
    for arg in args[1:]:
        if type(like) is not np.ndarray or (type(arg) is np.ndarray and arg.size > like.size):
            like = arg
    if ufunc is None or not STORE.serves(like):
        return compute(*args)
    for arg in args:
        if arg is not like and not _fits(arg, like):
            return compute(*args)
    return ufunc(*args, out=STORE.empty(like.shape, like.dtype))


def _fits(x: Any, like: Any) -> bool:
    """Tell whether an operand leaves the result the shape and kind of a large array."""
    if type(x) is not np.ndarray:
        return type(x) is float or type(x) is int
    pairs = zip(reversed(x.shape), reversed(like.shape), strict=False)
    return (
        x.dtype is like.dtype and x.ndim <= like.ndim and all([n in (1, full) for n, full in pairs])
    )


def is_lent(x: Any) -> bool:
    """Tell whether x is an array that lies in a block."""
    return type(x) is np.ndarray and type(x.base) is _Block


def has_own_memory(x: Any) -> bool:
    """Tell whether x is an array, and no view of another."""
    return type(x) is np.ndarray and (x.base is None or type(x.base) is _Block)
