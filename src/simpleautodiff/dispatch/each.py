"""Reading and writing at places that differ from example to example of a batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.errors import LostDerivativeError, at_line
from simpleautodiff.rules.indexing import batches_in, flat_places, getitem, marks, set_item
from simpleautodiff.rules.piecewise import where
from simpleautodiff.rules.shapes import reshape, shape_of


def put_each(array: Any, value: Any, index: Any) -> Any:
    """Return the array with what is written to it; a mask that differs is a choice."""
    full = shape_of(array)
    masks = [part for part in batches_in(index) if part.dtype == np.bool_]  # type: ignore[attr-defined]
    if masks and len(shape_of(value)) <= len(full) - max(len(shape_of(m)) for m in masks):
        return where(marks(index, full), value, array)
    places = flat_places(index, full)
    check_once(places)
    return reshape(set_item(reshape(array, (-1,)), value, places), full)


def take_each(array: Any, index: Any) -> Any:
    """Return the elements that an index chooses."""
    return getitem(reshape(array, (-1,)), flat_places(index, shape_of(array)))


def is_single(index: Any) -> bool:
    """Tell whether an index of batches names one place or one row, so that NumPy gives a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or shape_of(part) == () for part in parts if not isinstance(part, slice)
    )


def check_once(places: Any) -> None:
    """Refuse writes that NumPy does differently from what can be recorded."""
    count = math.prod(shape_of(places))
    while batches_in(places):
        places = places.value
    lines = np.sort(np.reshape(places, (-1, max(count, 1))), axis=-1)
    if np.any(lines[:, 1:] == lines[:, :-1]):
        raise LostDerivativeError(
            f"the index of a write names an element twice, and only the last would count; write "
            f"them one after the other{at_line()}"
        )
