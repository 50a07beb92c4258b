"""The gradient descent of `particle` and `saddle`, whose constants and tests are the suite's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import simpleautodiff as ad

CLOSE_SQUARED = 1e-5**2
MODES = {"f": ad.jacfwd, "r": ad.jacrev}


def argmin(f: Callable[..., Any], gradient: Callable[..., Any], start: Sequence[Any]) -> list[Any]:
    """Go down from a point until the steps are short. Points are lists of numbers."""
    x, fx, slope = [*start], f(*start), gradient(*start)
    accepted, eta = 0, 1e-5
    while not short(slope):
        if accepted == 10:
            eta, accepted = 2 * eta, 0
            continue
        new = [part - eta * along for part, along in zip(x, slope)]  # noqa: B905
        if near(x, new):
            break
        f_new = f(*new)
        if f_new < fx:
            x, fx, slope, accepted = new, f_new, gradient(*new), accepted + 1
        else:
            eta, accepted = eta / 2, 0
    return x


def short(x: Sequence[Any]) -> Any:
    """Tell whether a vector is at most as long as steps are to be."""
    square = 0.0
    for part in x:
        square += part * part
    return square <= CLOSE_SQUARED


def near(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """Tell whether the difference of two vectors is short."""
    square = 0.0
    for one, other in zip(x, y):  # noqa: B905
        square += (one - other) * (one - other)
    return square <= CLOSE_SQUARED
