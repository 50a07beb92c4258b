"""Hooks: functions that see, or change, the adjoint of an intermediate value in reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.transforms.arguments import check_function
from simpleautodiff.transforms.for_some_examples import copy_array
from simpleautodiff.values.pytree import map_leaves


def on_adjoint(x: Any, hook: Callable[[Any], Any]) -> Any:
    """Return `x`, such that in reverse mode `hook` is called with its adjoint v̄ = ∂y/∂x.

    Compute with the returned value, not with the original. The sweep goes on with what the hook
    returns instead of the adjoint; None leaves it unchanged. So a hook can note the gradient of an
    intermediate, print or check it, clip, scale or reverse it. For a structure the hook is called
    once per number.
    Forward mode has no adjoints and calls no hook. Under `jit` what a hook returns is part of the
    program, and its side effects happen only while that is recorded.

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
        changed = hook(copy_array(bar))
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
    return map_leaves(
        lambda leaf: leaf.copy("K") if type(leaf) is np.ndarray else apply(row, leaf), x
    )
