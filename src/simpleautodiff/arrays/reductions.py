"""Reductions: sums, means, extrema, products, cumulative sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.registry import as_array, implements, to_dtype
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import astype, dtype_of, real_dtype
from simpleautodiff.rules.array.indexing import concatenate, cumsum, getitem
from simpleautodiff.rules.array.shapes import (
    keep_dims,
    max_over,
    min_over,
    reshape,
    shape_of,
    sum_over,
    transpose,
)
from simpleautodiff.rules.branches import as_condition, where as where_row
from simpleautodiff.rules.scalar.complex_parts import squared_size
from simpleautodiff.rules.scalar.piecewise import maximum


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Return the axes that `axis` means, as nonnegative integers; None means all."""
    rank = len(shape_of(x))
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    if not rank and axis in (0, -1):
        return ()  # NumPy treats a scalar as a vector of length 1
    return normalize_axis_tuple(axis, rank)


def axis_of(x: Any, axis: Any) -> int:
    """Return the one axis that `axis` means, as a nonnegative integer."""
    if not isinstance(axis, (int, np.integer)):
        raise InputError(f"one axis is needed, an integer, not {axis!r}{cite_line()}")
    rank = len(shape_of(x))
    return int(axis) % rank if -rank <= axis < rank else normalize_axis_tuple(int(axis), rank)[0]


# NumPy's stubs take True or False for keepdims, but no bool: so some of these are Any.
def count(x: Any, axis: Any, where: Any = True, keepdims: Any = False) -> Any:
    """Return the number of elements that a reduction combines, in the real dtype of x."""
    if where is True:
        full = shape_of(x)
        return math.prod(full if axis is None else [full[a] for a in axes_of(x, axis)])
    there = np.broadcast_to(to_plain(where), shape_of(x))
    return np.sum(there, axis=axis, keepdims=keepdims).astype(real_dtype(x))


def fill_unselected(x: Any, where: Any, neutral: Any) -> Any:
    """Put a neutral element where `where` is false."""
    if where is True:
        return x
    return where_row(as_condition(to_plain(where)), x, dtype_of(x).type(neutral))


