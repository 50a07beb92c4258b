"""Sorting, and what stands at a place of the sorted elements: medians, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.reductions import axes_of, flattened
from simpleautodiff.arrays.numpy.shaping import numbered
from simpleautodiff.arrays.registry import answers, is_batch
from simpleautodiff.core.level import Traced, plain
from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.indexing import getitem, getitem_by_rank
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where as where_row


def along(a: Any, order: Any, axis: int) -> Any:
    """Take elements along an axis by their places, which their order gave."""
    take = lambda numbers: np.take_along_axis(numbers, order, axis)  # noqa: E731
    return numbered(take, a, look_up=getitem_by_rank(axis))


def _in_order(a: Any, axis: int) -> Any:
    """Return the places of the elements along an axis from the smallest on."""
    return np.argsort(plain(a), axis=axis, kind="stable")


@answers(np.sort)
def sort(a: Any, axis: int | None = -1) -> Any:
    """Sort; every element keeps its own derivative."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return along(a, _in_order(a, axis), axis)


@answers(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Put the k-th smallest element in its place, the smaller ones before it."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return along(a, np.argpartition(plain(a), kth, axis), axis)


@answers(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    """Interpolate between sorted elements; nan if one of them is nan."""
    x, kept_shape = flattened(a, axis)
    n = shape_of(x)[0]
    places = _places(q, n, method)
    if weights is not None:
        result = _ranks_by_weight(x, q, _like(weights, a, axis), method)
    else:
        result = _at(x, places, method in _DISCRETE)
    result = where_row(np.any(np.isnan(plain(x)), axis=0), np.nan, result)
    return reshape(result, (*np.shape(q), *kept_shape)) if keepdims else result


def _places(q: Any, n: int, method: str) -> Any:
    """Return the places of quantiles among n sorted elements: the quantiles of 0, 1, 2, ..."""
    if isinstance(q, Traced):
        raise RuleError(
            "np.quantile has no derivative rule in q: it has kinks at every element. Pass q.value"
            f"{cite_line()}"
        )
    if not n or np.any((np.asarray(q) < 0) | (np.asarray(q) > 1)):
        raise ArgumentError(
            f"quantiles need elements, and q between 0 and 1; q is {q!r}{cite_line()}"
        )
    return np.quantile(np.arange(float(n)), np.asarray(q, float), method=method)  # type: ignore[call-overload]


_DISCRETE = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}


def _like(weights: Any, a: Any, axis: Any) -> Any:
    """Return plain weights with the reduced axes in front, one for each element."""
    weights = np.asarray(plain(weights))
    if weights.shape != shape_of(a):
        places = [-1 if i in axes_of(a, axis) else 1 for i in range(len(shape_of(a)))]
        weights = np.broadcast_to(weights.reshape(places), shape_of(a))
    return flattened(weights, axis)[0]


def _ranks_by_weight(x: Any, q: Any, weights: Any, method: str) -> Any:
    """Return the first elements up to which the weights reach their parts of the sum."""
    if method != "inverted_cdf":
        raise ArgumentError(f"weights need method='inverted_cdf', as in NumPy{cite_line()}")
    order = _in_order(x, 0)
    reached = np.cumsum(np.take_along_axis(weights, order, 0), axis=0, dtype=float)
    reached = reached / reached[-1]
    reached = np.where(reached == 0, -1.0, reached)  # what has no weight is not taken
    parts = [np.sum(reached < one, axis=0) for one in np.ravel(q)]
    ranks = np.minimum(np.stack(parts), shape_of(x)[0] - 1)
    found = along(x, np.take_along_axis(order, ranks, 0), 0)
    return reshape(found, (*np.shape(q), *shape_of(x)[1:]))


def _at(x: Any, places: Any, exact: bool) -> Any:
    """Interpolate between the elements around places among those of the first axis, in order."""
    low = np.floor(places).astype(int)
    high = np.ceil(places).astype(int)
    order = _in_order(x, 0)
    if exact or (not np.ndim(places) and low == high):
        return _ranks(x, order, low)
    part = _weights(places - low, x)
    part = part.reshape(np.shape(part) + (1,) * (len(shape_of(x)) - 1))
    below, above = (_ranks(x, order, ranks) for ranks in (low, high))
    return below * (1 - part) + above * part


def _ranks(x: Any, order: Any, ranks: Any) -> Any:
    """Return the elements of given ranks on the first axis."""
    found = along(x, getitem(order, ranks.reshape(-1)), 0)
    return reshape(found, (*np.shape(ranks), *shape_of(x)[1:])) if np.ndim(ranks) else found[0]


def _weights(part: Any, x: Any) -> Any:
    """Return weights in the kind of x; those of several quantiles are of 64 bits at least."""
    wide = np.result_type(real_dtype(x), np.float64) if np.ndim(part) else real_dtype(x)
    return part.astype(wide)


@answers(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return quantiles given in per cent."""
    return quantile(a, q if isinstance(q, Traced) else np.true_divide(q, 100), axis, **kwargs)


@answers(np.median)
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the middle element, or the mean of the two in the middle."""
    return quantile(a, 0.5, axis, keepdims=keepdims)


@answers(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Interpolate between the sorted elements that are not nan."""
    x, kept_shape = flattened(a, axis)
    rest = shape_of(x)[1:]
    counts = np.sum(~np.isnan(plain(x)), axis=0)
    shape = (*np.shape(q), *rest)
    total = shape_of(x)[0]
    table = np.zeros((total + 1, np.size(q)))  # where the quantiles of n elements are
    for n in range(1, total + 1) if is_batch(x) else np.unique(counts[counts > 0]):
        table[n] = _places(q, int(n), method).reshape(-1)
    places = np.moveaxis(getitem(table, counts), -1, 0)
    low, high = np.floor(places).astype(int), np.ceil(places).astype(int)
    part = _weights(places - low, x) if np.ndim(q) else (places - low).astype(real_dtype(x))
    order = _in_order(x, 0)
    below, above = (along(x, np.take_along_axis(order, at, 0), 0) for at in (low, high))
    exact = method in _DISCRETE and not is_batch(x)
    result = below if exact else below * (1 - part) + above * part
    result = reshape(result, shape)
    return reshape(result, (*np.shape(q), *kept_shape)) if keepdims else result


@answers(np.nanpercentile)
def nanpercentile(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return quantiles, in per cent, of what is not nan."""
    return nanquantile(a, q if isinstance(q, Traced) else np.true_divide(q, 100), axis, **kwargs)


@answers(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median of what is not nan."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)
