"""Calls of SciPy's own solvers that would lose a derivative: what is called instead."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from simpleautodiff.arrays.newton import newton_steps
from simpleautodiff.arrays.scipy.solver_hints import refuse_nodes
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ArgumentError, DomainError, cite_line
from simpleautodiff.plug import ode
from simpleautodiff.plug.closures import pass_held
from simpleautodiff.plug.implicit import flatten_function, newton_step
from simpleautodiff.plug.inputs import F, as_tuple, plain_tree, scipy_module, solve_each
from simpleautodiff.plug.ode import solve_ivp as solve_ivp
from simpleautodiff.plug.quadrature import quad as quad
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.packing import reshape_to

_FAR = 1e-4  # a Newton step longer than this, relative to x, does not start at a root


def find_root(solver: F, *args: Any, **kwargs: Any) -> Any:
    """Call a root finder of scipy.optimize in plain numbers, and give its root its derivatives.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from scipy.optimize import brentq
    >>> from simpleautodiff.plug.scipy_calls import find_root
    >>> root = lambda a: find_root(brentq, lambda x: x**2 - a, 0.0, 3.0)
    >>> ad.grad(root)(4.0).round(6)
    np.float64(0.25)
    """
    call = inspect.signature(solver).bind(*args, **kwargs)
    names = [name for name, part in call.arguments.items() if callable(part)]
    functions, held = pass_held(*(call.arguments[name] for name in names))
    parameters = (*as_tuple(call.arguments.get("args")), *held)
    call.arguments.update(plain_tree(dict(call.arguments)))
    call.arguments.update(zip(names, functions, strict=True))
    call.arguments[names[0]] = refuse_nodes(functions[0], f"optimize.{solver.__name__}")
    results: list[Any] = []

    def solve(*parameters: Any) -> Any:
        call.arguments["args"] = parameters
        results.append(solver(*call.args, **call.kwargs))
        return np.asarray(_root_of(results[-1]), dtype=float)

    x = solve_each(solve, *plain_tree(parameters))
    shape, f = shape_of(x), functions[0]
    if call.arguments.get("jac") is True:
        f = lambda *given: functions[0](*given)[0]  # noqa: E731
    if solver.__name__ == "fixed_point":
        f = lambda x, *given: functions[0](x, *given) - x  # noqa: E731
    flat, x = flatten_function(f, shape), reshape(x, (-1,))
    for _ in newton_steps(parameters):
        step = newton_step(flat, x, parameters)
        _check_root(solver, to_plain(step), to_plain(x))
        x = x - (step - to_plain(step))
    return _put_root(results[-1], reshape_to(x, shape), len(results) > 1)


def _check_root(solver: F, step: Any, x: Any) -> None:
    far = np.abs(step) > _FAR * (1 + np.abs(x))
    if np.any(to_plain(far) if not isinstance(far, Traced) else far.value):
        raise DomainError(
            f"scipy.optimize.{solver.__name__} did not arrive at a root, so there is no derivative"
            f"{cite_line()}"
        )


def _root_of(result: Any) -> Any:
    """Return the root in what a solver returned."""
    first = result[0] if isinstance(result, tuple) else result
    return getattr(first, "root", getattr(first, "x", first))


def _put_root(result: Any, x: Any, several: bool) -> Any:
    """Return the result of a solver with x as its root; of several examples, the root alone."""
    if isinstance(result, tuple):
        if several:
            raise ArgumentError(f"inside vmap, leave out full_output{cite_line()}")
        return tuple(x if i == 0 else _put_root(part, x, False) for i, part in enumerate(result))
    name = next((name for name in ("root", "x") if hasattr(result, name)), "")
    if not name:
        return result if isinstance(result, (dict, str, int)) else x
    made = scipy_module("optimize").OptimizeResult() if several else copy.copy(result)
    made[name] = x
    return made


def odeint(
    func: F,
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    tfirst: bool = False,
    rtol: Any = None,
    atol: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    mxstep: int = 0,
    **others: Any,
) -> Any:
    """Call `plug.odeint` with the arguments of SciPy's odeint."""
    if others:
        raise ArgumentError(
            f"odeint of nodes takes no {', '.join(others)}; leave them out{cite_line()}"
        )
    right = (lambda y, t, *given: func(t, y, *given)) if tfirst else func
    options = {"rtol": rtol, "atol": atol, "first_step": h0 or None, "max_step": hmax or None}
    given = {name: option for name, option in options.items() if option is not None}
    return ode.odeint(right, y0, t, args, **given)
