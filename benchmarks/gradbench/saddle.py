"""saddle: a minimum over a of a maximum over b, both by descent, one within the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import simpleautodiff as ad
from gradbench.descent import MODES, argmin


def f(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """Return |a|² - |b|²."""
    return (a0 * a0 + a1 * a1) - (b0 * b0 + b1 * b1)


def find(outer: str, inner: str) -> Callable[[float, float], list[float]]:
    """Return the search with these modes of differentiation."""
    slope = MODES[inner](f, (2, 3))

    def best_answer(a0: Any, a1: Any, start: Any) -> list[Any]:
        """Return the b with the largest f."""

        def uphill(b0: Any, b1: Any) -> list[Any]:
            return [-part for part in slope(a0, a1, b0, b1)]

        return argmin(lambda b0, b1: -f(a0, a1, b0, b1), uphill, start)

    def worst(s0: Any, s1: Any, a0: Any, a1: Any) -> Any:
        return f(a0, a1, *best_answer(a0, a1, [s0, s1]))

    value, gradient = ad.jit(worst), ad.jit(MODES[outer](worst, (2, 3)))
    answer = ad.jit(lambda a0, a1, s0, s1: best_answer(a0, a1, [s0, s1]))

    def both(s0: float, s1: float) -> list[float]:
        a = argmin(partial(value, s0, s1), partial(gradient, s0, s1), [s0, s1])
        return [*a, *answer(*a, s0, s1)]

    return both


FUNCTIONS = {outer + inner: find(outer, inner) for outer in "fr" for inner in "fr"}


def read(given: Any) -> tuple[Any, ...]:
    """Take the two numbers."""
    return tuple(map(float, given["start"]))


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return the only one there is."""
    yield "start=[1, 1]", {"start": [1.0, 1.0]}
