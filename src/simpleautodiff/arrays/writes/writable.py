"""What a writable array is now: its value, writes still to be carried out, or a view of another.

Writing an element makes a whole new array, so a loop that fills an array one element, or one row,
at a time would make as many. Such writes are collected, and carried out together when the array is
next needed as a whole; an element that was written can be read back meanwhile.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.batch.indices import is_single, put_each, take_each
from simpleautodiff.arrays.numpy.shaping import one_of, stack
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, Written, plain, unwrapped
from simpleautodiff.errors import LostDerivativeError, ReadOnlyError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import (
    find_batches,
    flat_indices,
    getitem,
    is_basic,
    set_item,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.scalar.complex_parts import imag, real

READ_ONLY: set[Any] = {  # functions of NumPy that give views which cannot be written to
    *(np.diagonal, np.diag, np.linalg.diagonal, np.broadcast_to),
    np.lib.stride_tricks.sliding_window_view,
}
Cell = tuple[int, ...]


class View(NamedTuple):
    """How an array looks into another: what it reads there, and how it writes it back."""

    base: Writable
    shape: tuple[int, ...]
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    cell: Cell | None = None


def current(self: Writable) -> Any:
    """Return the array, or the node, that a writable array is now."""
    view = self.seen
    if view is not None:
        if view.cell is not None and view.cell in view.base.writes:
            return taken(view.base.writes[view.cell])
        return view.read(_of_cells(view.base, view.cell))
    self.value = taken(self.value)
    if self.writes:
        _carry_out(self)
    return self.value


def replace(self: Writable, new: Any) -> None:
    """Let the array be another, in its own kind; what it is a view of changes with it."""
    new = in_kind_of(self, new)
    if self.seen is None:
        _memory(self)  # it stays where it lies
        if isinstance(self.value, Traced) and not isinstance(new, Traced):
            new = set_item(self.value, new, ...)  # a node stays one
        self.value, self.writes = new, {}
    elif self.seen.cell is None or not write_cell(self.seen.base, self.seen.cell, new):
        base = self.seen.base
        base.current = self.seen.write(base.current, new)


def _of_cells(base: Writable, cell: Cell | None) -> Any:
    """Return where a cell that has not been written can be read: no write has to be carried out."""
    return taken(base.value) if cell is not None and _fits(base, cell) else base.current


def _fits(self: Writable, cell: Cell) -> bool:
    """Tell whether a cell is as large as those already written, so that none overlap."""
    if self.seen is not None or not self.writes:
        return self.seen is None
    return len(cell) == len(next(iter(self.writes)))


def as_cell(self: Writable, index: Any) -> Cell | None:
    """Return an index of whole numbers, counted from the front; None if it is something else."""
    parts = index if isinstance(index, tuple) else (index,)
    full = shape(self)
    if len(parts) > len(full) or not parts:
        return None
    if not all(isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in parts):
        return None
    cell = tuple(map(operator.index, parts))
    inside = all(-n <= i < n for i, n in zip(cell, full, strict=False))
    return tuple(i % n for i, n in zip(cell, full, strict=False)) if inside else None


def shape(self: Writable) -> tuple[int, ...]:
    """Return the shape of a writable array; no write has to be carried out for that."""
    return shape_of(self.value) if self.seen is None else self.seen.shape


def kind(self: Writable) -> Any:
    """Return the kind of number of a writable array."""
    while self.seen is not None:
        self = self.seen.base
    return dtype_of(plain(self.value))


def in_kind_of(self: Writable, value: Any) -> Any:
    """Return what is written in the kind of the array, as NumPy casts it."""
    wanted = kind(self)
    if isinstance(value, (int, float)):
        return wanted.type(value)
    given = np.dtype(complex) if type(value) is complex else dtype_of(plain(value))
    if given == wanted:
        return value
    if not np.can_cast(given, wanted, "same_kind"):
        raise LostDerivativeError(
            f"numbers of type {given} cannot be written into an array of {wanted}; make it with "
            f"np.zeros_like(x, dtype={given}){cite_line()}"
        )
    return value.astype(wanted) if hasattr(value, "astype") else value


def write_cell(self: Writable, cell: Cell, value: Any) -> bool:
    """Remember a write to a cell; tell whether that could be done."""
    if not _fits(self, cell) or shape_of(value) != shape_of(self.value)[len(cell) :]:
        return False
    value = in_kind_of(self, value)
    self.writes[cell] = snapshot(value)
    return True


def snapshot(x: Any) -> Any:
    """Return what an array is now: it does not change when the array is written to."""
    return x.copy() if isinstance(x, np.ndarray) else unwrapped(x)


def taken(x: Any) -> Any:
    """Return a node as it was when it was taken: perhaps it has been written to since."""
    return x.writable().first if isinstance(x, Written) else x


def _carry_out(self: Writable) -> None:
    """Write all that was remembered, as one operation."""
    _memory(self)  # it stays where it lies
    index = tuple(np.array(part) for part in zip(*self.writes, strict=True))
    values, self.writes = [taken(value) for value in self.writes.values()], {}
    if any(isinstance(value, Traced) for value in values):
        self.value = set_item(self.value, stack([_as_array(value) for value in values]), index)
    else:
        self.value = set_item(self.value, np.array(values), index)


def _as_array(value: Any) -> Any:
    return value if isinstance(value, Traced) else np.asarray(value)


def part_of(self: Writable, index: Any) -> Any:
    """Return what an index chooses: a view if it is a basic one, a number or a copy otherwise."""
    cell = as_cell(self, index)
    if cell is not None and len(cell) == len(shape(self)):
        return self.writes[cell] if cell in self.writes else _read(_of_cells(self, cell), cell)
    if find_batches(index):
        return _part_of_each(self, index)
    if not is_basic(index):
        return Writable(_read(self.current, index))
    return Writable(
        None,
        View(
            self,
            _outline(self)[index].shape,
            lambda base: getitem(base, index),
            lambda base, new: set_item(base, new, index),
            cell if self.seen is None else None,
        ),
    )


def _part_of_each(self: Writable, index: Any) -> Any:
    """Return what an index of batches chooses: a view if it is a row, as in NumPy."""
    taken = take_each(self.current, index)
    if not shape_of(taken):
        return taken
    if not is_single(index):
        return Writable(taken)
    view = View(
        self,
        shape_of(taken),
        lambda base: take_each(base, index),
        lambda base, new: put_each(base, new, index),
    )
    return Writable(None, view)


def _read(array: Any, index: Any) -> Any:
    return array[index] if isinstance(array, np.ndarray) else getitem(array, index)


def views(self: Writable, move: Callable[[Any], Any], function: Any) -> Any:
    """Return what a function that only moves elements gives: one array, or several."""
    parts = move(_outline(self))
    if isinstance(parts, (list, tuple)):
        return type(parts)(moved(self, _part_of(move, k)) for k in range(len(parts)))
    return moved(self, move, function in READ_ONLY)


def _part_of(move: Callable[[Any], Any], k: int) -> Callable[[Any], Any]:
    return lambda x: move(x)[k]


def moved(self: Writable, move: Callable[[Any], Any], read_only: bool = False) -> Any:
    """Return what a function that only moves elements gives: a view where NumPy gives one."""
    laid_out = _memory(self)
    if not np.may_share_memory(move(laid_out), laid_out):
        return Writable(move(self.current))
    return looking(self, move, _not_written if read_only else None)


def looking(
    self: Writable, move: Callable[[Any], Any], write: Callable[[Any, Any], Any] | None = None
) -> Writable:
    """Return the view that a function that only moves elements gives."""
    full = shape(self)

    def write_back(base: Any, new: Any) -> Any:
        places = move(np.arange(math.prod(full)).reshape(full))
        return reshape(set_item(reshape(base, (-1,)), new, places), full)

    return Writable(None, View(self, move(_outline(self)).shape, move, write or write_back))


def _not_written(base: Any, new: Any) -> Any:
    raise ReadOnlyError(
        "this view is read-only, as NumPy's is (broadcast_to, diagonal): several places in it may "
        f"be one element. Write to the array itself, or to a copy{cite_line()}"
    )


def spread(self: Writable, new: tuple[int, ...]) -> Writable:
    """Return a view in a larger shape, which is read-only."""
    return looking(self, lambda x: np.broadcast_to(x, new), _not_written)


def in_a_row(self: Writable) -> Any:
    """Return all elements as one row that writes through to them, wherever they lie in memory."""
    full = shape(self)
    return Writable(
        None,
        View(self, (math.prod(full),), np.ravel, lambda base, new: reshape(new, full)),
    )


def repeated_in_a_row(self: Writable, index: Any, value: Any) -> Any:
    """Return what is written: x.flat takes too few elements again from the start, as in NumPy."""
    if self.seen is None or self.seen.read is not np.ravel or not shape_of(value):
        return value
    places = shape_of(flat_indices(index, shape(self)))
    return value if shape_of(value) == places else np.resize(value, places)


def real_part(self: Writable) -> Any:
    """Return a view of the real parts."""
    if kind(self).kind != "c":
        return moved(self, lambda x: x)
    return Writable(
        None, View(self, shape(self), real, lambda base, new: real(new) + 1j * imag(base))
    )


def imaginary_part(self: Writable) -> Any:
    """Return a view of the imaginary parts; those of real numbers are 0."""
    if kind(self).kind != "c":
        return self.current.imag
    return Writable(
        None, View(self, shape(self), imag, lambda base, new: real(base) + 1j * real(new))
    )


def _memory(self: Writable) -> Any:
    """Return an array that lies in memory as NumPy's own would."""
    if self.seen is not None:
        return self.seen.read(_memory(self.seen.base))
    if self.lies is None:
        array = one_of(self.value)
        self.lies = np.empty(shape(self), bool) if array is None else np.empty_like(array, bool)
    return self.lies


def _outline(self: Writable) -> Any:
    """Return an array that has the shape and no memory of its own."""
    return np.broadcast_to(False, shape(self))
