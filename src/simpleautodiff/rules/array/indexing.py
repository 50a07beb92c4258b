"""Rows that select, scatter, write and join elements by index; and cumulative sums."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO, Linear, LinearRule
from simpleautodiff.core.primitive import TABLE, Kink
from simpleautodiff.errors import ArgumentError, LostDerivativeError, cite_line
from simpleautodiff.rules.array.shapes import (
    broadcast_to,
    fit,
    linear_row,
    pad_rank,
    reshape,
    shape_of,
    shift_axes,
    transpose,
)
from simpleautodiff.rules.branches import masked
from simpleautodiff.rules.multiples import carry_root
from simpleautodiff.rules.row import Wrapping, add_kinks, row
from simpleautodiff.values.other_arrays import Foreign


def _cumsum_back(bar: Any, _x: Any, axis: int) -> Any:
    index = (slice(None),) * axis + (slice(None, None, -1),)
    return getitem(cumsum(getitem(bar, index), axis), index)


cumsum: Wrapping = linear_row(
    "cumsum",
    np.cumsum,
    _cumsum_back,
    1,
    "an element is a term of every partial sum from its own position on",
    lambda size, x, axis: cumsum(x, axis + 1),
)


def _scatter(x: Any, index: Any, new: tuple[int, ...]) -> Any:
    """Put elements into an array of zeros; those with the same index are added."""
    if type(x) is Foreign:
        return x.scatter(index, new)
    out = np.zeros(new, x.dtype if type(x) is np.ndarray else np.result_type(x))
    if is_basic(index):
        out[index] = x
    else:
        np.add.at(out, index, x)
    return out


def is_basic(index: Any) -> bool:
    """Tell whether an index has only integers and slices, so that NumPy would return a view."""
    if type(index) is int or type(index) is slice:
        return True
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None
        or part is ...
        or (isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool))
        for part in parts
    )


def is_same_for_all(index: Any) -> bool:
    """Tell whether an index has integers and slices only, recorded ones too, and no batches."""
    parts = index if isinstance(index, tuple) else (index,)
    return is_basic(tuple([0 if _is_recorded_integer(part) else part for part in parts]))


def _is_recorded_integer(part: Any) -> bool:
    return is_recorded(part) and part.shape == () and part.dtype.kind in "iu"


UNEQUAL_MASKS = """a mask that chooses more elements in one example of a batch than in another: \
use all elements, and np.where(mask, new, old), or np.sum(x, where=mask); y[mask] = number is such \
a choice, too"""


def flat_indices(index: Any, full: tuple[int, ...]) -> Any:
    """Return the flat indices of the elements that an index selects in an array of shape `full`."""
    batches = find_batches(index)
    if batches and isinstance(index, tuple):
        level: Any = max((part.level for part in batches), key=lambda level: level.number)
        try:
            return level.one_by_one(lambda one: flat_indices(one, full), (index,))
        except ArgumentError:
            raise LostDerivativeError(UNEQUAL_MASKS + cite_line()) from None
    indices = np.arange(math.prod(full)).reshape(full)
    return getitem(indices, index) if batches or is_recorded(index) else indices[index]


def mark_index(index: Any, full: tuple[int, ...]) -> Any:
    """Return the mask of the elements that an index selects in an array of shape `full`."""
    batches = find_batches(index)
    if batches:
        level: Any = max((part.level for part in batches), key=lambda level: level.number)
        return level.one_by_one(lambda one: mark_index(one, full), (index,))
    mask = np.zeros(full, bool)
    mask[index] = True
    return mask


def find_batches(index: Any) -> list[Traced]:
    """Return the parts of an index that are batches, so that they differ between examples."""
    parts = index if isinstance(index, tuple) else (index,)
    return [
        part for part in parts if isinstance(part, Traced) and hasattr(part.level, "one_by_one")
    ]


def _index_batch(index: Any) -> tuple[Any, ...]:
    """Return the index of a batch that applies a basic index to every example."""
    return (slice(None), *(index if isinstance(index, tuple) else (index,)))


def _flat_batch_indices(size: int, index: Any, full: tuple[int, ...]) -> Any:
    """Return the flat indices that a batched index selects in a stack of `size` arrays."""
    indices = flat_indices(index, full)
    starts = np.arange(size).reshape(-1, *(1,) * len(shape_of(indices)))
    return indices + starts * math.prod(full)


def _getitem_batch(size: int, x: Any, index: Any) -> Any:
    if is_same_for_all(index):
        return getitem(x, _index_batch(index))
    full = shape_of(x)[1:]
    if find_batches(index):
        return getitem(reshape(x, (-1,)), _flat_batch_indices(size, index, full))
    if isinstance(index, np.ndarray) and len(full) == 1 and index.dtype != bool:
        return _take_each(x, index)
    if not isinstance(index, tuple):
        return getitem(x, _index_batch(index))
    return _take_each(reshape(x, (size, math.prod(full))), flat_indices(index, full))


def _take_each(x: Any, indices: Any) -> Any:
    """Select the same elements of every vector; they lie in memory in the order of the indices."""
    axes = sorted(range(indices.ndim), key=lambda axis: -abs(indices.strides[axis]))
    taken = getitem(x, (slice(None), indices.transpose(axes)))
    if axes == sorted(axes):
        return taken
    return transpose(taken, (0, *[1 + axes.index(axis) for axis in range(indices.ndim)]))


def _scatter_batch(size: int, x: Any, index: Any, new: tuple[int, ...]) -> Any:
    if is_same_for_all(index):
        return scatter(x, _index_batch(index), (size, *new))
    if find_batches(index):
        flat = scatter(x, _flat_batch_indices(size, index, new), (size * math.prod(new),))
        return reshape(flat, (size, *new))
    indices = (slice(None), flat_indices(index, new))
    return reshape(scatter(x, indices, (size, math.prod(new))), (size, *new))


def _getitem_back(bar: Any, _x: Any, index: Any) -> Any:
    """Scatter the adjoints of the selected elements; all others are structural zeros."""
    return _place(bar, index, shape_of(_x))


def _place(derivative: Any, index: Any, full: tuple[int, ...]) -> Any:
    """Put a derivative into an array of shape `full`; all other elements are structural zeros."""
    if is_recorded(index):
        marked = scatter(record_with(index, np.ones(shape_of(derivative))), index, full) > 0
    else:
        marked = mark_index(index, full)
    return _mask_adjoint(scatter(record_with(index, derivative), index, full), marked)


def is_recorded(index: Any) -> bool:
    """Tell whether an index is a symbol, so that it differs from call to call."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Traced) for part in parts) and not find_batches(index)


