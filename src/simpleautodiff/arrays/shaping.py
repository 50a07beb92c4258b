"""Changing shapes, ordering and splitting: functions that only move elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.reductions import axes_of, axis_of
from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    RETURNING_ARGUMENT,
    Function,
    as_array,
    implements,
)
from simpleautodiff.core.level import Traced, to_concrete, to_plain
from simpleautodiff.errors import ArgumentError, RuleError, ValueKindError, cite_line
from simpleautodiff.rules.array.dtypes import astype, dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem, roll, scatter
from simpleautodiff.rules.array.shapes import reshape, shape_of, transpose
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import pos
from simpleautodiff.rules.scalar.complex_parts import real
from simpleautodiff.values.functions import is_complex


@implements(np.reshape)
def reshape_(a: Any, shape: Any, order: str = "C") -> Any:
    """Reshape."""
    new = shape
    if type(shape) is not tuple or {*map(type, shape)} != {int} or min(shape) < 0:
        try:
            new = np.empty(shape_of(a), bool).reshape(shape).shape
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"reshape of shape {shape_of(a)}: {error}{cite_line()}") from None
    if _is_column_major(order):
        return transpose(reshape(transpose(a, None), new[::-1]), None)
    return reshape(a, new)


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """Flatten: a view if the elements are contiguous, otherwise a copy, as in NumPy."""
    a = transpose(a, None) if _is_column_major(order) else a
    return reshape(a if _is_contiguous(a) else pos(a), (-1,))


def _is_contiguous(a: Any) -> bool:
    """Tell whether the elements, for a batch those of one example, are contiguous."""
    array = layout_of(a)
    return array is None or bool(array.flags.c_contiguous)


def layout_of(x: Any) -> Any:
    """Return an array with the memory layout of a node's array; None if it is not known.

    It is not known if an array has no elements, or no memory any more. For a batch it is the layout
    that a single example would have.
    """
    array = to_concrete(x)
    if not isinstance(array, np.ndarray) or not array.size or not any(array.strides):
        return None
    full = shape_of(x)
    ahead = array.ndim - len(full)
    if not ahead:
        return array
    others = [*zip(array.shape[:ahead], map(abs, array.strides[:ahead]), strict=True)]
    steps = [step // array.itemsize // math.prod([n for n, other in others if other < abs(step)])
             for step in array.strides[ahead:]]  # fmt: skip
    reach = [step * (n - 1) for step, n in zip(steps, full, strict=True)]
    first = -sum(r for r in reach if r < 0)
    memory = np.empty(sum(map(abs, reach)) + 1, bool)
    return np.lib.stride_tricks.as_strided(memory[first:], full, steps)


def lay_out(x: Any, order: str | None) -> Any:
    """Return an array whose elements lie in memory in an order of NumPy's: itself if they do."""
    array = layout_of(x) if order in ("C", "F", "A") else None
    if array is None:
        return x
    if order == "A":
        return lay_out(x, "F" if array.flags.fnc else "C")
    if array.flags[f"{order}_CONTIGUOUS"]:
        return x
    if order == "F":
        return transpose(lay_out(transpose(x, None), "C"), None)
    return reshape(pos(reshape(x, (-1,))), shape_of(x))


def add_axes(x: Any, count: int) -> Any:
    """Return an array of at least so many axes, with new ones in front."""
    missing = max(count - len(shape_of(x)), 0) if count else 0
    return x.reshape((1,) * missing + shape_of(x)) if missing else x


def lay_out_like(x: Any, model: Any) -> Any:
    """Return an array whose axes lie in memory in the order of those of another array."""
    array = layout_of(model)
    if array is None or array.flags.c_contiguous:
        return x
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    back = tuple(int(axis) for axis in np.argsort(axes))
    return transpose(lay_out(transpose(x, tuple(axes)), "C"), back)


def _is_column_major(order: str) -> bool:
    """Tell whether elements are counted column by column; reject counting in memory order."""
    if order not in ("C", "F"):
        raise ArgumentError(
            f"order={order!r} goes by how an array lies in memory, which a node does not say: "
            f"write order='C' (row by row) or order='F' (column by column){cite_line()}"
        )
    return order == "F"


@implements(np.transpose)
def transpose_(a: Any, axes: Any = None) -> Any:
    """Permute the axes."""
    return transpose(a, None if axes is None else _normalise_axes(a, axes))


