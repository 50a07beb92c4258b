"""Derivatives without rules, to check rules against: differences, and the complex step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from simpleautodiff.errors import DomainWarning


def difference(
    f: Callable[[float], Any], x: float, scale: float | None = None
) -> tuple[float, float]:
    """Return f'(x) by central differences extrapolated to h = 0 (Ridders), and an error estimate.

    Several first steps are tried, because nobody knows the scale on which `f` changes; the one with
    the smallest error wins. `scale`, by default the size of x, is one more guess. The error is inf
    where no step gave a finite slope.

    Examples
    --------
    >>> import math
    >>> slope, error = difference(math.sin, 1.0)
    >>> abs(slope - math.cos(1.0)) < 1e-10 and error < 1e-8
    True
    """
    size = max(1.0, abs(x))
    steps = [0.05 * size, 0.002 * size, 0.0001 * size]
    scale = abs(x) if scale is None else scale
    if 0 < scale < 1:
        steps.append(0.02 * scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)  # a step may look beyond the domain
        tries = [_extrapolated(f, x, h) for h in steps]
    return min(tries, key=lambda found: found[1])


def _extrapolated(f: Callable[[float], Any], x: float, h: float) -> tuple[float, float]:
    shrink = 1.6
    best, error = math.nan, math.inf
    previous: list[float] = []
    try:
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
    except (ArithmeticError, ValueError):
        return math.nan, math.inf  # beyond the edge of the domain
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
