"""SciPy's solvers, which take plain numbers: what is called, or is to be called, instead."""

from __future__ import annotations

import functools
from typing import Any

from simpleautodiff.arrays.lost_derivatives import INSTEAD, no_scipy_rule
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import LostDerivativeError
from simpleautodiff.values.pytree import flatten
from simpleautodiff.values.solvers import Solvers

_ARGUMENT = "(f, x0, p), where f(x, p) takes what is differentiated as an argument"
_PLUG = {
    f"solve_root{_ARGUMENT}": (
        *("optimize.bisect", "optimize.brenth", "optimize.brentq", "optimize.fsolve"),
        *("optimize.newton", "optimize.toms748"),
        *("optimize.ridder", "optimize.root", "optimize.root_scalar"),
    ),
    "solve_fixed_point(g, x0, p), where g(x, p) takes what is differentiated as an argument": (
        "optimize.fixed_point",
    ),
    f"solve_minimum{_ARGUMENT}": (
        *("optimize.curve_fit", "optimize.fmin", "optimize.fmin_bfgs", "optimize.least_squares"),
        *("optimize.golden", "optimize.leastsq", "optimize.minimize", "optimize.minimize_scalar"),
    ),
    "quad(f, a, b, args)": ("integrate.dblquad", "integrate.nquad", "integrate.quad"),
    "solve_ivp(f, t_span, y0, args=p)": ("integrate.solve_ivp",),
    "odeint(f, y0, t, args)": ("integrate.odeint",),
}
INSTEAD.update(
    {name: f"write simpleautodiff.plug.{call}" for call, names in _PLUG.items() for name in names}
)


_ROOTS = ("bisect", "brenth", "brentq", "fixed_point", "fsolve", "ridder", "root", "root_scalar")
_CARRIED = {  # solvers whose results are given derivatives, and by which function
    **{f"optimize.{name}": "find_root" for name in (*_ROOTS, "toms748")},
    "integrate.odeint": "odeint",
    "integrate.quad": "quad",
    "integrate.solve_ivp": "solve_ivp",
}


def patch_solvers(prefix: str, module: Any) -> dict[int, Any]:
    """Patch the solvers of a module of SciPy; return the new functions by the id of the old."""
    patched = {}
    for key, carrier in _CARRIED.items():
        name = key.rpartition(".")[2]
        if key.startswith(f"{prefix}.") and hasattr(module, name):
            original = getattr(module, name)
            patched[id(original)] = carried = _carry(original, carrier)
            carried.__module__ = f"scipy.{prefix}"  # for pickle
            setattr(module, name, carried)
    if prefix == "optimize":
        _watch_comparisons(module)
    return patched


def _carry(solver: Any, carrier: str) -> Any:
    """Return a solver that is SciPy's own, unless that would lose a derivative."""
    takes_solver = carrier == "find_root"

    @functools.wraps(solver)
    def call_solver(*args: Any, **kwargs: Any) -> Any:
        first = args[:1]
        if takes_solver and first and callable(args[0]):
            first = (refuse_nodes(args[0], f"optimize.{solver.__name__}"),)
        if not any(isinstance(arg, Traced) for arg in (*args, *kwargs.values())):
            try:
                return solver(*first, *args[1:], **kwargs)
            except LostDerivativeError:
                pass
        return Solvers.find(carrier)(*[solver] * takes_solver, *args, **kwargs)

    call_solver.plain = solver  # type: ignore[attr-defined]  # what simpleautodiff.plug calls
    return call_solver


def refuse_nodes(function: Any, name: str) -> Any:
    """Return a function that raises if it returns a node: compiled code would print the error."""

    @functools.wraps(function)
    def refusing(*args: Any) -> Any:
        value = function(*args)
        if isinstance(value[0] if isinstance(value, tuple) else value, Traced):
            raise no_scipy_rule(name)
        return value

    return refusing


def _watch_comparisons(optimize: Any) -> None:
    """Make solvers that only compare values reject nodes instead of returning a derivative of 0."""
    inner = getattr(optimize, "_optimize", None)  # where `golden` looks its function up by name
    for module, name, shown in (
        (optimize, "newton", "optimize.newton"),
        (inner, "_minimize_scalar_golden", "optimize.golden"),
    ):
        if hasattr(module, name):
            setattr(module, name, _watch(getattr(module, name), shown))


def _watch(solver: Any, name: str) -> Any:
    """Return a solver that raises if its function returned nodes but its result is plain."""

    @functools.wraps(solver)
    def call_solver(func: Any, *args: Any, **kwargs: Any) -> Any:
        given: list[LostDerivativeError] = []

        def call_function(*at: Any) -> Any:
            value = func(*at)
            if isinstance(value, Traced) and not given:
                given.append(no_scipy_rule(name))  # the error names the line
            return value

        result = solver(call_function, *args, **kwargs)
        found = result["x"] if isinstance(result, dict) else result
        if given and not any(isinstance(part, Traced) for part in flatten(found)[0]):
            raise given[0]
        return result

    return call_solver
