"""The current content of a writable array: its value, pending writes, or a view of another array.

Writing an element makes a whole new array, so a loop that fills an array element by element would
make as many. Such writes are collected, and applied together when the array is next needed as a
whole; an element that was written can be read back meanwhile.

(`issubclass(type(x), ...)` is `isinstance` without the question for `x.__class__`, which a node
answers for the user's code.)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.shaping import layout_of
from simpleautodiff.arrays.writes.array_view import ArrayView, Cell, IndexedView
from simpleautodiff.arrays.writes.example_indices import (
    is_single,
    put_each,
    take_each,
    to_plain_index,
)
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, Written, take_current, to_plain
from simpleautodiff.core.node import NODES, TapeNode
from simpleautodiff.errors import LostDerivativeError, ReadOnlyError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import (
    find_batches,
    flat_indices,
    getitem,
    is_basic,
    is_same_for_all,
    set_item,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.scalar.complex_parts import imag, real

READ_ONLY: set[Any] = {  # NumPy functions that return read-only views
    *(np.diagonal, np.diag, np.linalg.diagonal, np.broadcast_to),
    np.lib.stride_tricks.sliding_window_view,
}


def current(self: Writable) -> Any:
    """Return the array, or the node, that is the current version."""
    view = self.as_view
    if view is not None:
        base, cell = view.base, view.cell
        if cell is None:
            return view.read(current(base))
        if cell in base.writes:
            return unpromote(base.writes[cell])
        return view.read(unpromote(base.value) if _fits(base, cell) else current(base))
    if type(self.value) is not TapeNode:
        self.value = unpromote(self.value)
    if self.writes:
        _apply_writes(self)
    return self.value


def replace(self: Writable, new: Any) -> None:
    """Replace the content, in the array's dtype; the array that it is a view of changes with it."""
    view = self.as_view
    if view is None:
        new = cast_to_dtype(self, new)
        if self.layout is None:
            _memory_layout(self)  # the memory layout stays the same
        if not isinstance(new, Traced) and isinstance(self.value, Traced):
            new = set_item(self.value, new, ...)  # the value stays a node
        self.value, self.writes = new, {}
        return
    base = view.base
    new = cast_to_dtype(base, new)
    if view.cell is None or not write_cell(base, view.cell, new):
        replace(base, view.write(current(base), new))


def _fits(self: Writable, cell: Cell) -> bool:
    """Tell whether a cell is of the same size as those already written, so that none overlap."""
    if self.as_view is not None:
        return False
    for other in self.writes:
        return len(cell) == len(other)
    return True


def as_cell(self: Writable, index: Any) -> Cell | None:
    """Return an index of integers, as nonnegative ones; None for any other index."""
    full, _ = self.form or find_form(self)
    if type(index) is int:
        return (index % full[0],) if full and -full[0] <= index < full[0] else None
    if type(index) is slice:
        return None
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > len(full) or not parts:
        return None
    cell = []
    for part, n in zip(parts, full, strict=False):
        if type(part) is not int:
            if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
                return None
            part = operator.index(part)
        if not -n <= part < n:
            return None
        cell.append(part % n)
    return tuple(cell)


def find_form(self: Writable) -> tuple[tuple[int, ...], Any]:
    """Return the shape and dtype of a writable array, without applying pending writes."""
    view = self.as_view
    if view is None:
        form = shape_of(self.value), dtype_of(to_plain(self.value))
    else:
        if view.shape is None:
            view.shape = _outline(view.base)[view.index].shape
        form = view.shape, dtype(view.base)
    self.form = form
    return form


def shape(self: Writable) -> tuple[int, ...]:
    """Return the shape of a writable array."""
    form: tuple[tuple[int, ...], Any] = self.form or find_form(self)
    return form[0]


def dtype(self: Writable) -> Any:
    """Return the dtype of a writable array."""
    return (self.form or find_form(self))[1]


def cast_to_dtype(self: Writable, value: Any) -> Any:
    """Cast a value to the dtype of the array, as NumPy does when writing."""
    _, wanted = self.form or find_form(self)
    kind = type(value)
    if kind in NODES:
        if type(value.value) in _NUMPY and value.value.dtype is wanted:
            return value
    elif issubclass(kind, (int, float)):
        return wanted.type(value)
    given = np.dtype(complex) if type(value) is complex else dtype_of(to_plain(value))
    if given == wanted:
        return value
    if not np.can_cast(given, wanted, "same_kind"):
        raise LostDerivativeError(
            f"numbers of type {given} cannot be written into an array of {wanted}; make it with "
            f"np.zeros_like(x, dtype={given}){cite_line()}"
        )
    return value.astype(wanted) if hasattr(value, "astype") else value


