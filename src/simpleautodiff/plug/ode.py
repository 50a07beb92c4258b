"""SciPy's solvers of differential equations, as functions that can be differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arguments import check_function
from simpleautodiff.errors import ArgumentError
from simpleautodiff.jacobians import jacobian
from simpleautodiff.node import apply
from simpleautodiff.plug.flow import IMPLICIT, Problem, arrived
from simpleautodiff.plug.inputs import (
    F,
    Inputs,
    as_tuple,
    checked,
    has_nodes,
    scipy_module,
    vector,
    without_nodes,
)
from simpleautodiff.rules.shapes import concatenate, shape_of
from simpleautodiff.traced import Traced, plain

_SMALL = 500  # numbers in the matrix ∂y/∂inputs, up to which solving for it is the faster way
_OF_DIFFERENCES = ("jac_sparsity", "lband", "uband")  # options of Jacobians by differences


def solve_ivp(
    fun: F,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    sensitivity: str = "auto",
    **options: Any,
) -> Any:
    """Call `scipy.integrate.solve_ivp`; the solution can be differentiated.

    The implicit methods (Radau, BDF, LSODA) are given the Jacobian of `fun`. If nodes are among
    `y0`, `args` (also inside dicts and lists), `t_span` and `t_eval`, then `y` and `t` of the
    result are nodes. Every order and both modes work; with respect to times up to order four.

    Parameters
    ----------
    fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, options
        As in SciPy.
    sensitivity
        How derivatives are found. `"forward"` solves for the matrix ∂y/∂inputs together with y;
        `"adjoint"` solves one adjoint equation back in time, at a cost that does not depend on the
        number of inputs. `"auto"` takes the first while the matrix has at most 500 numbers. The
        tolerances `rtol` and `atol` are those of the solution.

    Raises
    ------
    DomainError
        If the solver gives up while nodes are involved; the message is SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> def decayed(rate):
    ...     found = plug.solve_ivp(
    ...         lambda t, y, rate: -rate * y, (0, 2), [3.0], args=(rate,), rtol=1e-10, atol=1e-10
    ...     )
    ...     return found.y[0, -1]
    >>> bool(abs(ad.grad(decayed)(0.5) - -6 * np.exp(-1)) < 1e-8)
    True
    """
    check_function(fun)
    if sensitivity not in ("auto", "forward", "adjoint"):
        raise ArgumentError(f"sensitivity is 'auto', 'forward' or 'adjoint'; got {sensitivity!r}")
    start, args = vector(y0), as_tuple(args)
    if len(shape_of(start)) != 1:
        raise ArgumentError(
            f"y0 must have one dimension, but has the shape {shape_of(start)}; pass [y0] for one "
            "number, np.ravel(y0) for an array"
        )
    if not has_nodes((start, args, t_span, t_eval)):
        if not vectorized and not any(name in options for name in ("jac", *_OF_DIFFERENCES)):
            options.update(_jacobian(fun, method))
        return scipy_module("integrate").solve_ivp(
            without_nodes(fun), t_span, y0, method, t_eval, dense_output, events, vectorized,
            args or None, **options,
        )  # fmt: skip
    _refuse(dense_output=dense_output, events=events, vectorized=vectorized)
    options = {key: value for key, value in options.items() if key not in _OF_DIFFERENCES}
    return _solve(fun, t_span, start, t_eval, args, sensitivity, {"method": method, **options})


def odeint(func: F, y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """Return the solution of y' = func(y, t, *args) at the times t, one row for each.

    The call is that of `autograd.scipy.integrate.odeint`: the first time is that of `y0`. The
    solution can be differentiated with respect to `y0`, `t` and `args`; `options` are those of
    `solve_ivp`, by default SciPy's LSODA with the tolerances of its `odeint`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> t = np.linspace(0, 1, 3)
    >>> last = lambda y0: plug.odeint(lambda y, t: -y, y0, t)[-1, 0]
    >>> ad.grad(last)(np.array([2.0])).round(6)
    array([0.367879])
    """
    check_function(func)
    t = vector(t)
    if len(shape_of(t)) != 1 or shape_of(t)[0] < 1:
        raise ArgumentError(f"t must be a list of times, the first that of y0; got {plain(t)!r}")

    def fun(t: Any, y: Any, *rest: Any) -> Any:
        return func(y, t, *rest)

    settings = {"method": "LSODA", "rtol": 1.49e-8, "atol": 1.49e-8, **options}
    found = solve_ivp(fun, (t[0], t[-1]), y0, t_eval=t, args=as_tuple(args), **settings)
    return np.transpose(arrived(found, plain(t)[[0, -1]]).y)


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise ArgumentError(
                f"{name} of solve_ivp would lose derivatives; leave it out, and ask for the times "
                "you need by t_eval"
            )


def _jacobian(fun: F, method: Any) -> dict[str, Any]:
    """Return the option `jac` for a method that uses it."""
    if method not in IMPLICIT:
        return {}
    return {"jac": lambda t, y, *args: jacobian(_flat(fun, len(y)), 1)(t, y, *args)}


def _flat(fun: F, size: int) -> F:
    return checked(fun, (size,), "one derivative for each number of y0")


def _solve(
    fun: F, t_span: Any, y0: Any, t_eval: Any, args: tuple[Any, ...], sensitivity: str, options: Any
) -> Any:
    """Solve with nodes: at plain times; then steps of no length carry the derivatives in times."""
    right = _flat(fun, shape_of(y0)[0])
    first, last = t_span
    y0 = _real(y0) * 1.0
    if isinstance(first, Traced):
        y0 = _step(right, first, y0, args, plain(first) - first)
    inputs = Inputs((y0, args), "solve_ivp")
    z = inputs.joined()
    small = shape_of(z)[0] * shape_of(y0)[0] <= _SMALL
    problem = Problem(
        fun=lambda t, y, z: right(t, y, *inputs.split(z)[1]),
        initial=lambda z: inputs.split(z)[0],
        jac=_block(right, options.pop("jac", None), inputs),
        span=(float(plain(first)), float(plain(last))),
        times=None if t_eval is None else np.array(plain(vector(t_eval)), dtype=float),
        options=options,
        count=shape_of(z)[0],
        size=shape_of(y0)[0],
        adjoint=sensitivity == "adjoint" or (sensitivity == "auto" and not small),
    )
    found = problem.solve(np.array(plain(z), dtype=float))
    problem.times = found.t
    result = type(found)(found)
    t = _times(first, last, t_eval, found.t)
    result.t, result.y = t, _moved(right, t, found.t, apply(problem.flow, z), args)
    result.sol = None
    return result


def _real(y0: Any) -> Any:
    if np.iscomplexobj(plain(y0)):
        raise ArgumentError(
            "a complex y0 has no derivatives in solve_ivp; solve for the real and the imaginary "
            "part: y0 = np.concatenate([y0.real, y0.imag])"
        )
    return y0


def _block(right: F, given: Any, inputs: Inputs) -> F:
    """Return ∂f/∂y as a function of (t, y, z): the user's own if there is one."""

    def jac(t: Any, y: Any, z: Any) -> Any:
        args = inputs.split(z)[1]
        if given is None:
            return jacobian(right, 1)(t, y, *args)
        found = given(t, y, *args) if callable(given) else given
        return found.toarray() if hasattr(found, "toarray") else np.asarray(found)

    return jac


def _times(first: Any, last: Any, t_eval: Any, found: Any) -> Any:
    """Return the times of the solution; without `t_eval` the ends of the span are among them."""
    if t_eval is not None:
        return vector(t_eval)
    if not has_nodes((first, last)):
        return found
    return concatenate([vector([first]), found[1:-1], vector([last])])


def _moved(right: F, t: Any, found: Any, y: Any, args: tuple[Any, ...]) -> Any:
    """Take the solution from plain times to the same times as nodes."""
    if not has_nodes(t):
        return y
    columns = [
        _step(right, time, y[:, i], args, t[i] - time) for i, time in enumerate(found.tolist())
    ]
    return np.stack(columns, 1)


def _step(right: F, t: Any, y: Any, args: tuple[Any, ...], h: Any) -> Any:
    """Make one step of Runge and Kutta: of length 0, it is right in derivatives up to order 4."""
    k1 = right(t, y, *args)
    k2 = right(t + h / 2, y + h / 2 * k1, *args)
    k3 = right(t + h / 2, y + h / 2 * k2, *args)
    k4 = right(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
