"""Branches: `where`, the choice between local derivatives, and adjoints of the chosen elements."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, final

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO, Linear, Packing, PartialAdjoint, filled, pull, push
from simpleautodiff.core.sweep import fit
from simpleautodiff.rules.decisions import note_decision
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import is_array, lift, shape, undecided_error
from simpleautodiff.values.interval import Interval

_FINITE = 2**15  # numbers below this are finite in every dtype


@final
class Masked(PartialAdjoint):
    """A derivative of an array of which only some elements exist: those that a choice took.

    The others are structural zeros. They stay 0 in an elementwise rule even where the local
    derivative is inf or nan.
    """

    __slots__ = ("array", "mask")

    def __init__(self, array: Any, mask: Any) -> None:
        self.array = array
        self.mask = mask

    def __add__(self, other: Any) -> Any:
        """Add a derivative; the sum of two masked ones has the elements of either.

        NumPy does not warn of inf - inf: further back it may be a structural zero.
        """
        with np.errstate(invalid="ignore"):
            if type(other) is Masked:
                return masked(self.array + other.array, self.mask | other.mask)
            return other + self.array

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __mul__(self, factor: Any) -> Masked:
        return Masked(self.array * factor, self.mask)

    def local_derivative(self, node: Any, k: int) -> Any:
        """Return a local derivative of a node, with no NumPy warning for absent elements."""
        with np.errstate(all="ignore"):
            return node.local_derivative(k)

    def pulled_by(self, derivative: Any) -> Any:
        """Carry it back through a local derivative; structural zeros remain."""
        return self._carry(derivative, pull, forward=False)

    def pushed_by(self, derivative: Any) -> Any:
        """Carry it forward through a local derivative; structural zeros remain."""
        return self._carry(derivative, push, forward=True)

    def _carry(self, derivative: Any, carry: Callable[[Any, Any], Any], forward: bool) -> Any:
        if isinstance(derivative, Packing):
            return derivative.push(self) if forward else derivative.pull(self)
        if isinstance(derivative, Linear) and derivative.moves:
            return self._move(derivative.push if forward else derivative.pull)
        if derivative is ZERO or isinstance(derivative, Linear):
            carried = carry(derivative, self.array)
            if type(carried) is not Masked:
                return carried
            if type(derivative) is not Slopes and carried.mask.shape != self.mask.shape:
                return carried
            return Masked(_take(self.mask, carried.array, 0), carried.mask & self.mask)
        if type(derivative) is int and derivative == 1:
            return self
        if type(derivative) in (int, float):  # it takes the dtype of the array, where it may be inf
            with np.errstate(all="ignore"):
                product = self.array * derivative
            finite = abs(derivative) < _FINITE
            return Masked(product if finite else _take(self.mask, product, 0), self.mask)
        product = self.array * _take(self.mask, derivative, 0)
        return Masked(product, _spread(self.mask, product))

    def fit(self, like: Any) -> Any:
        """Give it the shape of `like`."""
        if self.mask.shape == shape(to_plain(like)):
            return Masked(fit(self.array, like), self.mask)
        return self._move(lambda bar: fit(bar, like))

    def like(self, array: Any, mask: Any) -> Masked:
        """Return another masked derivative."""
        return Masked(array, mask)

    def filled(self) -> Any:
        """Return the array, with 0 for structural zeros."""
        return self.array

    def _move(self, move: Callable[[Any], Any]) -> Any:
        """Apply a map that moves elements to the array and to the mask."""
        moved = filled(move(self.array))
        return masked(moved, filled(move(self.mask.astype(float))) > 0)


def masked(array: Any, mask: Any) -> Any:
    """Return an adjoint that exists where a mask is true; the rest are structural zeros."""
    if isinstance(mask, np.ndarray | np.bool_ | bool):
        every = mask if isinstance(mask, bool) else mask.all()
        return array if every else Masked(array, mask if np.ndim(mask) else np.bool_(False))
    return Masked(array, mask)


@final
class Slopes(Linear):
    """The local derivatives of each element of an array, absent where `mask` is false.

    The product with an absent one is a structural zero.
    """

    __slots__ = ("mask", "slope")

    def __init__(self, slope: Any, mask: Any) -> None:
        def multiply(derivative: Any) -> Masked:
            with np.errstate(all="ignore"):
                product = derivative if type(slope) is int and slope == 1 else derivative * slope
            product = _take(mask, product, 0)
            return Masked(product, _spread(mask, product))

        super().__init__(multiply, multiply)
        self.slope = slope
        self.mask = mask


def _spread(mask: Any, array: Any) -> Any:
    """Broadcast a mask to the shape of its array."""
    whole = shape(to_plain(array))
    return mask if mask.shape == whole else np.broadcast_to(mask, whole)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where `condition` holds and `no` elsewhere; either may be a function to call.

    For single numbers only the chosen one is computed, and it may be `ZERO`. For arrays both are
    computed and the choice is made element by element; a `ZERO` gives structural zeros.
    """
    if condition is None:
        raise undecided_error("a branch of a derivative")
    if is_array(condition):
        with np.errstate(all="ignore"):
            return _choose_each(condition, _evaluate(yes), _evaluate(no))
    if not type(condition).__module__.startswith("sympy") or condition in (True, False):
        return _evaluate(yes) if condition else _evaluate(no)
    piecewise = sympy_function("Piecewise")
    return piecewise((_as_number(_evaluate(yes)), condition), (_as_number(_evaluate(no)), True))


