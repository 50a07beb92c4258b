"""Times that are nodes: output times, the ends of the span, and the times of events.

The solution is computed at plain times. Then a step of length 0 from there to the same time as a
node is recorded: it does not change the value but carries the derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.newton import newton_steps, order_of
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import DomainError, RuleError
from simpleautodiff.plug.inputs import F, as_vector, check_shape, has_nodes, plain_tree, solve_each
from simpleautodiff.plug.jumps import find_inside
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.grad import jvp


def step(right: F, t: Any, y: Any, args: tuple[Any, ...], h: Any) -> Any:
    """Take one Runge-Kutta step; with length 0, its derivatives are right up to order 4."""
    k1 = right(t, y, *args)
    k2 = right(t + h / 2, y + h / 2 * k1, *args)
    k3 = right(t + h / 2, y + h / 2 * k2, *args)
    k4 = right(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def step_inside(
    right: F, t: Any, y: Any, args: tuple[Any, ...], h: Any, span: tuple[float, float]
) -> Any:
    """Take a step at a time, if it is an end of the span with what is valid within the span."""
    plain = to_plain(t)
    if plain in span:
        other = span[0] if plain == span[1] else span[1]
        t = t + solve_each(_find_shift, right, plain, other, to_plain(y), plain_tree(args))
    return step(right, t, y, args, h)


def _find_shift(right: F, t: float, other: float, y: Any, args: tuple[Any, ...]) -> float:
    return find_inside(lambda t, z: right(t, y, *z), t, other, args)


def _check_order(tree: Any) -> None:
    """Reject derivatives in times of an order at which a step is no longer exact."""
    if order_of(tree) > 4:
        raise RuleError(
            f"derivatives of order {order_of(tree)} in the times of a solution are not there: a "
            "recorded step of Runge and Kutta carries them up to order 4"
        )


def output_times(first: Any, last: Any, t_eval: Any, found: Any) -> Any:
    """Return the times of the solution; without `t_eval` the ends of the span are among them."""
    if t_eval is not None:
        return as_vector(t_eval)[: len(found)]
    if not has_nodes((first, last)):
        return found
    return concatenate([as_vector([first]), found[1:-1], as_vector([last])])


def move_to_nodes(
    right: F, t: Any, found: Any, y: Any, args: tuple[Any, ...], span: tuple[float, float]
) -> Any:
    """Return the solution at the same times as nodes, from the solution at plain times."""
    if not has_nodes(t):
        return y
    _check_order(t)
    columns = [
        step_inside(right, time, y[:, i], args, t[i] - time, span)
        for i, time in enumerate(found.tolist())
    ]
    return np.stack(columns, 1)


def find_crossing(event: F, right: F, t: float, y: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the time and the state, as nodes, of an event at the plain time t.

    Newton steps for its time are recorded, as many as carry all derivatives; the solution around it
    is exact up to order 4.
    """
    happens = check_shape(event, (), "an event is one number that becomes 0")

    def after(h: Any) -> Any:
        return happens(t + h, step(right, t, y, args, h), *args)

    h: Any = 0.0
    _check_order((t, y, args))
    for _ in newton_steps((t, y, args)):
        value, slope = jvp(after, (h,), (1.0,))
        if to_plain(slope) == 0:
            raise DomainError(
                f"the time of the event {name_of(event)} at t = {t} has no derivative: the event "
                "does not change there, so it is touched, not crossed"
            )
        h = h - value / slope
    return t + h, step(right, t, y, args, h)
