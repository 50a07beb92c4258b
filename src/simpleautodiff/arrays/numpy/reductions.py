"""Sums and their relatives: means, extremes, products of elements, running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.registry import answers, as_array
from simpleautodiff.core.level import plain
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
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.complex_parts import squared_size
from simpleautodiff.rules.scalar.piecewise import maximum


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Return the axes that `axis` means, counted from the front; None means all."""
    rank = len(shape_of(x))
    if axis is None:
        return tuple(range(rank))
    if not rank and axis in (0, -1):
        return ()  # NumPy takes a single number for a row of one
    return normalize_axis_tuple(axis, rank)


def axis_of(x: Any, axis: Any) -> int:
    """Return the one axis that `axis` means, counted from the front."""
    if not isinstance(axis, (int, np.integer)):
        raise InputError(f"one axis is needed, a whole number, not {axis!r}{cite_line()}")
    return normalize_axis_tuple(int(axis), len(shape_of(x)))[0]


# NumPy's types take True or False for keepdims, but no bool: so some of these take any.
def count(x: Any, axis: Any, where: Any = True, keepdims: Any = False) -> Any:
    """Return how many elements a reduction takes together, as real numbers like those of x."""
    if where is True:
        full = shape_of(x)
        return math.prod(full if axis is None else [full[a] for a in axes_of(x, axis)])
    there = np.broadcast_to(plain(where), shape_of(x))
    return np.sum(there, axis=axis, keepdims=keepdims).astype(real_dtype(x))


def chosen(x: Any, where: Any, neutral: Any) -> Any:
    """Put a neutral element where a reduction is told not to look."""
    return x if where is True else where_row(plain(where), x, dtype_of(x).type(neutral))


def flattened(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the array with the reduced axes as one axis in front, and its shape if kept as 1."""
    axes, full = axes_of(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    size = int(np.prod([full[i] for i in axes], dtype=int))
    moved = transpose(a, (*axes, *rest)) if full else a
    return reshape(moved, (size, *[full[i] for i in rest])), keep_dims(full, axes)


@answers(np.sum)
def sum_(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Add up elements."""
    total = sum_over(chosen(a, where, 0.0), axis, keepdims)
    return total if initial is None else total + initial


@answers(np.mean)
def mean_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """Average elements; those of 16 bits are added up with 32, as NumPy does."""
    if dtype_of(a) == np.float16:
        return astype(mean_(astype(a, np.float32), axis, keepdims, where), np.float16)
    return sum_(a, axis, keepdims, where=where) / count(a, axis, where, keepdims)


@answers(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Average elements with weights."""
    if weights is None:
        result, total = mean_(a, axis, keepdims), float(count(a, axis))
    else:
        weights = _spread_weights(a, axis, weights)
        total = sum_over(weights, axis, keepdims)
        result = sum_over(a * weights, axis, keepdims) / total
    return (result, np.broadcast_to(total, shape_of(result))) if returned else result


def _spread_weights(a: Any, axis: Any, weights: Any) -> Any:
    """Give the weights of some axes the shape of the whole array."""
    weights = as_array(weights)
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


@answers(np.var)
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
    total = sum_over(squared_size(chosen(deviation, where, 0.0)), axis, keepdims)
    free = count(a, axis, where, keepdims) - (ddof if correction is None else correction)
    return total / (max(free, 0) if where is True else np.maximum(free, 0))


@answers(np.std)
def std(a: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
    """Return the root of the variance; of equal elements the derivative is 0."""
    return root(var(a, axis, keepdims=keepdims, **kwargs))


def root(x: Any) -> Any:
    """Return the root, with the derivative 0 at 0: of the subgradients of a norm the least."""
    zero, one = plain(x) == 0, dtype_of(x).type(1)
    return where_row(zero, np.abs(x), np.sqrt(where_row(zero, one, x)))  # the kink of abs is told


@answers(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the largest elements; equal ones share the derivative."""
    if initial is None:
        _check_initial("max", where)
        return max_over(a, axis, keepdims)
    if not count(a, axis):
        return np.broadcast_to(
            initial, np.sum(np.empty(shape_of(a)), axis, keepdims=keepdims).shape
        )
    return maximum(max_over(chosen(a, where, -np.inf), axis, keepdims), initial)


@answers(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the smallest elements; equal ones share the derivative."""
    if initial is None:
        _check_initial("min", where)
        return min_over(a, axis, keepdims)
    return -max_(-a, axis, keepdims, -initial, where)


def _check_initial(name: str, where: Any) -> None:
    if where is not True:
        raise ArgumentError(f"np.{name}(..., where=...) needs initial=: it may find no element")


@answers(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the range from smallest to largest."""
    return max_over(a, axis, keepdims) - min_over(a, axis, keepdims)


@answers(np.prod)
def prod(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """Multiply elements, in pairs, pairs of pairs, ...: right where some are zero, too."""
    x, kept_shape = flattened(chosen(a, where, 1.0), axis)
    while (n := shape_of(x)[0]) > 1:
        pairs = getitem(x, slice(0, n // 2)) * getitem(x, slice(n // 2, n // 2 * 2))
        x = concatenate([pairs, getitem(x, slice(n - 1, n))]) if n % 2 else pairs
    result = getitem(x, 0) if n else sum_over(x, 0, False) + 1
    result = reshape(result, kept_shape) if keepdims else result
    return result if initial is None else result * initial


@answers(np.cumsum)
def cumsum_(a: Any, axis: int | None = None) -> Any:
    """Add up from the start to each element."""
    return cumsum(reshape(a, (-1,)), 0) if axis is None else cumsum(a, axis_of(a, axis))


@answers(np.cumprod)
def cumprod(a: Any, axis: int | None = None) -> Any:
    """Multiply from the start to each element, in steps that double."""
    x = reshape(a, (-1,)) if axis is None else np.moveaxis(a, axis, 0)
    n, step = shape_of(x)[0], 1
    while step < n:
        later = getitem(x, slice(step, n)) * getitem(x, slice(0, n - step))
        x = concatenate([getitem(x, slice(0, step)), later])
        step *= 2
    return x if axis is None else np.moveaxis(x, 0, axis)


def cumulative(name: str, running: Any, start: float) -> Any:
    """Answer np.cumulative_sum or np.cumulative_prod, which may begin with the empty one."""

    def program(x: Any, axis: int | None = None, include_initial: bool = False) -> Any:
        if axis is None and len(shape_of(x)) > 1:
            raise ArgumentError(f"np.{name} needs an axis for an array of several")
        axis = axis_of(x, -1 if axis is None else axis)
        result = running(x, axis)
        if not include_initial:
            return result
        first = [1 if i == axis else n for i, n in enumerate(shape_of(x))]
        return concatenate([np.full(first, start, dtype_of(x)), result], axis)

    return program


if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    answers(np.cumulative_sum)(cumulative("cumulative_sum", cumsum_, 0.0))
    answers(np.cumulative_prod)(cumulative("cumulative_prod", cumprod, 1.0))
