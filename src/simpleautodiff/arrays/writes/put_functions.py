"""Functions of NumPy that write into an array: np.put, np.copyto and their relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import WRITERS, as_array, is_batch
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, Written, plain, unwrapped
from simpleautodiff.rules.array.indexing import getitem, scatter
from simpleautodiff.rules.array.shapes import reshape
from simpleautodiff.values.pytree import map_leaves


def _shape(y: Writable) -> tuple[int, ...]:
    return np.shape(plain(y.current))


def _numbers(y: Writable) -> Any:
    """Return the numbers of the elements, counted through the array."""
    return np.arange(int(np.prod(_shape(y)))).reshape(_shape(y))


def _write(y: Writable, places: Any, values: Any) -> None:
    y[np.unravel_index(places, _shape(y))] = values  # type: ignore[index]  # installed by `writing`


def _repeated(values: Any, size: int) -> Any:
    """Return as many values as are written: they are taken again from the start."""
    return np.resize(as_array(unwrapped(values)), size)


def put_along_axis(arr: Writable, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Write to places along an axis."""
    numbers = _numbers(arr) if axis is not None else _numbers(arr).reshape(-1)
    _write(arr, np.take_along_axis(numbers, indices, -1 if axis is None else axis), values)


def put(a: Writable, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write to places counted through the array."""
    ind = plain(unwrapped(ind))
    numbers = _numbers(a).reshape(-1)
    taken = getitem(numbers, ind) if is_batch(ind) else np.take(numbers, ind, mode=mode)  # type: ignore[call-overload]
    places = np.reshape(taken, (-1,))
    _write(a, places, _repeated(v, np.size(places)))


def place(arr: Writable, mask: Any, vals: Any) -> None:
    """Write values one after the other where a mask says so."""
    places = np.flatnonzero(plain(unwrapped(mask)))
    _write(arr, places, _repeated(vals, places.size))


def putmask(a: Writable, mask: Any, values: Any) -> None:
    """Write each value to its own place where a mask says so."""
    copyto(a, np.reshape(_repeated(values, _numbers(a).size), _shape(a)), where=mask)


def copyto(dst: Writable, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write a whole array, or what a mask says of it."""
    src = as_array(unwrapped(src))
    chosen = src if where is True else np.where(plain(unwrapped(where)), src, dst.current)
    dst[...] = np.broadcast_to(chosen, _shape(dst))  # type: ignore[index]


def fill_diagonal(a: Writable, val: Any, wrap: bool = False) -> None:
    """Write to the diagonal."""
    diagonal = np.zeros(_shape(a), bool)
    np.fill_diagonal(diagonal, True, wrap)
    place(a, diagonal, val)


def write_at(ufunc: Any, a: Any, indices: Any, *values: Any) -> None:
    """Change elements in place; one that the indices name several times is changed as often."""
    indices = map_leaves(lambda each: plain(unwrapped(each)), indices)
    if not isinstance(a, (Traced, Written)):
        return ufunc.at(a, indices, *map(unwrapped, values))  # type: ignore[no-any-return]
    a = a.writable()
    places = _numbers(a)[indices]
    given = [np.broadcast_to(as_array(unwrapped(v)), places.shape).reshape(-1) for v in values]
    places = places.reshape(-1)
    if ufunc in (np.add, np.subtract):
        total = scatter(*given, places, (math.prod(_shape(a)),))
        a.current = ufunc(a.current, reshape(total, _shape(a)))
        return None
    turns = _turns(places)
    for turn in range(turns.max(initial=-1) + 1):
        now = np.flatnonzero(turns == turn)
        before = reshape(a.current, (-1,))[places[now]]
        _write(a, places[now], ufunc(before, *[value[now] for value in given]))
    return None


def _turns(places: Any) -> Any:
    """Return how often each place was named before."""
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], places[order])
    turns = np.empty(places.size, int)
    turns[order] = np.arange(places.size) - first
    return turns


WRITERS.update(
    {
        np.put_along_axis: put_along_axis,
        np.put: put,
        np.place: place,
        np.putmask: putmask,
        np.copyto: copyto,
        np.fill_diagonal: fill_diagonal,
    }
)