_NUMPY = {np.ndarray, np.float64}
_FLOAT = np.dtype(float)


def write_cell(self: Writable, cell: Cell, value: Any) -> bool:
    """Record a write to a cell as pending; return whether that was possible."""
    full, wanted = self.form or find_form(self)
    if not _fits(self, cell):
        return False
    if type(value) in NODES and type(value.value) is np.float64 and wanted is _FLOAT:
        if len(cell) < len(full):
            return False
    elif shape_of(value) != full[len(cell) :]:
        return False
    else:
        value = snapshot(cast_to_dtype(self, value))
    self.writes[cell] = value
    return True


def snapshot(x: Any) -> Any:
    """Return the current version, which does not change when the array is written to."""
    return x.copy("K") if issubclass(type(x), np.ndarray) else take_current(x)


def unpromote(x: Any) -> Any:
    """Return the version of a node that was current when it was read."""
    kind = type(x)
    return x.writable().first if kind is not TapeNode and issubclass(kind, Written) else x


def _apply_writes(self: Writable) -> None:
    """Apply all pending writes, as one operation."""
    _memory_layout(self)  # the memory layout stays the same
    if len(self.writes) <= _FEW and any([type(value) in NODES for value in self.writes.values()]):
        writes, self.writes = self.writes, {}
        for cell, value in writes.items():
            self.value = set_item(self.value, unpromote(value), cell)
        return
    index = tuple(np.array(part) for part in zip(*self.writes, strict=True))
    values = [value if type(value) in _ELEMENTS else _as_array(unpromote(value))
              for value in self.writes.values()]  # fmt: skip
    self.writes = {}
    if any(isinstance(value, Traced) for value in values):
        self.value = set_item(self.value, stack(values), index)
    else:
        self.value = set_item(self.value, np.array(values), index)


_FEW = 2  # up to so many elements are written one by one
_ELEMENTS = {TapeNode, np.float64}


def _as_array(value: Any) -> Any:
    return value if isinstance(value, (Traced, np.float64)) else np.asarray(value)


def get_item(self: Writable, index: Any) -> Any:
    """Return the selected elements: a view for a basic index, otherwise a scalar or a copy."""
    full, _ = self.form or find_form(self)
    kind = type(index)
    if kind is slice and full and index.step is None:
        return Writable(None, IndexedView(self, index))
    cell: Cell | None
    if kind is int and full:
        cell = (index % full[0],) if -full[0] <= index < full[0] else None
    else:
        index = to_plain_index(index)
        cell = as_cell(self, index)
    if cell is not None and len(cell) == len(full):
        writes = self.writes
        if cell in writes:
            return writes[cell]
        free = not writes and self.as_view is None  # nothing is pending
        array = self.value if free or _fits(self, cell) else current(self)
        place = cell if len(cell) > 1 else cell[0]
        is_node = type(array) is TapeNode
        return getitem(array, place) if is_node else _read(unpromote(array), place)
    if not (kind is tuple and _BASIC.issuperset(map(type, index))):
        if find_batches(index):
            return _get_item_per_example(self, index)
        if is_same_for_all(index) and not is_basic(index):
            return _get_recorded_item(self, index)
        if not is_basic(index):
            return Writable(_read(self.current, index))
    if kind is tuple and not index and not shape(self):
        return self.current  # of an array without axes this is its number, as in NumPy
    within = cell if self.as_view is None else None
    return Writable(None, IndexedView(self, index, within, _outline_of(full)[index].shape))


_BASIC = {int, slice, type(None), type(...)}


def is_written_where_it_lies(self: Writable, index: Any, value: Any) -> bool:
    """Tell whether a value is the view at an index: `x[1:] += y` assigns it after changing it."""
    view = value.as_view if type(value) is Writable else None
    if view is None or view.base is not self or type(view.index) is not type(index):
        return False
    return index is not None and bool(view.index == index)


def _get_item_per_example(self: Writable, index: Any) -> Any:
    """Return the elements that an index of batches selects: a view if NumPy returns one."""
    selected = take_each(self.current, index)
    if not shape_of(selected):
        return selected
    if not is_single(index):
        return Writable(selected)
    view = ArrayView(
        self,
        shape_of(selected),
        lambda base: take_each(base, index),
        lambda base, new: put_each(base, new, index),
    )
    return Writable(None, view)


