"""Other shapes, other orders, arrays joined and split: elements that only move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.numpy.reductions import axes_of, axis_of
from simpleautodiff.arrays.registry import FUNCTIONS, Function, answers, as_array, to_dtype
from simpleautodiff.core.level import Traced, concrete, plain
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import astype, dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem, roll, scatter
from simpleautodiff.rules.array.shapes import reshape, shape_of, transpose
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import pos
from simpleautodiff.rules.scalar.complex_parts import real
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.pytree import flatten


@answers(np.reshape)
def reshape_(a: Any, shape: Any, order: str = "C") -> Any:
    """Give another shape."""
    new = shape
    if type(shape) is not tuple or {*map(type, shape)} != {int} or min(shape) < 0:
        try:
            new = np.empty(shape_of(a), bool).reshape(shape).shape
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"reshape of shape {shape_of(a)}: {error}{cite_line()}") from None
    if _by_columns(order):
        return transpose(reshape(transpose(a, None), new[::-1]), None)
    return reshape(a, new)


@answers(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """Write all elements in a row: a view where they lie so, a copy elsewhere, as in NumPy."""
    a = transpose(a, None) if _by_columns(order) else a
    return reshape(a if _is_in_a_row(a) else pos(a), (-1,))


def _is_in_a_row(a: Any) -> bool:
    """Tell whether the elements lie side by side; of a batch, those of one example."""
    array = one_of(a)
    return array is None or bool(array.flags.c_contiguous)


def one_of(x: Any) -> Any:
    """Return an array that lies as that of a node does; None if there is none to go by.

    There is none where an array has no elements, or has given away its memory. Of a batch it is
    one that lies as that of one example would, without the others between its elements.
    """
    array = concrete(x)
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


def _by_columns(order: str) -> bool:
    """Tell whether elements are counted column by column; refuse to count them as they lie."""
    if order not in ("C", "F"):
        raise ArgumentError(
            f"order={order!r} goes by how an array lies in memory, which a node does not say: "
            f"write order='C' (row by row) or order='F' (column by column){cite_line()}"
        )
    return order == "F"


@answers(np.transpose)
def transpose_(a: Any, axes: Any = None) -> Any:
    """Put the axes in another order."""
    return transpose(a, None if axes is None else _permutation(a, axes))


def _permutation(a: Any, axes: Any) -> tuple[int, ...]:
    """Return the axes counted from the front, each of them once."""
    order = axes_of(a, tuple(axes))
    if sorted(order) != list(range(len(shape_of(a)))):
        raise ArgumentError(f"axes {tuple(axes)} do not order those of an array of {shape_of(a)}")
    return order


@answers(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    axes = list(range(len(shape_of(a))))
    (i,), (j,) = axes_of(a, axis1), axes_of(a, axis2)
    axes[i], axes[j] = j, i
    return transpose(a, tuple(axes))


@answers(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places."""
    moved, places = axes_of(a, source), axes_of(a, destination)
    order = [i for i in range(len(shape_of(a))) if i not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return transpose(a, tuple(order))


def numbered(function: Function, *arrays: Any, look_up: Function = getitem) -> Any:
    """Answer a function that only moves elements: do it to their numbers, then look them up."""
    numbers, start = [], 0
    for array in arrays:
        size = int(np.prod(shape_of(array), dtype=int))
        numbers.append(np.arange(start, start + size).reshape(shape_of(array)))
        start += size
    flat = [reshape(array, (-1,)) for array in arrays]
    return look_up(concatenate(flat) if len(flat) > 1 else flat[0], function(*numbers))


def _by_index(function: Any) -> Function:
    """Answer a function of one array that only moves elements."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        return numbered(lambda numbers: function(numbers, *args, **kwargs), a)

    program.__name__ = function.__name__
    return program


def _by_shape(function: Any) -> Function:
    """Answer a function that only gives another shape: do it to an empty array first."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        return reshape(a, function(np.empty(shape_of(a), bool), *args, **kwargs).shape)

    return program


def _at_least(function: Any) -> Function:
    one = _by_shape(function)
    return lambda *arys: one(*arys) if len(arys) == 1 else tuple(one(each) for each in arys)


_MOVING: tuple[Any, ...] = (
    *(np.tile, np.repeat, np.take_along_axis, np.resize, np.delete),
    np.lib.stride_tricks.sliding_window_view,
)
_SHAPING: tuple[Any, ...] = (np.expand_dims, np.squeeze)
_RANKS: tuple[Any, ...] = (np.atleast_1d, np.atleast_2d, np.atleast_3d)
FUNCTIONS.update({function: _by_index(function) for function in _MOVING})
FUNCTIONS.update({function: _by_shape(function) for function in _SHAPING})
FUNCTIONS.update({function: _at_least(function) for function in _RANKS})


@answers(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: Any = "raise"
) -> Any:
    """Take elements by their places, which may differ from example to example of a batch."""
    indices = plain(indices)
    if not isinstance(indices, Traced):
        return numbered(lambda numbers: np.take(numbers, indices, axis, mode=mode), a)
    a, axis = (a, axis) if axis is not None else (ravel(a), 0)
    (place,), axes = axes_of(a, axis), range(len(shape_of(indices)))
    table = moveaxis(a, place, 0)
    taken = getitem(table, _inside(indices, shape_of(table)[0], mode))
    return moveaxis(taken, tuple(axes), tuple(place + k for k in axes))


def _inside(places: Any, size: int, mode: str) -> Any:
    """Return places along an axis, those outside of it as np.take's `mode` says."""
    if mode == "raise":
        return places
    return places % size if mode == "wrap" else np.minimum(np.maximum(places, 0), size - 1)


@answers(np.roll)
def roll_(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes; what falls off the end comes back at the start."""
    rank = len(shape_of(a))
    if axis is None:
        places = (shift if type(shift) is int else int(np.sum(shift)),)
        if rank == 1:
            return roll(a, places, (0,))
        return reshape(roll(reshape(a, (-1,)), places, (0,)), shape_of(a))
    shifts, axes = np.broadcast_arrays(
        np.atleast_1d(shift), normalize_axis_tuple(axis, rank, allow_duplicate=True)
    )
    return roll(a, tuple(shifts.tolist()), tuple(axes.tolist()))


@answers(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Turn axes round."""
    axes = axes_of(m, axis)
    turned = tuple(slice(None, None, -1 if i in axes else None) for i in range(len(shape_of(m))))
    return getitem(m, turned) if turned else m


FUNCTIONS[np.fliplr] = lambda m: flip(m, 1)
FUNCTIONS[np.flipud] = lambda m: flip(m, axis_of(m, 0))


@answers(np.rot90)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Turn a plane by right angles."""
    axes_of(m, tuple(axes))  # one that is given twice is refused
    for _ in range(k % 4):
        m = flip(swapaxes(m, *axes), axes[0])
    return m


@answers(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis back, in the old way of NumPy."""
    axes = np.rollaxis(np.empty(range(len(shape_of(a)))), axis, start).shape
    return transpose(a, axes)


@answers(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Give all arrays their common shape."""
    new = np.broadcast_shapes(*[np.shape(plain(a)) for a in args])
    return tuple(np.broadcast_to(a, new) for a in args)


@answers(np.concatenate)
def concatenate_(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays."""
    parts = [as_array(a) for a in arrays]
    if axis is None:
        parts, axis = [reshape(a, (-1,)) for a in parts], 0
    if not all(shape_of(a) for a in parts):
        raise ArgumentError("single numbers have no axis to join along; use np.stack")
    axis = axis_of(parts[0], axis)
    if len({(*shape_of(a)[:axis], *shape_of(a)[axis + 1 :], len(shape_of(a))) for a in parts}) > 1:
        raise InputError(
            f"arrays of shapes {', '.join(str(shape_of(a)) for a in parts)} cannot be joined along "
            f"axis {axis}: all their other axes must have equal lengths{cite_line()}"
        )
    joined = concatenate(parts, axis)
    return joined if dtype is None else to_dtype(joined, dtype)


@answers(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays."""
    return concatenate_([arr, values], axis)


@answers(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Any:
    """Join arrays along a new axis."""
    parts = [as_array(a) for a in arrays]
    if len({shape_of(a) for a in parts}) != 1:
        raise ArgumentError(f"np.stack needs equal shapes, not {[shape_of(a) for a in parts]}")
    (place,) = normalize_axis_tuple(axis, len(shape_of(parts[0])) + 1)
    new = [reshape(a, (*shape_of(a)[:place], 1, *shape_of(a)[place:])) for a in parts]
    return concatenate_(new, place, dtype)


def _each(function: Any, arrays: Sequence[Any]) -> list[Any]:
    return [FUNCTIONS[function](as_array(a)) for a in arrays]


@answers(np.vstack)
def vstack(tup: Sequence[Any], dtype: Any = None) -> Any:
    """Join arrays as rows."""
    return concatenate_(_each(np.atleast_2d, tup), 0, dtype)


@answers(np.hstack)
def hstack(tup: Sequence[Any], dtype: Any = None) -> Any:
    """Join arrays side by side."""
    parts = _each(np.atleast_1d, tup)
    return concatenate_(parts, 0 if len(shape_of(parts[0])) == 1 else 1, dtype)


@answers(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join arrays in depth."""
    return concatenate_(_each(np.atleast_3d, tup), 2)


@answers(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join vectors as columns."""
    parts = [as_array(a) for a in tup]
    return concatenate_([reshape(a, (-1, 1)) if len(shape_of(a)) < 2 else a for a in parts], 1)


@answers(np.block)
def block(arrays: Any) -> Any:
    """Join blocks of blocks."""
    leaves, rebuild = flatten(arrays)
    parts = [as_array(leaf) for leaf in leaves]
    return numbered(lambda *numbers: np.block(rebuild(iter(numbers))), *parts)


@answers(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Put elements between others."""
    if not isinstance(values, Traced):
        values = np.asarray(values, dtype_of(arr))
    return numbered(lambda old, new: np.insert(old, plain(obj), new, axis), as_array(arr), values)


def _split(function: Any) -> Function:
    def program(ary: Any, *args: Any, **kwargs: Any) -> list[Any]:
        numbers = np.arange(np.prod(shape_of(ary), dtype=int)).reshape(shape_of(ary))
        flat = reshape(ary, (-1,))
        return [getitem(flat, part) for part in function(numbers, *args, **kwargs)]

    return program


_SPLITTING: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update({function: _split(function) for function in _SPLITTING})


if hasattr(np, "unstack"):  # since NumPy 2.1

    @answers(np.unstack)
    def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
        """Split into the parts along an axis, which is lost."""
        moved = moveaxis(x, axis_of(x, axis), 0)
        return tuple(getitem(moved, i) for i in range(shape_of(moved)[0]))


@answers(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False) -> tuple[Any, ...]:
    """Spread vectors over a grid."""
    flat = [reshape(as_array(x), (-1,)) for x in xi]
    lengths = [np.arange(shape_of(x)[0]) for x in flat]
    numbers = np.meshgrid(*lengths, indexing=indexing, sparse=sparse)  # type: ignore[call-overload]
    return tuple(getitem(x, n) for x, n in zip(flat, numbers, strict=True))


@answers(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal."""
    result: Any = _by_index(np.diagonal)(a, offset, axis1, axis2)
    return result


@answers(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Make a diagonal matrix, or take a diagonal."""
    if len(shape_of(v)) == 2:
        return diagonal(v, k)
    n = shape_of(v)[0] + abs(k)
    i = np.arange(shape_of(v)[0])
    return scatter(v, (i + max(-k, 0), i + max(k, 0)), (n, n))


FUNCTIONS[np.diagflat] = lambda v, k=0: diag(ravel(v), k)


@answers(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Keep the lower triangle."""
    rows, columns = shape_of(m)[-2:] if len(shape_of(m)) > 1 else shape_of(m) * 2
    return where_row(np.tri(rows, columns, k, bool), m, 0.0)


@answers(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Keep the upper triangle."""
    rows, columns = shape_of(m)[-2:] if len(shape_of(m)) > 1 else shape_of(m) * 2
    return where_row(np.tri(rows, columns, k - 1, bool), 0.0, m)


@answers(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes."""
    return swapaxes(x, -1, -2)


def astype_(x: Any, dtype: Any) -> Any:
    """Give another kind of number; as whole numbers or bools the plain ones."""
    new = np.dtype(dtype)
    if new.kind not in "fc":
        number = plain(x)
        return (number if hasattr(number, "astype") else np.asarray(number)).astype(new)
    return astype(real(x) if new.kind == "f" and is_complex(plain(x)) else x, new)


if hasattr(np, "astype"):  # since NumPy 2.1
    answers(np.astype)(astype_)
