"""Formulas as text: the printed forms of rows, filled in and parenthesised.

`Term` is a number that writes itself down. It passes through the rules like any other number, so
the symbolic form of a derivative is what the rule itself says.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from simpleautodiff.core.primitive import CALL, POWER, PRODUCT, SIGN, SUM, Primitive
from simpleautodiff.program.written_numbers import (
    DIGITS,
    MAX_DIGITS,
    latex_name,
    latex_number,
    strip_zeros,
    use_digits,
    write_short,
    write_typed,
)
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.functions import register_number
from simpleautodiff.values.other_arrays import Foreign, read_foreign


class Term:
    """A formula that acts as a number: its text, LaTeX, precedence, and the value behind it.

    `said` is what its text says: the value computed from the digits that are written. LaTeX is
    written on demand: `latex` may be a function.
    """

    __slots__ = ("_latex", "binds", "divides", "said", "text", "value")

    def __init__(
        self,
        text: Any,
        binds: int = CALL,
        value: Any = None,
        divides: Any = None,
        latex: str | Callable[[], str] | None = None,
        said: Any = None,
    ) -> None:
        named = isinstance(text, str)
        self.text = text if named else write_short(text)
        self.binds = binds if named else _find_binding(text, self.text)
        self.value = value if named else text
        self.said = said if named else _read(text, write_short)
        self.divides = divides  # the y of 1 / y
        if latex is None:
            latex = lambda: latex_name(self.text) if named else latex_number(self.text)  # noqa: E731
        self._latex = latex

    @property
    def latex(self) -> str:
        """The formula in LaTeX."""
        return self._latex if isinstance(self._latex, str) else self._latex()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value behind the formula, which rules of array primitives need."""
        return tuple(getattr(self.value, "shape", ()))

    @property
    def pi(self) -> Term:
        """The number π, by its letter."""
        return Term("π", value=math.pi, latex=r"\pi", said=math.pi)

    def inside(self, binds: int, signed: bool = False) -> str:
        """Return the text, in parentheses if the surroundings bind tighter.

        With `signed` also if it begins with a minus, as after an operator: 2 × (-3).
        """
        closed = self.binds < binds or (signed and self.binds == SIGN)
        return f"({self.text})" if closed else self.text

    def latex_inside(self, binds: int, signed: bool = False) -> str:
        """Return the LaTeX, in parentheses where `inside` has them."""
        own = min(self.binds, _find_binding_in_latex(self.text))
        closed = own < binds or (signed and self.binds == SIGN)
        return f"({self.latex})" if closed else self.latex

    def __repr__(self) -> str:
        return self.text

    def __mul__(self, other: Any) -> Term:
        other = as_term(other)
        if other.divides is not None:
            divided: Term = self / other.divides
            return divided
        return _join("mul", self, other, PRODUCT, SIGN, signed=True)

    def __truediv__(self, other: Any) -> Term:
        other = as_term(other)
        quotient = _join("div", self, other, PRODUCT, SIGN, signed=True)
        if self.text == "1":
            quotient.divides = other
        return quotient

    def __add__(self, other: Any) -> Term:
        return _join("add", self, as_term(other), SUM, SUM, signed=True)

    def __sub__(self, other: Any) -> Term:
        return _join("sub", self, as_term(other), SUM, PRODUCT, signed=True)

    def __pow__(self, other: Any) -> Term:
        return _join("power", self, as_term(other), CALL, CALL)

    def __matmul__(self, other: Any) -> Term:
        return _join("matmul", self, as_term(other), SIGN, SIGN)

    def __neg__(self) -> Term:
        value, said = _try(operator.neg, self.value), _try(operator.neg, self.said)
        latex = lambda: f"-{self.latex_inside(PRODUCT, signed=True)}"  # noqa: E731
        return Term(f"-{self.inside(PRODUCT, signed=True)}", SIGN, value, latex=latex, said=said)

    def __abs__(self) -> Term:
        value, said = _try(abs, self.value), _try(abs, self.said)
        return Term(f"|{self.text}|", CALL, value, latex=lambda: f"|{self.latex}|", said=said)

    def __floordiv__(self, other: Any) -> Term:
        return _bound_as_sum(_join("floor_divide", self, as_term(other), PRODUCT, SIGN))

    def __mod__(self, other: Any) -> Term:
        return _bound_as_sum(_join("mod", self, as_term(other), PRODUCT, SIGN))

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


