"""SciPy's solvers with the derivatives they need, and solvers that can be differentiated.

`minimize`, `least_squares`, `root`, `root_scalar` and `curve_fit` are SciPy's, with Jacobians and
Hessians filled in. `solve_root`, `solve_minimum` and `solve_fixed_point` are differentiable
functions of their parameters; so are `solve_ivp`, `odeint` and `quad`, in all their inputs.
"""

from simpleautodiff.plug.implicit import solve_fixed_point, solve_minimum, solve_root
from simpleautodiff.plug.ode import odeint, solve_ivp
from simpleautodiff.plug.optimize import curve_fit, least_squares, minimize, root, root_scalar
from simpleautodiff.plug.quadrature import quad

__all__ = [
    "curve_fit",
    "least_squares",
    "minimize",
    "odeint",
    "quad",
    "root",
    "root_scalar",
    "solve_fixed_point",
    "solve_ivp",
    "solve_minimum",
    "solve_root",
]
