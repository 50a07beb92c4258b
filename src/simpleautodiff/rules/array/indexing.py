"""Rows: elements by their places: chosen, put, written, joined, added up one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Kink
from simpleautodiff.rules.array.shapes import (
    broadcast_to,
    fit,
    lead,
    linear,
    reshape,
    shape_of,
    shifted,
)
from simpleautodiff.rules.row import Wrapping, row, with_kinks
from simpleautodiff.values.other_arrays import Foreign


def _cumsum_back(bar: Any, _x: Any, axis: int) -> Any:
    index = (slice(None),) * axis + (slice(None, None, -1),)
    return getitem(cumsum(getitem(bar, index), axis), index)


cumsum: Wrapping = linear(
    "cumsum",
    np.cumsum,
    _cumsum_back,
    1,
    "an element counts in every sum from its own on",
    lambda size, x, axis: cumsum(x, axis + 1),
)


def _scatter(x: Any, index: Any, new: tuple[int, ...]) -> Any:
    """Put elements into an array of zeros; what falls on one place is added up."""
    if type(x) is Foreign:
        return x.scatter(index, new)
    out = np.zeros(new, x.dtype if type(x) is np.ndarray else np.result_type(x))
    if is_basic(index):
        out[index] = x
    else:
        np.add.at(out, index, x)
    return out


def is_basic(index: Any) -> bool:
    """Tell whether an index is of whole numbers and slices, so that NumPy would give a view."""
    if type(index) is int or type(index) is slice:
        return True
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None
        or part is ...
        or (isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool))
        for part in parts
    )


def flat_places(index: Any, full: tuple[int, ...]) -> Any:
    """Return the places that an index chooses, counted through an array of a given shape."""
    batches = batches_in(index)
    if batches and isinstance(index, tuple):
        level: Any = max((part.level for part in batches), key=lambda level: level.number)
        return level.one_by_one(lambda one: flat_places(one, full), (index,))
    places = np.arange(math.prod(full)).reshape(full)
    return getitem(places, index) if batches else places[index]


def marks(index: Any, full: tuple[int, ...]) -> Any:
    """Return where in an array of a given shape an index chooses, as a mask."""
    batches = batches_in(index)
    if batches:
        level: Any = max((part.level for part in batches), key=lambda level: level.number)
        return level.one_by_one(lambda one: marks(one, full), (index,))
    mask = np.zeros(full, bool)
    mask[index] = True
    return mask


def batches_in(index: Any) -> list[Traced]:
    """Return the parts of an index that differ from example to example."""
    parts = index if isinstance(index, tuple) else (index,)
    return [
        part for part in parts if isinstance(part, Traced) and hasattr(part.level, "one_by_one")
    ]


def _behind(index: Any) -> tuple[Any, ...]:
    """Return a basic index of one example as that of a batch."""
    return (slice(None), *(index if isinstance(index, tuple) else (index,)))


def _in_each(size: int, index: Any, full: tuple[int, ...]) -> Any:
    """Return the places that an index of another batch chooses, counted through `size` arrays."""
    places = flat_places(index, full)
    starts = np.arange(size).reshape(-1, *(1,) * len(shape_of(places)))
    return places + starts * math.prod(full)


def _getitem_batch(size: int, x: Any, index: Any) -> Any:
    if is_basic(index):
        return getitem(x, _behind(index))
    full = shape_of(x)[1:]
    if batches_in(index):
        return getitem(reshape(x, (-1,)), _in_each(size, index, full))
    return getitem(reshape(x, (size, math.prod(full))), (slice(None), flat_places(index, full)))


def _scatter_batch(size: int, x: Any, index: Any, new: tuple[int, ...]) -> Any:
    if is_basic(index):
        return scatter(x, _behind(index), (size, *new))
    if batches_in(index):
        flat = scatter(x, _in_each(size, index, new), (size * math.prod(new),))
        return reshape(flat, (size, *new))
    places = (slice(None), flat_places(index, new))
    return reshape(scatter(x, places, (size, math.prod(new))), (size, *new))


getitem: Wrapping = linear(
    "getitem",
    lambda x, index: x[index],
    lambda bar, _x, index: scatter(bar, index, shape_of(_x)),
    1,
    "the chosen elements; those not chosen do not count",
    _getitem_batch,
)


def _ties(x: Any, places: Any, axis: int) -> bool:
    """Tell whether an element that was chosen along an axis is not the only one of its size."""
    chosen = np.moveaxis(x[places], axis, -1)
    outer = chosen.shape[:-1]
    lines = np.moveaxis(x.reshape(_with_axis(places.shape, axis, x.size)), axis, -1)
    for line in np.ndindex(*outer):
        values, counts = np.unique(lines[line], return_counts=True)
        if np.any(np.isin(chosen[line], values[counts > 1])):
            return True
    return False


def _with_axis(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """Return a shape whose given axis is as long as an array of that size needs."""
    new = [*shape]
    new[axis] = -1 if size else 0
    return tuple(new)


@cache
def ranked(axis: int) -> Wrapping:
    """Return `getitem` as sorting uses it: of equal elements along the axis, which is a choice."""
    choice = "each keeps its own derivative, in the order in which they stand"
    return with_kinks(
        getitem, Kink("equal elements", lambda x, places: _ties(x, places, axis), choice)
    )


roll: Wrapping = linear(
    "roll",
    np.roll,
    lambda bar, _x, shift, axis: roll(bar, tuple(-n for n in shift), axis),
    2,
    "the same elements in other places",
    lambda size, x, shift, axis: roll(x, shift, shifted(axis, len(shape_of(x)) - 1)),
)
scatter: Wrapping = linear(
    "scatter",
    _scatter,
    lambda bar, _x, index, _new: getitem(bar, index),
    2,
    "each element counts where it was put",
    _scatter_batch,
)


def _set_item(x: Any, value: Any, index: Any) -> Any:
    foreign = x if type(x) is Foreign else value
    if type(foreign) is Foreign:
        return Foreign(foreign.convert(x), foreign.xp).with_item(value, index)
    out = np.array(x, dtype=np.result_type(x, value))
    out[index] = value
    return out


def _written(_v: Any, _x: Any, _value: Any, index: Any) -> Linear:
    """Return the local derivative of a written array in what was written."""

    def push(dot: Any) -> Any:
        return set_item(np.zeros(shape_of(_v), np.result_type(plain(_v))), dot, index)

    return Linear(push, lambda bar: fit(getitem(bar, index), _value), True)


def _set_item_batch(size: int, which: tuple[bool, ...], x: Any, value: Any, index: Any) -> Any:
    x = x if which[0] else broadcast_to(x, (size, *shape_of(x)))
    full = shape_of(x)[1:]
    places = flat_places(index, full)
    value = lead(value, len(shape_of(places))) if which[1] else value
    if is_basic(index):
        return set_item(x, value, _behind(index))
    if batches_in(index):
        flat = set_item(reshape(x, (-1,)), value, _in_each(size, index, full))
        return reshape(flat, (size, *full))
    flat = set_item(reshape(x, (size, math.prod(full))), value, (slice(None), places))
    return reshape(flat, (size, *full))


set_item: Wrapping = row(
    "set_item",
    lambda _v, _x, _value, index: Linear(
        lambda dot: set_item(dot, 0, index), lambda bar: set_item(bar, 0, index), True
    ),
    _written,
    ZERO,
    value=_set_item,
    numpy=(),
    text="{0} with [{2}] = {1}",
    latex=r"{0}[{2} \leftarrow {1}]",
    arrays=True,
    reason="what was overwritten counts no more; what was written counts in its place",
    settings=(2,),
    batch=_set_item_batch,
)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along an axis; each part counts in its own place."""
    axis %= len(shape_of(parts[0]))
    ends = itertools.accumulate(shape_of(part)[axis] for part in parts)
    return joining(len(parts))((axis, (0, *ends)), *parts)


