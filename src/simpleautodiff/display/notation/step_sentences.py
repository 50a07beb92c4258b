"""Single steps in symbols and numbers: ``v4 = v1 + v2 = 0.693 + 10 = 10.693``."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.node import Node
from simpleautodiff.display.notation.formulas import write_bar, write_dot
from simpleautodiff.errors import AutodiffError
from simpleautodiff.program.notation import Term, render, write_short
from simpleautodiff.program.program import Program
from simpleautodiff.values.functions import shape


def write_accented(name: str, mode: str) -> str:
    """Write ẋ1, the tangent of x1, or x̄1, its adjoint."""
    return write_dot(name) if mode == "forward" else write_bar(name)


def describe_value(number: Any) -> str:
    """Write a number in a few digits; an array as its shape, dtype and first elements.

    Examples
    --------
    >>> describe_value(2 / 3), describe_value(np.arange(6.0).reshape(2, 3))
    ('0.667', '(2, 3) float64: 0, 1, 2, 3, …')
    """
    size = shape(number)
    if not size:
        return write_short(number[()] if isinstance(number, np.ndarray) else number)
    kind = getattr(number, "dtype", type(number).__name__)
    try:
        first = [write_short(x) for x in np.asarray(number).ravel()[:5]]
    except (TypeError, ValueError):
        return f"{size} {kind}"
    return f"{size} {kind}: {', '.join(first[:4])}{', …' * (len(first) > 4)}"


def write_symbols(program: Program, node: Node) -> str:
    """Write the right-hand side of a node in names."""
    if node.primitive is None:
        return ""
    args = [
        Term(program.names[arg], value=_unwrap_scalar(arg.value))
        if type(arg) is Node
        else Term(write_index(arg))
        if node.operator == "getitem"
        else _constant(arg)
        for arg in node.args
    ]
    return render(node.primitive, tuple(args)).text


def write_index(index: Any) -> str:
    """Write an index as it stands between brackets.

    Examples
    --------
    >>> write_index((slice(None), 0)), write_index((..., None, slice(None, None, 2)))
    (':, 0', '..., None, ::2')
    >>> write_index(slice(1, 5)), write_index((slice(3, None),))
    ('1:5', '3:,')
    """
    if isinstance(index, tuple):
        return ", ".join(map(write_index, index)) + "," * (len(index) == 1)
    if isinstance(index, slice):
        start, stop, step = (
            "" if n is None else str(n) for n in (index.start, index.stop, index.step)
        )
        return f"{start}:{stop}" + f":{step}" * bool(step)
    if index is ...:
        return "..."
    return (
        np.array2string(index, separator=", ", threshold=6)
        if isinstance(index, np.ndarray)
        else str(index)
    )


def write_numbers(node: Node) -> str:
    """Write the right-hand side of a node in numbers; empty if they are arrays."""
    if node.primitive is None or any(shape(value) for value in node.values()):
        return ""
    return render(node.primitive, tuple(map(_constant, node.values()))).text


def _unwrap_scalar(value: Any) -> Any:
    return None if shape(value) else value


def _constant(arg: Any) -> Any:
    if isinstance(arg, (float, int, complex, np.number)) and not isinstance(arg, bool):
        return arg
    return Term(describe_value(arg) if shape(arg) else str(arg))


def value_line(program: Program, name: str) -> str:
    """Say in one line how a value was computed."""
    node = program.node(name)
    return " = ".join(
        filter(
            None,
            (name, write_symbols(program, node), write_numbers(node), describe_value(node.value)),
        )
    )


def partial_symbols(program: Program, node: Node, k: int, derivative: Any) -> str:
    """Write ∂node/∂args[k] in names, as its rule says; for a linear map, the quotient itself."""
    quotient = f"∂{program.names[node]}/∂{program.names[node.args[k]]}"
    if isinstance(derivative, Linear) or shape(derivative) or node.primitive is None:
        return quotient
    args = [
        Term(program.names[arg], value=arg.value) if type(arg) is Node else arg for arg in node.args
    ]
    value = Term(program.names[node], value=node.value)
    try:
        term = node.primitive.partial(k, value, tuple(args))
    except (AutodiffError, TypeError, ValueError, AttributeError):
        return quotient
    return "0" if term is ZERO else term.text if isinstance(term, Term) else write_short(term)


def derivative_line(program: Program, mode: str, name: str, event: Any, result: Any) -> str:
    """Say in one line how a tangent or an adjoint was computed; a seed has no event."""
    left = write_accented(name, mode)
    if event is None:
        return f"{left} = {result}, the seed"
    if mode == "forward":
        return f"{left} = {_write_tangent(program, program.node(name))} = {describe_value(result)}"
    child = program.node(event.child)
    derivative = dict(child.local_derivatives())[event.index]
    before = "" if event.first else f"{left} + "
    partial = partial_symbols(program, child, event.index, derivative)
    product = f"{write_accented(event.child, mode)} × {_parenthesize(partial)}"
    return f"{left} = {before}{product} = {describe_value(result)}"


def _write_tangent(program: Program, node: Node) -> str:
    terms = [
        f"{write_accented(program.names[node.args[k]], 'forward')} × "
        f"{_parenthesize(partial_symbols(program, node, k, derivative))}"
        for k, derivative in node.local_derivatives()
        if derivative is not ZERO
    ]
    return " + ".join(terms) or "0"


def _parenthesize(text: str) -> str:
    """Put a text of more than one symbol into parentheses."""
    return f"({text})" if " " in text or text.startswith("-") else text
