"""np.diff, np.gradient, np.trapezoid, np.interp, np.convolve, np.unwrap and their relatives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.arrays.reductions import axes_of, axis_of
from simpleautodiff.arrays.registry import as_array, as_float, implements, to_dtype, widen
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.decisions import as_operand
from simpleautodiff.rules.row import add_kinks
from simpleautodiff.rules.scalar.arithmetic import div
from simpleautodiff.rules.scalar.complex_parts import conj


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Subtract neighbours, `n` times."""
    if n < 0:
        raise ArgumentError(f"np.diff subtracts neighbours n times; n is {n}")
    axis = axis_of(a, axis)
    ends = [_end(a, axis, end) for end in (prepend, append)]
    parts = [*ends[0], a, *ends[1]]
    x = concatenate(parts, axis) if len(parts) > 1 else a
    ahead = (slice(None),) * axis
    for _ in range(n):
        x = x[(*ahead, slice(1, None))] - x[(*ahead, slice(None, -1))]
    return x


def _end(a: Any, axis: int, values: Any) -> list[Any]:
    """Return what is put before or behind an array: a scalar is broadcast."""
    if values is None or values is np._NoValue:
        return []
    side = tuple(1 if i == axis else n for i, n in enumerate(shape_of(a)))
    return [broadcast_to(values, side) if not shape_of(values := as_array(values)) else values]


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Subtract neighbours of the flattened array."""
    first, last = ([] if x is None else [_as_end(x, ary)] for x in (to_begin, to_end))
    return concatenate([*first, diff(reshape(ary, (-1,))), *last])


def _as_end(x: Any, ary: Any) -> Any:
    return reshape(x if isinstance(x, Traced) else np.asarray(x, dtype_of(ary)), (-1,))


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by trapezoids."""
    y = as_array(y)
    position = axis_of(y, axis)
    step = dx
    if x is not None:
        x = as_array(x)
        step = diff(x, axis=axis if len(shape_of(x)) > 1 else -1)
        if len(shape_of(x)) == 1:
            step = reshape(step, [-1 if i == position else 1 for i in range(len(shape_of(y)))])
    z = np.moveaxis(y, position, -1)
    inner = (z[..., 1:] + z[..., :-1]) / 2
    return sum_over(np.moveaxis(inner, -1, position) * step, axis, False)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return slopes: second-order differences inside, differences of `edge_order` at the ends."""
    f = as_float(as_array(f))
    axes = axes_of(f, axis)
    spacings = varargs or (1.0,)
    if len(spacings) == 1 and not shape_of(as_array(spacings[0])):
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise ArgumentError(f"np.gradient has {len(axes)} axes, but {len(spacings)} spacings")
    if any(shape_of(f)[i] <= edge_order for i in axes) or edge_order not in (1, 2):
        raise ArgumentError(
            f"np.gradient needs more than edge_order = {edge_order} (1 or 2) elements on each axis "
            f"of an array of shape {shape_of(f)}"
        )
    pairs = zip(spacings, axes, strict=True)
    slopes = [_find_slopes(f, as_array(h), i, edge_order) for h, i in pairs]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _find_slopes(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Return the slopes along one axis, from its coordinates or their constant spacing."""
    y = np.moveaxis(f, axis, -1)
    n = shape_of(y)[-1]
    if shape_of(spacing) not in ((), (n,)):
        raise InputError(
            f"np.gradient: coordinates of shape {shape_of(spacing)} do not fit the {n} numbers "
            f"along axis {axis} of an array of shape {shape_of(f)}{cite_line()}"
        )
    spacing = as_float(spacing)  # as NumPy does: small integers would overflow
    d = diff(spacing) if shape_of(spacing) else broadcast_to(spacing, (n - 1,))
    before, after = d[:-1], d[1:]
    inner = (
        y[..., 2:] * (before / (after * (before + after)))
        + y[..., 1:-1] * ((after - before) / (before * after))
        - y[..., :-2] * (after / (before * (before + after)))
    )
    first = _find_edge_slope(y[..., :3], d[:2], edge_order)
    last = -_find_edge_slope(y[..., :-4:-1], d[:-3:-1], edge_order)
    slopes = concatenate([first, inner, last], len(shape_of(y)) - 1)
    return np.moveaxis(to_dtype(slopes, dtype_of(f)), -1, axis)