def _concatenate_batch(size: int, which: tuple[bool, ...], places: Any, *parts: Any) -> Any:
    full = [
        part if is_batched else broadcast_to(part, (size, *shape_of(part)))
        for part, is_batched in zip(parts, which[1:], strict=True)
    ]
    return concatenate(full, places[0] + 1)


_JOINS: dict[int, Wrapping] = {}


def joining(count: int) -> Wrapping:
    """Return the primitive that joins `count` arrays."""
    if count not in _JOINS:
        _JOINS[count] = row(
            "concatenate",
            ZERO,
            *[_part_rule(k) for k in range(count)],
            value=lambda places, *parts: np.concatenate(parts, places[0]),
            numpy=(),
            text="concatenate({1}, ...)",
            latex=r"\operatorname{{concatenate}}(\ldots)",
            arrays=True,
            reason="each part counts in its own place",
            settings=(0,),
            listed=False,
            batch=_concatenate_batch,
        )
    return _JOINS[count]


def _part_rule(k: int) -> Callable[..., Linear]:
    def rule(_v: Any, places: Any, *_parts: Any) -> Linear:
        axis, bounds = places
        index = (slice(None),) * axis + (slice(bounds[k], bounds[k + 1]),)
        return Linear(
            lambda dot: scatter(dot, index, shape_of(_v)), lambda bar: getitem(bar, index), True
        )

    return rule
