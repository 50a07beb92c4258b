"""Other shapes, other orders, arrays joined and split: elements that only move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.dispatch.sums import axes_of
from simpleautodiff.dispatch.table import FUNCTIONS, Function, answers
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.indexing import concatenate, getitem, scatter
from simpleautodiff.rules.piecewise import where as where_row
from simpleautodiff.rules.shapes import broadcast_to, reshape, shape_of, transpose


@answers(np.reshape)
def reshape_(a: Any, shape: Any, order: str = "C") -> Any:
    """Give another shape."""
    new = np.empty(shape_of(a), bool).reshape(shape).shape
    if order == "F":
        return transpose(reshape(transpose(a, None), new[::-1]), None)
    return reshape(a, new)


@answers(np.ravel)
def ravel(a: Any) -> Any:
    """Write all elements in a row."""
    return reshape(a, (-1,))


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
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(a, tuple(axes))


@answers(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places."""
    moved, places = axes_of(a, source), axes_of(a, destination)
    order = [i for i in range(len(shape_of(a))) if i not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return transpose(a, tuple(order))


def _by_index(function: Any) -> Function:
    """Answer a function that only moves elements: do it to their numbers, then look them up."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        numbers = np.arange(np.prod(shape_of(a), dtype=int)).reshape(shape_of(a))
        return getitem(reshape(a, (-1,)), function(numbers, *args, **kwargs))

    program.__name__ = function.__name__
    return program


def _by_shape(function: Any) -> Function:
    """Answer a function that only gives another shape: do it to an empty array first."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        return reshape(a, function(np.empty(shape_of(a), bool), *args, **kwargs).shape)

    return program


_MOVING: tuple[Any, ...] = (
    *(np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.tile, np.repeat, np.take),
    *(np.take_along_axis, np.resize, np.delete, np.rollaxis),
)
_SHAPING: tuple[Any, ...] = (
    *(np.expand_dims, np.squeeze, np.atleast_1d, np.atleast_2d, np.atleast_3d),
)
FUNCTIONS.update({function: _by_index(function) for function in _MOVING})
FUNCTIONS.update({function: _by_shape(function) for function in _SHAPING})


@answers(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any) -> Any:
    """Copy along new or stretched axes."""
    return broadcast_to(array, np.broadcast_shapes(shape_of(array), shape))


@answers(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Give all arrays their common shape."""
    new = np.broadcast_shapes(*[shape_of(a) for a in args])
    return tuple(broadcast_to(a, new) for a in args)


@answers(np.concatenate)
def concatenate_(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Join arrays."""
    if axis is None:
        return concatenate([reshape(a, (-1,)) for a in arrays], 0)
    return concatenate(list(arrays), axis)


@answers(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays."""
    return concatenate_([arr, values], axis)


@answers(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along a new axis."""
    rank = len(shape_of(arrays[0])) + 1
    place = axis % rank
    new = [reshape(a, (*shape_of(a)[:place], 1, *shape_of(a)[place:])) for a in arrays]
    return concatenate(new, place)


@answers(np.vstack)
def vstack(tup: Sequence[Any]) -> Any:
    """Join arrays as rows."""
    return concatenate([FUNCTIONS[np.atleast_2d](a) for a in tup], 0)


@answers(np.hstack)
def hstack(tup: Sequence[Any]) -> Any:
    """Join arrays side by side."""
    parts = [FUNCTIONS[np.atleast_1d](a) for a in tup]
    return concatenate(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


@answers(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join arrays in depth."""
    return concatenate([FUNCTIONS[np.atleast_3d](a) for a in tup], 2)


@answers(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join vectors as columns."""
    return concatenate([reshape(a, (-1, 1)) if len(shape_of(a)) == 1 else a for a in tup], 1)


def _split(function: Any) -> Function:
    def program(ary: Any, *args: Any, **kwargs: Any) -> list[Any]:
        numbers = np.arange(np.prod(shape_of(ary), dtype=int)).reshape(shape_of(ary))
        flat = reshape(ary, (-1,))
        return [getitem(flat, part) for part in function(numbers, *args, **kwargs)]

    return program


_SPLITTING: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update({function: _split(function) for function in _SPLITTING})


@answers(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Spread vectors over a grid."""
    numbers = np.meshgrid(*[np.arange(shape_of(x)[0]) for x in xi], indexing=indexing)  # type: ignore[call-overload]
    return tuple(getitem(x, n) for x, n in zip(xi, numbers, strict=True))


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


@answers(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Keep the lower triangle."""
    rows, columns = shape_of(m)[-2:]
    return where_row(np.tri(rows, columns, k, bool), m, 0.0)


@answers(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Keep the upper triangle."""
    rows, columns = shape_of(m)[-2:]
    return where_row(np.tri(rows, columns, k - 1, bool), 0.0, m)
