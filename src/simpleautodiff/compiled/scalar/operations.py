"""The operations on single numbers that a compiled program is made of: one row each.

A row says what an operation is to NumPy: that is its definition, it folds constants, and it runs
the program where nothing was compiled. LLVM, C and the tape machine have a column each of their
own, for the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Kinds of number, by NumPy's letters: float64, float32, truth values, whole numbers of 64 bits.
DOUBLE, FLOAT, TRUTH, WHOLE = "d", "f", "?", "l"
KINDS = {"d": np.float64, "f": np.float32, "?": np.bool_, "l": np.int64}


def fits_whole(number: int) -> bool:
    """Tell whether one of Python's whole numbers is one of 64 bits.

    Examples
    --------
    >>> fits_whole(2**63 - 1), fits_whole(2**63)
    (True, False)
    """
    return -(2**63) <= number < 2**63


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: how many numbers it takes, of which kind its result is, and what it computes.

    The kind of the result is that of the arguments ("same"), or a letter of its own.
    """

    name: str
    arity: int
    compute: Callable[..., Any]
    gives: str = "same"
    commutes: bool = False


OPERATIONS: dict[str, Operation] = {}


def _enter(
    name: str, arity: int, compute: Any, gives: str = "same", commutes: bool = False
) -> None:
    OPERATIONS[name] = Operation(name, arity, compute, gives, commutes)


def _by_math(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Compute what NumPy does not have, one number after the other."""

    def compute(x: Any) -> Any:
        found = [function(number) for number in np.ravel(x)]
        return np.array(found, np.result_type(x)).reshape(np.shape(x))[()]

    return compute


_ARITHMETIC: tuple[tuple[str, Any, bool], ...] = (
    ("add", np.add, True),
    ("sub", np.subtract, False),
    ("mul", np.multiply, True),
    ("div", np.true_divide, False),
    ("power", np.power, False),
    ("atan2", np.arctan2, False),
    ("hypot", np.hypot, True),
    ("copysign", np.copysign, False),
    ("maximum", np.maximum, True),  # a nan among the arguments is the result
    ("minimum", np.minimum, True),
    ("fmod", np.fmod, False),  # the remainder with the sign of the first
)
_UNARY: tuple[tuple[str, Any], ...] = (
    ("neg", np.negative),
    ("abs", np.absolute),
    ("sqrt", np.sqrt),
    ("cbrt", np.cbrt),
    ("exp", np.exp),
    ("exp2", np.exp2),
    ("expm1", np.expm1),
    ("log", np.log),
    ("log2", np.log2),
    ("log10", np.log10),
    ("log1p", np.log1p),
    ("sin", np.sin),
    ("cos", np.cos),
    ("tan", np.tan),
    ("asin", np.arcsin),
    ("acos", np.arccos),
    ("atan", np.arctan),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("tanh", np.tanh),
    ("asinh", np.arcsinh),
    ("acosh", np.arccosh),
    ("atanh", np.arctanh),
    ("erf", _by_math(math.erf)),
    ("erfc", _by_math(math.erfc)),
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("trunc", np.trunc),
    ("rint", np.rint),  # to the nearest whole number, halves to the even one
)
_TRUTHS: tuple[tuple[str, Any, bool], ...] = (
    ("lt", np.less, False),
    ("le", np.less_equal, False),
    ("eq", np.equal, True),
    ("ne", np.not_equal, True),
    ("and", np.logical_and, True),
    ("or", np.logical_or, True),
    ("xor", np.logical_xor, True),
)
for _name, _compute, _commutes in _ARITHMETIC:
    _enter(_name, 2, _compute, commutes=_commutes)
for _name, _compute in _UNARY:
    _enter(_name, 1, _compute)
for _name, _compute, _commutes in _TRUTHS:
    _enter(_name, 2, _compute, TRUTH, _commutes)
_enter("not", 1, np.logical_not, TRUTH)
_enter("signbit", 1, np.signbit, TRUTH)
_enter("select", 3, lambda condition, x, y: x if condition else y)  # the kind is that of x and y
_enter("to_double", 1, np.float64, DOUBLE)
_enter("to_float", 1, np.float32, FLOAT)
_enter("to_whole", 1, np.int64, WHOLE)  # of a truth value, or of a number without a fraction
