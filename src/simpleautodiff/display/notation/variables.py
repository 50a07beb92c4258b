"""The user's own names for steps: ``hidden = np.tanh(...)`` names its node `hidden`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from types import CodeType

from simpleautodiff.core.node import Node

Instruction = tuple[CodeType, int] | None
Span = tuple[int | None, ...]  # where an expression begins and ends


def variables_of(nodes: Sequence[Node], instructions: Sequence[Instruction]) -> dict[Node, str]:
    """Return the variables that nodes were assigned to, as far as the user's source shows.

    An instruction may make several nodes, as a call of np.var does; the last of them is what was
    assigned. An instruction in a loop makes the same nodes again and again.
    """
    found: dict[Node, str] = {}
    for instruction, group in groupby(
        zip(nodes, instructions, strict=True), key=lambda pair: pair[1]
    ):
        name = _find_target(instruction) if instruction else ""
        if name:
            made = [node for node, _ in group]
            period = _period([node.operator for node in made])
            found |= dict.fromkeys(made[period - 1 :: period], name)
    return {node: name for node, name in found.items() if node.primitive is not None}


def _period(operators: list[str]) -> int:
    """Return the period with which a list repeats itself; its length if it does not."""
    size = len(operators)
    return next(
        n for n in range(1, size + 1) if size % n == 0 and operators == operators[:n] * (size // n)
    )


@lru_cache(maxsize=4096)
def _find_target(instruction: tuple[CodeType, int]) -> str:
    """Return the variable that the result of an instruction is assigned to; empty if none is."""
    code, offset = instruction
    line, end_line, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (None,) * 4
    )
    return _assignments(code.co_filename).get((line, column, end_line, end_column), "")


@lru_cache(maxsize=64)
def _parse_assignments(filename: str, text: str) -> dict[Span, str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {
        span: name for statement in ast.walk(tree) for span, name in _find_named_values(statement)
    }


def _assignments(filename: str) -> dict[Span, str]:
    """Return the variables of a file by the source span of the expression assigned to them."""
    text = "".join(linecache.getlines(filename))
    return _parse_assignments(filename, text) if text else {}


def _find_named_values(statement: ast.AST) -> Iterator[tuple[Span, str]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _pairs(target, value)
        case ast.NamedExpr(target=target, value=value):
            yield from _pairs(target, value)
        case ast.AugAssign(target=ast.Name(id=name)):
            yield _span(statement), name


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[Span, str]]:
    """Match a target with its value; a tuple of targets with a tuple of values."""
    match target, value:
        case ast.Name(id=name), _:
            yield _span(value), name
        case (
            (ast.Tuple(elts=targets) | ast.List(elts=targets)),
            (ast.Tuple(elts=values) | ast.List(elts=values)),
        ) if len(targets) == len(values):
            for one, its_value in zip(targets, values, strict=True):
                yield from _pairs(one, its_value)


def _span(node: ast.expr | ast.stmt) -> Span:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
