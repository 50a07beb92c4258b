"""Making arrays of nodes: from nested lists, between bounds, filled with a number."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    as_array,
    implements,
    is_batch,
    to_dtype,
    widen,
)
from simpleautodiff.arrays.shaping import add_axes, lay_out
from simpleautodiff.arrays.writes.new_arrays import make_like, outline_of
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of
from simpleautodiff.values.pytree import flatten


def _steps(num: int, endpoint: bool, like: Any, rank: int) -> Any:
    if operator.index(num) < 0:
        raise InputError(f"the number of points is 0, 1, 2, ..., not {num}{cite_line()}")
    steps = np.arange(num) / max(num - 1 if endpoint else num, 1)
    return steps.astype(dtype_of(like)).reshape((-1,) + (1,) * rank)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return evenly spaced numbers."""
    start, stop = start + 0.0 * stop, stop + 0.0 * start
    steps = _steps(num, endpoint, start, len(shape_of(start)))
    points = np.moveaxis(start * (1 - steps) + stop * steps, 0, axis)
    points = _as_asked(points, dtype)
    gap = (stop - start) / max(num - 1 if endpoint else num, 1)
    return (points, gap) if retstep else points


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return powers with evenly spaced exponents."""
    return _as_asked(base ** linspace(start, stop, num, endpoint, axis=axis), dtype)


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return numbers with equal ratios."""
    if not is_batch(start) and not is_batch(stop) and not np.all(to_plain(start) * to_plain(stop)):
        raise InputError(f"np.geomspace has no ratios from, or to, 0{cite_line()}")
    start, stop = widen(start), widen(stop)
    ratio = stop / start
    steps = _steps(num, endpoint, ratio, len(shape_of(ratio)))
    return _as_asked(np.moveaxis(start * ratio**steps, 0, axis), dtype)


def _as_asked(x: Any, dtype: Any) -> Any:
    """Return an array in the dtype that was asked for, if any."""
    return x if dtype is None else to_dtype(x, dtype)


_SEQUENCES = (list, tuple, deque)


@implements(np.array)
def array_(object: Any, dtype: Any = None, ndmin: int = 0, order: Any = None) -> Any:
    """Join nodes: np.array([a, b], like=a); copy what is an array already.

    An array of plain numbers can be written to, and indexed by indices that differ between the
    examples of a batch.
    """
    object = take_current(object)
    result = array(object, dtype, 0, order)
    plain = issubclass(type(result), np.ndarray)
    copied = plain or (result is object and shape_of(result))
    return add_axes(FUNCTIONS[np.copy](result) if copied else result, ndmin)


@implements(np.asarray, np.asanyarray)
def array(object: Any, dtype: Any = None, ndmin: int = 0, order: Any = None) -> Any:
    """Join nested lists of nodes."""
    if issubclass(type(object), _SEQUENCES):
        parts, lengths = _flatten_lists(object)
        result = stack(parts)
        result = reshape(result, (*lengths, *shape_of(result)[1:])) if len(lengths) > 1 else result
    else:
        result = as_array(object)
    result = result if dtype is None else result.astype(dtype, copy=False)
    as_it_is = order is None and not ndmin
    return result if as_it_is else add_axes(lay_out(result, order), ndmin)


def _flatten_lists(nested: Any) -> tuple[list[Any], list[int]]:
    """Return what nested lists hold, and the length of the lists at each depth."""
    parts, lengths = list(nested), [len(nested)]
    while (kinds := set(map(type, parts))) and all(map(_is_sequence, kinds)):
        (length, *others) = {len(part) for part in parts}
        if others:
            raise ArgumentError(
                f"lists of different lengths ({', '.join(map(str, sorted([length, *others])))}) "
                f"make no array{cite_line()}"
            )
        lengths.append(length)
        parts = [each for part in parts for each in part]
    nested_kinds = {kind for kind in kinds if _is_sequence(kind)}
    if nested_kinds:
        parts = [array(part) if type(part) in nested_kinds else part for part in parts]
    return parts, lengths


_is_sequence: Callable[[type], bool] = lru_cache(lambda kind: issubclass(kind, _SEQUENCES))


def new_array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Make an array of numbers or nodes: `array` of simpleautodiff.numpy.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> import simpleautodiff.numpy as np
    >>> ad.jacobian(lambda x: np.array([x, x**2]))(3.0)
    array([1., 6.])
    """
    if any(isinstance(leaf, Traced) for leaf in flatten(object)[0]):
        result = array(object, dtype, kwargs.get("ndmin", 0))
        return +result if result is object else result  # a new array, as in NumPy
    return np.array(object, dtype, **kwargs)


def new_full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Fill a new array with a number or a node: `full` of simpleautodiff.numpy.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> import simpleautodiff.numpy as np
    >>> ad.jacobian(lambda x: np.full(2, x**2))(3.0)
    array([6., 6.])
    """
    if isinstance(fill_value, Traced):
        return full(shape, fill_value, dtype)
    return np.full(shape, fill_value, dtype, **kwargs)


_plain_full_like = make_like(np.full_like)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", shape: Any = None
) -> Any:
    """Fill a writable array of the shape of `a` with a number or a node."""
    a, fill_value = as_array(a), array(take_current(fill_value))
    if not isinstance(fill_value, Traced):
        return _plain_full_like(a, fill_value, dtype=dtype, order=order, shape=shape)
    made = np.empty_like(outline_of(a), bool, order, shape=shape)
    return _fill(made, fill_value, dtype_of(to_plain(a)) if dtype is None else dtype)


def _fill(layout: Any, fill_value: Any, dtype: Any) -> Writable:
    """Return a writable array of a shape and memory layout, filled with a node."""
    if dtype is not None and dtype != dtype_of(fill_value):
        fill_value = fill_value.astype(dtype)
    result = Writable(broadcast_to(fill_value, layout.shape))
    result.layout = layout
    return result


@implements(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    """Fill a new array: np.full(shape, x, like=x)."""
    fill_value = array(take_current(fill_value))
    if not isinstance(fill_value, Traced):
        made = np.full(shape, fill_value, dtype, order)
        return Writable(made) if made.dtype.kind in "fc" else made
    return _fill(np.empty(shape, bool, order), fill_value, dtype)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector as columns."""
    if N is not None and operator.index(N) < 0:
        raise InputError(f"np.vander has 0, 1, 2, ... columns, not {N}{cite_line()}")
    x = widen(x)
    powers = np.arange(shape_of(x)[0] if N is None else N)
    powers = powers if increasing else powers[::-1]
    return reshape(x, (-1, 1)) ** powers.astype(dtype_of(x))


@implements(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any) -> Any:
    """Broadcast an array to a larger shape."""
    array = as_array(array)
    return broadcast_to(array, np.broadcast_to(np.empty(shape_of(array), bool), shape).shape)
