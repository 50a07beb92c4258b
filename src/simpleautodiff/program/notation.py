"""Formulas as text: the printed forms of rows, filled in and parenthesised.

`Term` is a number that writes itself down. It passes through the rules like any other number, so
the symbolic form of a derivative is what the rule itself says.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from simpleautodiff.core.primitive import CALL, PRODUCT, SIGN, SUM, Primitive
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.functions import register_number


def write_short(number: Any, decimals: int = 3) -> str:
    """Write a number in a few digits, as the paper does, but never a small one as 0.

    Examples
    --------
    >>> write_short(11.652071), write_short(10.0), write_short(1e-5), write_short(-0.2836)
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
        real, imaginary = (write_short(x, decimals) for x in (number.real, abs(number.imag)))
        return f"{real} {sign} {imaginary}i"
    if isinstance(number, np.ndarray):
        return (
            _write_short_array(number, decimals)
            if number.ndim
            else write_short(number[()], decimals)
        )
    if isinstance(number, tuple):
        return f"({', '.join(map(write_short, number))}{',' * (len(number) == 1)})"
    if isinstance(number, slice):
        return ":".join("" if part is None else str(part) for part in _slice_parts(number))
    return str(number)


_SLICE = 3  # how many elements of an axis are shown


def _write_short_array(array: Any, decimals: int) -> str:
    """Write the first few elements along each axis: ``[[1, 2, 3, …], …]``."""
    if array.ndim == 0:
        return write_short(array[()], decimals)
    few = _SLICE if array.ndim == 1 or len(array) <= _SLICE else 1
    parts = [_write_short_array(np.asarray(part), decimals) for part in array[:few]]
    return f"[{', '.join(parts + ['…'] * (len(array) > few))}]"


def _slice_parts(index: slice) -> list[Any]:
    parts = [index.start, index.stop]
    return parts if index.step is None else [*parts, index.step]


def write_result(number: Any) -> str:
    """Write a result: a number in a few digits; an array as its dtype, its shape and a slice.

    Examples
    --------
    >>> import numpy as np
    >>> write_result(0.5), write_result(np.arange(4.0))
    ('0.5', 'float64(4,) [0, 1, 2, …]')
    """
    if isinstance(number, np.ndarray) and number.ndim:
        return f"{number.dtype}{number.shape} {write_short(number)}"
    return write_short(number)


def latex_name(name: str, accent: str = "") -> str:
    r"""Write a name in LaTeX, with an accent over its letter: ``\dot{x}_{1}``.

    Examples
    --------
    >>> print(latex_name("x1"), latex_name("v12", "bar"), latex_name("rate"))
    x_{1} \bar{v}_{12} \mathit{rate}
    """
    match = re.fullmatch(r"([^\W\d_])(\d*)", name)
    if match is None:
        plain = name.isidentifier() and name.isascii()
        body = (
            rf"\mathit{{{_escape_latex(name)}}}" if plain else rf"\texttt{{{_escape_latex(name)}}}"
        )
        return rf"\{accent}{{{body}}}" if accent else body
    letter, digits = match.groups()
    letter = rf"\{accent}{{{letter}}}" if accent else letter
    return f"{letter}_{{{digits}}}" if digits else letter


def _escape_latex(text: str) -> str:
    return re.sub(r"([_$%&#{}])", r"\\\1", text.replace("\\", r"\backslash "))


def latex_number(text: str) -> str:
    r"""Write the short form of a number in LaTeX: ``1e-05`` as ``10^{-5}``."""
    text = re.sub(r"\b1e([+-]?\d+)", lambda m: f"10^{{{int(m[1])}}}", text)
    text = re.sub(r"(\d)e([+-]?\d+)", lambda m: rf"{m[1]} \times 10^{{{int(m[2])}}}", text)
    text = re.sub(r"\binf\b", r"\\infty", text).replace("…", r"\ldots")
    text = text.replace(",)", "{,})").replace(") [", r")\ [")
    words = r"(?<![\\\w])[A-Za-z]\w+"
    return re.sub(words, lambda m: rf"\mathrm{{{_escape_latex(m[0])}}}", text)


class Term:
    """A formula that acts as a number: its text, LaTeX, precedence, and the value behind it.

    LaTeX is written on demand: `latex` may be a function.
    """

    __slots__ = ("_latex", "binds", "divides", "text", "value")

    def __init__(
        self,
        text: Any,
        binds: int = CALL,
        value: Any = None,
        divides: Any = None,
        latex: str | Callable[[], str] | None = None,
    ) -> None:
        named = isinstance(text, str)
        self.text = text if named else write_short(text)
        self.binds = binds if named else _binds(text, self.text)
        self.value = value if named else text
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

    def inside(self, binds: int) -> str:
        """Return the text, in parentheses if the surroundings bind tighter."""
        return f"({self.text})" if self.binds < binds else self.text

    def latex_inside(self, binds: int) -> str:
        """Return the LaTeX, in parentheses if the surroundings bind tighter."""
        return f"({self.latex})" if self.binds < binds else self.latex

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

    def __matmul__(self, other: Any) -> Term:
        return _infix("matmul", self, as_term(other), SIGN, SIGN)

    def __neg__(self) -> Term:
        binds = CALL if self.binds == SIGN else PRODUCT
        value = _try(operator.neg, self.value)
        return Term(
            f"-{self.inside(binds)}", SIGN, value, latex=lambda: f"-{self.latex_inside(binds)}"
        )

    def __abs__(self) -> Term:
        return Term(f"|{self.text}|", CALL, _try(abs, self.value), latex=lambda: f"|{self.latex}|")

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
    if isinstance(number, (complex, np.complexfloating)):
        return SUM if number.real and number.imag else PRODUCT
    if text.startswith("-"):
        return SIGN
    return (
        CALL
        if text.startswith("[")
        or text.replace(".", "").replace("_", "").isalnum()
        or ("(" not in text and " " not in text)
        else SUM
    )


def _try(function: Callable[..., Any], *values: Any) -> Any:
    """Return the value behind a formula, or None if there is none."""
    try:
        return None if any(value is None for value in values) else function(*values)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _infix(name: str, a: Term, b: Term, left: int, right: int) -> Term:
    row = TABLE[name]
    small = name == "power"  # an exponent needs no parentheses in LaTeX
    return Term(
        row.text.format(a.inside(left), b.inside(right)),
        row.binds,
        _try(_VALUES[name], a.value, b.value),
        latex=lambda: row.latex.format(
            a.latex_inside(left), b.latex if small else b.latex_inside(right)
        ),
    )


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
            return _infix("mul", a, b, PRODUCT, SIGN + (b.binds == SIGN))
        case "div", [a, b]:
            return a / b
        case "power", [a, b]:
            return a**b
        case "matmul", [a, b]:
            return a @ b
        case "where", [_, yes, no] if isinstance(args[0], bool | np.bool_):
            return yes if args[0] else no
        case "getitem", [x, _]:
            index = _index_text(args[1])
            latex = lambda: f"{x.latex_inside(CALL)}[{latex_number(index)}]"  # noqa: E731
            return Term(f"{x.inside(CALL)}[{index}]", latex=latex)
    latex = lambda: _call_latex(row, terms, args)  # noqa: E731
    return Term(_call_text(row, terms, args), row.binds, latex=latex)


def _index_text(index: Any) -> str:
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


register_number(Term, {name: _call(row) for name, row in TABLE.items()})
