"""Cubic interpolators of scipy.interpolate that are given their slopes, or find them locally."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from simpleautodiff.arrays.registry import as_array, decide, implements_scipy
from simpleautodiff.arrays.scipy.scipy_interpolate import check_finite, take_coefficients
from simpleautodiff.errors import InputError, cite_line
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where

_LEVEL = 1e-9  # of the weights of Akima's slopes, relative to the largest: below, a plain mean


@implements_scipy("interpolate.CubicHermiteSpline.__init__")
def make_hermite_spline(
    spline: Any, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> None:
    """Make a spline through y with slopes dydx."""
    x, y, dydx = as_array(x), as_array(y), as_array(dydx)
    _set_out(spline, x, y, axis, True if extrapolate is None else extrapolate)
    steps, y = _columns(x, y, axis)
    _put(spline, x, steps, y, np.moveaxis(dydx, axis, 0))


@implements_scipy("interpolate.PchipInterpolator.__init__")
def make_pchip(spline: Any, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
    """Make an interpolator that is monotone where the data are."""
    x, y = as_array(x), as_array(y)
    _set_out(spline, x, y, axis, True if extrapolate is None else extrapolate)
    steps, y = _columns(x, y, axis)
    _put(spline, x, steps, y, _find_monotone_slopes(steps, np.diff(y, axis=0) / steps))


@implements_scipy("interpolate.pchip_interpolate")
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: int = 0, axis: int = 0) -> Any:
    """Evaluate a monotone interpolator, or its derivative of order der."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(xi, yi, axis=axis)(x, der)


@implements_scipy("interpolate.Akima1DInterpolator.__init__")
def make_akima(
    spline: Any,
    x: Any,
    y: Any,
    axis: int = 0,
    *,
    method: str = "akima",
    extrapolate: Any = None,
) -> None:
    """Make Akima's interpolator, or its modified form."""
    x, y = as_array(x), as_array(y)
    _set_out(spline, x, y, axis, extrapolate)
    steps, y = _columns(x, y, axis)
    secants = np.diff(y, axis=0) / steps
    straight = shape_of(secants)[0] == 1
    slopes = concatenate([secants, secants]) if straight else _find_akima_slopes(secants, method)
    _put(spline, x, steps, y, slopes)


def _set_out(spline: Any, x: Any, y: Any, axis: int, extrapolate: Any) -> None:
    """Check the points, and set what a piecewise polynomial knows beside its numbers."""
    count, full = shape_of(x), shape_of(y)
    axis = normalize_axis_index(axis, len(full))
    if len(count) != 1 or count[0] < 2 or full[axis] != count[0]:
        raise InputError(
            f"{type(spline).__name__} takes at least two points x, a vector, and as many y along "
            f"axis {axis}; they have shapes {count} and {full}{cite_line()}"
        )
    if not decide(_increases, x):
        raise InputError(f"{type(spline).__name__} takes increasing points x{cite_line()}")
    check_finite(type(spline).__name__, y)
    spline.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
    spline.axis = axis


def _increases(x: Any) -> Any:
    return np.all(np.diff(x) > 0)


def _columns(x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """Return the steps between the points and the values, with the interpolated axis first."""
    y = np.moveaxis(y, axis, 0)
    return reshape(np.diff(x), (-1, *[1] * (len(shape_of(y)) - 1))), y


def _put(spline: Any, x: Any, steps: Any, y: Any, slopes: Any) -> None:
    """Give a spline the polynomials that have these values and slopes at the points."""
    secants = np.diff(y, axis=0) / steps
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / steps
    take_coefficients(
        spline,
        x,
        np.stack([bend / steps, (secants - slopes[:-1]) / steps - bend, slopes[:-1], y[:-1]]),
    )


def _find_monotone_slopes(steps: Any, secants: Any) -> Any:
    """Return weighted harmonic means of the secants beside each point; 0 at an extremum."""
    if shape_of(secants)[0] == 1:
        return concatenate([secants, secants])
    before, after = secants[:-1], secants[1:]
    turns = (np.sign(before) != np.sign(after)) | (before == 0) | (after == 0)
    early, late = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    mean = early / where(turns, 1.0, before) + late / where(turns, 1.0, after)
    inner = where(turns, 0.0, (early + late) / mean)
    first = _find_end_slope(steps[:1], steps[1:2], secants[:1], secants[1:2])
    last = _find_end_slope(steps[-1:], steps[-2:-1], secants[-1:], secants[-2:-1])
    return concatenate([first, inner, last])


def _find_end_slope(step: Any, next_step: Any, secant: Any, next_secant: Any) -> Any:
    """Return the slope at an end, of a parabola, limited so that the shape stays."""
    slope = ((2 * step + next_step) * secant - step * next_secant) / (step + next_step)
    turns = np.sign(secant) != np.sign(next_secant)
    limited = where(turns & (np.abs(slope) > 3 * np.abs(secant)), 3 * secant, slope)
    return where(np.sign(slope) != np.sign(secant), 0.0, limited)


def _find_akima_slopes(secants: Any, method: str) -> Any:
    """Return means of the secants beside each point, weighted by how the others differ."""
    one = 2 * secants[:1] - secants[1:2]
    two = 2 * secants[-1:] - secants[-2:-1]
    m = concatenate([2 * one - secants[:1], one, secants, two, 2 * two - secants[-1:]])
    weights = np.abs(np.diff(m, axis=0))
    if method == "makima":
        weights = weights + 0.5 * np.abs(m[1:] + m[:-1])
    both = weights[2:] + weights[:-2]
    known = both > _LEVEL * np.max(both)
    weighted = m[1:-2] + weights[:-2] / where(known, both, 1.0) * (m[2:-1] - m[1:-2])
    return where(known, weighted, 0.5 * (m[3:] + m[:-3]))
