"""Roots, minima and fixed points as differentiable functions of their parameters.

The solution is found in plain numbers. Then steps of Newton's method are recorded, which do not
change the value but carry the derivatives: the first step those of order one, the second all up to
three, the third all up to seven; as many are recorded as the order requires.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.newton import newton_steps
from simpleautodiff.errors import ArgumentError, DomainError
from simpleautodiff.plug.closures import pass_held
from simpleautodiff.plug.inputs import (
    F,
    as_vector,
    check_shape,
    has_nodes,
    plain_solver,
    plain_tree,
    require_plain,
    solve_each,
)
from simpleautodiff.plug.optimize import minimize
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.arguments import check_function, name_of
from simpleautodiff.transforms.grad import grad
from simpleautodiff.transforms.jacobian import hessian, jacobian
from simpleautodiff.transforms.packing import reshape_to

_NEAR = 1e-7  # if a Newton step is this small, relative to x, then x is a root
_CHANGE = 0.1  # of the Jacobian along a Newton step, at the most: beside a double root it is a half
_BEHIND = "pass what it depends on as an argument behind x0: (f, x0, p) for f(x, p)"


def solve_root(f: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return x with f(x, *parameters) = 0, as a function of the parameters.

    x has the shape of the first guess `x0`: a number or an array; `f` gives as many numbers. The
    parameters may be nested dicts and lists. `options` are those of `scipy.optimize.root`.
    Derivatives of every order are right.

    Raises
    ------
    DomainError
        If no root is found, or if the Jacobian is singular there, so that there is no derivative.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> square_root = lambda a: plug.solve_root(lambda x, a: x**2 - a, 1.0, a)
    >>> ad.grad(square_root)(4.0).round(9), ad.grad(ad.grad(square_root))(4.0).round(9)
    (np.float64(0.25), np.float64(-0.03125))
    """
    check_function(f)
    (f,), held = pass_held(f)
    parameters = (*parameters, *held)
    start = as_vector(plain_tree(x0))
    find = functools.partial(_find_root, f, options, has_nodes(parameters))
    x = solve_each(find, start, *plain_tree(parameters))
    flat = flatten_function(f, shape_of(start))
    for _ in newton_steps(parameters):
        x = x - newton_step(flat, x, parameters)
    return reshape_to(x, shape_of(start))


def _find_root(f: F, options: dict[str, Any], derived: bool, start: Any, *parameters: Any) -> Any:
    """Return a root as a plain vector; a single one, if derivatives are `derived` from it."""
    start = np.asarray(start, dtype=float)
    flat = flatten_function(f, start.shape)
    of_x = lambda x: flat(x, *parameters)  # noqa: E731
    found = plain_solver("optimize", "root")(
        require_plain(of_x, _BEHIND),
        start.ravel(),
        **{"jac": jacobian(of_x), "tol": 1e-13, **options},
    )
    if not _is_root(of_x, start.ravel(), found):
        raise DomainError(f"no root of {name_of(f)} was found from {start!r}: {found.message}")
    if derived:
        check_single(of_x, found.x, plain_step(of_x, found.x))
    return found.x


def flatten_function(f: F, shape: tuple[int, ...]) -> F:
    """Return `f` as a function from vectors to vectors."""
    same = check_shape(f, shape, "as many equations as unknowns, in the shape of x0")
    return lambda x, *parameters: reshape(same(reshape_to(x, shape), *parameters), (-1,))


def newton_step(flat: F, x: Any, parameters: tuple[Any, ...]) -> Any:
    """Return the Newton step: how far x is from the root of the linearised equation."""
    try:
        return np.linalg.solve(jacobian(flat)(x, *parameters), flat(x, *parameters))
    except (np.linalg.LinAlgError, DomainError):
        raise DomainError(_SINGULAR) from None


_SINGULAR = (
    "the Jacobian of the equation is singular at the solution, so the solution has no derivative "
    "there: is it a double root, or one of a whole curve of solutions?"
)


def check_single(f: F, x: Any, step: Any) -> None:
    """Refuse a root beside which the Jacobian vanishes, as solvers stop beside double roots."""
    if not keeps_slope(f, x, step):
        raise DomainError(_SINGULAR)


