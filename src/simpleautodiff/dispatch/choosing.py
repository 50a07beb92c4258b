"""Choosing, sorting and interpolating; what passes over nan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.dispatch.products import outer
from simpleautodiff.dispatch.shaping import diagonal, ravel
from simpleautodiff.dispatch.sums import axes_of, cumsum_, diff, mean, prod
from simpleautodiff.dispatch.table import FUNCTIONS, answers
from simpleautodiff.errors import RuleError
from simpleautodiff.rules import special
from simpleautodiff.rules.complexes import conj, real, squared_size
from simpleautodiff.rules.contract import matmul
from simpleautodiff.rules.indexing import concatenate, getitem
from simpleautodiff.rules.piecewise import clip as clip_row
from simpleautodiff.rules.piecewise import where as where_row
from simpleautodiff.rules.shapes import max_over, min_over, reshape, shape_of, sum_over, transpose
from simpleautodiff.traced import plain


@answers(np.where)
def where(condition: Any, x: Any, y: Any) -> Any:
    """Choose element by element."""
    return where_row(plain(condition), x, y)


@answers(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Choose by the first condition that holds."""
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where_row(plain(condition), choice, result)
    return result


@answers(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Keep between bounds."""
    low = -np.inf if a_min is None else a_min
    high = np.inf if a_max is None else a_max
    return clip_row(a, low, high)


@answers(np.sort)
def sort(a: Any, axis: int | None = -1) -> Any:
    """Sort; every element keeps its own derivative."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    order = np.argsort(plain(a), axis=axis, kind="stable")
    result: Any = FUNCTIONS[np.take_along_axis](a, order, axis)
    return result


@answers(np.median)
def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the middle element, or the mean of the two in the middle."""
    return quantile(a, 0.5, axis, keepdims)


@answers(np.quantile)
def quantile(a: Any, q: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Interpolate between sorted elements; one quantile at a time."""
    if np.ndim(q) or not 0 <= q <= 1:
        raise RuleError(f"a quantile of a node is one number between 0 and 1 at a time, not {q!r}")
    axes, full = axes_of(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    x = sort(reshape(transpose(a, (*axes, *rest)), (-1, *[full[i] for i in rest])), 0)
    place = q * (shape_of(x)[0] - 1)
    low = int(np.floor(place))
    high = min(low + 1, shape_of(x)[0] - 1)
    result = getitem(x, low) * (1 - (place - low)) + getitem(x, high) * (place - low)
    return (
        reshape(result, [1 if i in axes else n for i, n in enumerate(full)]) if keepdims else result
    )


@answers(np.percentile)
def percentile(a: Any, q: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a quantile given in per cent."""
    return quantile(a, np.asarray(q) / 100, axis, keepdims)


@answers(np.interp)
def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Interpolate linearly between points; constant outside them."""
    knots = np.asarray(plain(xp))
    if knots.size < 2:
        raise RuleError("np.interp of a node needs two points at least")
    i = np.clip(np.searchsorted(knots, plain(x), side="right") - 1, 0, len(knots) - 2)
    x0, x1, f0, f1 = (getitem(points, j) for points in (xp, fp) for j in (i, i + 1))
    inside = f0 + (f1 - f0) * ((x - x0) / (x1 - x0))
    right = where_row(plain(x) > knots[-1], fp[-1], inside)
    return where_row(plain(x) < knots[0], fp[0], right)


@answers(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial, the highest power first."""
    result: Any = 0.0
    for i in range(shape_of(p)[0]):
        result = result * x + p[i]
    return result


@answers(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolve two vectors."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    if m > n:
        a, v, n, m = v, a, m, n
    padded = concatenate([np.zeros(m - 1), a, np.zeros(m - 1)])
    windows = np.arange(n + m - 1)[:, None] + np.arange(m)[None, :]
    full = matmul(getitem(padded, windows), getitem(v, slice(None, None, -1)))
    if mode == "full":
        return full
    size = n if mode == "same" else n - m + 1
    start = (m - 1) // 2 if mode == "same" else m - 1
    return getitem(full, slice(start, start + size))


@answers(np.sinc)
def sinc_(x: Any) -> Any:
    """Return sin(πx)/(πx), smooth at 0."""
    return special.sinc(x)


@answers(np.nan_to_num)
def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    """Replace nan by a number, which does not depend on it."""
    number, limits = plain(x), np.finfo(x.dtype)
    bounded = where_row(number > 0, limits.max, where_row(number < 0, limits.min, nan))
    return where_row(np.isfinite(number), x, bounded)


@answers(np.nansum)
def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Add up what is not nan."""
    return sum_over(nan_to_num(a), axis, keepdims)


@answers(np.nanmean)
def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Average what is not nan."""
    count = np.sum(~np.isnan(plain(a)), axis=axis, keepdims=keepdims)
    return nansum(a, axis, keepdims) / count


@answers(np.nanmax)
def nanmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the largest of what is not nan."""
    return max_over(where_row(np.isnan(plain(a)), -np.inf, a), axis, keepdims)


@answers(np.nanmin)
def nanmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest of what is not nan."""
    return min_over(where_row(np.isnan(plain(a)), np.inf, a), axis, keepdims)


@answers(np.nanprod)
def nanprod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Multiply what is not nan."""
    return prod(nan_to_num(a, 1.0), axis, keepdims)


@answers(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None) -> Any:
    """Add up what is not nan, from the start to each element."""
    return cumsum_(nan_to_num(a), axis)


@answers(np.nanvar)
def nanvar(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the variance of what is not nan."""
    there = ~np.isnan(plain(a))
    deviation = where_row(there, nan_to_num(a) - nanmean(a, axis, True), 0.0)
    count = np.sum(there, axis=axis, keepdims=keepdims)
    return sum_over(squared_size(deviation), axis, keepdims) / (count - ddof)


@answers(np.nanstd)
def nanstd(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the root of the variance of what is not nan."""
    return np.sqrt(nanvar(a, axis, ddof, keepdims))


@answers(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0.0) -> Any:
    """Surround with constants, or with elements of the array itself."""
    numbers = np.arange(np.prod(shape_of(array), dtype=int)).reshape(shape_of(array))
    if mode != "constant":
        return getitem(reshape(array, (-1,)), np.pad(numbers, pad_width, mode))  # type: ignore[call-overload]
    places = np.pad(numbers, pad_width, constant_values=-1)
    padded = getitem(reshape(array, (-1,)), np.maximum(places, 0))
    return where_row(places >= 0, padded, constant_values)


@answers(np.partition)
def partition(a: Any, kth: Any, axis: int = -1) -> Any:
    """Put the k-th smallest element in its place, the smaller ones before it."""
    order = np.argpartition(plain(a), kth, axis)
    result: Any = FUNCTIONS[np.take_along_axis](a, order, axis)
    return result


@answers(np.gradient)
def gradient(f: Any, *spacing: Any, axis: int | None = None) -> Any:
    """Return slopes by central differences, one-sided at the ends, along one axis."""
    if len(spacing) > 1 or any(shape_of(dx) for dx in spacing):
        raise RuleError("np.gradient of a node takes one spacing, a number")
    if len(shape_of(f)) > 1 and not isinstance(axis, int):
        raise RuleError("np.gradient of a node needs one axis: np.gradient(f, axis=0)")
    dx = spacing[0] if spacing else 1.0
    axis = -1 if axis is None else axis
    y = np.moveaxis(f, axis, -1)
    first = (y[..., 1:2] - y[..., :1]) / dx
    inner = (y[..., 2:] - y[..., :-2]) / (2 * dx)
    last = (y[..., -1:] - y[..., -2:-1]) / dx
    return np.moveaxis(concatenate([first, inner, last], len(shape_of(y)) - 1), -1, axis)


@answers(np.ediff1d)
def ediff1d(ary: Any) -> Any:
    """Subtract neighbours of the flattened array."""
    return diff(ravel(ary))


@answers(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector as columns."""
    powers = np.arange(shape_of(x)[0] if N is None else N)
    return reshape(x, (-1, 1)) ** (powers if increasing else powers[::-1])


@answers(np.cov)
def cov(m: Any) -> Any:
    """Return the covariances of rows."""
    deviation = m - mean(m, -1, True)
    return matmul(deviation, conj(transpose(deviation, None))) / (shape_of(m)[-1] - 1)


@answers(np.corrcoef)
def corrcoef(x: Any) -> Any:
    """Return the correlations of rows."""
    c = cov(x)
    scale = np.sqrt(real(diagonal(c)))
    return c / outer(scale, scale)
