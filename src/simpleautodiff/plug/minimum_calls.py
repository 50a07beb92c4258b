"""SciPy's minimisers and fits called with nodes: their results, with derivatives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.linalg

from simpleautodiff.errors import ArgumentError, DomainError, cite_line
from simpleautodiff.plug.inputs import F, as_tuple, as_vector, has_nodes
from simpleautodiff.plug.optimality import Minimisation, as_number, follow, settle
from simpleautodiff.plug.plain_calls import PlainCall, name_root, root_of
from simpleautodiff.plug.solver_results import Returned
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.transforms.grad import grad
from simpleautodiff.transforms.jacobian import jacobian
from simpleautodiff.values.pytree import flatten

Given = dict[str, Any]  # the arguments of a solver, by name


def find_minimum(solver: F, *args: Any, **kwargs: Any) -> Any:
    """Call a solver of scipy.optimize in plain numbers, and give its minimum its derivatives.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from scipy.optimize import minimize
    >>> from simpleautodiff.plug.minimum_calls import find_minimum
    >>> best = lambda a: find_minimum(minimize, lambda x: (x[0] - a) ** 2 + x[0] ** 4, [0.0]).x[0]
    >>> x = best(3.0)
    >>> bool(abs(ad.grad(best)(3.0) - 2 / (2 + 12 * x**2)) < 1e-6)
    True
    """
    kind = _KINDS.get(solver.__name__, Minimum)
    call, name = PlainCall(solver, args, kwargs), f"scipy.optimize.{solver.__name__}"

    def read(arguments: Given, result: Any) -> Any:
        x = root_of(result)
        settled = call.attempt(lambda: settle(kind(arguments).problem(), x, name))
        if arguments.get("finish", "") is None:
            call.failure = DomainError(
                f"{name} with finish=None returns a point of its grid, whose derivative is not "
                f"that of the minimum; leave finish=None out{cite_line()}"
            )
        return settled or (0.0, False, np.nan if x is None else x)

    both, active, at = call.solve(read)
    own, returned = kind(call.arguments), Returned(f"the result of {name}", call.held, call.results)
    if call.failure is not None:
        return returned.complete(name_root(call.results[0], returned.fail(at, call.failure)))
    x = follow(own.problem(), both, active, at, call.held)
    return returned.complete(own.know(returned, x))


class Minimum:
    """A minimum of one number, and the result of the solver that found it."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.args = as_tuple(given.get("args"))

    def value(self, x: Any) -> Any:
        """Return what is minimised."""
        function = next(self.given[name] for name in ("fun", "func", "f") if name in self.given)
        args = self.args or as_tuple((self.given.get("minimizer_kwargs") or {}).get("args"))
        value = function(x, *args)
        return value[0] if isinstance(value, tuple) else value

    def problem(self) -> Minimisation:
        """Return the whole problem."""
        options = {**self.given, **(self.given.get("minimizer_kwargs") or {})}
        if "x1" in options:
            options["bounds"] = (options["x1"], options["x2"])
        constraints = [_read_constraint(each) for each in _listed(options.get("constraints"))]
        constraints += _read_functions(options)
        if (bounds := options.get("bounds")) is not None:
            constraints.append((_same, *_read_bounds(bounds)))
        return Minimisation(self.value, constraints)

    def know(self, returned: Returned, x: Any) -> Any:
        """Return the parts of SciPy's result that have derivatives, by their place in it."""
        found = returned.results[0]
        known = name_root(found, x)
        if isinstance(found, tuple):
            if isinstance(found[1], (float, np.ndarray)):  # not a count
                known[1] = returned.keep_value(found[1], self.value(x))
        elif isinstance(found, dict):
            known["fun"] = returned.keep_value(found["fun"], self.value(x))
            if "jac" in found and np.shape(found["jac"]) == np.shape(found["x"]):
                slope = grad(lambda at: as_number(self.value(at)))(x)
                known["jac"] = returned.keep_value(found["jac"], slope)
        return known


def _same(x: Any) -> Any:
    return x


def _listed(constraints: Any) -> list[Any]:
    if constraints is None:
        return []
    return list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]


