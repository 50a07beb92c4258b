"""Formulas as text: the printed forms of rows, filled in and parenthesised.

`Term` is a number that writes itself down. It goes through the rules like any other number, so the
symbolic form of a derivative is what the rule itself says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from simpleautodiff.number import register_number
from simpleautodiff.primitives import CALL, PRODUCT, SIGN, SUM, Primitive
from simpleautodiff.rules.row import TABLE


def short(number: Any, decimals: int = 3) -> str:
    """Write a number in a few digits, as the paper does, but never a small one as 0.

    Examples
    --------
    >>> short(11.652071), short(10.0), short(1e-5), short(-0.2836)
    ('11.652', '10', '1e-05', '-0.284')
    """
    if isinstance(number, (float, np.floating)):
        number = float(number)
        if number == 0 or abs(number) >= 10**-decimals:
            rounded = f"{number:.{decimals}f}" if abs(number) < 1e7 else f"{number:.7g}"
            return (
                rounded.rstrip("0").rstrip(".")
                if "." in rounded and "e" not in rounded
                else rounded
            )
        return f"{number:.{decimals}g}"
    if isinstance(number, (complex, np.complexfloating)):
        sign = "-" if number.imag < 0 else "+"
        return f"{short(number.real, decimals)} {sign} {short(abs(number.imag), decimals)}i"
    return str(number)


class Term:
    """A formula as a number: its text, how tightly that binds, and the value behind it."""

    __slots__ = ("binds", "divides", "text", "value")

    def __init__(
        self, text: Any, binds: int = CALL, value: Any = None, divides: Any = None
    ) -> None:
        self.text = text if isinstance(text, str) else short(text)
        self.binds = binds if isinstance(text, str) else _binds(text, self.text)
        self.value = value if isinstance(text, str) else text
        self.divides = divides  # the y of 1 / y

    def inside(self, binds: int) -> str:
        """Return the text, in parentheses if the surroundings bind tighter."""
        return f"({self.text})" if self.binds < binds else self.text

    def __repr__(self) -> str:
        return self.text

    def __mul__(self, other: Any) -> Term:
        other = as_term(other)
        if other.divides is not None:
            divided: Term = self / other.divides
            return divided
        return _infix("mul", self, other, PRODUCT, SIGN + (other.binds == SIGN))

    def __truediv__(self, other: Any) -> Term:
        other = as_term(other)
        quotient = _infix("div", self, other, PRODUCT, SIGN + (other.binds == SIGN))
        if self.text == "1":
            quotient.divides = other
        return quotient

    def __add__(self, other: Any) -> Term:
        return _infix("add", self, as_term(other), SUM, SUM + (as_term(other).binds == SIGN) * CALL)

    def __sub__(self, other: Any) -> Term:
        return _infix(
            "sub", self, as_term(other), SUM, PRODUCT + (as_term(other).binds == SIGN) * CALL
        )

    def __pow__(self, other: Any) -> Term:
        return _infix("power", self, as_term(other), CALL, CALL)

    def __neg__(self) -> Term:
        return Term(
            f"-{self.inside(CALL if self.binds == SIGN else PRODUCT)}",
            SIGN,
            _try(operator.neg, self.value),
        )

    def __abs__(self) -> Term:
        return Term(f"|{self.text}|", CALL, _try(abs, self.value))

    def __floordiv__(self, other: Any) -> Term:
        return _infix("floor_divide", self, as_term(other), PRODUCT, SIGN)

    def __mod__(self, other: Any) -> Term:
        return _infix("mod", self, as_term(other), PRODUCT, SIGN)

    def __radd__(self, other: Any) -> Term:
        return as_term(other) + self

    def __rsub__(self, other: Any) -> Term:
        return as_term(other) - self

    def __rmul__(self, other: Any) -> Term:
        return as_term(other) * self

    def __rtruediv__(self, other: Any) -> Term:
        return as_term(other) / self

    def __rpow__(self, other: Any) -> Term:
        return as_term(other) ** self

    def __pos__(self) -> Term:
        return self

    def __eq__(self, other: object) -> bool:
        return bool(self.value == as_term(other).value)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < as_term(other).value)

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > as_term(other).value)

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= as_term(other).value)

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= as_term(other).value)

    __hash__ = None  # type: ignore[assignment]


def as_term(number: Any) -> Term:
    """Write a constant as a term."""
    return number if isinstance(number, Term) else Term(number)


def _binds(number: Any, text: str) -> int:
    if isinstance(number, Fraction) and number.denominator != 1:
        return PRODUCT
    if text.startswith("-"):
        return SIGN
    return (
        CALL
        if text.replace(".", "").replace("_", "").isalnum() or ("(" not in text and " " not in text)
        else SUM
    )


def _try(function: Callable[..., Any], *values: Any) -> Any:
    """Return the value behind a formula, or None where there is none."""
    try:
        return None if any(value is None for value in values) else function(*values)
    except (ArithmeticError, ValueError):
        return None


def _infix(name: str, a: Term, b: Term, left: int, right: int) -> Term:
    row = TABLE[name]
    text = row.text.format(a.inside(left), b.inside(right))
    return Term(text, row.binds, _try(_VALUES[name], a.value, b.value))


_VALUES: dict[str, Callable[..., Any]] = {
    name: TABLE[name].compute
    for name in ("add", "sub", "mul", "div", "power", "floor_divide", "mod")
}


def render(row: Primitive, args: tuple[Any, ...]) -> Term:
    """Write one primitive applied to terms: infix, with a sign, or as a call."""
    terms = [as_term(arg) if arg is not None else Term("None") for arg in args]
    match row.name, terms:
        case "neg", [x]:
            return -x
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b]:
            return _infix("mul", a, b, PRODUCT, SIGN + (b.binds == SIGN))
        case "div", [a, b]:
            return a / b
        case "power", [a, b]:
            return a**b
    return Term(row.text.format(*[term.text for term in terms]), row.binds)


def _call(row: Primitive) -> Callable[..., Term]:
    def call(*args: Any) -> Term:
        term = render(row, args)
        values = [as_term(arg).value for arg in args]
        return Term(term.text, term.binds, _try(row.compute, *values))

    return call


register_number(Term, {name: _call(row) for name, row in TABLE.items()})
