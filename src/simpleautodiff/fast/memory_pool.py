"""Recycle the memory of large arrays within a derivative, as fresh memory is slow.

The system hands out large memory page by page, each filled with zeros first, and takes it back when
the array is freed; for a sum of large arrays that is half of the time. So the result of an
elementwise operation is put into the memory of an array that has been freed. Python's reference
counts tell when: a block is lent to an array, and comes back when the array and all its views are
gone.

An allocation of many megabytes is placed on large pages, which the processor finds more quickly.
The need of a derivative is not known in advance; but when it ends, its blocks are exchanged for as
many parts of such large pieces, for the next derivative of that size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from simpleautodiff.fast.thresholds import THRESHOLDS

PIECE = 2**25  # bytes: malloc gets so much fresh from the system, never from used memory
MIN_TOGETHER = 2**24  # bytes: blocks of one size are put into a piece if they total this
CACHE_LINE = 64  # bytes of a cache line
MIN_RUN = 128  # elements: for shorter contiguous runs NumPy's buffers pay


class _Block(np.ndarray[Any, Any]):
    """A block of memory: an allocation of its own, or a part of a larger piece.

    It is a subclass, so that NumPy makes the lent array, and not the block, the base of its views.
    """


def _round_up(size: int) -> int:
    """Return the distance between blocks in a piece: each begins at a cache line."""
    return -(-size // CACHE_LINE) * CACHE_LINE


def _make_together(size: int, many: int) -> Iterator[_Block]:
    """Make blocks of a size as parts of pieces, each large enough for large pages.

    Memory that was in use before may be on small pages, and stays there.
    """
    step = _round_up(size)
    fewest = -(-PIECE // step)
    while many > 0:
        parts = many // max(1, many // fewest)
        piece: Any = _Block(parts * step, np.uint8)
        yield from [piece[start : start + size] for start in range(0, parts * step, step)]
        many -= parts


def _group_by_piece(blocks: list[_Block]) -> Iterator[tuple[list[_Block], bool]]:
    """Pop all blocks of a list; yield those of each piece, and whether they are all of it.

    They are popped one by one, as other threads may do the same.
    """
    pieces: dict[int, list[_Block]] = {}
    with suppress(IndexError):
        while True:
            block = blocks.pop()
            pieces.setdefault(id(_find_piece(block)), []).append(block)
    for parts in pieces.values():
        yield parts, len(parts) * _round_up(parts[0].nbytes) >= _find_piece(parts[0]).nbytes


def _find_piece(block: _Block) -> Any:
    return block.base if is_part(block) else block


def is_part(block: _Block) -> bool:
    """Tell whether a block is part of a larger piece."""
    return block.base is not None


class _Loan(ref[Any]):
    """A weak reference to an array whose memory is a block."""

    __slots__ = ("block",)
    block: _Block


_NO_BLOCKS: list[_Block] = []


class MemoryPool:
    """Blocks of memory, free or lent.

    There are no locks: every change of a list is one atomic step, and a block has one holder. Other
    threads may free arrays at any time, so loops go over copies of the dicts.
    """

    __slots__ = ("allowed", "alone", "loans", "open", "parts", "room")

    def __init__(self) -> None:
        self.allowed = False  # whether a derivative is being computed
        self.open = False  # whether that derivative has large arrays
        self.alone: dict[int, list[_Block]] = {}  # free blocks that are no parts, by size
        self.parts: dict[int, list[_Block]] = {}  # free parts of pieces, by size
        self.loans: dict[int, _Loan] = {}  # by id
        self.room = 0  # bytes that were freed and not allocated again yet

    def serves(self, like: Any) -> bool:
        """Tell whether the memory of an array like this one may be a block."""
        if not self.open or type(like) is not np.ndarray or like.nbytes < THRESHOLDS.pooled:
            return False
        return bool(like.dtype.kind == "f")

    def output_like(self, like: Any) -> Any:
        """Return an `out=` array like this one; None if NumPy should allocate the result."""
        if not self.serves(like):
            return None
        order = "C" if like.ndim == 1 else _find_order(like)
        return None if order is None else self.empty(like.shape, like.dtype, order)

    def zeros(self, like: Any) -> Any:
        """Return zeros of the shape and dtype of an array."""
        if not self.open or not (self.parts.get(like.nbytes) or self.alone.get(like.nbytes)):
            return np.zeros(like.shape, like.dtype)
        array = self.empty(like.shape, like.dtype)
        array.fill(0)
        return array

    def empty_like(self, like: Any) -> Any:
        """Return an uninitialised array of the shape and dtype of another."""
        out = self.output_like(like)
        return np.empty(like.shape, like.dtype) if out is None else out

    def empty(self, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Any:
        """Return an array in a free block, or in a new one."""
        size = math.prod(shape) * dtype.itemsize
        blocks = self.parts.get(size) or self.alone.get(size) or _NO_BLOCKS
        try:
            block = blocks.pop()
        except IndexError:
            self._make_room(size)
            block = _Block(size, np.uint8)
        array: Any = np.ndarray(shape, dtype, block, order=order)
        loan = _Loan(array, self._take_back)
        loan.block = block
        self.loans[id(loan)] = loan
        return array

    def release(self, x: Any) -> Any:
        """Return an array for the caller, copied if it would keep a whole piece alive."""
        if not is_pooled(x) or not is_part(x.base):
            return x
        try:
            copy: Any = np.ndarray(x.shape, x.dtype, self.alone.get(x.nbytes, []).pop())
        except IndexError:
            return x.copy()
        copy[...] = x
        return copy

    def _make_room(self, wanted: int) -> None:
        """Free as many bytes as are to be allocated, as the free blocks have another size."""
        self.room -= wanted
        for size, blocks in [*self.alone.items()]:
            while blocks and self.room < 0:
                del blocks[-1:]
                self.room += size
        for size, blocks in [*self.parts.items()] if self.room < 0 else []:
            for parts, whole in _group_by_piece(blocks):
                if whole and self.room < 0:
                    self.room += size * len(parts)
                else:
                    blocks.extend(parts)
        self.room = max(self.room, 0)

    def _take_back(self, loan: Any) -> None:
        self.loans.pop(id(loan), None)
        block = loan.block
        free = self.alone if block.base is None else self.parts
        free.setdefault(block.nbytes, []).append(block)

    def close(self) -> None:
        """Free what exceeds the limit, and exchange single blocks for parts of larger pieces.

        Single blocks that are still lent are forgotten: they now belong to their arrays.
        """
        used, self.open, self.allowed = self.open, False, False
        if not used:
            return
        for key, loan in [*self.loans.items()]:
            if not is_part(loan.block):
                self.loans.pop(key, None)
        self.room, room = 0, THRESHOLDS.pool
        for size, blocks in [*self.parts.items()]:
            for parts, _ in _group_by_piece(blocks):
                if size * len(parts) <= room:
                    room -= size * len(parts)
                    blocks.extend(parts)
        for size, blocks in [*self.alone.items()]:
            del blocks[room // size :]
            many = len(blocks)
            room -= size * many
            if size <= PIECE // 4 and size * many >= MIN_TOGETHER:
                blocks.clear()
                self.parts.setdefault(size, []).extend(_make_together(size, many))
        for free in (self.alone, self.parts):
            for size in [size for size, blocks in [*free.items()] if not blocks]:
                free.pop(size, None)


POOL = MemoryPool()


_UFUNCS = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.neg: np.negative,
}


@cache
def _find_ufunc(compute: Any) -> Any:
    """Return the ufunc that computes an elementwise operation; None if there is none."""
    ufunc = _UFUNCS.get(compute, compute)
    return ufunc if type(ufunc) is np.ufunc and not ufunc.signature and ufunc.nout == 1 else None


def compute_pooled(compute: Any, *args: Any) -> Any:
    """Compute an operation of one or two arguments, in recycled memory if they are large arrays."""
    like, other = args[0], args[-1]
    if type(like) is not np.ndarray or (type(other) is np.ndarray and other.size > like.size):
        like, other = other, like
    ufunc = _find_ufunc(compute)
    if ufunc is None or not POOL.serves(like) or not (other is like or _fits(other, like)):
        return compute(*args)
    order = "C" if like.ndim == 1 else _find_order(*args)
    if order is None:
        return compute(*args)
    return call_unbuffered(ufunc, *args, out=POOL.empty(like.shape, like.dtype, order))


def _find_order(*args: Any) -> str | None:
    """Return the memory order of NumPy's result for these arrays, "C" or "F"; None for another.

    The user can see it: it decides whether `ravel` of the result is a view or a copy.
    """
    arrays = [arg for arg in args if type(arg) is np.ndarray]
    if all([array.flags.c_contiguous or _has_falling_strides(array) for array in arrays]):
        return "C"
    by_columns = [_has_falling_strides(array.T) for array in arrays]
    return "F" if all(by_columns) else None


def _has_falling_strides(array: Any) -> bool:
    """Tell whether strides never increase from one axis to the next."""
    steps = [abs(step) for n, step in zip(array.shape, array.strides, strict=True) if n > 1]
    steps = [step for step in steps if step]  # broadcast axes have the stride 0
    return steps == sorted(steps, reverse=True)


def call_unbuffered(ufunc: Any, *args: Any, out: Any) -> Any:
    """Call a ufunc on large arrays of one dtype, without NumPy's buffers.

    If the contiguous runs of a view are shorter than a buffer, NumPy collects several in it. That
    pays for very short runs; for others it takes three times as long as the operation itself.
    """
    for arg in (
        args if out is not None and out.ndim > 1 and _measure_longest_run(out) >= MIN_RUN else ()
    ):
        if type(arg) is np.ndarray and not arg.flags.forc:
            size = np.setbufsize(16)
            try:
                return ufunc(*args, out=out)
            finally:
                np.setbufsize(size)
    return ufunc(*args, out=out)


def _measure_longest_run(array: Any) -> int:
    """Return the length of the longest contiguous run, along a row or a column."""
    first, *_, last = array.strides
    length: int = array.shape[-1 if abs(last) <= abs(first) else 0]
    return length


def _fits(x: Any, like: Any) -> bool:
    """Tell whether an operand leaves the result the shape and dtype of a large array."""
    if type(x) is not np.ndarray:
        return type(x) is float or type(x) is int
    if x.shape == like.shape:
        return x.dtype is like.dtype
    pairs = zip(reversed(x.shape), reversed(like.shape), strict=False)
    return (
        x.dtype is like.dtype and x.ndim <= like.ndim and all([n in (1, full) for n, full in pairs])
    )


def is_pooled(x: Any) -> bool:
    """Tell whether x is an array whose memory is a block."""
    return type(x) is np.ndarray and type(x.base) is _Block


def has_own_memory(x: Any) -> bool:
    """Tell whether x is an array that is not a view."""
    return type(x) is np.ndarray and (x.base is None or type(x.base) is _Block)
