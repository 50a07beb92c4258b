"""The text on a figure: formulas, numbers and names of one step, each short enough."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from simpleautodiff.core.linear import Linear
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.display.notation.formulas import (
    EMPTY,
    derivative_term,
    partial_name,
    value_terms,
    write_bar as write_bar,
    write_dot as write_dot,
)
from simpleautodiff.display.notation.rich_text import to_latex
from simpleautodiff.program.notation import Term, render
from simpleautodiff.program.program import Program, output_names as output_names
from simpleautodiff.program.written_numbers import write_result, write_short, write_typed
from simpleautodiff.values.functions import shape
from simpleautodiff.values.other_arrays import read_foreign

MAX_LABEL = 30  # characters of a line
MAX_ARRAY = 36  # characters of an array that is written whole
MOST_MATRIX_ROWS = 4  # of a matrix that is written in several lines
MOST_TOLD = 60  # elements of an array that are told when it is pointed at
_UNSET = re.compile(r"(, (None|False))+\)$")  # settings with their default values
_OPERATOR_SIGNS = {
    "add": "+",
    "sub": "−",
    "mul": "×",
    "div": "/",
    "neg": "−",
    "matmul": "@",
    "power": "^",
}


def shorten(text: str, most: int = MAX_LABEL) -> str:
    """Shorten a text that is too long for a label."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def write_brief(value: Any) -> str:
    """Write a value in a few characters; of an array that is too long, how many numbers it has.

    Examples
    --------
    >>> import numpy as np
    >>> write_brief(0.6931471), write_brief(np.zeros((3, 4))), write_brief(np.array([0.5, 1.0]))
    ('0.693', '3 × 4 numbers', '[0.5, 1]')
    """
    if not shape(value):
        return shorten(write_short(value), 24)
    whole = _write_elements(value, MAX_ARRAY // 3)
    return whole if whole and len(whole) <= MAX_ARRAY else _count_elements(value)


def write_brief_lines(start: str, value: Any, typed: bool = False) -> list[str]:
    """Write a value after some text; a small matrix in a line for each of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> write_brief_lines("= ", np.arange(12.0).reshape(2, 6))
    ['= [[0, 1, 2, 3, 4, 5],', '[6, 7, 8, 9, 10, 11]]']
    """
    size = shape(value)
    if typed and not size:
        return [f"{start}{shorten(write_typed(value), 24)}"]
    brief = write_brief(value)
    if len(size) != 2 or size[0] > MOST_MATRIX_ROWS or brief != _count_elements(value):
        return [f"{start}{brief}"]
    rows = [_write_elements(row, MAX_ARRAY // 3) for row in read_foreign(value)]
    if any(not row or len(row) > MAX_ARRAY for row in rows):
        return [f"{start}{brief}"]
    return f"{start}[{',/'.join(rows)}]".split("/")


def write_whole(value: Any) -> str:
    """Write an array with all elements, if there is room for them where it is pointed at.

    Examples
    --------
    >>> import numpy as np
    >>> write_whole(np.array([[0.5, 1.0], [1 / 3, 2.0]])), write_whole(0.5)
    ('float64(2, 2) [[0.5, 1], [0.333, 2]]', '')
    """
    if not shape(value):
        return ""
    whole = _write_elements(value, MOST_TOLD)
    return f"{write_result(value).partition(' [')[0]} {whole}" if whole else write_result(value)


def _write_elements(value: Any, most: int) -> str:
    """Write all elements of an array; nothing if there are too many, or if they are not known."""
    array = read_foreign(value)
    if not isinstance(array, np.ndarray) or array.size > most:
        return ""
    parts = [_write_elements(part, most) if array.ndim > 1 else write_short(part) for part in array]
    return f"[{', '.join(parts)}]"


def _count_elements(value: Any) -> str:
    size = shape(value)
    kind = "number" if read_foreign(value).dtype.kind in "iufc" else "value"
    return f"{' × '.join(map(str, size))} {kind}{'s' * (math.prod(size) != 1)}"


def _shape(value: Any) -> str:
    """Write a shape as NumPy does: (2,) has its comma."""
    return str(tuple(map(int, shape(value))))


def shape_label(value: Any) -> str:
    """Return the shape of an array, or the empty string for a scalar."""
    return _shape(value) if shape(value) else ""


def operator_sign(node: Node) -> str:
    """Return the sign or the name of an operation: × for mul."""
    return _OPERATOR_SIGNS.get(node.operator, node.operator)


def write_symbolic(program: Program, node: Node) -> Term:
    """Write the right-hand side of a step in names: ``v4 - v3``."""
    return _shorten_term(_fill_in(node, [_name_argument(program, arg) for arg in node.args]))


def _shorten_term(term: Term) -> Term:
    text = shorten(_UNSET.sub(")", term.text))
    return term if text == term.text else Term(text, latex=lambda: to_latex(text))


def write_numeric(program: Program, node: Node) -> Term:
    """Write it in numbers: ``10.693 - (-0.959)``; empty if an argument is an array."""
    if any(shape(value) for value in node.values()):
        return EMPTY
    term = value_terms(program, node)[1]
    return term if len(term.text) <= MAX_LABEL else EMPTY


def write_slope(program: Program, node: Node, k: int, derivative: Any) -> Term:
    """Write ∂node/∂args[k] in names, as its rule says; for an array, the quotient itself."""
    if isinstance(derivative, Linear) or shape(derivative):
        return partial_name(program.names[node], program.names[node.args[k]])
    return derivative_term(program, node, k, derivative)


def expand_all(program: Program) -> dict[Node, Term]:
    """Write each step in terms of the inputs, as far as that is short: ``log(x1) + x1 × x2``."""
    terms: dict[Node, Term] = {}
    for node in program.nodes:
        if node.primitive is None:
            terms[node] = Term(program.names[node])
            continue
        term = _fill_in(
            node, [terms[a] if type(a) in NODES else _name_argument(program, a) for a in node.args]
        )
        if len(term.text) > MAX_LABEL:
            term = _fill_in(node, [_name_argument(program, arg) for arg in node.args])
        terms[node] = term
    return {node: _shorten_term(term) for node, term in terms.items()}


def _name_argument(program: Program, arg: Any) -> Any:
    if type(arg) in NODES:
        return Term(program.names[arg])
    return Term(write_brief(arg)) if shape(arg) else arg


def _fill_in(node: Node, args: list[Any]) -> Term:
    assert node.primitive is not None
    return render(node.primitive, tuple(args))
