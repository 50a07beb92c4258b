"""Splines of scipy.interpolate at nodes, piecewise polynomials, and interpolation on grids."""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.lost_derivatives import INSTEAD
from simpleautodiff.arrays.registry import decide, implements_scipy
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import optional


@implements_scipy("interpolate.PPoly.__call__")
def piecewise(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a piecewise polynomial with plain coefficients, or its derivative of order nu."""
    extrapolate = _choose(extrapolate, spline.extrapolate)
    pieces = spline.derivative(nu) if nu else spline
    points, numbers = pieces.x, pieces.c
    if extrapolate == "periodic":
        x = points[0] + (x - points[0]) % (points[-1] - points[0])
    ends, at, count = to_plain(points), to_plain(x), shape_of(points)[0]
    if not decide(_rise, points):
        ends, at = -ends, -at
    i = np.clip(np.searchsorted(ends, at, side="right") - 1, 0, count - 2)
    outside = (at < ends[0]) | (at > ends[-1])
    step, outside = (
        _add_axes(part, numbers.ndim - 2) for part in (x - getitem(points, i), outside)
    )
    result: Any = getitem(numbers[0], i)
    for line in numbers[1:]:
        result = result * step + getitem(line, i)
    result = result if extrapolate else where(outside, np.nan, result)
    return _move_axes(result, len(shape_of(x)), pieces.axis)


def _rise(points: Any) -> Any:
    """Tell whether the points of a piecewise polynomial rise, rather than fall."""
    return np.all(points[..., 0] < points[..., -1])


def _add_axes(x: Any, axes: int) -> Any:
    """Add axes of length 1, for a spline of arrays."""
    return reshape(x, (*shape_of(x), *[1] * axes)) if axes else x


def _move_axes(result: Any, rank: int, axis: int) -> Any:
    """Move the axes of the evaluation points to the position of the interpolated axis."""
    if not axis:
        return result
    return np.moveaxis(result, range(rank), range(axis, axis + rank))


def inner_knots(spline: Any) -> Any:
    """Return the knots of a B-spline between its ends; the others only shape its outer parts."""
    return spline.t[spline.k : len(spline.t) - spline.k]


@implements_scipy("interpolate.BSpline.__call__")
def b_spline(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a B-spline by its piecewise polynomial."""
    interpolate = optional("scipy.interpolate", "a spline")
    extrapolate = _choose(extrapolate, spline.extrapolate)
    plainly, knots = interpolate.BSpline(spline.t, spline.c, spline.k), inner_knots(spline)
    orders = range(spline.k, -1, -1)
    numbers = np.stack([plainly(knots[:-1], n) / math.factorial(n) for n in orders])
    pieces = interpolate.PPoly.construct_fast(numbers, knots, extrapolate, spline.axis)
    return piecewise(pieces, x, nu, extrapolate)


# Splines through nodes. ---------------------------------------------------------------------------


@implements_scipy("interpolate.CubicSpline.__init__")
def make_cubic_spline(
    spline: Any,
    x: Any,
    y: Any,
    axis: int = 0,
    bc_type: Any = "not-a-knot",
    extrapolate: Any = None,
) -> None:
    """Make a spline through nodes: its coefficients are a matrix times y."""
    if isinstance(x, Traced) or bc_type not in ("not-a-knot", "clamped", "natural"):
        raise RuleError(
            "CubicSpline of nodes takes plain points x, and bc_type 'not-a-knot', 'clamped' or "
            f"'natural'; it got {type(x).__name__} and {bc_type!r}{cite_line()}"
        )
    check_finite("CubicSpline", y)
    kind = type(spline)
    kind.__init__(spline, x, np.zeros(shape_of(y)), axis, bc_type, extrapolate)
    basis = kind(x, np.eye(len(spline.x)), bc_type=bc_type).c
    take_coefficients(spline, spline.x, np.tensordot(basis, np.moveaxis(y, axis, 0), axes=(2, 0)))


def check_finite(name: str, y: Any) -> None:
    """Refuse values that no spline goes through, as SciPy does."""
    if not decide(_are_finite, y):
        raise InputError(f"{name}: y must contain only finite values{cite_line()}")


def _are_finite(y: Any) -> Any:
    return np.all(np.isfinite(y))


def take_coefficients(spline: Any, x: Any, c: Any) -> None:
    """Give points and coefficients that are nodes to a piecewise polynomial."""
    kind: Any = type(spline)
    spline.__class__ = kind if "nodes" in vars(kind) else _class_through_nodes(kind)
    spline.points_and_coefficients = x, c


@functools.cache
def _class_through_nodes(kind: Any) -> type:
    """Return the class of a piecewise polynomial of nodes.

    SciPy's other methods are refused: they would find plain coefficients, or none.
    """
    methods: dict[str, Any] = {
        "nodes": True,
        **{
            name: _refuse(name)
            for name, _ in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        },
        "x": property(lambda self: self.points_and_coefficients[0]),
        "c": property(lambda self: self.points_and_coefficients[1]),
        "__call__": lambda self, t, nu=0, extrapolate=None: piecewise(
            self, np.asarray(t) if isinstance(t, list) else t, nu, extrapolate
        ),
        "derivative": lambda self, nu=1: _derive(self, nu),
        "antiderivative": lambda self, nu=1: _derive(self, -nu),
        "integrate": _integrate,
    }
    return type(kind.__name__, (kind,), methods)


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuleError(
            f"{name} of a {type(self).__name__} through nodes has no derivative rule; the spline "
            "can be evaluated, differentiated and integrated, and simpleautodiff.plug.solve_root "
            f"finds where it has a value{cite_line()}"
        )

    return refuse


def _derive(spline: Any, nu: int) -> Any:
    """Return a derivative of a spline with nodes as coefficients; an integral, if nu < 0."""
    made = copy.copy(spline)
    c, steps = spline.c, np.diff(spline.x)
    for _ in range(abs(nu)):
        orders = np.arange(len(c), 0, -1).reshape(-1, *[1] * (len(shape_of(c)) - 1))
        if nu > 0:
            c = (c * (orders - 1))[:-1] if len(c) > 1 else 0 * c
        else:
            c = c / orders
            gained = sum(c[-k] * _add_axes(steps**k, len(shape_of(c)) - 2) for k in orders.flat)
            start = np.cumsum(gained, axis=0) - gained
            c = np.concatenate([c, start[None]])
    if nu < 0 and spline.extrapolate == "periodic":
        made.extrapolate = False  # an integral grows from period to period
    take_coefficients(made, spline.x, c)
    return made


def _integrate(spline: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """Integrate a spline with nodes as coefficients; a periodic one over whole periods, too."""
    integral, extrapolate = _derive(spline, -1), _choose(extrapolate, spline.extrapolate)
    if extrapolate != "periodic":
        return integral(b, 0, extrapolate) - integral(a, 0, extrapolate)
    first, last = spline.x[0], spline.x[-1]

    def integrate_to(end: Any) -> Any:
        periods = np.floor((end - first) / (last - first))
        return periods * integral(last) + integral(end - periods * (last - first), 0, True)

    return integrate_to(b) - integrate_to(a)


def _choose(given: Any, default: Any) -> Any:
    return default if given is None else given


# Grids. -------------------------------------------------------------------------------------------

_DEGREES = {"linear": 1, "slinear": 1, "cubic": 3, "quintic": 5}


@implements_scipy("interpolate.RegularGridInterpolator.__init__")
def make_interpolator(
    interpolator: Any, points: Any, values: Any, *args: Any, **kwargs: Any
) -> None:
    """Make an interpolator of values that are nodes."""
    kind = type(interpolator)
    kind.__init__(interpolator, points, np.array(to_plain(values)), *args, **kwargs)
    plainly = copy.copy(interpolator)
    flipped = interpolator._descending_dimensions
    interpolator._values = np.flip(values, flipped) if flipped else values

    def call(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        return give_values(interpolate_on_grid(self, xi, method, nu=nu), plainly, (xi, method), {})

    interpolator.__class__ = type(kind.__name__, (kind,), {"__call__": call})


@implements_scipy("interpolate.RegularGridInterpolator.__call__")
def interpolate_on_grid(interpolator: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """Interpolate values on a grid: along each axis, weights times values."""
    method, grid, values = method or interpolator.method, interpolator._grid, interpolator._values
    if (method not in _DEGREES and method != "nearest") or nu is not None:
        raise RuleError(
            f"RegularGridInterpolator of nodes has no rule for method={method!r}, nu={nu!r}: pass "
            f"one of {', '.join(map(repr, _DEGREES))}, and nu=None{cite_line()}"
        )
    if isinstance(xi, tuple):
        xi = np.stack(np.broadcast_arrays(*xi), -1)
    xi = xi if hasattr(xi, "shape") else np.asarray(xi)
    kept = shape_of(xi)[:-1] or (1,)
    xi = reshape(xi, (-1, len(grid)))
    result: Any = None
    outside = np.zeros(shape_of(xi)[0], bool)
    for axis, points in enumerate(grid):
        x = getitem(xi, (slice(None), axis))
        outside = outside | (to_plain(x) < points[0]) | (to_plain(x) > points[-1])
        weights = _weigh(points, x, method)
        if result is None:
            result = np.tensordot(weights, values, axes=(1, 0))
        else:
            result = np.einsum("pi,pi...->p...", weights, result)
    if interpolator.bounds_error and np.any(outside):
        raise InputError(f"RegularGridInterpolator: a point is outside of the grid{cite_line()}")
    if interpolator.fill_value is not None:
        outside = _add_axes(outside, len(shape_of(result)) - 1)
        result = where(outside, interpolator.fill_value, result)
    return reshape(result, kept + shape_of(result)[1:])


def _weigh(points: Any, x: Any, method: str) -> Any:
    """Return the weights of the values at the points of one axis, for each x a row."""
    if method == "nearest":
        i = np.clip(np.searchsorted(points, to_plain(x), side="right") - 1, 0, len(points) - 2)
        i = i + (to_plain(x) - points[i] > (points[i + 1] - points[i]) / 2)
        return np.eye(len(points))[i]
    make = optional("scipy.interpolate", "a spline").make_interp_spline
    return b_spline(make(points, np.eye(len(points)), _DEGREES[method]), x)


_LINEAR = (
    "it takes plain numbers when it is made. np.interp takes nodes; and what is linear in y has a "
    "matrix: write W = {}(t) once, and then W @ y"
)
for _name, _text in {
    "interp1d": "interp1d(x, np.eye(len(x)), axis=0)",
}.items():
    for _method in ("__init__", "__call__"):
        INSTEAD[f"interpolate.{_name}.{_method}"] = _LINEAR.format(_text)
INSTEAD["interpolate._Interpolator1D.__call__"] = (
    "for linear interpolation write np.interp(t, x, y), for cubic CubicSpline(x, y)(t)"
)