def _read_constraint(constraint: Any) -> tuple[F, Any, Any]:
    """Return a constraint of any of SciPy's forms as a function and its limits."""
    if isinstance(constraint, dict):
        args = as_tuple(constraint.get("args"))
        upper = 0.0 if constraint["type"].lower() == "eq" else np.inf
        return (lambda x: constraint["fun"](x, *args)), 0.0, upper
    if hasattr(constraint, "A"):
        return (lambda x: constraint.A @ x), constraint.lb, constraint.ub
    return constraint.fun, constraint.lb, constraint.ub


def _read_functions(given: Given) -> list[tuple[F, Any, Any]]:
    """Return the constraints that fmin_slsqp and fmin_cobyla take as functions."""
    args, own = as_tuple(given.get("args")), given.get("consargs")
    found = []
    for name, upper in (("eqcons", 0.0), ("ieqcons", np.inf), ("cons", np.inf)):
        of_args = args if own is None or name != "cons" else as_tuple(own)
        several = f"f_{name}"
        functions = [given[several]] if given.get(several) else _listed(given.get(name))
        found += [(_bind(f, of_args), 0.0, upper) for f in functions]
    return found


def _bind(f: F, args: tuple[Any, ...]) -> F:
    return lambda x: f(x, *args)


def _read_bounds(bounds: Any) -> tuple[Any, Any]:
    """Return the lower and the upper bounds, from SciPy's `Bounds` or from pairs."""
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    if len(bounds) == 2 and not hasattr(bounds[0], "__len__"):
        bounds = [bounds]
    pairs = [(pair[0], pair[1]) for pair in bounds]
    lower = [-np.inf if low is None else low for low, _ in pairs]
    return as_vector(lower), as_vector([np.inf if high is None else high for _, high in pairs])


class LeastSquares(Minimum):
    """A minimum of a sum of squares, or of another function of squares."""

    @property
    def loss(self) -> Any:
        """What is made of the squares: a name or a function."""
        return self.given.get("loss", "linear")

    def residuals(self, x: Any) -> Any:
        """Return the residuals, a vector."""
        function = self.given.get("fun", self.given.get("func"))
        value = function(x, *self.args, **(self.given.get("kwargs") or {}))  # type: ignore[misc]
        return reshape(as_vector(value), (-1,))

    def value(self, x: Any) -> Any:
        """Return half of the sum of what the loss makes of the squares."""
        scale, loss = self.given.get("f_scale", 1.0), self.loss
        squares = (self.residuals(x) / scale) ** 2
        losses = loss(squares)[0] if callable(loss) else _LOSSES[loss](squares)
        return 0.5 * scale**2 * np.sum(losses)

    def problem(self) -> Minimisation:
        """Return the whole problem."""
        bounds = self.given.get("bounds", (-np.inf, np.inf))
        lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
        limits = [*flatten([lower, upper])[0]]
        free = not has_nodes(limits) and all(np.all(np.isinf(limit)) for limit in limits)
        return Minimisation(self.value, [] if free else [(_same, lower, upper)])

    def know(self, returned: Returned, x: Any) -> Any:
        """Return the parts of SciPy's result that have derivatives, by their place in it."""
        found, residuals = returned.results[0], self.residuals(x)
        known = name_root(found, x)
        if isinstance(found, dict):
            numbers = {
                "cost": self.value(x),
                "fun": residuals,
                "jac": jacobian(self.residuals)(x),
            }
            names = numbers.keys() & found.keys()
            if self.loss != "linear":
                names -= {"jac"}  # of which SciPy returns a multiple
            kept = {name: returned.keep_value(found[name], numbers[name]) for name in names}
            return {**known, **kept}
        if len(found) > 2:  # x, covariance, a dict, ...
            known[2] = {"fvec": returned.keep_value(found[2]["fvec"], residuals)}
            known[1] = self._find_covariance(returned, x, residuals)
        return known

    def _find_covariance(self, returned: Returned, x: Any, residuals: Any) -> Any:
        """Return the inverse of JᵀJ, if the solver found it."""
        found = returned.results[0][1]
        return None if found is None else returned.keep_value(found, self._invert(x))

    def _invert(self, x: Any) -> Any:
        slopes = jacobian(self.residuals)(x)
        return np.linalg.inv(slopes.T @ slopes)


