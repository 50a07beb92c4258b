"""Rows: elements by their places: chosen, put, written, joined, added up one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.linear import ZERO, Linear
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.shapes import fit, linear, shape_of
from simpleautodiff.traced import plain


def _cumsum_back(bar: Any, x: Any, axis: int) -> Any:
    index = (slice(None),) * axis + (slice(None, None, -1),)
    return getitem(cumsum(getitem(bar, index), axis), index)


cumsum: Wrapping = linear(
    "cumsum",
    np.cumsum,
    _cumsum_back,
    1,
    "an element counts in every sum from its own on",
)


def _scatter(x: Any, index: Any, new: tuple[int, ...]) -> Any:
    """Put elements into an array of zeros; what falls on one place is added up."""
    out = np.zeros(new, np.result_type(x))
    if _is_basic(index):
        out[index] = x
    else:
        np.add.at(out, index, x)
    return out


def _is_basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is ... or isinstance(part, (int, slice)) for part in parts)


getitem: Wrapping = linear(
    "getitem",
    lambda x, index: x[index],
    lambda bar, x, index: scatter(bar, index, shape_of(x)),
    1,
    "the chosen elements; those not chosen do not count",
)
scatter: Wrapping = linear(
    "scatter",
    _scatter,
    lambda bar, x, index, new: getitem(bar, index),
    2,
    "each element counts where it was put",
)


def _set_item(x: Any, value: Any, index: Any) -> Any:
    out = np.array(x, dtype=np.result_type(x, value))
    out[index] = value
    return out


def _written(v: Any, x: Any, value: Any, index: Any) -> Linear:
    """Return the local derivative of a written array in what was written."""
    zeros = np.zeros(shape_of(v), np.result_type(plain(v)))
    return Linear(
        lambda dot: set_item(zeros, dot, index),
        lambda bar: fit(getitem(bar, index), value),
        True,
    )


set_item: Wrapping = row(
    "set_item",
    lambda v, x, value, index: Linear(
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
)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along an axis; each part counts in its own place."""
    axis %= len(shape_of(parts[0]))
    ends = itertools.accumulate(shape_of(part)[axis] for part in parts)
    return _joining(len(parts))((axis, (0, *ends)), *parts)


_JOINS: dict[int, Wrapping] = {}


def _joining(count: int) -> Wrapping:
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
        )
    return _JOINS[count]


def _part_rule(k: int) -> Callable[..., Linear]:
    def rule(v: Any, places: Any, *parts: Any) -> Linear:
        axis, bounds = places
        index = (slice(None),) * axis + (slice(bounds[k], bounds[k + 1]),)
        return Linear(
            lambda dot: scatter(dot, index, shape_of(v)), lambda bar: getitem(bar, index), True
        )

    return rule
