"""Splines of scipy.interpolate at nodes: piecewise polynomials with plain coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD
from simpleautodiff.arrays.registry import implements_scipy
from simpleautodiff.core.level import plain
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import optional


@implements_scipy("interpolate.PPoly.__call__")
def piecewise(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a piecewise polynomial with plain coefficients, or its derivative of order nu."""
    extrapolate = spline.extrapolate if extrapolate is None else extrapolate
    pieces = spline.derivative(nu) if nu else spline
    points, numbers = pieces.x, pieces.c
    if extrapolate == "periodic":
        x = points[0] + (x - points[0]) % (points[-1] - points[0])
    i = np.clip(np.searchsorted(points, plain(x), side="right") - 1, 0, len(points) - 2)
    outside = (plain(x) < points[0]) | (plain(x) > points[-1])
    step, outside = (
        _add_axes(part, numbers.ndim - 2) for part in (x - getitem(points, i), outside)
    )
    result: Any = getitem(numbers[0], i)
    for line in numbers[1:]:
        result = result * step + getitem(line, i)
    result = result if extrapolate else where(outside, np.nan, result)
    return _move_axes(result, len(shape_of(x)), pieces.axis)


def _add_axes(x: Any, axes: int) -> Any:
    """Add axes of length 1, for a spline of arrays."""
    return reshape(x, (*shape_of(x), *[1] * axes)) if axes else x


def _move_axes(result: Any, rank: int, axis: int) -> Any:
    """Move the axes of the evaluation points to the position of the interpolated axis."""
    if not axis:
        return result
    return np.moveaxis(result, range(rank), range(axis, axis + rank))


@implements_scipy("interpolate.BSpline.__call__")
def b_spline(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a B-spline by its piecewise polynomial."""
    piecewise_class = optional("scipy.interpolate", "a spline").PPoly
    extrapolate = spline.extrapolate if extrapolate is None else extrapolate
    pieces = piecewise_class.from_spline((spline.t, spline.c, spline.k), extrapolate=extrapolate)
    return piecewise(pieces, x, nu, extrapolate)


_LINEAR = (
    "it takes plain numbers when it is made. np.interp takes nodes; and what is linear in y has a "
    "matrix: write W = {}(t) once, and then W @ y"
)
for _name, _text in {
    "CubicSpline": "CubicSpline(x, np.eye(len(x)))",
    "interp1d": "interp1d(x, np.eye(len(x)), axis=0)",
}.items():
    for _method in ("__init__", "__call__"):
        INSTEAD[f"interpolate.{_name}.{_method}"] = _LINEAR.format(_text)
INSTEAD["interpolate._Interpolator1D.__call__"] = (
    "for linear interpolation write np.interp(t, x, y), for cubic CubicSpline(x, y)(t)"
)
