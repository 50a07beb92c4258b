"""One expression of straight-line code: a step, a call of NumPy, a sign, in Python and in LaTeX."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import Call
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import POWER, SIGN, Primitive
from simpleautodiff.display.code.conditions import condition_of
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.notation import Term
from simpleautodiff.program.python_code import (
    Piece,
    find_public_name,
    join_arguments,
    write_expression,
    write_literal,
)
from simpleautodiff.program.written_numbers import latex_name
from simpleautodiff.rules.restating import find_value_alone
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.pytree import flatten


@dataclass(slots=True)
class Expression:
    """An expression in both notations, and the variables it reads."""

    piece: Piece
    term: Any  # a term; a setting is kept as it is
    reads: set[str] = field(default_factory=set)


def write_step(node: Node, pieces: list[Piece]) -> Piece:
    """Write one step, given the code of its arguments."""
    assert node.primitive is not None
    row, values = find_value_alone(node.primitive, node.values())
    pieces, value = pieces[: len(values)], node.value
    if type(value) is float and not math.isfinite(value):
        return _library_call(row, pieces)  # Python would raise an error, not return inf
    return write_expression(row, pieces, values, value, _library_call)


def can_write(call: Call) -> bool:
    """Tell whether the function has a name, and its other arguments can be written."""
    try:
        for leaf in flatten((call.args, call.kwargs))[0]:
            if type(leaf) not in NODES and condition_of(leaf) is None:
                write_literal(leaf)
    except ArgumentError:
        return False
    return bool(find_call_name(call.function))


def find_call_name(function: Any) -> str:
    """Return the public name of a function of NumPy, or of a method of a ufunc, SciPy's too.

    Examples
    --------
    >>> find_call_name(np.linalg.svdvals), find_call_name(np.multiply.accumulate)
    ('np.linalg.svdvals', 'np.multiply.accumulate')
    """
    ufunc = getattr(function, "__self__", None)
    if not isinstance(ufunc, np.ufunc):
        return find_public_name(function)
    special: Any = getattr(sys.modules.get("scipy.special"), ufunc.__name__, None)
    name = f"special.{ufunc.__name__}" if special is ufunc else find_public_name(ufunc)
    return f"{name}.{function.__name__}".removesuffix(".__call__") if name else ""


def _library_call(row: Primitive, pieces: list[Piece]) -> Piece:
    """Write a primitive as a call of this library."""
    import simpleautodiff

    if TABLE.get(row.name) is not row:
        raise ArgumentError(
            f"{row.name} is a primitive of your own, which source code cannot name; write the "
            "function without it"
        )
    public = {"abs": "absolute"}.get(row.name, row.name)
    found = getattr(simpleautodiff, public, None)
    if getattr(found, "primitive", None) is row:
        return Piece(f"ad.{public}({join_arguments(pieces)})")
    return Piece(f'rows["{row.name}"].compute({join_arguments(pieces)})')


def write_as_sign(node: Node, parts: list[Expression]) -> Expression | None:
    """Write a product with the integer 1 or -1 of a rule, which is exact, as a sign."""
    for k, arg in enumerate(node.args):
        if type(arg) is int and arg in (1, -1):
            other = parts[1 - k]
            if arg == 1:
                return other
            return Expression(
                Piece(f"-{other.piece.inside(POWER)}", SIGN), -other.term, other.reads
            )
    return None


def variable_term(name: str) -> Term:
    """Return a variable as a term; in LaTeX x1_bar is an x with a bar, x1_dot one with a dot."""
    base, _, accent = name.rpartition("_")
    accented = bool(base) and accent in ("bar", "dot")
    return Term(name, latex=lambda: latex_name(base, accent) if accented else latex_name(name))