def record_with(index: Any, x: Any) -> Any:
    """Return an array on the level of a recorded index, so that both are in one program."""
    if isinstance(x, Traced) or not is_recorded(index):
        return x
    parts = index if isinstance(index, tuple) else (index,)
    level: Any = next(part.level for part in parts if isinstance(part, Traced))
    return level.own(x)


def _mask_adjoint(bar: Any, mask: Any) -> Any:
    """Return an adjoint that exists only at the marked elements."""
    array = to_plain(bar)
    if type(array) is Foreign:
        mask = Foreign(array.convert(mask), array.xp)
    return masked(bar, mask)


getitem: Wrapping = linear_row(
    "getitem",
    operator.getitem,
    _getitem_back,
    1,
    "the derivative is 1 for the selected elements and 0 for the others",
    _getitem_batch,
    moves=True,
)


def _has_ties(x: Any, indices: Any, axis: int) -> bool:
    """Tell whether a selected element equals another one along the axis."""
    chosen = np.moveaxis(x[indices], axis, -1)
    outer = chosen.shape[:-1]
    lines = np.moveaxis(x.reshape(_infer_axis(indices.shape, axis, x.size)), axis, -1)
    for line in np.ndindex(*outer):
        values, counts = np.unique(lines[line], return_counts=True)
        if np.any(np.isin(chosen[line], values[counts > 1])):
            return True
    return False


