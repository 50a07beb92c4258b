"""Newton steps that carry derivatives: how solutions found in plain numbers get theirs.

A step from the solution x of f(x, p) = 0 does not change it, but its derivative in p is that of the
solution. Each further step doubles the order up to which the derivatives are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.values.pytree import flatten, map_leaves


def order_of(tree: Any) -> int:
    """Return the highest order of derivative that is being computed for any of the numbers."""
    return max((_order(leaf) for leaf in flatten(map_leaves(take_current, tree))[0]), default=0)


def _order(x: Any) -> int:
    order = 0
    while isinstance(x, Traced):
        order += 0 if x.opaque else getattr(x.level, "order", 1)
        x = getattr(x, "value", None)  # a symbol has none
    return order


def newton_steps(tree: Any) -> range:
    """Return a range of as many Newton steps as carry all derivatives: each doubles the order."""
    return range(order_of(tree).bit_length())


def invert(x: Any, value: Any, parameters: Any, f: Callable[..., Any], slope: Any) -> Any:
    """Give the plain solution x of f(x, *parameters) = value its derivatives.

    `slope` is the derivative of f in x. What is left of the equation by rounding is dropped.
    """
    for _ in newton_steps((value, parameters)):
        left = value - f(x, *parameters)
        x = x + (left - to_plain(left)) / slope(x, *parameters)
    return x