def _normalise_axes(a: Any, axes: Any) -> tuple[int, ...]:
    """Return the axes as nonnegative integers, each of them once."""
    order = axes_of(a, tuple(axes))
    if sorted(order) != list(range(len(shape_of(a)))):
        raise ArgumentError(f"axes {tuple(axes)} do not order those of an array of {shape_of(a)}")
    return order


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    axes = list(range(len(shape_of(a))))
    (i,), (j,) = axes_of(a, axis1), axes_of(a, axis2)
    axes[i], axes[j] = j, i
    return transpose(a, tuple(axes))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other positions."""
    moved, positions = axes_of(a, source), axes_of(a, destination)
    order = [i for i in range(len(shape_of(a))) if i not in moved]
    for position, axis in sorted(zip(positions, moved, strict=True)):
        order.insert(position, axis)
    return transpose(a, tuple(order))


def move_by_index(function: Function, *arrays: Any, look_up: Function = getitem) -> Any:
    """Apply a function that only moves elements to their flat indices, and look them up."""
    numbers, start = [], 0
    for array in arrays:
        laid_out = layout_of(array)
        each = np.empty(shape_of(array), int) if laid_out is None else np.empty_like(laid_out, int)
        each[...] = np.arange(start, start + each.size).reshape(each.shape)
        numbers.append(each)
        start += each.size
    flat = [reshape(array, (-1,)) for array in arrays]
    return look_up(concatenate(flat) if len(flat) > 1 else flat[0], function(*numbers))


def _implement_by_index(function: Any) -> Function:
    """Implement a function of one array that only moves elements."""

    def implementation(a: Any, *args: Any, **kwargs: Any) -> Any:
        return move_by_index(lambda numbers: function(numbers, *args, **kwargs), a)

    implementation.__name__ = function.__name__
    return implementation


def _implement_by_shape(function: Any) -> Function:
    """Implement a function that only reshapes: apply it to an empty array for the shape."""

    def implementation(a: Any, *args: Any, **kwargs: Any) -> Any:
        return reshape(a, function(np.empty(shape_of(a), bool), *args, **kwargs).shape)

    return implementation


def _implement_at_least(function: Any) -> Function:
    one = _implement_by_shape(function)
    return lambda *arys: one(*arys) if len(arys) == 1 else tuple(one(each) for each in arys)


_INDEX_FUNCTIONS: tuple[Any, ...] = (
    *(np.tile, np.repeat, np.take_along_axis, np.resize, np.delete),
    np.lib.stride_tricks.sliding_window_view,
)
_SHAPE_FUNCTIONS_OF_ONE: tuple[Any, ...] = (np.expand_dims, np.squeeze)
_RANKS: tuple[Any, ...] = (np.atleast_1d, np.atleast_2d, np.atleast_3d)
FUNCTIONS.update({function: _implement_by_index(function) for function in _INDEX_FUNCTIONS})
FUNCTIONS.update({function: _implement_by_shape(function) for function in _SHAPE_FUNCTIONS_OF_ONE})
FUNCTIONS.update({function: _implement_at_least(function) for function in _RANKS})


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: Any = "raise"
) -> Any:
    """Take elements by index; the indices may differ between the examples of a batch."""
    indices = to_plain(indices)
    if not isinstance(indices, Traced):
        return move_by_index(lambda numbers: np.take(numbers, indices, axis, mode=mode), a)
    a, axis = (a, axis) if axis is not None else (ravel(a), 0)
    (position,), axes = axes_of(a, axis), range(len(shape_of(indices)))
    table = moveaxis(a, position, 0)
    taken = getitem(table, _bound_indices(indices, shape_of(table)[0], mode))
    return moveaxis(taken, tuple(axes), tuple(position + k for k in axes))


def _bound_indices(indices: Any, size: int, mode: str) -> Any:
    """Return indices along an axis, with those outside of it handled as np.take's `mode` says."""
    if mode == "raise":
        return indices
    return indices % size if mode == "wrap" else np.minimum(np.maximum(indices, 0), size - 1)


