"""Reading and writing at indices that differ between the examples of a batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, as_array
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import (
    find_batches,
    flat_indices,
    getitem,
    mark_index,
    set_item,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.pytree import flatten, map_leaves


def is_plain_index(index: Any) -> bool:
    """Tell whether an index has integers, slices and arrays only."""
    kind = type(index)
    return kind in _PLAIN_PARTS or (kind is tuple and _PLAIN_PARTS.issuperset(map(type, index)))


def to_plain_index(index: Any) -> Any:
    """Return an index without nodes; a list with opaque integers is an array, as NumPy reads it."""
    if is_plain_index(index):
        return index
    if isinstance(index, tuple):
        return tuple([_to_plain_part(part) for part in index])
    return _to_plain_part(index)


_PLAIN_PARTS = {int, slice, type(None), type(...), np.int64, np.ndarray}


def _to_plain_part(part: Any) -> Any:
    part = map_leaves(lambda each: to_plain(take_current(each)), part)
    if isinstance(part, list) and any([isinstance(leaf, Traced) for leaf in flatten(part)[0]]):
        return FUNCTIONS[np.asarray](part)
    return part


def put_each(array: Any, value: Any, index: Any) -> Any:
    """Return the array with `value` written at `index`; a mask that differs becomes a `where`."""
    full = shape_of(array)
    if any([part.dtype == np.bool_ for part in find_batches(index)]):  # type: ignore[attr-defined]
        if math.prod(shape_of(value)) == 1:
            value = reshape(as_array(value), ())
        if len(shape_of(value)) <= _count_whole_axes(index, full):
            return where(mark_index(index, full), value, array)
    places = flat_indices(index, full)
    if has_repeats(places):
        return put_last(array, value, index)
    return reshape(set_item(reshape(array, (-1,)), value, places), full)


def _count_whole_axes(index: Any, full: tuple[int, ...]) -> int:
    """Return how many axes behind the last mask of an index are written whole.

    A value with no more axes than these is the same for all that the masks select.
    """
    parts = index if isinstance(index, tuple) else (index,)
    whole = [part is ... or (isinstance(part, slice) and part == slice(None)) for part in parts]
    count = whole[::-1].index(False)
    chosen, behind = parts[: len(parts) - count], parts[len(parts) - count :]
    if not _is_mask(chosen[-1]):
        return 0
    if any(part is ... for part in chosen):
        return len(behind)
    ranks = [len(shape_of(x)) if _is_mask(x) else x is not None for x in chosen]
    return len(full) - sum(ranks)


def _is_mask(part: Any) -> bool:
    return isinstance(part, (Traced, np.ndarray)) and dtype_of(part) == np.bool_


def is_recorded_mask(index: Any) -> bool:
    """Tell whether an index is a mask that differs from call to call of a recorded function."""
    return (
        isinstance(index, Traced)
        and index.opaque
        and not find_batches(index)
        and dtype_of(index) == np.bool_
    )


def put_where(array: Any, value: Any, mask: Any) -> Any:
    """Return the array with `value` written where a recorded mask holds; None if it cannot be.

    If the same value is written everywhere, that is a `where`. How many different values a mask
    would need is not known when it is recorded.
    """
    rest = len(shape_of(array)) - len(shape_of(mask))
    if len(shape_of(value)) > rest:
        return None
    return where(reshape(mask, (*shape_of(mask), *(1,) * rest)), value, array)


def take_each(array: Any, index: Any) -> Any:
    """Return the elements that an index selects."""
    return getitem(reshape(array, (-1,)), flat_indices(index, shape_of(array)))


def is_single(index: Any) -> bool:
    """Tell whether an index of batches selects one subarray, for which NumPy returns a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or (shape_of(part) == () and not isinstance(part, list))
        for part in parts
        if not isinstance(part, slice)
    )


def has_repeats(places: Any) -> bool:
    """Tell whether an index occurs more than once, in any example."""
    count = math.prod(shape_of(places))
    while find_batches(places):
        places = places.value
    lines = np.sort(np.reshape(places, (-1, max(count, 1))), axis=-1)
    return bool(np.any(lines[:, 1:] == lines[:, :-1]))


def put_last(array: Any, value: Any, index: Any) -> Any:
    """Return the array with `value` written at `index`; for repeated indices the last one wins.

    NumPy writes the positions of the elements of `value`, to find which of them remain.
    """
    full, given = shape_of(array), shape_of(value)
    origins = _find_origins(index, full, given)
    flat = reshape(as_array(value), (-1,))
    return where(origins >= 0, getitem(flat, np.maximum(origins, 0)), array)


def _find_origins(index: Any, full: tuple[int, ...], given: tuple[int, ...]) -> Any:
    """Return which element of the written value each element retains; -1 if none."""
    batches = find_batches(index)
    if batches:
        level: Any = max((part.level for part in batches), key=lambda level: level.number)
        return level.one_by_one(lambda one: _find_origins(one, full, given), (index,))
    origins = np.full(full, -1)
    origins[index] = np.arange(math.prod(given)).reshape(given)
    return origins