def _find_edge_slope(y: Any, d: Any, order: int) -> Any:
    """Return the slope at the first of two or three points."""
    if order == 1:
        return (y[..., 1:2] - y[..., :1]) / d[0]
    a, b = d[0], d[1]
    return (
        y[..., 1:2] * ((a + b) / (a * b))
        - y[..., :1] * ((2 * a + b) / (a * (a + b)))
        - y[..., 2:3] * (a / (b * (a + b)))
    )


_between = add_kinks(
    div,
    Kink(
        "x at a point of the table",
        lambda a, b: a in (0, b),
        "the slope to its right; at the last point to its left",
    ),
)


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Interpolate linearly between points; constant outside them, or periodic."""
    x, xp, fp = (widen(as_array(u)) for u in (x, xp, fp))
    if len(shape_of(xp)) != 1 or shape_of(fp) != shape_of(xp) or not shape_of(xp)[0]:
        raise InputError(
            "np.interp needs vectors of equal length for xp and fp, one point at least, not "
            f"arrays of shape {shape_of(xp)} and {shape_of(fp)}{cite_line()}"
        )
    if period is not None:
        x, xp, fp = _repeat_periods(x, xp, fp, period)
        left = right = None
    knots = to_plain(xp)
    if len(knots) == 1:
        xp, fp, knots = (
            np.concatenate([p, p + step]) for p, step in ((xp, 1), (fp, 0), (knots, 1))
        )
    i = np.clip(np.searchsorted(as_operand(xp), as_operand(x), side="right") - 1, 0, len(knots) - 2)
    x0, x1, f0, f1 = (getitem(points, j) for points in (xp, fp) for j in (i, i + 1))
    inside = f0 + (f1 - f0) * _between(x - x0, x1 - x0)
    above = where_row(as_operand(x) > knots[-1], fp[-1] if right is None else right, inside)
    return where_row(as_operand(x) < knots[0], fp[0] if left is None else left, above)


def _repeat_periods(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Map all points into one period, sorted, with one more on either side."""
    xp = xp % period
    order = np.argsort(as_operand(xp))
    xp, fp = xp[order], fp[order]
    wide = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x % period, wide, concatenate([fp[-1:], fp, fp[:1]])


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolve two vectors."""
    n, m = len(as_array(a)), len(as_array(v))
    return _trim_to_mode(_all_products(as_array(a), as_array(v)), n, m, mode, (min(n, m) - 1) // 2)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Correlate two vectors: convolve with the conjugate of the second, backwards."""
    a, v = as_array(a), conj(as_array(v))[::-1]
    n, m = len(a), len(v)
    shift = (min(n, m) - 1) // 2 if n >= m else min(n, m) // 2
    return _trim_to_mode(_all_products(a, v), n, m, mode, shift)


def _all_products(a: Any, v: Any) -> Any:
    """Return the full convolution: windows of the longer one times the shorter one."""
    if len(v) > len(a):
        a, v = v, a
    if not len(v):
        raise ArgumentError("an empty array cannot be convolved")
    n, m = len(a), len(v)
    zeros = np.zeros(m - 1, dtype_of(a))
    windows = np.arange(n + m - 1)[:, None] + np.arange(m)[None, :]
    return matmul(getitem(concatenate([zeros, a, zeros]), windows), v[::-1])


def _trim_to_mode(full: Any, n: int, m: int, mode: str, shift: int) -> Any:
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ArgumentError(f"mode is 'full', 'same' or 'valid', not {mode!r}")
    size, start = (max(n, m), shift) if mode == "same" else (abs(n - m) + 1, min(n, m) - 1)
    return getitem(full, slice(start, start + size))


@cache
def _reshape_with_kinks(axis: int, discont: float | None, period: float) -> Any:
    """Return a `reshape` that reports a kink where unwrapping could go either up or down."""

    def happens(angles: Any, _shape: Any) -> Any:
        steps = np.abs(np.diff(angles, axis=axis))
        return np.any((steps % period == period / 2) & (steps >= (discont or 0)))

    return add_kinks(reshape, Kink("steps of half a period", happens, "as if it did not jump"))


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """Remove jumps by multiples of the period, which are locally constant."""
    angles = to_plain(p)
    p = _reshape_with_kinks(axis, discont, period)(p, shape_of(p))
    return p + (np.unwrap(angles, discont, axis, period=period) - angles)
