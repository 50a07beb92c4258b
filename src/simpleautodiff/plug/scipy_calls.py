"""Calls of SciPy's own solvers that would lose a derivative: what is called instead."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import no_scipy_rule
from simpleautodiff.arrays.newton import newton_steps
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ArgumentError, DomainError, RuleError, cite_line
from simpleautodiff.plug import ode
from simpleautodiff.plug.closures import HeldNodes
from simpleautodiff.plug.implicit import check_single, flatten_function, newton_step, plain_step
from simpleautodiff.plug.inputs import F, as_tuple
from simpleautodiff.plug.minimum_calls import find_minimum as find_minimum
from simpleautodiff.plug.nested_integrals import (
    dblquad as dblquad,
    nquad as nquad,
    tplquad as tplquad,
)
from simpleautodiff.plug.ode import solve_ivp as solve_ivp
from simpleautodiff.plug.plain_calls import PlainCall, name_root, root_of
from simpleautodiff.plug.quadrature import quad as quad
from simpleautodiff.plug.solver_results import Returned
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.packing import reshape_to


def call_solver(
    carrier: str, solver: F, call_plainly: F, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a solver of SciPy, by `call_plainly` if nothing that it is given holds a node."""
    held = HeldNodes((args, kwargs))
    if held.nodes:
        if carrier == "refuse":
            module = solver.__module__.split(".")[1]
            raise no_scipy_rule(f"{module}.{solver.__name__}")
        carry = globals()[carrier]
        return carry(*[solver] * carrier.startswith("find_"), *args, **kwargs)
    args, kwargs = held.replace(())
    return call_plainly(*args, **kwargs)


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
    call = PlainCall(solver, args, kwargs)

    def read(arguments: dict[str, Any], result: Any) -> Any:
        x = np.asarray(root_of(result))
        if x.dtype.kind == "c":
            raise RuleError(
                f"scipy.optimize.{solver.__name__}: a complex root has no derivative rule; solve "
                f"for its real and its imaginary part, two unknowns of scipy.optimize.root"
                f"{cite_line()}"
            )
        plain = flatten_function(functools.partial(_equation, call, arguments), x.shape)
        call.attempt(lambda: _check_root(solver, plain, x.ravel()))
        return x

    x = call.solve(read)
    returned = Returned(f"the result of scipy.optimize.{solver.__name__}", call.held, call.results)
    if call.failure is not None:
        return returned.complete(name_root(call.results[0], returned.fail(x, call.failure)))
    shape, f = shape_of(x), functools.partial(_equation, call, call.arguments)
    flat, x = flatten_function(f, shape), reshape(x, (-1,))
    for _ in newton_steps(call.held):
        step = newton_step(flat, x, ())
        x = x - (step - to_plain(step))
    found, x = call.results[0], reshape_to(x, shape)
    known = name_root(found, x)
    if isinstance(found, dict) and "fun" in found:
        known["fun"] = returned.keep_value(found["fun"], f(x))
    return returned.complete(known)


def _equation(call: PlainCall, arguments: dict[str, Any], x: Any) -> Any:
    """Return what is 0 at the root, with the arguments of a call, plain or not."""
    value = arguments[call.function_name](x, *as_tuple(arguments.get("args")))
    if arguments.get("jac") is True or arguments.get("fprime") is True:
        value = value[0]
    return value - x if call.solver.__name__ == "fixed_point" else value


def _check_root(solver: F, f: F, x: Any) -> None:
    """Refuse what is no root, and a root that has no derivative."""
    step = plain_step(f, x)
    if not np.all(np.abs(step) <= _FAR * (1 + np.abs(x))):
        raise DomainError(
            f"scipy.optimize.{solver.__name__} did not arrive at a root, so there is no derivative"
            f"{cite_line()}"
        )
    check_single(f, x, step)


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
