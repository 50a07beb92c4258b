"""Combine derivatives of real and imaginary parts into one complex derivative, if it exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ResultError
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.values.functions import is_complex


def combine_gradients(of_real: Any, of_imaginary: Any, like: Any, f: Callable[..., Any]) -> Any:
    """Return df/dx from the gradients of Re f and Im f with respect to `like`.

    For a real x it is the gradient of Re f plus i times that of Im f. For a complex x the gradient
    of Im f has to be -i times that of Re f (Cauchy and Riemann); otherwise f has no complex
    derivative.
    """
    if not is_complex(to_plain(like)):
        return of_real + 1j * of_imaginary
    check_holomorphic(of_imaginary, -1j * of_real, f)
    return of_real


def combine_directions(along_1: Any, along_i: Any, result: Any, f: Callable[..., Any]) -> Any:
    """Return the derivative with respect to a complex number from those along 1 and along i.

    For a real result it is the gradient ∂f/∂x - i ∂f/∂y.
    """
    if not is_complex(to_plain(result)):
        return along_1 - 1j * along_i
    check_holomorphic(along_i, 1j * along_1, f)
    return along_1


def _unwrap_all(number: Any) -> Any:
    while isinstance(number, Traced):
        number = number.value
    return number


def check_holomorphic(number: Any, expected: Any, f: Callable[..., Any]) -> None:
    """Refuse a function whose derivative depends on the direction in the complex plane."""
    number, expected = _unwrap_all(number), _unwrap_all(expected)
    tolerance = 1e-3 if getattr(number, "dtype", None) == np.complex64 else 1e-8
    if np.any(abs(number - expected) > tolerance * (abs(number) + abs(expected))):
        raise ResultError(
            f"{name_of(f)} returns a complex number but is not holomorphic, so it has no complex "
            "derivative. Return a real number, such as np.abs(result) ** 2 or np.real(result), or "
            "differentiate in one direction with jvp."
        )
