"""Single steps as the tables write them: ``v4 = v1 + v2 = 0.693 + 10 = 10.693``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.display.notation.formulas import (
    Pull,
    adjoint_term,
    adjoint_terms,
    partial_name,
    suppress_warnings,
    tangent_terms,
    value_terms,
    write_bar,
    write_dot,
    write_value,
)
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.program.program import Program, output_names, sweeps_all_elements
from simpleautodiff.program.written_numbers import write_result

ALL_ONES = "all ones"  # the seed of a sweep for all elements of an array together


def write_accented(name: str, mode: str) -> str:
    """Write ẋ1, the tangent of x1, or x̄1, its adjoint."""
    return write_dot(name) if mode == "forward" else write_bar(name)


def value_line(program: Program, name: str) -> str:
    """Say in one line how a value was computed."""
    node = program.node(name)
    terms = value_terms(program, node) if node.primitive is not None else ()
    return _equate(name, *[term.text for term in terms], write_value(node))


@suppress_warnings()
def derivative_line(program: Program, mode: str, event: Any, found: Mapping[str, Any]) -> str:
    """Say in one line how a tangent or an adjoint was computed; `found` are those of the sweep."""
    left = write_accented(event.name, mode)
    if event.kind == "seed":
        start = seed_symbols(program, event.name, mode)
        return _equate(left, start, *([] if start == ALL_ONES else ["1"]))
    if mode == "forward":
        return tangent_line(program, program.node(event.name), found)
    child = program.node(event.child)
    derivative = dict(child.local_derivatives())[event.index]
    pull = Pull(child, event.index, derivative, found[event.child])
    old = None if event.first else (adjoint_term(event.name), event.before)
    terms = adjoint_terms(program, [pull], event.number, old)
    return _equate(left, *[term.text for term in terms], write_result(event.number))


def tangent_line(program: Program, node: Node, found: Mapping[str, Any]) -> str:
    """Say in one line how a tangent was computed; `found` are those of the sweep."""
    name = program.names[node]
    terms = tangent_terms(program, node, found)
    return _equate(write_dot(name), *[term.text for term in terms], write_result(found[name]))


def seed_symbols(program: Program, root: str, mode: str) -> str:
    """Write what a sweep begins with: ∂x/∂x forward, ȳ in reverse."""
    if mode == "reverse":
        ends = {program.names[node]: name for name, node in output_names(program)}
        return write_bar(ends.get(root, root))
    return ALL_ONES if sweeps_all_elements(program, root) else partial_name(root, root).text


def _equate(*sides: str) -> str:
    """Join sides by =; what is the same as the side before it is not said twice."""
    return show_minus(" = ".join(side for side, _ in groupby(filter(None, sides))))
