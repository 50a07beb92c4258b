"""Numbers outside the domain of a function: what Python refuses, and NumPy answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.errors import AutodiffError, DomainError, cite_line, match_numpy_error
from simpleautodiff.values.functions import Function


def as_numpy_would(function: Function, args: tuple[Any, ...], complaint: str) -> Any:
    """Repeat a computation that Python's floats refuse, with NumPy's inf and nan.

    Number types without inf (Fraction, Decimal) get a `DomainError` with `complaint`.
    """
    if not all(isinstance(arg, (int, float, complex)) for arg in args):
        raise DomainError(f"{complaint}, and Python's numbers of this kind stop there{cite_line()}")
    try:
        with np.errstate(all="ignore"):
            result = function(
                *[np.complex128(a) if isinstance(a, complex) else np.float64(a) for a in args]
            )
    except OverflowError:
        raise DomainError(
            f"{complaint}: the numbers are too large for a float{cite_line()}"
        ) from None
    except (ArithmeticError, ValueError):
        return math.nan  # a user's own function rejects NumPy's floats, too
    return result.item() if isinstance(result, np.generic) else result


def numpy_error(error: Exception, args: tuple[Any, ...]) -> tuple[type[AutodiffError], str] | None:
    """Return our error class and the subject for one of NumPy's errors; None for Python's own."""
    shapes = " and ".join(str(arg.shape) for arg in args if isinstance(arg, np.ndarray))
    if not shapes and not isinstance(error, (np.linalg.LinAlgError, FloatingPointError)):
        return None
    return match_numpy_error(error), f"arrays of shape {shapes}" if shapes else "a single number"


def is_finite(value: Any) -> bool:
    """Tell whether a number, or every element of an array, is neither nan nor infinite."""
    return bool(np.all(np.isfinite(value)))
