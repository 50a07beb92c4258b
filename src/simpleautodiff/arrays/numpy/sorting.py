"""Sorting, medians and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.reductions import axes_of, flatten_axes
from simpleautodiff.arrays.registry import implements, is_batch
from simpleautodiff.arrays.shaping import lay_out_like, move_by_index
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.indexing import (
    getitem,
    getitem_by_rank,
    record_with,
    scatter,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.decisions import as_operand
from simpleautodiff.rules.row import add_kinks
from simpleautodiff.values.other_arrays import Foreign


def take_along(a: Any, order: Any, axis: int) -> Any:
    """Take elements along an axis by the indices `order`."""
    take = lambda numbers: np.take_along_axis(numbers, order, axis)  # noqa: E731
    return move_by_index(take, a, look_up=getitem_by_rank(axis))


def _sorting_indices(a: Any, axis: int) -> Any:
    """Return the indices that sort an axis."""
    return np.argsort(as_operand(a), axis=axis, kind="stable")


@implements(np.sort)
def sort(a: Any, axis: int | None = -1) -> Any:
    """Sort; the derivative of every element moves with it."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return lay_out_like(take_along(a, _sorting_indices(a, axis), axis), a)


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the different numbers, sorted; those that are equal share the derivative."""
    a = reshape(ar, (-1,)) if axis is None else np.moveaxis(ar, axis, 0)
    order = np.argsort(a, kind="stable") if axis is None else _sort_rows(a)
    ordered = _getitem_shared(a, order)
    new = ordered[1:] != ordered[:-1]
    if axis is not None:
        new = np.any(new, axis=tuple(range(1, len(shape_of(a)))))
    elif equal_nan:
        new = new & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    if isinstance(to_plain(a), Foreign):  # whose library adds up no groups
        if axis is not None or not np.all(new):
            raise RuleError(
                f"np.unique of equal elements or rows, which share their derivative, takes arrays "
                f"of NumPy{cite_line()}"
            )
        first, found, counts, inverse = order, ordered, order * 0 + 1, np.argsort(order)
    else:
        group = np.concatenate([0 * order[:1], np.cumsum(new)])  # of each sorted element
        first = np.concatenate([order[:1], order[1:][new]])
        counts = scatter(record_with(group, np.ones(shape_of(order), int)), group, shape_of(first))
        found = _share(ordered, a[first], group, counts)
        inverse = group[np.argsort(order)]
    wanted = (
        (return_index, first),
        (return_inverse, reshape(inverse, shape_of(ar)) if axis is None else inverse),
        (return_counts, counts),
    )
    found = found if axis is None else np.moveaxis(found, 0, axis)
    others = [other for asked, other in wanted if asked]
    return (found, *others) if others else found


_getitem_shared = add_kinks(
    getitem,
    Kink("equal elements", lambda x, _: len(np.unique(x, axis=0)) < len(x), "they share equally"),
)


def _sort_rows(a: Any) -> Any:
    """Return the indices that sort the rows of an array by their first numbers, then the next."""
    if is_batch(a):
        raise RuleError(f"np.unique of a batch takes no axis: pass one example{cite_line()}")
    rows = np.reshape(as_operand(a), (len(a), -1))
    return np.lexsort(np.flip(rows.T, axis=0))


def _share(a: Any, found: Any, group: Any, counts: Any) -> Any:
    """Return the value of each group of equal numbers, with the mean of their derivatives."""
    # The mean itself would round: only where it is infinite or nan it is exact.
    with np.errstate(invalid="ignore"):
        difference, total = (
            scatter(record_with(group, x), group, shape_of(found)) for x in (found[group] - a, a)
        )
        weights = (1 / counts).astype(real_dtype(a))
        weights = weights.reshape(-1, *(1,) * (len(shape_of(a)) - 1))
        return where_row(
            np.isfinite(to_plain(found)), found - difference * weights, total * weights
        )


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    """Return the different numbers."""
    return unique(x, equal_nan=False)


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    """Return the different numbers, and for each element the index of its own."""
    plain = np.unique_inverse(np.zeros(0))
    return type(plain)(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    """Return the different numbers, and how often each is there."""
    plain = np.unique_counts(np.zeros(0))
    return type(plain)(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    """Return the different numbers, where each is first, the inverse, and the counts."""
    plain = np.unique_all(np.zeros(0))
    return type(plain)(*unique(x, True, True, True, equal_nan=False))


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the different numbers of two arrays, sorted."""
    return unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Move the k-th smallest element to index k, the smaller ones before it."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return lay_out_like(take_along(a, np.argpartition(as_operand(a), kth, axis), axis), a)