@implements(np.roll)
def roll_(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes; those that leave at the end come back at the start."""
    rank = len(shape_of(a))
    if axis is None:
        total = (shift if type(shift) is int else int(np.sum(shift)),)
        if rank == 1:
            return roll(a, total, (0,))
        return reshape(roll(reshape(a, (-1,)), total, (0,)), shape_of(a))
    axes = normalize_axis_tuple(axis, rank, allow_duplicate=True)
    shifts = shift if type(shift) is tuple else (shift,)
    if len(shifts) != len(axes) or not all([isinstance(n, (int, np.integer)) for n in shifts]):
        both = np.broadcast_arrays(np.atleast_1d(shift), axes)
        shifts, axes = both[0].tolist(), tuple(both[1].tolist())
    return roll(a, tuple([int(n) for n in shifts]), axes)


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse axes."""
    axes = axes_of(m, axis)
    turned = tuple(slice(None, None, -1 if i in axes else None) for i in range(len(shape_of(m))))
    return getitem(m, turned) if turned else m


FUNCTIONS[np.fliplr] = lambda m: flip(m, 1)
FUNCTIONS[np.flipud] = lambda m: flip(m, axis_of(m, 0))


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Rotate a plane by right angles."""
    axes_of(m, tuple(axes))  # rejects an axis that is given twice
    m = getitem(m, slice(None))  # a view, also where there is nothing to rotate
    for _ in range(k % 4):
        m = flip(swapaxes(m, *axes), axes[0])
    return m


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis back: np.rollaxis, NumPy's predecessor of moveaxis."""
    axes = np.rollaxis(np.empty(range(len(shape_of(a)))), axis, start).shape
    return transpose(a, axes)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Broadcast all arrays to their common shape."""
    new = np.broadcast_shapes(*[np.shape(to_plain(a)) for a in args])
    return tuple(np.broadcast_to(a, new) for a in args)


def _implement_split(function: Any) -> Function:
    def implementation(ary: Any, *args: Any, **kwargs: Any) -> list[Any]:
        numbers = np.arange(np.prod(shape_of(ary), dtype=int)).reshape(shape_of(ary))
        flat = reshape(ary, (-1,))
        return [getitem(flat, part) for part in function(numbers, *args, **kwargs)]

    return implementation


_SPLITTING: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update({function: _implement_split(function) for function in _SPLITTING})


if hasattr(np, "unstack"):  # since NumPy 2.1

    @implements(np.unstack)
    def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
        """Split into the slices along an axis, which is removed."""
        moved = moveaxis(x, axis_of(x, axis), 0)
        return tuple(getitem(moved, i) for i in range(shape_of(moved)[0]))


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> tuple[Any, ...]:
    """Return coordinate arrays of a grid."""
    if not copy:
        raise RuleError(
            "np.meshgrid(..., copy=False) of nodes is not recorded, because its results are views; "
            f"leave copy=False out{cite_line()}"
        )
    flat = [reshape(as_array(x), (-1,)) for x in xi]
    lengths = [np.arange(shape_of(x)[0]) for x in flat]
    numbers = np.meshgrid(*lengths, indexing=indexing, sparse=sparse)  # type: ignore[call-overload]
    return tuple(getitem(x, n) for x, n in zip(flat, numbers, strict=True))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal."""
    result: Any = _implement_by_index(np.diagonal)(a, offset, axis1, axis2)
    return result


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Make a diagonal matrix, or take a diagonal."""
    if len(shape_of(v)) == 2:
        return diagonal(v, k)
    n = shape_of(v)[0] + abs(k)
    i = np.arange(shape_of(v)[0])
    return scatter(v, (i + max(-k, 0), i + max(k, 0)), (n, n))


FUNCTIONS[np.diagflat] = lambda v, k=0: diag(ravel(v), k)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Keep the lower triangle."""
    rows, columns = shape_of(m)[-2:] if len(shape_of(m)) > 1 else shape_of(m) * 2
    return where_row(np.tri(rows, columns, k, bool), m, 0.0)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Keep the upper triangle."""
    rows, columns = shape_of(m)[-2:] if len(shape_of(m)) > 1 else shape_of(m) * 2
    return where_row(np.tri(rows, columns, k - 1, bool), 0.0, m)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes."""
    return swapaxes(x, -1, -2)


def astype_(
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """Convert to another dtype; integers and bools are plain, without a derivative."""
    new = dtype_of(x) if np.dtype(dtype) == object else np.dtype(dtype)  # nodes are objects
    if not copy and new == dtype_of(x):
        return lay_out(x, order)
    if new.kind not in "biufc":
        raise ValueKindError(
            f"arrays of dtype {new} have no derivative: leave out the dtype, or keep the numbers "
            f"in a list{cite_line()}"
        )
    if new.kind not in "fc":
        number = to_plain(x)
        return (number if hasattr(number, "astype") else np.asarray(number)).astype(new)
    part = real(x) if new.kind == "f" and is_complex(to_plain(x)) else x
    return astype(lay_out(part, order), new)


if hasattr(np, "astype"):  # since NumPy 2.1
    implements(np.astype)(astype_)
    RETURNING_ARGUMENT.add(np.astype)
