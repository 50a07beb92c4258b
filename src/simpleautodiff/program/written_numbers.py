"""Numbers and names as text, in a few digits, and in LaTeX."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError
from simpleautodiff.values.other_arrays import Foreign, read_foreign
from simpleautodiff.values.scoped import scoped

DIGITS: ContextVar[int] = ContextVar("digits", default=3)
MAX_DIGITS = 17  # with so many, every float is written exactly
_TYPED = 15  # a float that needs more digits was computed, not typed


@contextmanager
def use_digits(digits: int | None) -> Iterator[None]:
    """Write numbers with so many decimals, and at least as many significant digits.

    Examples
    --------
    >>> with use_digits(6):
    ...     write_short(11.652071)
    '11.652071'
    """
    if digits is None:
        yield
        return
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MAX_DIGITS:
        raise ArgumentError(f"digits is an integer from 1 to {MAX_DIGITS}; got {digits!r}")
    with scoped(DIGITS, digits):
        yield


def write_short(number: Any) -> str:
    """Write a number in a few digits, as the paper does: three decimals, or those of `use_digits`.

    A small number has as many significant digits instead, and is never written as 0. What is
    exact has no zeros at its end; what was rounded keeps them.

    Examples
    --------
    >>> write_short(11.652071), write_short(10.0), write_short(1e-5), write_short(-0.2836)
    ('11.652', '10', '1e-05', '-0.284')
    >>> write_short(1.0002), write_short(1 - 2j), write_short(2j)
    ('1.000', '1 - 2i', '2i')
    """
    number = read_foreign(number)
    if isinstance(number, (float, np.floating)):
        return _write_float(float(number), DIGITS.get())
    if isinstance(number, (complex, np.complexfloating)):
        if number.imag and not number.real:
            return f"{write_short(number.imag)}i"
        sign = "-" if number.imag < 0 else "+"
        real, imaginary = (write_short(x) for x in (number.real, abs(number.imag)))
        return f"{real} {sign} {imaginary}i"
    if isinstance(number, np.ndarray):
        return _write_short_array(number) if number.ndim else write_short(number[()])
    if isinstance(number, tuple):
        return f"({', '.join(map(write_short, number))}{',' * (len(number) == 1)})"
    if isinstance(number, slice):
        return ":".join("" if part is None else str(part) for part in _slice_parts(number))
    if isinstance(number, Foreign):
        return f"{number.library}{number.shape}"
    return str(number)


def _write_float(number: float, digits: int) -> str:
    """Write a float; zeros at the end are left out where they would say no more: 10, but 1.000."""
    size = abs(number)
    if number == 0:
        return "0"  # also that with a minus sign
    if 0.1 <= size < 1e7:
        text = f"{number:.{digits}f}"
    else:
        text = f"{number:#.{digits if size < 1 else max(digits, 7)}g}".replace(".e", "e")
    if not math.isclose(float(text), number, rel_tol=1e-12):
        return text
    return min(strip_zeros(text), strip_zeros(repr(number)), key=len)


def strip_zeros(text: str) -> str:
    """Leave out zeros at the end of each number, after its point.

    Examples
    --------
    >>> strip_zeros("10.000"), strip_zeros("[0.500, 1.00e-05]")
    ('10', '[0.5, 1e-05]')
    """
    return re.sub(r"(\.\d*?)0*(?=e|$|[^\d.])", lambda m: m[1].rstrip("."), text)


def write_typed(number: Any) -> str:
    """Write a number as it was typed; one that nobody typed, of 16 digits or more, in a few digits.

    Examples
    --------
    >>> write_typed(1.0001), write_typed(2.0), write_typed(100000.0), write_typed(1 / 3)
    ('1.0001', '2', '100000', '0.333')
    """
    if not isinstance(number, (float, np.floating)):
        return write_short(number)
    text = strip_zeros(str(number))
    digits = sum(map(str.isdigit, text.partition("e")[0].lstrip("-0.")))
    return text if digits <= _TYPED else write_short(number)


_SLICE = 3  # how many elements of an axis are shown


def _write_short_array(array: Any) -> str:
    """Write the first few elements along each axis: ``[[1, 2, 3, …], …]``."""
    if array.ndim == 0:
        return write_short(array[()])
    few = _SLICE if array.ndim == 1 or len(array) <= _SLICE else 1
    parts = [_write_short_array(np.asarray(part)) for part in array[:few]]
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
    number = read_foreign(number)
    if isinstance(number, np.ndarray) and number.ndim:
        return f"{number.dtype}{number.shape} {write_short(number)}"
    if isinstance(number, Foreign):
        return f"{number.library} {number.dtype}{number.shape}"
    return write_short(number)


_PLAIN_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₋", "0123456789-")


def latex_name(name: str, accent: str = "") -> str:
    r"""Write a name in LaTeX, with an accent over its letter: ``\dot{x}_{1}``.

    Examples
    --------
    >>> print(latex_name("x1"), latex_name("v12", "bar"), latex_name("rate"), latex_name("θ"))
    x_{1} \bar{v}_{12} \mathit{rate} \theta
    """
    match = re.fullmatch(r"([^\W\d_])(-?\d*)", name.translate(_PLAIN_DIGITS))
    if match is None or latex_letter(match[1]) == "?":
        plain = name.isidentifier() and "?" not in map(latex_letter, name)
        body = (
            rf"\mathit{{{_escape_latex(name)}}}" if plain else rf"\texttt{{{_escape_latex(name)}}}"
        )
        return rf"\{accent}{{{body}}}" if accent else body
    letter, digits = latex_letter(match[1]).strip(), match[2]
    letter = rf"\{accent}{{{letter}}}" if accent else letter
    return f"{letter}_{{{digits}}}" if digits else letter


def latex_letter(letter: str) -> str:
    r"""Write α as TeX's math mode does, and every letter as one that it can print.

    Examples
    --------
    >>> print(latex_letter("λ"), latex_letter("Ω"), latex_letter("Α"), latex_letter("x"))
    \lambda  \Omega  A x
    """
    if letter in _LOOKS_LATIN:
        return _LOOKS_LATIN[letter]
    kind, _, word = unicodedata.name(letter, "").partition(" LETTER ")
    if kind not in ("GREEK SMALL", "GREEK CAPITAL"):
        return letter if letter.isascii() else "?"
    word = {"LAMDA": "LAMBDA", "FINAL SIGMA": "VARSIGMA"}.get(word, word)
    return (
        f"\\{word.lower() if kind == 'GREEK SMALL' else word.title()} " if word.isalpha() else "?"
    )


_LOOKS_LATIN = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))  # TeX has no others


def _escape_latex(text: str) -> str:
    text = re.sub(r"([_$%&#{}])", r"\\\1", text.replace("\\", r"\backslash "))
    return re.sub(
        r"[\u0370-\u03ff]", lambda m: rf"\ensuremath{{{latex_letter(m[0]).strip()}}}", text
    )


def latex_powers(text: str) -> str:
    r"""Write the powers of ten of numbers in LaTeX, and leave all else.

    Examples
    --------
    >>> print(latex_powers("[1e-05, 2.5e+10]"))
    [10^{-5}, 2.5 \times 10^{10}]
    """
    text = re.sub(r"(?<![\w.])1e([+-]?\d+)", lambda m: f"10^{{{int(m[1])}}}", text)
    return re.sub(r"(\d)e([+-]?\d+)", lambda m: rf"{m[1]} \times 10^{{{int(m[2])}}}", text)


def latex_number(text: str) -> str:
    r"""Write the short form of a number in LaTeX: ``1e-05`` as ``10^{-5}``."""
    text = latex_powers(text)
    text = re.sub(r"\binf\b", r"\\infty", text).replace("…", r"\ldots")
    text = text.replace(",)", "{,})").replace(") [", r")\ [")
    words = r"(?<![\\\w])[A-Za-z]\w+"
    return re.sub(words, lambda m: rf"\mathrm{{{_escape_latex(m[0])}}}", text)
