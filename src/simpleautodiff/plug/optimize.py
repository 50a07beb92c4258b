"""SciPy's solvers of equations and optimisation problems, with the derivatives filled in."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError
from simpleautodiff.plug.inputs import (
    F,
    as_tuple,
    as_vector,
    plain_solver,
    require_plain,
    scipy_module,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.arguments import check_function, name_of
from simpleautodiff.transforms.grad import derivative, hvp, value_and_grad
from simpleautodiff.transforms.jacobian import hessian, jacobian

_NEEDS_HESSIAN = {"dogleg", "trust-exact"}
_TAKES_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_ADVICE_FOR = "solve_{}(f, x0, *parameters) can be differentiated in its parameters"
_NO_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}


def minimize(
    f: F,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    constraints: Any = (),
    **options: Any,
) -> Any:
    """Call `scipy.optimize.minimize` with the gradient, and the Hessian where the method uses it.

    Constraints without Jacobians are given theirs. Derivatives that you pass
    yourself (`jac`, `hess`, `hessp`) are used unchanged. `x0` may have any shape: `f` is given
    arrays of that shape, and `x` of the result has it, too; one number is an array of one, as in
    SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> plug.minimize(rosenbrock, np.zeros(3), method="trust-exact").x.round(4)
    array([1., 1., 1.])
    """
    check_function(f)
    start = np.atleast_1d(np.asarray(x0, dtype=float))
    name = method.lower() if isinstance(method, str) else ""
    given = {"jac": jac, "hess": hess, "hessp": hessp}
    number = _reshape_input(
        _as_scalar(f if jac is not True else lambda *rest: f(*rest)[0]), start.shape
    )
    fun = number if jac is not True else _reshape_input(f, start.shape)
    if name not in _NO_GRADIENT:
        given = _fill_in_hessian(number, given, name)
        if given["jac"] is None:
            fun, given["jac"] = value_and_grad(number), True
    found = plain_solver("optimize", "minimize")(
        require_plain(fun, _ADVICE_FOR.format("minimum")),
        start.ravel(),
        as_tuple(args),
        method,
        constraints=_complete_constraints(constraints, start.shape),
        **{key: value for key, value in given.items() if value is not None},
        **options,
    )
    found.x = np.reshape(found.x, start.shape)
    return found


def _as_scalar(f: F) -> F:
    """Return `f` such that an array of one element becomes a scalar, as in SciPy."""

    @functools.wraps(f)
    def number(*args: Any) -> Any:
        result = as_vector(f(*args))
        if np.prod(shape_of(result)) != 1:
            raise ArgumentError(
                f"{name_of(f)} returned an array of shape {shape_of(result)}, but one number is "
                "minimised; use least_squares for a sum of squares"
            )
        return reshape(result, ()) if shape_of(result) else result

    return number


def _reshape_input(f: F, shape: tuple[int, ...]) -> F:
    """Return `f` as a function of a vector, which it gets in its own shape."""
    return f if len(shape) == 1 else lambda x, *rest: f(reshape(x, shape), *rest)


def _fill_in_hessian(f: F, given: dict[str, Any], method: str) -> dict[str, Any]:
    """Add the Hessian, or its products, if the method uses it and the user did not pass it."""
    if given["hess"] is not None or given["hessp"] is not None:
        return given
    if method in _NEEDS_HESSIAN:
        return {**given, "hess": lambda x, *rest: hessian(f)(x, *rest)}
    if method in _TAKES_PRODUCTS:
        return {**given, "hessp": lambda x, v, *rest: hvp(lambda x: f(x, *rest), (x,), (v,))}
    return given


def _complete_constraints(constraints: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(constraints, (list, tuple)):
        return [_add_jacobian(constraint, shape) for constraint in constraints]
    return _add_jacobian(constraints, shape)


def _add_jacobian(constraint: Any, shape: tuple[int, ...]) -> Any:
    """Add the Jacobian of a constraint, unless it has one or is linear."""
    if isinstance(constraint, dict):
        given = constraint.get("jac")
        fun = _reshape_input(constraint["fun"], shape)
        jac = _make_jacobian(fun) if given is None else _reshape_input(given, shape)
        return {**constraint, "fun": fun, "jac": jac}
    if not hasattr(constraint, "fun"):
        return constraint
    fun, given = _reshape_input(constraint.fun, shape), constraint.jac
    jac = _reshape_input(given, shape) if callable(given) else given
    if isinstance(jac, str) and jac == "2-point":  # SciPy's default, so it was not chosen
        jac = _make_jacobian(fun)
    constraint_class = scipy_module("optimize").NonlinearConstraint
    return constraint_class(
        fun, constraint.lb, constraint.ub, jac, constraint.hess, constraint.keep_feasible
    )


def _make_jacobian(f: F) -> F:
    """Return the Jacobian of `f`, which may return a list, in its first argument."""
    check_function(f)
    return lambda x, *rest, **named: jacobian(lambda x: as_vector(f(x, *rest, **named)))(x)


def least_squares(residuals: F, x0: Any, jac: Any = None, **options: Any) -> Any:
    """Call `scipy.optimize.least_squares` with the Jacobian of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> t = np.linspace(0, 1, 5)
    >>> fit = plug.least_squares(lambda p: p[0] * np.exp(p[1] * t) - 2 * np.exp(-t), [1.0, 0.0])
    >>> fit.x.round(6)
    array([ 2., -1.])
    """
    jac = _make_jacobian(residuals) if jac is None else jac
    if "args" in options:
        options["args"] = as_tuple(options["args"])
    x0 = np.asarray(x0, dtype=float)
    return plain_solver("optimize", "least_squares")(
        require_plain(residuals, _ADVICE_FOR.format("minimum")), x0, jac=jac, **options
    )


def root(f: F, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, **rest: Any) -> Any:
    """Call `scipy.optimize.root` with the Jacobian, for the methods that use one (hybr and lm).

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> plug.root(lambda x: np.cos(x) - x, np.array([0.5])).x.round(6)
    array([0.739085])
    """
    if jac is None and method.lower() in ("hybr", "lm"):
        jac = _make_jacobian(f)
    x0 = np.asarray(x0, dtype=float)
    return plain_solver("optimize", "root")(
        require_plain(f, _ADVICE_FOR.format("root")), x0, as_tuple(args), method, jac, **rest
    )


def root_scalar(f: F, args: Any = (), method: Any = None, **options: Any) -> Any:
    """Call `scipy.optimize.root_scalar` with f' for Newton's method and f'' for Halley's.

    Without a method and without a bracket, Newton's method is used.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> print(plug.root_scalar(lambda x: ad.cos(x) - x, x0=1.0).root.round(6))
    0.739085
    """
    check_function(f)
    if method is None and "bracket" not in options and "x1" not in options:
        method = "newton"
    if method in ("newton", "halley"):
        options.setdefault("fprime", derivative(f))
    if method == "halley":
        options.setdefault("fprime2", derivative(f, 2))
    if options.get("x0") is not None:
        options["x0"] = float(options["x0"])
    return plain_solver("optimize", "root_scalar")(
        require_plain(f, _ADVICE_FOR.format("root")), as_tuple(args), method, **options
    )


def curve_fit(f: F, xdata: Any, ydata: Any, p0: Any = None, *, jac: Any = None, **rest: Any) -> Any:
    """Call `scipy.optimize.curve_fit` with the derivatives of the curve in its parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> t = np.linspace(0, 4, 9)
    >>> p, _ = plug.curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 3 * np.exp(-0.5 * t))
    >>> p.round(6)
    array([3. , 0.5])
    """
    check_function(f)

    def slopes(x: Any, *parameters: Any) -> Any:
        return jacobian(lambda p: as_vector(f(x, *p)))(np.array(parameters, dtype=float))

    jac = slopes if jac is None else jac
    return plain_solver("optimize", "curve_fit")(f, xdata, ydata, p0, jac=jac, **rest)
