"""Derivatives without rules, to check rules against: finite differences and the complex step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from simpleautodiff.errors import DomainWarning


def estimate_derivative(
    f: Callable[[float], Any], x: float, scale: float | None = None
) -> tuple[float, float]:
    """Return f'(x) by central differences extrapolated to h = 0 (Ridders), and an error estimate.

    The scale on which `f` changes is not known, so several first steps are tried and the result
    with the smallest error is returned. `scale`, by default |x|, suggests one more first step. The
    error is inf where no step gave a finite slope.

    Examples
    --------
    >>> import math
    >>> slope, error = estimate_derivative(math.sin, 1.0)
    >>> abs(slope - math.cos(1.0)) < 1e-10 and error < 1e-8
    True
    """
    size = max(1.0, abs(x))
    steps = [0.05 * size, 0.002 * size, 0.0001 * size]
    scale = abs(x) if scale is None else scale
    if 0 < scale < 1:
        steps.append(0.02 * scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)  # a step may leave the domain
        estimates = [_extrapolate(f, x, h) for h in steps]
    return min(estimates, key=lambda estimate: estimate[1])


def _extrapolate(f: Callable[[float], Any], x: float, h: float) -> tuple[float, float]:
    """Extrapolate differences with the steps h, h/1.6, h/1.6², ...; return the best, and its error.

    Each `line` of the scheme begins with one difference and continues with its extrapolations.
    """
    shrink = 1.6
    best, error = math.nan, math.inf
    previous: list[float] = []
    try:
        for _ in range(12):
            line = [(_check_real(f(x + h)) - _check_real(f(x - h))) / (2 * h)]
            factor = shrink * shrink
            for older in previous:
                line.append((line[-1] * factor - older) / (factor - 1))
                factor *= shrink * shrink
            for i in range(1, len(line)):
                guess = max(abs(line[i] - line[i - 1]), abs(line[i] - previous[i - 1]))
                if guess <= error:
                    best, error = line[i], guess
            if previous and abs(line[-1] - previous[-1]) >= 2 * error:
                break
            previous, h = line, h / shrink
    except (ArithmeticError, ValueError):
        return math.nan, math.inf  # outside the domain
    return best, error


def _check_real(number: Any) -> float:
    if isinstance(number, complex):  # Python's (-1.0) ** 0.5
        raise ValueError("a complex number")
    return float(number)


def complex_step(f: Callable[[complex], Any], x: float) -> float:
    """Return f'(x) as the imaginary part of f(x + ih)/h, which loses no digits to subtraction.

    `f` must be analytic and take complex numbers.

    Examples
    --------
    >>> import cmath, math
    >>> complex_step(cmath.sin, 1.0) == math.cos(1.0)
    True
    """
    h = 1e-200
    return complex(f(complex(x, h))).imag / h
