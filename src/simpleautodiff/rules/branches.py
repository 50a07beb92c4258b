"""Branches: `where`, the choice between local derivatives, and adjoints of chosen elements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any, final

import numpy as np

from simpleautodiff.core.level import plain
from simpleautodiff.core.linear import ZERO, Linear, PartialAdjoint, filled, pull
from simpleautodiff.core.sweep import fit
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import is_array, lift, shape


@final
class Masked(PartialAdjoint):
    """An adjoint of an array of which only some elements exist: those that were chosen.

    The others are structural zeros. They stay 0 in an elementwise rule even where the local
    derivative is inf or nan.
    """

    __slots__ = ("array", "mask")

    def __init__(self, array: Any, mask: Any) -> None:
        self.array = array
        self.mask = mask

    def __add__(self, other: Any) -> Any:
        """Add an adjoint; the sum of two masked ones has the elements of either."""
        if type(other) is Masked:
            return Masked(self.array + other.array, self.mask | other.mask)
        return other + self.array

    def quietly(self) -> AbstractContextManager[Any]:
        """Silence NumPy's warnings, which may concern elements that do not exist."""
        return np.errstate(all="ignore")

    def pulled_by(self, derivative: Any) -> Any:
        """Carry it back through a local derivative; structural zeros remain."""
        if isinstance(derivative, Linear) and derivative.moves:
            return self._move(derivative.pull)
        if derivative is ZERO or isinstance(derivative, Linear):
            pulled = pull(derivative, self.array)
            both = type(pulled) is Masked and pulled.mask.shape == self.mask.shape
            return Masked(pulled.array, pulled.mask & self.mask) if both else pulled
        if not isinstance(derivative, (int, float)) or not np.isfinite(derivative):
            derivative = where(self.mask, derivative, 0)
        return Masked(self.array * derivative, self.mask)

    def fit(self, like: Any) -> Any:
        """Give it the shape of `like`."""
        if self.mask.shape == shape(plain(like)):
            return Masked(fit(self.array, like), self.mask)
        return self._move(lambda bar: fit(bar, like))

    def filled(self) -> Any:
        """Return the array, with zeros for the structural zeros."""
        return self.array

    def _move(self, move: Callable[[Any], Any]) -> Any:
        """Move the elements, and the mask with them."""
        moved = filled(move(self.array))
        return masked(moved, filled(move(self.mask.astype(float))) > 0)


def masked(array: Any, mask: Any) -> Any:
    """Return an adjoint that exists where a mask is true, and is 0 elsewhere."""
    if isinstance(mask, np.ndarray | np.bool_ | bool):
        return array if np.all(mask) else Masked(array, mask if np.ndim(mask) else np.bool_(False))
    return Masked(array, mask)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where `condition` holds and `no` elsewhere; either may be a function to call.

    For single numbers only the chosen one is computed, and it may be `ZERO`. For arrays both are
    computed and the choice is made element by element. There `ZERO` stands for 0, or for the
    attribute `nothing` of the condition if it has one.
    """
    if is_array(condition):
        with np.errstate(all="ignore"):
            nothing = getattr(condition, "nothing", 0)
            return where(condition, *[_evaluate_number(value, nothing) for value in (yes, no)])
    if not type(condition).__module__.startswith("sympy") or condition in (True, False):
        return _evaluate(yes) if condition else _evaluate(no)
    piecewise = sympy_function("Piecewise")
    return piecewise((_evaluate_number(yes, 0), condition), (_evaluate_number(no, 0), True))


def _where_rule(condition: Any, first: bool) -> Any:
    """Return the local derivative of where(condition, x, y) in x if `first`, else in y."""
    if not is_array(condition):
        return choose(condition, 1, ZERO) if first else choose(condition, ZERO, 1)
    nothing = getattr(condition, "nothing", 0)
    mask = condition if first else ~condition

    def push(dot: Any) -> Any:
        return where(condition, dot, nothing) if first else where(condition, nothing, dot)

    def pull(bar: Any) -> Masked:
        whole = shape(plain(bar))
        return Masked(push(bar), mask if mask.shape == whole else np.broadcast_to(mask, whole))

    return Linear(push, pull if type(nothing) is int else push)


def half(x: Any) -> Any:
    """Return 1/2 in a number type that mixes with that of `x`, exact for Fraction and Decimal."""
    number = plain(x)
    if isinstance(number, (float, int, np.generic, np.ndarray)):
        return 0.5
    return lift(1, number) / 2


def sympy_function(name: str) -> Callable[..., Any]:
    """Return a function of SymPy, which is imported already if there is a symbol."""
    import sympy

    function: Callable[..., Any] = getattr(sympy, name)
    return function


def _evaluate(value: Any) -> Any:
    return value() if isinstance(value, FunctionType) else value


def _evaluate_number(value: Any, nothing: Any) -> Any:
    value = _evaluate(value)
    return nothing if value is ZERO else value


def _where(condition: Any, x: Any, y: Any) -> Any:
    if type(condition).__module__.startswith("sympy"):
        return sympy_function("Piecewise")((x, condition), (y, True))
    if isinstance(condition, np.ndarray) or is_array(condition) or shape(x) or shape(y):
        return np.where(condition, x, y)
    return x if condition else y


where: Wrapping = row(
    "where",
    ZERO,
    lambda _v, condition, _x, _y: _where_rule(plain(condition), True),
    lambda _v, condition, _x, _y: _where_rule(plain(condition), False),
    value=_where,
    numpy=(),
    settings=(0,),
    text="where({0}, {1}, {2})",
    latex=r"({1} \text{{ if }} {0} \text{{ else }} {2})",
    reason="the branch that was taken has the derivative 1; the other is a structural zero",
)