def write_true(write: Callable[[], Term], value: Any) -> Term:
    """Write a right-hand side with so many digits that it is true: it rounds to what follows it.

    What the digits on the left say, computed, is written as the value on the right is: ``0.333 +
    0.333 = 0.667`` is not true, ``0.3333 + 0.3333 = 0.667`` is.

    Examples
    --------
    >>> print(write_true(lambda: Term(1 / 3) + Term(1 / 3), 2 / 3))
    0.3333 + 0.3333
    """
    wanted = strip_zeros(write_short(value))
    first = term = write()
    for digits in range(DIGITS.get() + 1, MAX_DIGITS + 2):
        if term.said is None or _is_same_number(term.said, value):
            return term
        if strip_zeros(write_short(term.said)) == wanted:
            return term
        if digits <= MAX_DIGITS:
            with use_digits(digits):
                term = write()
    return term if isinstance(value, float) else first  # more digits of another precision say less


def _is_same_number(said: Any, value: Any) -> bool:
    return not isinstance(said, np.ndarray) and bool(said == value)


def as_term(number: Any) -> Term:
    """Write a constant as a term, as it was typed."""
    if isinstance(number, Term):
        return number
    if isinstance(number, (float, np.floating)):
        text = write_typed(number)
        binds, said = _find_binding(number, text), float(text)
        return Term(text, binds, number, latex=lambda: latex_number(text), said=said)
    return Term(number)


_SCIENTIFIC = re.compile(r"-?([\d.]+)e[+-]?\d+")
_MOST_READ = 100  # elements of an array that are computed again from their digits


def _read(number: Any, write: Callable[[Any], str]) -> Any:
    """Return the number that is written; None where that cannot be computed with."""
    number = read_foreign(number)
    if isinstance(number, (float, np.floating)):
        return float(write(number))
    if isinstance(number, (complex, np.complexfloating)):
        return complex(_read(float(number.real), write), _read(float(number.imag), write))
    if isinstance(number, np.ndarray) and number.size <= _MOST_READ and number.dtype.kind in "fc":
        read = [_read(element, write) for element in number.ravel()]
        return np.array(read).reshape(number.shape)
    exact = isinstance(number, (int, Fraction, np.integer, np.ndarray))
    return number if exact and getattr(number, "size", 1) <= _MOST_READ else None


def _find_binding(number: Any, text: str) -> int:
    if isinstance(number, Fraction) and number.denominator != 1:
        return PRODUCT
    if isinstance(number, (complex, np.complexfloating)) and " " in text:
        return SUM
    if text.startswith("-"):
        return SIGN
    if _SCIENTIFIC.fullmatch(text) or text.endswith("i"):
        return POWER
    return (
        CALL
        if text.startswith("[")
        or isinstance(number, Foreign)
        or text.replace(".", "").replace("_", "").isalnum()
        or ("(" not in text and " " not in text)
        else SUM
    )


def _find_binding_in_latex(text: str) -> int:
    """Return how tightly a number binds in LaTeX, where 2e-07 is a product."""
    power = _SCIENTIFIC.fullmatch(text)
    return PRODUCT if power and power[1] != "1" else CALL


def _try(function: Callable[..., Any], *values: Any) -> Any:
    """Return the value behind a formula, or None if there is none."""
    try:
        return None if any(value is None for value in values) else function(*values)
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return None


def _join(name: str, a: Term, b: Term, left: int, right: int, signed: bool = False) -> Term:
    row = TABLE[name]
    small = name == "power"  # an exponent needs no parentheses in LaTeX
    return Term(
        row.text.format(a.inside(left), b.inside(right, signed)),
        row.binds,
        _try(_VALUES[name], a.value, b.value),
        latex=lambda: row.latex.format(
            a.latex_inside(left), b.latex if small else b.latex_inside(right, signed)
        ),
        said=_try(_VALUES[name], a.said, b.said),
    )


def _bound_as_sum(term: Term) -> Term:
    """Let a term have parentheses inside any other: -(x // y) is not (-x) // y."""
    term.binds = SUM
    return term