@implements(np.quantile)
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
    x, kept_shape = flatten_axes(a, axis)
    n = shape_of(x)[0]
    fractional = _fractional_indices(q, n, method)
    if weights is not None:
        result = _ranks_by_weight(x, q, _like(weights, a, axis), method)
    else:
        result = _interpolate(x, fractional, method in _DISCRETE)
    result = where_row(np.any(np.isnan(to_plain(x)), axis=0), np.nan, result)
    return reshape(result, (*np.shape(q), *kept_shape)) if keepdims else result


def _fractional_indices(q: Any, n: int, method: str) -> Any:
    """Return the fractional indices of quantiles among n sorted elements: those of 0, 1, ..."""
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
    """Return plain weights in the shape of `a`, with the reduced axes joined and put in front."""
    weights = np.asarray(to_plain(weights))
    if weights.shape != shape_of(a):
        spread = [-1 if i in axes_of(a, axis) else 1 for i in range(len(shape_of(a)))]
        weights = np.broadcast_to(weights.reshape(spread), shape_of(a))
    return flatten_axes(weights, axis)[0]


def _ranks_by_weight(x: Any, q: Any, weights: Any, method: str) -> Any:
    """Return the rank of the first element at which the cumulative weight reaches each quantile."""
    if method != "inverted_cdf":
        raise ArgumentError(f"weights need method='inverted_cdf', as in NumPy{cite_line()}")
    order = _sorting_indices(x, 0)
    reached = np.cumsum(np.take_along_axis(weights, order, 0), axis=0, dtype=float)
    reached = reached / reached[-1]
    reached = np.where(reached == 0, -1.0, reached)  # elements without weight are not taken
    parts = [np.sum(reached < one, axis=0) for one in np.ravel(q)]
    ranks = np.minimum(np.stack(parts), shape_of(x)[0] - 1)
    found = take_along(x, np.take_along_axis(order, ranks, 0), 0)
    return reshape(found, (*np.shape(q), *shape_of(x)[1:]))


def _interpolate(x: Any, fractional: Any, exact: bool) -> Any:
    """Interpolate between sorted elements of the first axis at fractional indices."""
    low = np.floor(fractional).astype(int)
    high = np.ceil(fractional).astype(int)
    order = _sorting_indices(x, 0)
    if exact or (not np.ndim(fractional) and low == high):
        return _take_ranks(x, order, low)
    part = _weights(fractional - low, x)
    part = part.reshape(np.shape(part) + (1,) * (len(shape_of(x)) - 1))
    below, above = (_take_ranks(x, order, ranks) for ranks in (low, high))
    return below * (1 - part) + above * part


def _take_ranks(x: Any, order: Any, ranks: Any) -> Any:
    """Return the elements of given ranks along the first axis."""
    found = take_along(x, getitem(order, ranks.reshape(-1)), 0)
    return reshape(found, (*np.shape(ranks), *shape_of(x)[1:])) if np.ndim(ranks) else found[0]


def _weights(part: Any, x: Any) -> Any:
    """Return weights in the dtype of x; those of several quantiles have at least 64 bits."""
    wide = np.result_type(real_dtype(x), np.float64) if np.ndim(part) else real_dtype(x)
    return part.astype(wide)


@implements(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return quantiles for percentages."""
    return quantile(a, q if isinstance(q, Traced) else np.true_divide(q, 100), axis, **kwargs)


@implements(np.median)
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the middle element, or the mean of the two in the middle."""
    return quantile(a, 0.5, axis, keepdims=keepdims)


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Interpolate between the sorted elements that are not nan."""
    x, kept_shape = flatten_axes(a, axis)
    rest = shape_of(x)[1:]
    counts = np.sum(~np.isnan(to_plain(x)), axis=0)
    shape = (*np.shape(q), *rest)
    total = shape_of(x)[0]
    table = np.zeros((total + 1, np.size(q)))  # the fractional indices for n elements, by n
    for n in range(1, total + 1) if is_batch(x) else np.unique(counts[counts > 0]):
        table[n] = _fractional_indices(q, int(n), method).reshape(-1)
    fractional = np.moveaxis(getitem(table, counts), -1, 0)
    low, high = np.floor(fractional).astype(int), np.ceil(fractional).astype(int)
    part = _weights(fractional - low, x) if np.ndim(q) else (fractional - low).astype(real_dtype(x))
    order = _sorting_indices(x, 0)
    below, above = (take_along(x, np.take_along_axis(order, at, 0), 0) for at in (low, high))
    exact = method in _DISCRETE and not is_batch(x)
    result = below if exact else below * (1 - part) + above * part
    result = reshape(result, shape)
    return reshape(result, (*np.shape(q), *kept_shape)) if keepdims else result


@implements(np.nanpercentile)
def nanpercentile(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return quantiles for percentages, ignoring nan."""
    return nanquantile(a, q if isinstance(q, Traced) else np.true_divide(q, 100), axis, **kwargs)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median, ignoring nan."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)
