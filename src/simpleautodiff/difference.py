"""Derivatives without rules, to check rules against: differences, and the complex step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def difference(f: Callable[[float], Any], x: float, h: float | None = None) -> tuple[float, float]:
    """Return f'(x) by central differences extrapolated to h = 0 (Ridders), and an error estimate.

    Examples
    --------
    >>> import math
    >>> slope, error = difference(math.sin, 1.0)
    >>> abs(slope - math.cos(1.0)) < 1e-10 and error < 1e-8
    True
    """
    shrink = 1.6
    h = 0.05 * max(1.0, abs(x)) if h is None else h
    best, error = float("nan"), float("inf")
    previous: list[float] = []
    for _ in range(12):
        row = [(float(f(x + h)) - float(f(x - h))) / (2 * h)]
        factor = shrink * shrink
        for older in previous:
            row.append((row[-1] * factor - older) / (factor - 1))
            factor *= shrink * shrink
        for i in range(1, len(row)):
            guess = max(abs(row[i] - row[i - 1]), abs(row[i] - previous[i - 1]))
            if guess <= error:
                best, error = row[i], guess
        if previous and abs(row[-1] - previous[-1]) >= 2 * error:
            break
        previous, h = row, h / shrink
    return best, error


def complex_step(f: Callable[[complex], Any], x: float) -> float:
    """Return f'(x) as the imaginary part of f(x + ih)/h: no subtraction, so no digits lost.

    Only for functions that are analytic in complex numbers.

    Examples
    --------
    >>> import cmath, math
    >>> complex_step(cmath.sin, 1.0) == math.cos(1.0)
    True
    """
    h = 1e-200
    return complex(f(complex(x, h))).imag / h
