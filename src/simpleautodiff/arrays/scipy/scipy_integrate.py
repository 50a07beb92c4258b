"""The functions of scipy.integrate on nodes that integrate sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy.calculus import diff, trapezoid
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import implements_scipy
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ArgumentError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of, real_dtype
from simpleautodiff.rules.array.indexing import concatenate, cumsum, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import broadcast_to, shape_of, sum_over
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import optional

SCIPY["integrate.trapezoid"] = trapezoid


def _to_floats(x: Any) -> Any:
    return x if isinstance(x, Traced) else np.asarray(x) * 1.0


def _arrange(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, int]:
    """Return the values with their axis last, the steps between them, and the axis."""
    y = _to_floats(y)
    (axis,) = axes_of(y, axis)
    last = np.moveaxis(y, axis, -1)
    n = shape_of(last)[-1]
    if x is None:
        return last, broadcast_to(_to_floats(dx), (n - 1,)), axis
    x = _to_floats(x)
    x = x if len(shape_of(x)) == 1 else np.moveaxis(x, axis, -1)
    if shape_of(x)[-1] != n:
        raise ArgumentError(f"x has {shape_of(x)[-1]} points, y has {n}{cite_line()}")
    return last, diff(x), axis


def _divide(a: Any, b: Any) -> Any:
    """Divide, with a / 0 = 0, as SciPy treats points that coincide."""
    zero = to_plain(b) == 0
    return where(zero, 0.0, a / where(zero, 1.0, b))


@implements_scipy("integrate.simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by Simpson's rule; the last of an odd number of steps has a parabola of its own."""
    if x is None and isinstance(dx, Traced):
        return simpson(y, axis=axis) * dx
    f, h, _ = _arrange(y, x, dx, axis)
    n = shape_of(f)[-1]
    if n < 3:
        return sum_over((f[..., 1:] + f[..., :-1]) / 2 * h, -1, False)
    steps = n - 1 if n % 2 else n - 2
    h0, h1 = h[..., 0:steps:2], h[..., 1:steps:2]
    f0, f1, f2 = (f[..., i : steps + i : 2] for i in range(3))
    wide = h0 + h1
    parts = (
        f0 * (2 - _divide(h1, h0))
        + f1 * (wide * _divide(wide, h0 * h1))
        + f2 * (2 - _divide(h0, h1))
    )
    total = sum_over(wide / 6 * parts, -1, False)
    return total if n % 2 else total + _integrate_last_step(f, h[..., -2], h[..., -1])


def _integrate_last_step(f: Any, before: Any, step: Any) -> Any:
    """Integrate over the last step, by the parabola through the last three points."""
    last = _divide(2 * step**2 + 3 * before * step, 6 * (before + step)) * f[..., -1]
    middle = _divide(step**2 + 3 * before * step, 6 * before) * f[..., -2]
    return last + middle - _divide(step**3, 6 * before * (before + step)) * f[..., -3]


@implements_scipy("integrate.cumulative_trapezoid")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrate by trapezoids up to every point."""
    f, h, axis = _arrange(y, x, dx, axis)
    return _accumulate((f[..., 1:] + f[..., :-1]) / 2 * h, axis, initial, 0)


@implements_scipy("integrate.cumulative_simpson")
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrate by parabolas up to every point."""
    f, h, axis = _arrange(y, x, dx, axis)
    n = shape_of(f)[-1]
    if n < 3:
        return _accumulate((f[..., 1:] + f[..., :-1]) / 2 * h, axis, initial, initial)
    ahead = _integrate_first_step(f[..., :-2], f[..., 1:-1], f[..., 2:], h[..., :-1], h[..., 1:])
    behind = _integrate_first_step(f[..., 2:], f[..., 1:-1], f[..., :-2], h[..., 1:], h[..., :-1])
    odd = np.arange(n - 1) % 2 == 1
    odd[-1] = True  # there is no point after it
    indices = np.arange(n - 1)
    from_ahead = getitem(ahead, (..., np.minimum(indices, n - 3)))
    from_behind = getitem(behind, (..., np.maximum(indices - 1, 0)))
    return _accumulate(where(odd, from_behind, from_ahead), axis, initial, initial)


def _integrate_first_step(f1: Any, f2: Any, f3: Any, step: Any, after: Any) -> Any:
    """Integrate over the first of two steps, by the parabola through three points."""
    part, both = step / (step + after), step / after
    return step / 6 * ((3 - part) * f1 + (3 + part * both + part) * f2 - part * both * f3)


def _accumulate(parts: Any, axis: int, initial: Any, offset: Any) -> Any:
    """Return the cumulative sum, with the initial value in front."""
    total = cumsum(parts, len(shape_of(parts)) - 1)
    if initial is not None:
        first = np.zeros((*shape_of(total)[:-1], 1), dtype_of(total)) + _to_floats(initial)
        total = concatenate([first, total + _to_floats(offset)], len(shape_of(total)) - 1)
    return np.moveaxis(total, -1, axis)


@implements_scipy("integrate.romb")
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrate by Romberg's method: a weighted sum with SciPy's weights."""
    y = np.moveaxis(_to_floats(y), axis, -1)
    function = optional("scipy.integrate", "romb of an array").romb
    weights = function(np.eye(shape_of(y)[-1]), axis=0).astype(real_dtype(y))
    return matmul(y, weights) * dx
