"""The list of what a formula can contain: functions, their other names, operators, constants."""

from __future__ import annotations

import re
import textwrap
from functools import partial
from inspect import signature

from simpleautodiff.core.primitive import REALS, Primitive
from simpleautodiff.display.notation.explain import letters_of
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.errors import FormulaError
from simpleautodiff.program.formula_names import ALIASES, CONSTANTS, FORMULA_FUNCTIONS
from simpleautodiff.rules.row import TABLE

LETTERS = ("x", "y", "z", "w")  # of a function whose rule has none of its own
OPERATOR_SIGNS = "+ - * / // % **"
NARROWEST = 40  # columns in which what is said of a function is still easy to read


def list_functions(word: str = "", width: int | None = None) -> str:
    """Write each function, what is known of its derivative, and where it is defined.

    With a `word`, only those whose lines contain it. Lines longer than `width` are wrapped.

    Examples
    --------
    >>> print(list_functions("sqrt"))
    sqrt(x)   from v² = x follows 2 v dv = dx, so the derivative is 1/(2 √x); x ≥ 0
    """
    lines = [_describe(name) for name in FORMULA_FUNCTIONS]
    found = [line for line in lines if word.lower() in f"{line[0]} {line[1]}".lower()]
    exact = [line for line in found if word and line[0].startswith(f"{word}(")]
    found = exact or found
    if not found:
        raise FormulaError(f"no function has {word!r} in its line; `functions` alone lists all")
    column = max(len(call) for call, _ in found) + 3
    listed = [_write_line(call, about, column, width) for call, about in found]
    if not word:
        listed += ["", f"operators: {OPERATOR_SIGNS}", f"constants: {', '.join(CONSTANTS)}"]
    return "\n".join(listed)


def _write_line(call: str, about: str, column: int, width: int | None) -> str:
    """Write a call and, from a column on, what is said of it; under it where that is narrow."""
    if width is None:
        return f"{call:{column}}{about}"
    beside = width - column >= NARROWEST
    wrap = partial(textwrap.fill, width=width, break_on_hyphens=False)
    if beside:
        return wrap(about, initial_indent=f"{call:{column}}", subsequent_indent=" " * column)
    return f"{call}\n{wrap(about, initial_indent='    ', subsequent_indent='    ')}"


def _describe(name: str) -> tuple[str, str]:
    row = TABLE[name]
    others = [other for other, own in ALIASES.items() if own == name]
    also = f"; also {', '.join(others)}" if others else ""
    letters = letters_of(row)[1:] or list(LETTERS[: row.arity])
    domain = f"; {_write_domain(row, letters)}" if row.domain is not REALS else ""
    return f"{name}({', '.join(letters)})", show_minus(f"{row.reason}{domain}{also}")


def _write_domain(row: Primitive, letters: list[str]) -> str:
    """Write a domain in the letters of a rule: several functions share one, in its own letters."""
    own = list(signature(row.domain.contains).parameters)
    meant = dict(zip(own, letters, strict=False))
    return re.sub(r"[a-z]+", lambda word: meant.get(word[0], word[0]), row.domain.text)