def _infer_axis(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """Return the shape with -1 for one axis, whose length NumPy infers from the size."""
    new = [*shape]
    new[axis] = -1 if size else 0
    return tuple(new)


@cache
def getitem_by_rank(axis: int) -> Wrapping:
    """Return `getitem` for sorting along an axis, which has a kink where elements are equal."""
    choice = "each retains its own derivative, in the original order"
    return add_kinks(
        getitem, Kink("equal elements", lambda x, indices: _has_ties(x, indices, axis), choice)
    )


roll: Wrapping = linear_row(
    "roll",
    np.roll,
    lambda bar, _x, shift, axis: roll(bar, tuple(-n for n in shift), axis),
    2,
    "the same elements at other positions",
    lambda size, x, shift, axis: roll(x, shift, shift_axes(axis, len(shape_of(x)) - 1)),
    moves=True,
)
scatter: Wrapping = linear_row(
    "scatter",
    _scatter,
    lambda bar, _x, index, _new: getitem(bar, index),
    2,
    "each element receives the adjoint at its index",
    _scatter_batch,
    push=lambda dot, _x, index, new: _place(dot, index, new),
)


def _set_item(x: Any, value: Any, index: Any) -> Any:
    foreign = x if type(x) is Foreign else value
    if type(foreign) is Foreign:
        return Foreign(foreign.convert(x), foreign.xp).with_item(value, index)
    out = np.array(x, dtype=np.result_type(x, value))
    out[index] = value
    return out


def _written_rule(_v: Any, _x: Any, _value: Any, index: Any) -> Linear:
    """Return the local derivative of a write with respect to the written value."""

    def push(dot: Any) -> Any:
        written = set_item(np.zeros(shape_of(_v), np.result_type(to_plain(_v))), dot, index)
        return _mask_adjoint(written, _mark(index, shape_of(_v)))

    return Linear(push, lambda bar: fit(getitem(bar, index), _value), True)


def _set_item_batch(size: int, which: tuple[bool, ...], x: Any, value: Any, index: Any) -> Any:
    x = x if which[0] else broadcast_to(x, (size, *shape_of(x)))
    full = shape_of(x)[1:]
    indices = flat_indices(index, full)
    value = pad_rank(value, len(shape_of(indices))) if which[1] else value
    if is_same_for_all(index):
        return set_item(x, value, _index_batch(index))
    if find_batches(index):
        flat = set_item(reshape(x, (-1,)), value, _flat_batch_indices(size, index, full))
        return reshape(flat, (size, *full))
    if not full:  # an array without axes, written to by a mask
        return reshape(set_item(reshape(x, (size, 1)), value, (slice(None), indices)), (size,))
    return set_item(x, value, (slice(None), *np.unravel_index(indices, full)))


def _mark(index: Any, full: tuple[int, ...]) -> Any:
    """Return the mask of the elements that a write changes, also where that is recorded."""
    return set_item(np.zeros(full), 1, index) > 0 if is_recorded(index) else mark_index(index, full)


def _carry_past_write(derivative: Any, _x: Any, _value: Any, index: Any) -> Any:
    """Return the derivative of what a write left as it was: 0 where it was overwritten."""
    return _mask_adjoint(set_item(derivative, 0, index), ~_mark(index, shape_of(derivative)))


set_item: Wrapping = row(
    "set_item",
    LinearRule(_carry_past_write, _carry_past_write, True),
    _written_rule,
    ZERO,
    value=_set_item,
    numpy=(),
    text="{0} with [{2}] = {1}",
    latex=r"{0}[{2} \leftarrow {1}]",
    arrays=True,
    reason="overwritten elements have the derivative 0; written ones receive the adjoints there",
    settings=(2,),
    batch=_set_item_batch,
    squared=(),
    restate=lambda *args: carry_root(TABLE["set_item"], *args),
)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along an axis."""
    axis %= len(shape_of(parts[0]))
    ends = itertools.accumulate(shape_of(part)[axis] for part in parts)
    return make_concatenate(len(parts))((axis, (0, *ends)), *parts)


def _concatenate_batch(size: int, which: tuple[bool, ...], setting: Any, *parts: Any) -> Any:
    full = [
        part if is_batched else broadcast_to(part, (size, *shape_of(part)))
        for part, is_batched in zip(parts, which[1:], strict=True)
    ]
    return concatenate(full, setting[0] + 1)


_CONCATENATES: dict[int, Any] = {}


def make_concatenate(count: int) -> Wrapping:
    """Return the row that joins `count` arrays, given the axis and the bounds of the parts."""
    if count not in _CONCATENATES:
        _CONCATENATES[count] = row(
            "concatenate",
            ZERO,
            *[_part_rule(k) for k in range(count)],
            value=lambda setting, *parts: np.concatenate(parts, setting[0]),
            numpy=(),
            text="concatenate({1}, ...)",
            latex=r"\operatorname{{concatenate}}(\ldots)",
            arrays=True,
            reason="each part receives its own section of the adjoint",
            settings=(0,),
            listed=False,
            batch=_concatenate_batch,
            squared=(),
            restate=lambda *args: carry_root(_CONCATENATES[count].primitive, *args),
        )
    wrapping: Wrapping = _CONCATENATES[count]
    return wrapping


def _part_rule(k: int) -> Callable[..., Linear]:
    def rule(_v: Any, setting: Any, *_parts: Any) -> Linear:
        axis, bounds = setting
        index = (slice(None),) * axis + (slice(bounds[k], bounds[k + 1]),)
        return Linear(
            lambda dot: _place(dot, index, shape_of(_v)), lambda bar: getitem(bar, index), True
        )

    return rule


_STACKS: dict[int, Any] = {}


def make_stack(count: int) -> Wrapping:
    """Return the row that makes a vector of `count` numbers."""
    if count not in _STACKS:
        _STACKS[count] = row(
            "stack",
            *[_element_rule(k) for k in range(count)],
            value=lambda *numbers: np.array(numbers),
            numpy=(),
            text="[{0}, ...]",
            latex=r"\left[{0}, \ldots\right]",
            arrays=True,
            reason="each number receives the adjoint of its element",
            listed=False,
            squared=(),
            restate=lambda *args: carry_root(_STACKS[count].primitive, *args),
        )
    wrapping: Wrapping = _STACKS[count]
    return wrapping


def _element_rule(k: int) -> Callable[..., Linear]:
    def rule(_v: Any, *_numbers: Any) -> Linear:
        return Linear(lambda dot: _place(dot, k, shape_of(_v)), lambda bar: getitem(bar, k), True)

    return rule
