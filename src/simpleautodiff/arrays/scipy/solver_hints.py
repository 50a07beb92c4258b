"""SciPy's solvers, which take plain numbers: what is called, or is to be called, instead."""

from __future__ import annotations

import functools
import inspect
import sys
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from simpleautodiff.arrays.hidden_frames import UNCOUNTED, hide_frame
from simpleautodiff.arrays.lost_derivatives import INSTEAD, no_scipy_rule
from simpleautodiff.arrays.scipy.sparse_nodes import has_node
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import LostDerivativeError
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
    *("anderson", "bisect", "brenth", "brentq", "broyden1", "broyden2", "diagbroyden"),
    *("excitingmixing", "fixed_point", "fsolve", "linearmixing"),
    *("newton", "newton_krylov", "ridder", "root", "root_scalar", "toms748"),
)
_MINIMA = (
    *("basinhopping", "brent", "brute", "curve_fit", "differential_evolution", "direct"),
    *("dual_annealing", "fmin", "fmin_bfgs", "fmin_cg", "fmin_cobyla", "fmin_l_bfgs_b"),
    *(
        "fmin_ncg",
        "fmin_powell",
        "fmin_slsqp",
        "fmin_tnc",
        "fminbound",
        "golden",
        "least_squares",
        "leastsq",
        "linprog",
        "lsq_linear",
    ),
    *("minimize", "minimize_scalar", "nnls", "shgo"),
)
CARRIED = {  # solvers whose results are given derivatives, and by which function
    **{f"optimize.{name}": "find_root" for name in _ROOTS},
    **{f"optimize.{name}": "find_minimum" for name in _MINIMA},
    **{f"integrate.{name}": name for name in ("dblquad", "nquad", "odeint", "quad", "tplquad")},
    "integrate.solve_ivp": "solve_ivp",
}

WITHOUT_DERIVATIVE = {  # refused when they are called with nodes: what to write instead
    "integrate.solve_bvp": "find the missing initial values by simpleautodiff.plug.solve_root, of "
    "what is left at the other end of simpleautodiff.plug.solve_ivp",
    "integrate.quad_vec": "integrate each element by scipy.integrate.quad",
    "integrate.tanhsinh": "write scipy.integrate.quad(f, a, b)",
    "interpolate.griddata": "the interpolation is linear in the values: find its matrix W by "
    "griddata(points, np.eye(len(points)), xi), and write W @ values",
    "interpolate.splprep": "interpolate each coordinate by "
    "scipy.interpolate.make_interp_spline(u, x)",
    "optimize.milp": "find the integers by plain numbers, and the others by scipy.optimize.linprog "
    "with the integers fixed",
    "optimize.isotonic_regression": "write np.mean of each block of the plain result",
}
INSTEAD.update(WITHOUT_DERIVATIVE)


def patch_solvers(prefix: str, module: Any) -> dict[int, Any]:
    """Patch the solvers of a module of SciPy; return the new functions by the id of the old."""
    patched = {}
    for key, carrier in (CARRIED | dict.fromkeys(WITHOUT_DERIVATIVE, "refuse")).items():
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
    call_plainly = _refuse_nodes(solver) if carrier.startswith("find_") else solver

    @hide_frame
    @functools.wraps(solver)
    def call_solver(*args: Any, **kwargs: Any) -> Any:
        if not (
            _is_differentiated(sys._getframe(1)) or has_node(args) or has_node(kwargs.values())
        ):
            try:
                return call_plainly(*args, **kwargs)
            except Exception as error:
                if not _lost_derivative(error):
                    raise
        return Solvers.find("call_solver")(carrier, solver, call_plainly, args, kwargs)

    call_solver.plain = solver  # type: ignore[attr-defined]  # what simpleautodiff.plug calls
    return call_solver


RUNNING: set[CodeType] = set()  # of the functions that run what is differentiated


def _is_differentiated(frame: FrameType | None) -> bool:
    """Tell whether a frame runs code that is being differentiated, and not a part of SciPy's."""
    while frame is not None and frame.f_code.co_filename == UNCOUNTED:
        frame = frame.f_back  # a reloaded package has patched the same solver
    if frame is None or str(frame.f_globals.get("__name__")).startswith("scipy."):
        return False  # such as a solver that was called plainly
    while frame is not None and frame.f_code not in RUNNING:
        frame = frame.f_back
    return frame is not None


def _refuse_nodes(solver: Any) -> Any:
    """Return a solver that refuses a function that returns nodes."""
    first, name = next(iter(inspect.signature(solver).parameters)), f"optimize.{solver.__name__}"

    @hide_frame
    def call_plainly(*args: Any, **kwargs: Any) -> Any:
        if args and callable(args[0]):
            return solver(RefusingNodes(args[0], name), *args[1:], **kwargs)
        if callable(kwargs.get(first)):
            kwargs[first] = RefusingNodes(kwargs[first], name)
        return solver(*args, **kwargs)

    return call_plainly


def _lost_derivative(error: BaseException | None) -> bool:
    """Tell whether an error is, or was raised from, that of a lost derivative."""
    while error is not None and not isinstance(error, LostDerivativeError):
        error = error.__cause__
    return error is not None


class RefusingNodes:
    """A function that raises if it returns a node: compiled code would print the error.

    It can be pickled if the function can, for solvers that start processes.
    """

    __slots__ = ("__wrapped__", "name")  # inspect.signature finds the function by the first

    def __init__(self, function: Any, name: str) -> None:
        self.__wrapped__, self.name = function, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function."""
        value = self.__wrapped__(*args, **named)
        if type(value) in _PLAIN:
            return value
        if isinstance(value[0] if isinstance(value, tuple) else value, Traced):
            raise no_scipy_rule(self.name)
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__name__", "__qualname__", "__doc__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


_PLAIN = {float, np.float64, np.ndarray}  # most values are