def plain_step(f: F, x: Any) -> Any:
    """Return the shortest Newton step of an equation of plain numbers, also of a singular one."""
    return np.linalg.lstsq(jacobian(f)(x), f(x))[0]


def keeps_slope(f: F, x: Any, step: Any) -> bool:
    """Tell whether the Jacobian at x stays along a Newton step; beside a double root it falls."""
    before, after = (jacobian(f)(at) @ step for at in (x, x - step))
    return bool(np.linalg.norm(before - after) <= _CHANGE * np.linalg.norm(before))


def _is_root(f: F, start: Any, found: Any) -> bool:
    """Tell whether the solver has found a root, whatever status it reports.

    It may report slow progress at a root, or success far from one where nothing changes.
    """
    value, slopes = f(found.x), jacobian(f)(found.x)
    if not np.all(np.isfinite(slopes)) or not np.all(np.isfinite(value)):
        return False
    step = np.linalg.lstsq(slopes, value)[0]
    left = np.max(np.abs(value - slopes @ step), initial=0.0)
    near = np.max(np.abs(step), initial=0.0) <= _NEAR * (1 + np.max(np.abs(found.x), initial=0.0))
    explained = left <= _NEAR * (1 + np.max(np.abs(f(start)), initial=0.0))
    return bool(explained and (near or found.success))


def solve_minimum(f: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return the x that minimises f(x, *parameters), as a function of the parameters.

    x has the shape of `x0`. `options` are those of `minimize`; bounds and constraints are rejected,
    because the derivative at an active bound is a different one.

    Raises
    ------
    DomainError
        If no minimum is found.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> best = lambda a: plug.solve_minimum(lambda x, a: (x - a) ** 2 + x**4, 0.0, a)
    >>> x = best(3.0)
    >>> bool(abs(ad.grad(best)(3.0) - 2 / (2 + 12 * x**2)) < 1e-12)
    True
    """
    check_function(f)
    if {"bounds", "constraints"} & options.keys():
        raise ArgumentError(
            "solve_minimum is without bounds and constraints; add a penalty, or write the "
            "conditions of the minimum as equations for solve_root"
        )
    (f,), held = pass_held(f)
    parameters = (*parameters, *held)
    start = as_vector(plain_tree(x0))
    x = solve_each(functools.partial(_find_minimum, f, options), start, *plain_tree(parameters))
    return solve_root(grad(f), x, *parameters) if has_nodes(parameters) else x


def _find_minimum(f: F, options: dict[str, Any], start: Any, *fixed: Any) -> Any:
    """Return a minimum as a plain vector."""
    start = np.asarray(start, dtype=float)
    of_flat = lambda x: f(reshape_to(x, start.shape), *fixed)  # noqa: E731
    found = minimize(of_flat, start.ravel(), **options)
    try:
        x = solve_root(grad(f), reshape_to(found.x, start.shape), *fixed)
    except DomainError:
        raise DomainError(
            f"no minimum of {name_of(f)} was found from {start!r}: {found.message}"
        ) from None
    curvature = np.linalg.eigvalsh(hessian(of_flat)(np.ravel(x)))
    higher = f(x, *fixed) > found.fun + 1e-6 * (1 + abs(found.fun))
    if higher or curvature[0] < -1e-8 * np.max(np.abs(curvature)):
        raise DomainError(
            f"no minimum of {name_of(f)} was found from {start!r}: the slope is 0 at {x!r}, but "
            f"there are lower values. minimize says: {found.message}"
        )
    return x


def solve_fixed_point(g: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return x with g(x, *parameters) = x, as a function of the parameters.

    It is the root of g(x) - x, so g need not be a contraction; see `solve_root`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> x = lambda a: plug.solve_fixed_point(lambda x, a: np.cos(a * x), 0.5, a)
    >>> expected = -x(1.0) * np.sin(x(1.0)) / (1 + np.sin(x(1.0)))
    >>> bool(abs(ad.grad(x)(1.0) - expected) < 1e-12)
    True
    """
    shape = shape_of(as_vector(plain_tree(x0)))
    same = check_shape(g, shape, "g(x) must have the shape of x0")
    return solve_root(lambda x, *rest: same(x, *rest) - x, x0, *parameters, **options)