_LOSSES: dict[str, F] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: where(z <= 1, z, 2 * np.sqrt(z) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


class CurveFit(LeastSquares):
    """Parameters of a function that fit data."""

    def __init__(self, given: Given) -> None:
        super().__init__({**given, **(given.get("kwargs") or {})})  # those for least_squares

    def residuals(self, x: Any) -> Any:
        """Return the differences of the function and the data, by their standard deviations."""
        given = self.given
        if given.get("nan_policy") == "omit":
            raise ArgumentError(
                f"curve_fit of nodes does not leave out nans; take them out before{cite_line()}"
            )
        places = given["xdata"]
        places = as_vector(places) if isinstance(places, (list, tuple)) else places
        left = given["f"](places, *[x[i] for i in range(shape_of(x)[0])]) - as_vector(
            given["ydata"]
        )
        sigma = given.get("sigma")
        if sigma is None:
            return reshape(left, (-1,))
        sigma = as_vector(sigma)
        if len(shape_of(sigma)) < 2:
            return reshape(left / sigma, (-1,))
        return scipy.linalg.solve_triangular(np.linalg.cholesky(sigma), left, lower=True)

    def know(self, returned: Returned, x: Any) -> Any:
        """Return the parts of SciPy's result that have derivatives, by their place in it."""
        known = super().know(returned, x)
        if self.loss != "linear":
            return known
        return {**known, 1: self._find_covariance(returned, x, self.residuals(x))}

    def _find_covariance(self, returned: Returned, x: Any, residuals: Any) -> Any:
        """Return the covariance of the parameters."""
        covariance = self._invert(x)
        if not self.given.get("absolute_sigma", False):
            free = shape_of(residuals)[0] - shape_of(x)[0]
            covariance = covariance * (np.sum(residuals**2) / free if free > 0 else np.inf)
        return returned.keep_value(returned.results[0][1], covariance)


class LinearLeastSquares(LeastSquares):
    """lsq_linear and nnls: residuals are A x - b."""

    def residuals(self, x: Any) -> Any:
        """Return A x - b."""
        return self.given["A"] @ x - as_vector(self.given["b"])


class NonNegativeLeastSquares(LinearLeastSquares):
    """nnls: x is not negative, and the second result is a norm."""

    def problem(self) -> Minimisation:
        """Return the whole problem."""
        return Minimisation(self.value, [(_same, 0.0, np.inf)])

    def know(self, returned: Returned, x: Any) -> Any:
        """Return the solution and the norm of its residuals."""
        length = np.linalg.norm(self.residuals(x))
        return {0: x, 1: returned.keep_value(returned.results[0][1], length)}


class LinearProgram(Minimum):
    """linprog."""

    def value(self, x: Any) -> Any:
        """Return c · x."""
        return np.sum(as_vector(self.given["c"]) * x)

    def know(self, returned: Returned, x: Any) -> Any:
        """Return x, the least value, and how far it is from its limits."""
        known, given, found = super().know(returned, x), self.given, returned.results[0]
        for name, matrix, limit in (("slack", "A_ub", "b_ub"), ("con", "A_eq", "b_eq")):
            if given.get(matrix) is not None:
                left = as_vector(given[limit]) - as_vector(given[matrix]) @ x
                known[name] = returned.keep_value(found[name], left)
        return known

    def problem(self) -> Minimisation:
        """Return the whole problem."""
        given = self.given
        constraints: list[tuple[F, Any, Any]] = []
        for matrix, limit, lowest in (("A_ub", "b_ub", -np.inf), ("A_eq", "b_eq", None)):
            if given.get(matrix) is not None:
                a, b = as_vector(given[matrix]), as_vector(given[limit])
                constraints.append(
                    (functools.partial(np.matmul, a), b if lowest is None else lowest, b)
                )
        bounds = given.get("bounds", (0, None))
        if bounds is not None:
            constraints.append((_same, *_read_bounds(bounds)))
        return Minimisation(self.value, constraints)


_KINDS: dict[str, type[Minimum]] = {
    "least_squares": LeastSquares,
    "leastsq": LeastSquares,
    "curve_fit": CurveFit,
    "lsq_linear": LinearLeastSquares,
    "nnls": NonNegativeLeastSquares,
    "linprog": LinearProgram,
}
