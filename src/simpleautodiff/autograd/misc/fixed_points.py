"""HIPS autograd's `fixed_point`: iterate until nothing changes, with a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.autograd.extend import defvjp, primitive
from simpleautodiff.autograd.hips import make_vjp
from simpleautodiff.autograd.vspaces import vspace

F = Callable[..., Any]


@primitive
def fixed_point(f: F, a: Any, x0: Any, distance: F, tol: float) -> Any:
    """Return x = f(a)(x), found by iteration from x0 until two steps are within `tol`.

    The derivative in `a` is found by iterating the adjoint equation, whose fixed point has the
    same tolerance. `simpleautodiff.plug.solve_fixed_point` solves it instead.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.misc.fixed_points import fixed_point
    >>> babylonian = lambda a: lambda x: (x + a / x) / 2
    >>> root = lambda a: fixed_point(babylonian, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> ad.grad(root)(4.0)
    0.25
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _pull(ans: Any, f: F, a: Any, x0: Any, distance: F, tol: float) -> F:
    pull_a, _ = make_vjp(lambda a: f(a)(ans))(a)

    def adjoint_step(given: Any) -> F:
        a, x, seed = given
        pull_x, _ = make_vjp(f(a))(x)
        return lambda g: vspace(x).add(pull_x(g), seed)

    def pull(g: Any) -> Any:
        return pull_a(fixed_point(adjoint_step, (a, ans, g), vspace(x0).zeros(), distance, tol))

    return pull


defvjp(fixed_point, None, _pull, None)
