"""RBFInterpolator of scipy.interpolate at nodes: a linear system, and sums of radial functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array, implements_scipy
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of
from simpleautodiff.rules.branches import where

_DEGREES = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
_SCALE_FREE = {"linear", "thin_plate_spline", "cubic", "quintic"}


def _root(squares: Any) -> Any:
    """Return the square root, whose derivative at 0 is taken as 0, as that of a norm."""
    return where(squares == 0, 0.0, np.sqrt(where(squares == 0, 1.0, squares)))


def _thin_plate(squares: Any) -> Any:
    apart = where(squares == 0, 1.0, squares)
    return apart * np.log(apart) / 2


_KERNELS: dict[str, Callable[[Any], Any]] = {  # of the square of the distance
    "linear": lambda s: -_root(s),
    "thin_plate_spline": _thin_plate,
    "cubic": lambda s: s * _root(s),
    "quintic": lambda s: -(s**2) * _root(s),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}


@implements_scipy("interpolate.RBFInterpolator.__init__")
def make_radial(
    interpolator: Any,
    y: Any,
    d: Any,
    neighbors: Any = None,
    smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline",
    epsilon: Any = None,
    degree: Any = None,
) -> None:
    """Make an interpolator of data d at points y, any of which may be nodes."""
    kernel = kernel.lower()
    if kernel not in _KERNELS:
        raise RuleError(f"`kernel` is one of {', '.join(_KERNELS)}, not {kernel!r}{cite_line()}")
    if epsilon is None and kernel not in _SCALE_FREE:
        raise RuleError(f"the kernel {kernel!r} needs an epsilon{cite_line()}")
    degree = max(_DEGREES.get(kernel, -1), 0) if degree is None else int(degree)
    y, d = as_array(y), as_array(d)
    _check_points(y, d, smoothing)
    count, dimensions = shape_of(y)
    powers = _list_powers(dimensions, degree)
    used = count if neighbors is None else int(min(neighbors, count))
    if degree < -1 or used < len(powers):
        raise InputError(
            f"RBFInterpolator takes a degree of at least -1, not {degree}, and at least as many "
            f"points, {used}, as there are polynomials, {len(powers)}{cite_line()}"
        )
    settings = {
        "y": y,
        "d": reshape(d, (count, -1)),
        "d_shape": shape_of(d)[1:],
        "neighbors": None if neighbors is None else used,
        "smoothing": smoothing,
        "kernel": kernel,
        "epsilon": 1.0 if epsilon is None else epsilon,
        "powers": powers,
    }
    vars(interpolator).update(settings)
    kind = type(interpolator)
    interpolator.__class__ = type(kind.__name__, (kind,), {"__call__": evaluate_radial})


def _check_points(y: Any, d: Any, smoothing: Any) -> None:
    """Refuse what SciPy refuses: arrays that do not fit would be broadcast."""
    points, smooth = shape_of(y), shape_of(as_array(smoothing))
    if len(points) != 2 or shape_of(d)[:1] != points[:1] or smooth not in ((), points[:1]):
        raise InputError(
            "RBFInterpolator takes points y, one in each row, one d for each, and one smoothing "
            f"for each or for all; shapes are {points}, {shape_of(d)}, {smooth}{cite_line()}"
        )


def _list_powers(dimensions: int, degree: int) -> Any:
    """Return the exponents of all monomials up to a degree, each a row."""
    rows = [
        [chosen.count(axis) for axis in range(dimensions)]
        for total in range(degree + 1)
        for chosen in itertools.combinations_with_replacement(range(dimensions), total)
    ]
    return np.array(rows, dtype=int).reshape(-1, dimensions)


@implements_scipy("interpolate.RBFInterpolator.__call__")
def evaluate_radial(interpolator: Any, x: Any) -> Any:
    """Evaluate an interpolator at points, each a row."""
    own, x = interpolator, as_array(x)
    y, d, smoothing = own.y, own.d, own.smoothing
    if len(shape_of(x)) != 2 or shape_of(x)[1] != shape_of(y)[1]:
        raise InputError(
            f"RBFInterpolator takes points in rows of {shape_of(y)[1]}; x has shape {shape_of(x)}"
            f"{cite_line()}"
        )
    smoothing = broadcast_to(as_array(smoothing), (shape_of(y)[0],))
    if own.neighbors is None:
        result = _solve_and_add(own, x, y, d, smoothing)
    else:
        near = _find_neighbors(x, y, own.neighbors)
        y, d, smoothing = getitem(y, near), getitem(d, near), getitem(smoothing, near)
        result = _solve_and_add(own, x[:, None], y, d, smoothing)[:, 0]
    return reshape(result, (shape_of(x)[0], *own.d_shape))


def _find_neighbors(x: Any, y: Any, count: int) -> Any:
    """Return the indices of the points y next to each x, in their order."""
    from scipy.spatial import KDTree

    x, y = to_plain(x), to_plain(y)
    if isinstance(x, Traced) or isinstance(y, Traced):
        raise RuleError(
            "RBFInterpolator with neighbors looks at plain points, which differ from example to "
            f"example in a batch; leave out neighbors{cite_line()}"
        )
    return np.sort(KDTree(y).query(x, range(1, count + 1))[1], axis=-1)


def _solve_and_add(own: Any, x: Any, y: Any, d: Any, smoothing: Any) -> Any:
    """Solve the equations of the coefficients, and add up what they weigh.

    x has the shape (..., Q, N), y (..., P, N) and d (..., P, S). The polynomials are scaled to
    the box of the points, which the result does not depend on.
    """
    points = to_plain(y)
    top, bottom = np.max(points, axis=-2, keepdims=True), np.min(points, axis=-2, keepdims=True)
    middle, half = (top + bottom) / 2, (top - bottom) / 2
    half = where(half == 0, 1.0, half)
    rows, polynomials = shape_of(y)[-2], len(own.powers)
    basis = _polynomials((y - middle) / half, own.powers)
    diagonal = smoothing[..., None] * np.eye(rows)
    upper = concatenate([_distances(own, y, y) + diagonal, basis], axis=-1)
    corner = np.zeros((*shape_of(y)[:-2], polynomials, polynomials))
    lower = concatenate([np.swapaxes(basis, -1, -2), corner], axis=-1)
    right = concatenate([d, np.zeros((*shape_of(d)[:-2], polynomials, shape_of(d)[-1]))], axis=-2)
    weights = np.linalg.solve(concatenate([upper, lower], axis=-2), right)
    functions = [_distances(own, x, y), _polynomials((x - middle) / half, own.powers)]
    return concatenate(functions, axis=-1) @ weights


def _distances(own: Any, x: Any, y: Any) -> Any:
    """Return the radial function of the distances of all x from all y."""
    apart = own.epsilon * (x[..., :, None, :] - y[..., None, :, :])
    return _KERNELS[own.kernel](np.sum(apart**2, axis=-1))


def _polynomials(x: Any, powers: Any) -> Any:
    """Return all monomials of x, along a new last axis in place of the coordinates."""
    return np.prod(x[..., None, :] ** powers, axis=-1)
