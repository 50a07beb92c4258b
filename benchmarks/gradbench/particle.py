"""particle: steer a charged particle, so that it comes down at the origin.

The force is the gradient of a potential, and the position of a charge is found by descent along the
derivative of where the particle comes down: a derivative through derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import simpleautodiff as ad
from gradbench.descent import MODES, argmin

STEP = 0.1


def potential(x0: Any, x1: Any, w: Any) -> Any:
    """Return that of the charges at (10, 10 - w) and (10, 0)."""
    return 1 / np.sqrt((x0 - 10) ** 2 + (x1 - 10 + w) ** 2) + 1 / np.sqrt((x0 - 10) ** 2 + x1**2)


def energy(inner: str, w: Any) -> Any:
    """Return the square of the place where the particle comes down."""
    slope = MODES[inner](potential, (0, 1))

    def is_up(state: Any) -> Any:
        _, x1, _, v1 = state
        return x1 + STEP * v1 > 0

    def move(state: Any) -> Any:
        x0, x1, v0, v1 = state
        a0, a1 = slope(x0, x1, w)
        return x0 + STEP * v0, x1 + STEP * v1, v0 - STEP * a0, v1 - STEP * a1

    x0, x1, v0, v1 = ad.while_loop(is_up, move, (0.0, 8.0, 0.75, 0.0))
    x0, x1 = x0 + STEP * v0, x1 + STEP * v1
    return (x0 - x1 / v1 * v0) ** 2


def steer(outer: str, inner: str) -> Callable[[float], float]:
    """Return the descent with these modes of differentiation."""
    of_charge = partial(energy, inner)
    value, derivative = ad.jit(of_charge), ad.jit(MODES[outer](of_charge, (0,)))
    return lambda w: argmin(value, derivative, [w])[0]


FUNCTIONS = {outer + inner: steer(outer, inner) for outer in "fr" for inner in "fr"}


def read(given: Any) -> tuple[Any, ...]:
    """Take the number."""
    return (float(given["w"]),)


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return the only one there is."""
    yield "w=0", {"w": 0.0}
