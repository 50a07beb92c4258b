"""ode: Runge-Kutta steps of a chain in which each component drives the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import simpleautodiff as ad

END = 2.0


def slope_by_assignment(x: Any, y: Any) -> Any:
    """Return x[0], x[1] y[0], x[2] y[1], ... by filling an array."""
    slope = np.empty_like(x)
    slope[0] = x[0]
    slope[1:] = x[1:] * y[:-1]
    return slope


def slope_by_concatenation(x: Any, y: Any) -> Any:
    """Return the same by joining arrays."""
    return np.concatenate([x[:1], x[1:] * y[:-1]])


def integrate(slope: Callable[[Any, Any], Any], x: Any, steps: int) -> Any:
    """Go from 0 to the end in steps of the fourth order."""
    h = END / steps
    y = np.zeros_like(x)
    for _ in range(steps):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def by_assignment(x: Any, steps: int) -> Any:
    """Return the last state."""
    return integrate(slope_by_assignment, x, steps)


def by_concatenation(x: Any, steps: int) -> Any:
    """Return the last state."""
    return integrate(slope_by_concatenation, x, steps)


def last_of(form: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    """Return the function that gives the last component of the last state."""
    return lambda x, steps: form(x, steps)[-1]


derivative = ad.grad
FORMS = {"assignment": last_of(by_assignment), "concatenation": last_of(by_concatenation)}
FUNCTIONS = {
    "primal": ad.jit(by_assignment),
    "gradient": ad.jit(derivative(last_of(by_assignment))),
}


def read(given: Any) -> tuple[Any, ...]:
    """Take the coefficients, and the number of steps."""
    return np.array(given["x"], dtype=float), int(given["s"])


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return chains, in the order of the work they are."""
    chance = np.random.RandomState(31337)
    lengths, steps = ((1000,), (1, 10, 100)) if quick else ((1000, 10_000, 100_000), (1, 10, 100))
    for n, s in sorted(
        ((n, s) for n in lengths for s in steps), key=lambda pair: pair[0] * pair[1]
    ):
        yield f"n={n} s={s}", {"x": chance.rand(n).tolist(), "s": s}