_VALUES: dict[str, Callable[..., Any]] = {
    name: TABLE[name].compute
    for name in ("add", "sub", "mul", "div", "power", "floor_divide", "mod", "matmul")
}


def render(row: Primitive, args: tuple[Any, ...]) -> Term:
    """Write one primitive applied to terms: infix, with a prefix sign, or as a call."""
    terms = [as_term(arg) for arg in args]
    match row.name, terms:
        case "neg", [x]:
            return -x
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b]:
            return _join("mul", a, b, PRODUCT, SIGN, signed=True)
        case "div", [a, b]:
            return a / b
        case "power", [a, b]:
            return a**b
        case "matmul", [a, b]:
            return a @ b
        case "where", [_, yes, no] if isinstance(args[0], bool | np.bool_):
            return yes if args[0] else no
        case "getitem", [x, _]:
            index = _write_index(args[1])
            latex = lambda: f"{x.latex_inside(CALL)}[{latex_number(index)}]"  # noqa: E731
            said = _try(lambda array: array[args[1]], x.said)
            return Term(f"{x.inside(CALL)}[{index}]", latex=latex, said=said)
    latex = lambda: _call_latex(row, terms, args)  # noqa: E731
    given = [args[i] if i in row.settings else term.said for i, term in enumerate(terms)]
    known = all(x is not None for i, x in enumerate(given) if i not in row.settings)
    said = _try_call(row.compute, given) if known else None
    return Term(_call_text(row, terms, args), row.binds, latex=latex, said=said)


def _write_index(index: Any) -> str:
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join("..." if part is ... else write_short(part) for part in parts)


def _call_text(row: Primitive, terms: list[Term], args: tuple[Any, ...]) -> str:
    """Write a call, without settings that are defaults, such as axis=None."""
    texts = [term.text for term in terms]
    if row.text == f"{row.name}({', '.join(f'{{{i}}}' for i in range(row.arity))})":
        for i, name in zip(row.settings, _SETTINGS.get(row.name, ()), strict=False):
            texts[i] = f"{name}={texts[i]}"
        said = [i for i, x in enumerate(args) if i not in row.settings or not _is_default(x)]
        return f"{row.name}({', '.join(texts[i] for i in said)})"
    return row.text.format(*texts)


def _is_default(setting: Any) -> bool:
    return setting is None or setting is False


_SETTINGS = dict.fromkeys(("sum", "max", "min"), ("axis", "keepdims"))


def _call_latex(row: Primitive, terms: list[Term], args: tuple[Any, ...]) -> str:
    """Fill in the LaTeX form, with parentheses around arguments that need them."""
    if row.name in _SETTINGS:
        axis = "" if args[1] is None else rf"_{{\text{{axis }} {terms[1].latex}}}"
        return rf"\{row.name}{axis} {terms[0].latex_inside(PRODUCT)}"
    if row.name == "transpose" and args[1] is None:
        return rf"{terms[0].latex_inside(CALL)}^{{\top}}"
    latex = [
        term.latex if _is_enclosed(row.latex, i) else term.latex_inside(CALL)
        for i, term in enumerate(terms)
    ]
    return row.latex.format(*latex)


def _is_enclosed(form: str, i: int) -> bool:
    """Tell whether the form encloses an argument in braces, bars, parentheses or words."""
    before = form.partition(f"{{{i}}}")[0].rstrip()
    return before.endswith(("{{", "(", "|", ",", "if }}", "else }}"))


def _call(row: Primitive) -> Callable[..., Term]:
    def call(*args: Any) -> Term:
        term = render(row, args)
        values = [arg.value if isinstance(arg, Term) else arg for arg in args]
        settings = [value for i, value in enumerate(values) if i not in row.settings]
        known = all(value is not None for value in settings)
        term.value = _try_call(row.compute, values) if known else None
        return term

    return call


def _try_call(function: Callable[..., Any], values: list[Any]) -> Any:
    try:
        return function(*values)
    except (ArithmeticError, ValueError, TypeError, AttributeError):
        return None


TERM_FUNCTIONS = {name: _call(row) for name, row in TABLE.items()}
register_number(Term, TERM_FUNCTIONS)
