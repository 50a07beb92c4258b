"""NumPy functions that write into an array: np.put, np.copyto and their relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.registry import FUNCTIONS, IN_PLACE_FUNCTIONS, as_array, is_batch
from simpleautodiff.arrays.writes.example_indices import to_plain_index
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, Written, take_current, to_plain
from simpleautodiff.rules.array.indexing import (
    find_batches,
    flat_indices as find_flat_indices,
    getitem,
    is_recorded,
    record_with,
    scatter,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.decisions import find_written_level
from simpleautodiff.values.functions import Function


def _shape(y: Writable) -> tuple[int, ...]:
    return np.shape(to_plain(y.current))


def _make_flat_indices(y: Writable) -> Any:
    """Return the flat indices of the elements, in the shape of the array."""
    return np.arange(int(np.prod(_shape(y)))).reshape(_shape(y))


def _write(y: Writable, flat_indices: Any, values: Any) -> None:
    if _shape(y):
        y[np.unravel_index(flat_indices, _shape(y))] = values  # type: ignore[index]  # installed by `writing`
    elif np.size(flat_indices):
        y[()] = np.reshape(values, (-1,))[-1]  # type: ignore[index]


def _as_array(values: Any) -> Any:
    """Return what is written as an array; a list may contain nodes."""
    values = take_current(values)
    is_list = issubclass(type(values), (list, tuple))
    return FUNCTIONS[np.asarray](values) if is_list else as_array(values)


def _repeat(values: Any, size: int) -> Any:
    """Repeat values cyclically up to a size."""
    return np.resize(_as_array(values), size)


def put_along_axis(arr: Writable, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Write at indices along an axis."""
    numbers = _make_flat_indices(arr) if axis is not None else _make_flat_indices(arr).reshape(-1)
    _write(arr, np.take_along_axis(numbers, indices, -1 if axis is None else axis), values)


def put(a: Writable, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write at flat indices."""
    ind = to_plain(take_current(ind))
    numbers = _make_flat_indices(a).reshape(-1)
    taken = getitem(numbers, ind) if is_batch(ind) else np.take(numbers, ind, mode=mode)  # type: ignore[call-overload]
    flat_indices = np.reshape(taken, (-1,))
    _write(a, flat_indices, _repeat(v, np.size(flat_indices)))


def place(arr: Writable, mask: Any, vals: Any) -> None:
    """Write values one after another where a mask is true."""
    flat_indices = np.flatnonzero(to_plain(take_current(mask)))
    _write(arr, flat_indices, _repeat(vals, flat_indices.size))


def putmask(a: Writable, mask: Any, values: Any) -> None:
    """Write each value to its own index where a mask is true."""
    copyto(a, np.reshape(_repeat(values, _make_flat_indices(a).size), _shape(a)), where=mask)


def copyto(dst: Writable, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write a whole array, or the part of it where a mask is true."""
    src = _as_array(src)
    chosen = src if where is True else np.where(to_plain(take_current(where)), src, dst.current)
    dst[...] = np.broadcast_to(chosen, _shape(dst))  # type: ignore[index]


def fill_diagonal(a: Writable, val: Any, wrap: bool = False) -> None:
    """Write to the diagonal."""
    diagonal = np.zeros(_shape(a), bool)
    np.fill_diagonal(diagonal, True, wrap)
    place(a, diagonal, val)


def write_at(ufunc: Any, a: Any, indices: Any, *values: Any) -> None:
    """Change elements in place; at a repeated index, each time: ufunc.at."""
    indices = to_plain_index(indices)
    if not isinstance(a, (Traced, Written)):
        return ufunc.at(a, indices, *map(take_current, values))  # type: ignore[no-any-return]
    a = a.writable()
    before = a.current
    given = [to_plain(take_current(value)) for value in values]  # which may be views of the array
    _write_each(ufunc, a, indices, values)
    if find_written_level(before, values) is None and not find_batches(indices):
        a.current = give_values(a.current, _make_changed(ufunc), (before, indices, *given), {})
    return None


def _make_changed(ufunc: Any) -> Function:
    """Return a function that does what ufunc.at does, to a copy."""

    def changed(a: Any, indices: Any, *values: Any) -> Any:
        result = np.array(a)
        ufunc.at(result, indices, *values)
        return result

    return changed


def _write_each(ufunc: Any, a: Writable, indices: Any, values: Any) -> None:
    """Change elements of a writable array; sums are added up before."""
    if is_recorded(indices) and ufunc in (np.add, np.subtract):
        chosen = shape_of(getitem(record_with(indices, a.current), indices))
        given = [np.broadcast_to(_as_array(v), chosen) for v in values]
        total = scatter(*[record_with(indices, v) for v in given], indices, _shape(a))
        a.current = ufunc(a.current, total)
        return
    if find_batches(indices) and ufunc in (np.add, np.subtract):
        a.current = ufunc(a.current, _add_up_examples(indices, _shape(a), *values))
        return
    chosen = _make_flat_indices(a)[indices]
    given = [np.broadcast_to(_as_array(v), chosen.shape).reshape(-1) for v in values]
    chosen = chosen.reshape(-1)
    if ufunc in (np.add, np.subtract):
        total = scatter(*given, chosen, (math.prod(_shape(a)),))
        a.current = ufunc(a.current, reshape(total, _shape(a)))
        return
    turns = _count_previous(chosen)
    for turn in range(turns.max(initial=-1) + 1):
        now = np.flatnonzero(turns == turn)
        before = reshape(a.current, (-1,))[chosen[now]]
        _write(a, chosen[now], ufunc(before, *[value[now] for value in given]))


def _add_up_examples(indices: Any, shape: tuple[int, ...], values: Any) -> Any:
    """Add up values at indices that differ between the examples of a batch."""
    chosen = find_flat_indices(indices, shape)
    each = np.broadcast_to(_as_array(values), shape_of(chosen)) + 0 * chosen
    total = scatter(reshape(each, (-1,)), reshape(chosen, (-1,)), (math.prod(shape),))
    return reshape(total, shape)


def _count_previous(flat_indices: Any) -> Any:
    """Return, for each index, how often it occurred before."""
    order = np.argsort(flat_indices, kind="stable")
    first = np.searchsorted(flat_indices[order], flat_indices[order])
    turns = np.empty(flat_indices.size, int)
    turns[order] = np.arange(flat_indices.size) - first
    return turns


IN_PLACE_FUNCTIONS.update(
    {
        np.put_along_axis: put_along_axis,
        np.put: put,
        np.place: place,
        np.putmask: putmask,
        np.copyto: copyto,
        np.fill_diagonal: fill_diagonal,
    }
)