def either(*conditions: Any) -> Any:
    """Combine conditions with or, element by element."""
    if any(condition is None for condition in conditions):
        raise undecided_error("a branch of a derivative")
    return functools.reduce(operator.or_, conditions)


def is_nan(x: Any) -> Any:
    """Tell where a number is nan; an interval never is."""
    return False if isinstance(to_plain(x), Interval) else x != x


def _choose_each(condition: Any, yes: Any, no: Any) -> Any:
    """Choose between local derivatives element by element; some may be structural zeros."""
    pairs = [pair for pair in ((condition, yes), (~condition, no)) if pair[1] is not ZERO]
    masks = [here & x.mask if type(x) is Slopes else here for here, x in pairs]
    slopes = [x.slope if type(x) is Slopes else x for _, x in pairs]
    if len(pairs) == 1:
        return Slopes(*slopes, *masks)
    slope = _take(condition, *slopes)
    return (
        Slopes(slope, masks[0] | masks[1]) if type(yes) is Slopes or type(no) is Slopes else slope
    )


def _take(condition: Any, x: Any, y: Any) -> Any:
    """Return where(condition, x, y); for plain numbers only the condition is recorded."""
    if not isinstance(x, Traced) and not isinstance(y, Traced):
        note_decision(condition)
    return where(condition, x, y)


def _where_rule(condition: Any, first: bool) -> Any:
    """Return the local derivative of where(condition, x, y) in x if `first`, else in y."""
    condition = as_condition(to_plain(condition))
    return choose(condition, 1, ZERO) if first else choose(condition, ZERO, 1)


def as_condition(condition: Any) -> Any:
    """Return a condition for each element as an array, if it is given as a list."""
    return np.asarray(condition) if isinstance(condition, (list, tuple)) else condition


def half(x: Any) -> Any:
    """Return 1/2 in a number type that mixes with that of `x`, exact for Fraction and Decimal."""
    number = to_plain(x)
    if isinstance(number, (float, int, np.generic, np.ndarray)):
        return 0.5
    return lift(1, number) / 2


def sympy_function(name: str) -> Callable[..., Any]:
    """Return a function of SymPy, which has been imported if there is a symbol."""
    import sympy

    function: Callable[..., Any] = getattr(sympy, name)
    return function


def _evaluate(value: Any) -> Any:
    return value() if isinstance(value, FunctionType) else value


def _as_number(value: Any) -> Any:
    return 0 if value is ZERO else value


def _where(condition: Any, x: Any, y: Any) -> Any:
    if condition is None:
        raise undecided_error("the condition of where")
    condition = as_condition(condition)
    if type(condition).__module__.startswith("sympy"):
        return sympy_function("Piecewise")((x, condition), (y, True))
    if isinstance(condition, np.ndarray) or is_array(condition) or shape(x) or shape(y):
        return np.where(condition, x, y)
    chosen = x if condition else y
    if type(x) is type(y) or not all(
        isinstance(z, (int, float, complex, np.number)) for z in (x, y)
    ):
        return chosen
    is_numpy = isinstance(x, np.number) or isinstance(y, np.number)
    return np.result_type(x, y).type(chosen) if is_numpy else chosen  # np.where's dtype


where: Wrapping = row(
    "where",
    ZERO,
    lambda _v, condition, _x, _y: _where_rule(condition, True),
    lambda _v, condition, _x, _y: _where_rule(condition, False),
    value=_where,
    numpy=(),
    settings=(0,),
    text="where({0}, {1}, {2})",
    latex=r"({1} \text{{ if }} {0} \text{{ else }} {2})",
    reason="the branch that was taken has the derivative 1; the other is a structural zero",
)
