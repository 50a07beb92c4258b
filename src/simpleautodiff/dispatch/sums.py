"""Sums and their relatives: means, extremes, products of elements, running sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.dispatch.table import answers
from simpleautodiff.rules.complexes import squared_size
from simpleautodiff.rules.indexing import concatenate, cumsum, getitem
from simpleautodiff.rules.piecewise import where as where_row
from simpleautodiff.rules.shapes import max_over, min_over, reshape, shape_of, sum_over, transpose
from simpleautodiff.traced import plain


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Return the axes that `axis` means, counted from the front; None means all."""
    rank = len(shape_of(x))
    if axis is None:
        return tuple(range(rank))
    return normalize_axis_tuple(axis, rank)


def _count(x: Any, axis: Any) -> int:
    return int(np.prod([shape_of(x)[a] for a in axes_of(x, axis)], dtype=int))


@answers(np.sum)
def sum_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Add up elements."""
    return sum_over(a, axis, keepdims)


@answers(np.mean)
def mean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Average elements."""
    return sum_over(a, axis, keepdims) / _count(a, axis)


@answers(np.average)
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """Average elements with weights."""
    if weights is None:
        return mean(a, axis)
    if shape_of(weights) != shape_of(a):
        (along,) = axes_of(a, axis)
        weights = reshape(weights, [n if i == along else 1 for i, n in enumerate(shape_of(a))])
    return sum_over(a * weights, axis, False) / sum_over(
        weights * np.ones(shape_of(a)), axis, False
    )


@answers(np.var)
def var(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the mean square of the deviations."""
    deviation = a - mean(a, axis, True)
    return sum_over(squared_size(deviation), axis, keepdims) / (_count(a, axis) - ddof)


@answers(np.std)
def std(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the root of the variance."""
    variance = var(a, axis, ddof, keepdims)
    zero = plain(variance) == 0  # equal elements: of the subgradients the least is 0
    return where_row(zero, 0.0, np.sqrt(where_row(zero, 1.0, variance)))


@answers(np.max, np.amax)
def max_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the largest elements; equal ones share the derivative."""
    return max_over(a, axis, keepdims)


@answers(np.min, np.amin)
def min_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest elements; equal ones share the derivative."""
    return min_over(a, axis, keepdims)


@answers(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the range from smallest to largest."""
    return max_over(a, axis, keepdims) - min_over(a, axis, keepdims)


@answers(np.prod)
def prod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Multiply elements, in pairs, pairs of pairs, ...: right where some are zero, too."""
    axes, full = axes_of(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    x = reshape(transpose(a, (*axes, *rest)), (-1, *[full[i] for i in rest]))
    while (n := shape_of(x)[0]) > 1:
        pairs = getitem(x, slice(0, n // 2)) * getitem(x, slice(n // 2, n // 2 * 2))
        x = concatenate([pairs, getitem(x, slice(n - 1, n))]) if n % 2 else pairs
    result = getitem(x, 0) if shape_of(x)[0] else np.ones([full[i] for i in rest])
    return (
        reshape(result, [1 if i in axes else n for i, n in enumerate(full)]) if keepdims else result
    )


@answers(np.cumsum)
def cumsum_(a: Any, axis: int | None = None) -> Any:
    """Add up from the start to each element."""
    return cumsum(reshape(a, (-1,)), 0) if axis is None else cumsum(a, axes_of(a, axis)[0])


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


@answers(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Subtract neighbours."""
    x = np.moveaxis(a, axis, -1)
    for _ in range(n):
        x = x[..., 1:] - x[..., :-1]
    return np.moveaxis(x, -1, axis)


@answers(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by trapezoids."""
    step = dx if x is None else diff(x, axis=axis if len(shape_of(x)) > 1 else -1)
    if x is not None and len(shape_of(x)) == 1 and len(shape_of(y)) > 1:
        step = reshape(
            step, [-1 if i == axis % len(shape_of(y)) else 1 for i in range(len(shape_of(y)))]
        )
    z = np.moveaxis(y, axis, -1)
    inner = (z[..., 1:] + z[..., :-1]) / 2
    return sum_over(np.moveaxis(inner, -1, axis) * step, axis, False)
