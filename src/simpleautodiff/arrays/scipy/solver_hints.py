"""SciPy's solvers, which take plain numbers: what is called, or is to be called, instead."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any

from simpleautodiff.arrays.lost_derivatives import INSTEAD, no_scipy_rule
from simpleautodiff.core.level import Traced, take_current
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


_ROOTS = (
    *("anderson", "bisect", "brenth", "brentq", "broyden1", "broyden2", "fixed_point", "fsolve"),
    *("newton", "newton_krylov", "ridder", "root", "root_scalar", "toms748"),
)
_MINIMA = (
    *("basinhopping", "brent", "brute", "curve_fit", "differential_evolution", "direct"),
    *("dual_annealing", "fmin", "fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_ncg"),
    *("fmin_powell", "fminbound", "golden", "least_squares", "leastsq", "linprog", "lsq_linear"),
    *("minimize", "minimize_scalar", "nnls", "shgo"),
)
CARRIED = {  # solvers whose results are given derivatives, and by which function
    **{f"optimize.{name}": "find_root" for name in _ROOTS},
    **{f"optimize.{name}": "find_minimum" for name in _MINIMA},
    **{f"integrate.{name}": name for name in ("dblquad", "nquad", "odeint", "quad", "tplquad")},
    "integrate.solve_ivp": "solve_ivp",
}


def patch_solvers(prefix: str, module: Any) -> dict[int, Any]:
    """Patch the solvers of a module of SciPy; return the new functions by the id of the old."""
    patched = {}
    for key, carrier in CARRIED.items():
        name = key.rpartition(".")[2]
        if key.startswith(f"{prefix}.") and hasattr(module, name):
            original = getattr(module, name)
            patched[id(original)] = carried = _carry(original, carrier)
            carried.__module__ = f"scipy.{prefix}"  # for pickle
            setattr(module, name, carried)
    _replace_imported(patched)
    return patched


def _replace_imported(patched: dict[int, Any]) -> None:
    """Replace solvers that modules have imported by name: some run on nodes, and then iterate.

    The derivative of the last iteration is not that of the solution.
    """
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] not in ("numpy", "scipy"):
            names = vars(module)
            names.update(
                {key: patched[id(x)] for key, x in list(names.items()) if id(x) in patched}
            )


def _carry(solver: Any, carrier: str) -> Any:
    """Return a solver that is SciPy's own, unless that would lose a derivative."""
    takes_solver = carrier.startswith("find_")
    first = next(iter(inspect.signature(solver).parameters))

    @functools.wraps(solver)
    def call_solver(*args: Any, **kwargs: Any) -> Any:
        if not has_nodes((args, kwargs)):
            plainly, named = args, kwargs
            if takes_solver and args and callable(args[0]):
                plainly = (refuse_nodes(args[0], f"optimize.{solver.__name__}"), *args[1:])
            elif takes_solver and callable(kwargs.get(first)):
                function = refuse_nodes(kwargs[first], f"optimize.{solver.__name__}")
                named = {**kwargs, first: function}
            try:
                return solver(*plainly, **named)
            except Exception as error:
                if not _lost_derivative(error):
                    raise
        return Solvers.find(carrier)(*[solver] * takes_solver, *args, **kwargs)

    call_solver.plain = solver  # type: ignore[attr-defined]  # what simpleautodiff.plug calls
    return call_solver


def has_nodes(arguments: Any) -> bool:
    """Tell whether a node is among arguments, or in a structure among them."""
    return any(isinstance(take_current(leaf), Traced) for leaf in flatten(arguments)[0])


def _lost_derivative(error: BaseException | None) -> bool:
    """Tell whether an error is, or was raised from, that of a lost derivative."""
    while error is not None and not isinstance(error, LostDerivativeError):
        error = error.__cause__
    return error is not None


def refuse_nodes(function: Any, name: str) -> Any:
    """Return a function that raises if it returns a node: compiled code would print the error.

    It can be pickled if the function can, for solvers that start processes.
    """
    refusing = functools.partial(_call_refusing, function, name)
    return functools.update_wrapper(refusing, function, updated=())


def _call_refusing(function: Any, name: str, *args: Any, **named: Any) -> Any:
    value = function(*args, **named)
    if isinstance(value[0] if isinstance(value, tuple) else value, Traced):
        raise no_scipy_rule(name)
    return value
