"""SciPy's solvers with the derivatives they ask for, and derivatives of what they find.

`minimize`, `least_squares`, `root` and `curve_fit` are SciPy's, with Jacobians and Hessians filled
in. `solve_root`, `solve_minimum` and `solve_fixed_point` are functions of their parameters that can
be differentiated themselves: the solution is found in plain numbers, and then two steps of Newton's
method are recorded, which change nothing but carry the derivatives (the first step those of order
one, the second all up to order three).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import DomainError
from simpleautodiff.jacobians import hessian, jacobian
from simpleautodiff.number import optional
from simpleautodiff.structure import map_leaves
from simpleautodiff.traced import Traced, plain
from simpleautodiff.transform import grad, hvp, value_and_grad

F = Callable[..., Any]
_NEEDS_HESSIAN = {"dogleg", "trust-exact"}
_TAKES_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_NO_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}


def _optimize() -> Any:
    optional("scipy", "simpleautodiff.plug")
    import scipy.optimize

    return scipy.optimize


def minimize(
    f: F, x0: Any, args: tuple[Any, ...] = (), method: str = "BFGS", **options: Any
) -> Any:
    """Call `scipy.optimize.minimize` with the gradient, and the Hessian where the method uses it.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> plug.minimize(rosenbrock, np.zeros(3), method="trust-exact").x.round(4)
    array([1., 1., 1.])
    """
    x0 = np.asarray(x0, dtype=float)
    if method.lower() in _NO_GRADIENT:
        return _optimize().minimize(f, x0, args, method, **options)
    if method.lower() in _NEEDS_HESSIAN:
        options["hess"] = lambda x, *rest: hessian(f)(x, *rest)
    elif method.lower() in _TAKES_PRODUCTS:
        options["hessp"] = lambda x, v, *rest: hvp(lambda x: f(x, *rest), (x,), (v,))
    return _optimize().minimize(value_and_grad(f), x0, args, method, jac=True, **options)


def least_squares(residuals: F, x0: Any, **options: Any) -> Any:
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
    x0 = np.asarray(x0, dtype=float)
    return _optimize().least_squares(residuals, x0, jac=jacobian(residuals), **options)


def root(f: F, x0: Any, args: tuple[Any, ...] = (), **options: Any) -> Any:
    """Call `scipy.optimize.root` with the Jacobian.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> plug.root(lambda x: np.cos(x) - x, np.array([0.5])).x.round(6)
    array([0.739085])
    """
    return _optimize().root(f, np.asarray(x0, dtype=float), args, jac=jacobian(f), **options)


def curve_fit(f: F, xdata: Any, ydata: Any, p0: Any, **options: Any) -> Any:
    """Call `scipy.optimize.curve_fit` with the derivatives of the curve in its parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff import plug
    >>> t = np.linspace(0, 4, 9)
    >>> p, _ = plug.curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 3 * np.exp(-0.5 * t), [1, 1])
    >>> p.round(6)
    array([3. , 0.5])
    """

    def jac(x: Any, *parameters: float) -> Any:
        return jacobian(lambda p: f(x, *p))(np.array(parameters, dtype=float))

    return _optimize().curve_fit(f, xdata, ydata, p0, jac=jac, **options)


def solve_root(f: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return x with f(x, *parameters) = 0, as a function of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> square_root = lambda a: plug.solve_root(lambda x, a: x**2 - a, np.array([1.0]), a)[0]
    >>> ad.grad(square_root)(4.0).round(9), ad.grad(ad.grad(square_root))(4.0).round(9)
    (np.float64(0.25), np.float64(-0.03125))
    """
    found = _optimize().root(
        lambda x: f(x, *map_leaves(_innermost, parameters)),
        np.asarray(plain(x0), dtype=float),
        jac=jacobian(lambda x: f(x, *map_leaves(_innermost, parameters))),
        **{"tol": 1e-13, **options},
    )
    if not found.success and np.max(np.abs(found.fun)) > 1e-8:
        raise DomainError(f"no root was found from {plain(x0)!r}: {found.message}")
    x: Any = found.x
    for _ in range(2):
        x = x - np.linalg.solve(jacobian(f)(x, *parameters), f(x, *parameters))
    return x


def solve_minimum(f: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return the x that minimises f(x, *parameters), as a function of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> f = lambda x, a: np.sum((x - a) ** 2) + np.sum(x**4)
    >>> best = lambda a: plug.solve_minimum(f, np.array([0.0]), a)[0]
    >>> x = best(3.0)
    >>> bool(abs(ad.grad(best)(3.0) - 2 / (2 + 12 * x**2)) < 1e-12)
    True
    """
    plain_parameters = map_leaves(_innermost, parameters)
    start = minimize(lambda x: f(x, *plain_parameters), plain(x0), **options).x
    return solve_root(grad(f), start, *parameters)


def solve_fixed_point(g: F, x0: Any, *parameters: Any, **options: Any) -> Any:
    """Return x with g(x, *parameters) = x, as a function of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> x = lambda a: plug.solve_fixed_point(lambda x, a: np.cos(a * x), np.array([0.5]), a)[0]
    >>> expected = -x(1.0) * np.sin(x(1.0)) / (1 + np.sin(x(1.0)))
    >>> bool(abs(ad.grad(x)(1.0) - expected) < 1e-12)
    True
    """
    return solve_root(lambda x, *rest: g(x, *rest) - x, x0, *parameters, **options)


def _innermost(parameter: Any) -> Any:
    return plain(parameter) if isinstance(parameter, Traced) else parameter
