"""Choosing between local derivatives by a condition: of numbers, of arrays, of symbols."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from simpleautodiff.linear import ZERO, Linear, Masked
from simpleautodiff.number import is_array, lift, shape
from simpleautodiff.traced import plain


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where `condition` holds and `no` elsewhere; either may be a function to call.

    For single numbers only the chosen one is computed, and may be `ZERO`. For arrays both are, the
    choice is made element by element, and what is not chosen has the derivative 0, or what the
    condition says stands for it (`nothing`).
    """
    if is_array(condition):
        from simpleautodiff.rules.piecewise import where

        with np.errstate(all="ignore"):
            nothing = getattr(condition, "nothing", 0)
            return where(condition, *[_number(value, nothing) for value in (yes, no)])
    if not type(condition).__module__.startswith("sympy") or condition in (True, False):
        return _value(yes) if condition else _value(no)
    piecewise = sympy_function("Piecewise")
    return piecewise((_number(yes, 0), condition), (_number(no, 0), True))


def where_rule(condition: Any, first: bool) -> Any:
    """Return the local derivative of where(condition, x, y) in x, or in y."""
    if not is_array(condition):
        return choose(condition, 1, ZERO) if first else choose(condition, ZERO, 1)
    from simpleautodiff.rules.piecewise import where

    nothing = getattr(condition, "nothing", 0)
    keep = condition if first else ~condition

    def push(dot: Any) -> Any:
        return where(condition, dot, nothing) if first else where(condition, nothing, dot)

    def pull(bar: Any) -> Masked:
        whole = shape(plain(bar))
        return Masked(push(bar), keep if keep.shape == whole else np.broadcast_to(keep, whole))

    return Linear(push, pull if type(nothing) is int else push)


def half(x: Any) -> Any:
    """Return 1/2 as a number that mixes with `x`: exact for Fractions, Decimals and the like."""
    number = plain(x)
    if isinstance(number, (float, int, np.generic, np.ndarray)):
        return 0.5
    return lift(1, number) / 2


def sympy_function(name: str) -> Callable[..., Any]:
    """Return a function of SymPy, which is loaded if one of its symbols is here."""
    import sympy

    function: Callable[..., Any] = getattr(sympy, name)
    return function


def _value(value: Any) -> Any:
    return value() if isinstance(value, FunctionType) else value


def _number(value: Any, nothing: Any) -> Any:
    value = _value(value)
    return nothing if value is ZERO else value
