"""Hooks: functions that see, or change, the adjoint of an intermediate on its way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.transforms.arguments import check_function
from simpleautodiff.values.pytree import map_leaves


def on_adjoint(x: Any, hook: Callable[[Any], Any]) -> Any:
    """Return `x`, such that in reverse mode `hook` is called with its adjoint v̄ = ∂y/∂x.

    What is computed from the returned value counts. What the hook returns is carried on in place of
    the adjoint; None leaves it as it is. So a hook can note the gradient of an intermediate, print
    or check it, clip or scale it, or turn it round. Of a structure every number has its own call.
    Forward mode has no adjoints and calls no hook. Under `jit` what a hook returns is a part of the
    program, and what else it does happens while that is recorded.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     hidden = ad.on_adjoint(x**2, found.append)
    ...     return ad.sin(hidden)
    >>> found = []
    >>> ad.grad(f)(0.0), found
    (0.0, [1.0])
    >>> ad.grad(lambda x: 5 * ad.on_adjoint(x, lambda bar: min(bar, 1.0)))(2.0)  # clipped
    1.0
    """
    check_function(hook)

    def pull(bar: Any) -> Any:
        changed = hook(bar)
        return bar if changed is None else changed

    row = Primitive(
        "on_adjoint",
        (lambda _v, _x: Linear(lambda dot: dot, pull),),
        lambda x: x,
        "{0}",
        "{0}",
        "the identity, whose adjoint is shown to a hook",
        arrays=True,
        batch=lambda size, which, x: x,
    )
    return map_leaves(lambda leaf: apply(row, leaf), x)