def flatten_axes(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the array with the reduced axes as one axis in front, and the keepdims shape."""
    axes, full = axes_of(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    size = int(np.prod([full[i] for i in axes], dtype=int))
    moved = transpose(a, (*axes, *rest)) if full else a
    return reshape(moved, (size, *[full[i] for i in rest])), keep_dims(full, axes)


@implements(np.sum)
def sum_(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Sum elements; where some are left out, or one begins, NumPy adds up in another order."""
    total = sum_over(a if where is True else fill_unselected(a, where, 0.0), axis, keepdims)
    if initial is None and where is True:
        return total
    begin = {} if initial is None else {"initial": initial}
    total = total if initial is None else total + initial
    return give_values(total, np.sum, (a, axis), {"keepdims": keepdims, "where": where, **begin})


@implements(np.mean)
def mean_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """Average elements; NumPy adds those of 16 bits in 32, and divides complex64 in 128."""
    dtype, number = dtype_of(a), count(a, axis, where, keepdims)
    if dtype == np.float16:
        return astype(mean_(astype(a, np.float32), axis, keepdims, where), np.float16)
    total = sum_(a, axis, keepdims, where=where)
    if dtype == np.complex64:
        return astype(astype(total, np.complex128) / number, np.complex64)
    return total / number


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Average elements with weights."""
    a = as_array(a)
    if weights is None:
        result, total = mean_(a, axis, keepdims), float(count(a, axis))
    else:
        weights = _spread_weights(a, axis, weights)
        total = sum_over(weights, axis, keepdims)
        result = sum_over(a * weights, axis, keepdims) / total
    return (result, np.broadcast_to(total, shape_of(result))) if returned else result


def _spread_weights(a: Any, axis: Any, weights: Any) -> Any:
    """Broadcast the weights of some axes to the shape of the array, in the dtype of the result."""
    weights = to_dtype(as_array(weights), np.result_type(dtype_of(a), dtype_of(as_array(weights))))
    if shape_of(weights) != shape_of(a):
        axes = axes_of(a, axis)
        if shape_of(weights) != tuple(shape_of(a)[i] for i in axes):
            raise ArgumentError(
                f"np.average: weights of shape {shape_of(weights)} do not fit the axes {axes} of "
                f"an array of shape {shape_of(a)}"
            )
        weights = transpose(weights, tuple(int(i) for i in np.argsort(axes)))
        weights = reshape(weights, [n if i in axes else 1 for i, n in enumerate(shape_of(a))])
    return np.broadcast_to(weights, shape_of(a))


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the mean square of the deviations."""
    if dtype_of(a) == np.float16:
        wide = astype(a, np.float32)
        return astype(var(wide, axis, ddof, keepdims, where, mean, correction), np.float16)
    deviation = a - (mean_(a, axis, True, where) if mean is None else mean)
    squares = squared_size(fill_unselected(deviation, where, 0.0))
    total = sum_(squares, axis, keepdims, where=where)
    free = count(a, axis, where, keepdims) - (ddof if correction is None else correction)
    return total / (max(free, 0) if where is True else np.maximum(free, 0))


@implements(np.std)
def std(a: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
    """Return the standard deviation; where all elements are equal its derivative is 0."""
    return np.sqrt(var(a, axis, keepdims=keepdims, **kwargs))


@implements(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the maximum; equal elements share the derivative."""
    if initial is None:
        _check_initial("max", where)
        return max_over(a, axis, keepdims)
    if not count(a, axis):
        return np.broadcast_to(
            initial, np.sum(np.empty(shape_of(a)), axis, keepdims=keepdims).shape
        )
    return maximum(max_over(fill_unselected(a, where, -np.inf), axis, keepdims), initial)


@implements(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the minimum; equal elements share the derivative."""
    if initial is None:
        _check_initial("min", where)
        return min_over(a, axis, keepdims)
    return -max_(-a, axis, keepdims, -initial, where)


def _check_initial(name: str, where: Any) -> None:
    if where is not True:
        raise ArgumentError(f"np.{name}(..., where=...) needs initial=: it may find no element")


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the difference between maximum and minimum."""
    return max_over(a, axis, keepdims) - min_over(a, axis, keepdims)


@implements(np.prod)
def prod(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Multiply elements, in pairs, pairs of pairs, ...: its derivative is right at zeros, too."""
    x, kept_shape = flatten_axes(fill_unselected(a, where, 1.0), axis)
    while (n := shape_of(x)[0]) > 1:
        pairs = getitem(x, slice(0, n // 2)) * getitem(x, slice(n // 2, n // 2 * 2))
        x = concatenate([pairs, getitem(x, slice(n - 1, n))]) if n % 2 else pairs
    result = getitem(x, 0) if n else sum_over(x, 0, False) + 1
    result = reshape(result, kept_shape) if keepdims else result
    return result if initial is None else result * initial


@implements(np.cumsum)
def cumsum_(a: Any, axis: int | None = None) -> Any:
    """Return the cumulative sum."""
    return cumsum(reshape(a, (-1,)), 0) if axis is None else cumsum(a, axis_of(a, axis))


@implements(np.cumprod)
def cumprod(a: Any, axis: int | None = None) -> Any:
    """Return the cumulative product, in steps that double."""
    x = reshape(a, (-1,)) if axis is None else np.moveaxis(a, axis, 0)
    n, step = shape_of(x)[0], 1
    while step < n:
        later = getitem(x, slice(step, n)) * getitem(x, slice(0, n - step))
        x = concatenate([getitem(x, slice(0, step)), later])
        step *= 2
    return x if axis is None else np.moveaxis(x, 0, axis)


def make_cumulative(name: str, running: Any, start: float) -> Any:
    """Return np.cumulative_sum or np.cumulative_prod, which may include the initial element."""

    def implementation(x: Any, axis: int | None = None, include_initial: bool = False) -> Any:
        if axis is None and len(shape_of(x)) > 1:
            raise ArgumentError(f"np.{name} needs an axis for an array of several")
        axis = axis_of(x, -1 if axis is None else axis)
        result = running(x, axis)
        if not include_initial:
            return result
        first = [1 if i == axis else n for i, n in enumerate(shape_of(x))]
        return concatenate([np.full(first, start, dtype_of(x)), result], axis)

    return implementation


if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    implements(np.cumulative_sum)(make_cumulative("cumulative_sum", cumsum_, 0.0))
    implements(np.cumulative_prod)(make_cumulative("cumulative_prod", cumprod, 1.0))
