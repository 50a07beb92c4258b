"""SciPy's solvers, which take plain numbers: what to write in their place."""

from __future__ import annotations

from simpleautodiff.traced import INSTEAD

_ARGUMENT = "(f, x0, p), where f(x, p) takes what is differentiated as an argument"
_PLUG = {
    f"solve_root{_ARGUMENT}": (
        *("optimize.bisect", "optimize.brenth", "optimize.brentq", "optimize.fsolve"),
        *("optimize.ridder", "optimize.root", "optimize.root_scalar"),
    ),
    f"solve_minimum{_ARGUMENT}": (
        *("optimize.curve_fit", "optimize.fmin", "optimize.fmin_bfgs", "optimize.least_squares"),
        *("optimize.leastsq", "optimize.minimize", "optimize.minimize_scalar"),
    ),
    "quad(f, a, b, args)": ("integrate.dblquad", "integrate.nquad", "integrate.quad"),
    "solve_ivp(f, t_span, y0, args=p)": ("integrate.solve_ivp",),
    "odeint(f, y0, t, args)": ("integrate.odeint",),
}
INSTEAD.update(
    {name: f"write simpleautodiff.plug.{call}" for call, names in _PLUG.items() for name in names}
)
