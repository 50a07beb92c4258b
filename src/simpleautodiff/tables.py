"""The paper's three tables for any program: values, tangents, adjoints; as aligned text.

Each row is a name, the right-hand side in symbols, the same in numbers, and the result.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from simpleautodiff.errors import AutodiffError
from simpleautodiff.linear import ZERO, Linear
from simpleautodiff.node import Node, Result
from simpleautodiff.program import Program
from simpleautodiff.text import Term, render, short

Row = tuple[str, ...]
RULE: Row = ()  # a line across the table
DOT, BAR = "\u0307", "\u0304"


def values_table(program: Program) -> str:
    """Write the values: the evaluation of the function, step by step.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    >>> print(values_table(program))
    x1                                = 2
    x2                                = 5
    ──────────────────────────────────────────
    v1  = log(x1) = log(2)            = 0.693
    v2  = x1 × x2 = 2 × 5             = 10
    v3  = sin(x2) = sin(5)            = -0.959
    v4  = v1 + v2 = 0.693 + 10        = 10.693
    v5  = v4 - v3 = 10.693 - (-0.959) = 11.652
    ──────────────────────────────────────────
    y   = v5                          = 11.652
    """
    rows: list[Row] = [(program.names[node], "", "", short(node.value)) for node in program.inputs]
    rows.append(RULE)
    for node in program.nodes[len(program.inputs) :]:
        symbols = _rendered(node, _names(program, node)).text
        numbers = _rendered(node, _numbers(node)).text
        rows.append((program.names[node], symbols, numbers, short(node.value)))
    rows.append(RULE)
    rows += [
        (name, program.names[node], "", short(node.value)) for name, node in output_names(program)
    ]
    return align(rows)


def tangents_table(program: Program, wrt: str) -> str:
    """Write the tangents: the forward sweep from one input."""
    dot = program.tangents(wrt)
    rows: list[Row] = [
        (dotted(name), f"∂{name}/∂{wrt}", "", short(dot[name]))
        for name in (program.names[node] for node in program.inputs)
    ]
    rows.append(RULE)
    for node in program.nodes[len(program.inputs) :]:
        name = program.names[node]
        rows.append((dotted(name), *_tangent(program, node, dot), short(dot[name])))
    rows.append(RULE)
    rows += [
        (dotted(name), dotted(program.names[node]), "", short(dot[program.names[node]]))
        for name, node in output_names(program)
    ]
    return align(rows)


def adjoints_table(program: Program, output: str = "") -> str:
    """Write the adjoints: the reverse sweep from one output, each accumulation in its turn."""
    output = output or program.names[program.outputs[0]]
    ends = {program.names[node]: name for name, node in output_names(program)}
    rows: list[Row] = [(barred(output), barred(ends.get(output, output)), "", "1"), RULE]
    nodes = {name: node for node, name in program.names.items()}
    for item in program.accumulations(output):
        child = nodes[item.child]
        before = "" if item.first else f"{barred(item.parent)} + "
        with_d = f"{before}{barred(item.child)} ∂{item.child}/∂{item.parent}"
        term = Term(barred(item.child)) * _symbolic(program, child, item.index, item.derivative)
        rows.append((barred(item.parent), with_d, f"{before}{term.text}", short(item.total)))
    rows.append(RULE)
    bar = program.adjoints(output)
    inputs = [program.names[node] for node in program.inputs]
    rows += [
        (barred(name), f"∂{ends.get(output, output)}/∂{name}", "", short(bar[name]))
        for name in inputs
    ]
    return align(rows)


def output_names(program: Program) -> list[tuple[str, Node]]:
    """Name the outputs y, or y1, y2, ...; by another letter if an input is called y."""
    taken = {name[0] for name in program.names.values()}
    letter = next((letter for letter in "yzfgh" if letter not in taken), "result")
    if len(program.outputs) == 1:
        return [(letter, program.outputs[0])]
    return [(f"{letter}{i}", node) for i, node in enumerate(program.outputs, 1)]


def dotted(name: str) -> str:
    """Write ẋ1: the tangent of x1."""
    return unicodedata.normalize("NFC", name[0] + DOT + name[1:])


def barred(name: str) -> str:
    """Write x̄1: the adjoint of x1."""
    return unicodedata.normalize("NFC", name[0] + BAR + name[1:])


def _names(program: Program, node: Node) -> list[Any]:
    return [
        Term(program.names[arg], value=arg.value) if type(arg) is Result else arg
        for arg in node.args
    ]


def _numbers(node: Node) -> list[Any]:
    return [Term(arg.value) if type(arg) is Result else arg for arg in node.args]


def _rendered(node: Node, args: list[Any]) -> Term:
    assert node.primitive is not None
    return render(node.primitive, tuple(args))


def _tangent(program: Program, node: Node, dot: dict[str, Any]) -> tuple[str, str]:
    symbols: list[Term] = []
    numbers: list[Term] = []
    for k, derivative in node.local_derivatives():
        if derivative is ZERO:
            continue
        name = program.names[node.args[k]]
        symbols.append(_product(Term(dotted(name)), _symbolic(program, node, k, derivative)))
        numbers.append(_product(Term(dot[name]), _symbolic(program, node, k, derivative, True)))
    return (_sum(symbols), _sum(numbers)) if symbols else ("0", "")


def _symbolic(
    program: Program, node: Node, k: int, derivative: Any, in_numbers: bool = False
) -> Any:
    """Return ∂node/∂args[k] as a term, by giving its rule terms instead of numbers."""
    assert node.primitive is not None
    if isinstance(derivative, Linear):
        return Term(f"∂{program.names[node]}/∂{program.names[node.args[k]]}")
    args = _numbers(node) if in_numbers else _names(program, node)
    value = Term(node.value) if in_numbers else Term(program.names[node], value=node.value)
    try:
        return node.primitive.partial(k, value, tuple(args))
    except (AutodiffError, TypeError, ValueError):
        return Term(derivative)  # a rule that is more than a formula


def _product(seed: Term, derivative: Any) -> Term:
    """Write seed × derivative; a factor 1 or -1 is only a sign."""
    if isinstance(derivative, int) and derivative in (1, -1):
        return seed if derivative == 1 else -seed
    product: Term = seed * derivative
    return product


def _sum(terms: Sequence[Term]) -> str:
    text = terms[0].text
    for term in terms[1:]:
        minus = term.text.startswith("-")
        text += f" - {term.text[1:]}" if minus else f" + {term.text}"
    return text


def align(rows: Sequence[Row]) -> str:
    """Align the columns with = signs between them, and draw the lines across."""
    body = [row for row in rows if row]
    widths = [max(_width(row[i]) for row in body) for i in range(4)]
    total = sum(widths) + 3 * 3 + 1
    lines = []
    for row in rows:
        if not row:
            lines.append("─" * total)
            continue
        cells = [_pad(row[0], widths[0]) + " "]
        for cell, width in zip(row[1:], widths[1:], strict=True):
            if width:
                cells.append(f" = {_pad(cell, width)}" if cell else " " * (width + 3))
        lines.append("".join(cells).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    return sum(not unicodedata.combining(character) for character in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