def _get_recorded_item(self: Writable, index: Any) -> Any:
    """Return the elements that an index of recorded integers selects: a view, or a number."""
    selected = _read(self.current, index)
    if not shape_of(selected):
        return Writable(selected)
    view = ArrayView(
        self,
        shape_of(selected),
        lambda base: getitem(base, index),
        lambda base, new: set_item(base, new, index),
    )
    return Writable(None, view)


def _read(array: Any, index: Any) -> Any:
    return array[index] if issubclass(type(array), np.ndarray) else getitem(array, index)


def views_or_copies(self: Writable, move: Callable[[Any], Any], function: Any) -> Any:
    """Return the results, one or several, of a function that only moves elements."""
    parts = move(_outline(self))
    if isinstance(parts, (list, tuple)):
        return type(parts)(view_or_copy(self, _pick(move, k)) for k in range(len(parts)))
    return view_or_copy(self, move, function in READ_ONLY)


def _pick(move: Callable[[Any], Any], k: int) -> Callable[[Any], Any]:
    return lambda x: move(x)[k]


def view_or_copy(self: Writable, move: Callable[[Any], Any], read_only: bool = False) -> Any:
    """Return the result of a function that only moves elements: a view where NumPy returns one."""
    laid_out = _memory_layout(self)
    if not np.may_share_memory(move(laid_out), laid_out):
        return Writable(move(self.current))
    return make_view(self, move, _refuse_write if read_only else None)


def make_view(
    self: Writable, move: Callable[[Any], Any], write: Callable[[Any, Any], Any] | None = None
) -> Writable:
    """Return the view that a function that only moves elements returns."""
    full = shape(self)

    def write_back(base: Any, new: Any) -> Any:
        indices = move(np.arange(math.prod(full)).reshape(full))
        return reshape(set_item(reshape(base, (-1,)), new, indices), full)

    return Writable(None, ArrayView(self, move(_outline(self)).shape, move, write or write_back))


def _refuse_write(base: Any, new: Any) -> Any:
    raise ReadOnlyError(
        "this view is read-only, as NumPy's is (broadcast_to, diagonal): several of its elements "
        f"may be the same. Write to the array itself, or to a copy{cite_line()}"
    )


def broadcast_view(self: Writable, new: tuple[int, ...]) -> Writable:
    """Return a read-only view broadcast to a larger shape."""
    return make_view(self, lambda x: np.broadcast_to(x, new), _refuse_write)


def flat_view(self: Writable) -> Any:
    """Return all elements as a vector that writes through, whatever the memory layout."""
    full = shape(self)
    return Writable(
        None,
        ArrayView(self, (math.prod(full),), np.ravel, lambda base, new: reshape(new, full)),
    )


def repeat_for_flat(self: Writable, index: Any, value: Any) -> Any:
    """Return the values to write: x.flat repeats them cyclically, as in NumPy."""
    if self.as_view is None or self.as_view.read is not np.ravel or not shape_of(value):
        return value
    target = shape_of(flat_indices(index, shape(self)))
    return value if shape_of(value) == target else np.resize(value, target)


def real_part(self: Writable) -> Any:
    """Return a view of the real parts."""
    if dtype(self).kind != "c":
        return view_or_copy(self, lambda x: x)
    return Writable(
        None, ArrayView(self, shape(self), real, lambda base, new: real(new) + 1j * imag(base))
    )


def imaginary_part(self: Writable) -> Any:
    """Return a view of the imaginary parts; zeros for real numbers."""
    if dtype(self).kind != "c":
        return self.current.imag
    return Writable(
        None, ArrayView(self, shape(self), imag, lambda base, new: real(base) + 1j * real(new))
    )


def _memory_layout(self: Writable) -> Any:
    """Return an array with the memory layout of NumPy's own."""
    if self.as_view is not None:
        return self.as_view.read(_memory_layout(self.as_view.base))
    if self.layout is None:
        array = layout_of(self.value)
        self.layout = np.empty(shape(self), bool) if array is None else np.empty_like(array, bool)
    return self.layout


def _outline(self: Writable) -> Any:
    """Return an array of the same shape that takes no memory."""
    return _outline_of(shape(self))


@lru_cache
def _outline_of(full: tuple[int, ...]) -> Any:
    return np.broadcast_to(False, full)
