"""Values and derivatives side by side, with inputs v₋₁, v₀, as Baydin et al. print them."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import Any

from simpleautodiff.display.notation.formulas import adjoint_term, partial_name, tangent_term
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.display.tables import formats
from simpleautodiff.display.tables.tables import (
    Table,
    adjoints_table,
    replace_section,
    tangents_table,
    turn_upward,
    values_table,
)
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.notation import Term
from simpleautodiff.program.program import Program, output_names

_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")


class SideBySide:
    """Two tables next to each other: the evaluation, and a sweep; a notebook displays them.

    They have no source lines, for which two tables in one line leave no room.
    """

    def __init__(self, left: Table, right: Table) -> None:
        self.left, self.right = _without_source(left), _without_source(right)

    def __str__(self) -> str:
        return self.to("text")

    def to(self, format: str) -> str:
        """Write both as text, markdown, latex or html."""
        formats.check_format(format, ("text", "markdown", "latex", "html"))
        tables = self.left.to(format), self.right.to(format)
        if format == "text":
            return _join_lines(*[table.splitlines() for table in tables])
        if format == "html":
            cells = "".join(f'<td style="vertical-align: top">{table}</td>' for table in tables)
            return f"<table><tr>{cells}</tr></table>"
        return ("\n\\quad\n" if format == "latex" else "\n\n").join(tables)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.to("text"), "text/html": self.to("html")}


def _without_source(table: Table) -> Table:
    sections = tuple(
        tuple(replace(row, line="", variable="") for row in section) for section in table.sections
    )
    return table.with_sections(sections)


def _join_lines(left: list[str], right: list[str]) -> str:
    width = max(map(count_columns, left))
    pairs = zip_longest(left, right, fillvalue="")
    filled = [(a + " " * (width - count_columns(a)), b) for a, b in pairs]
    return "\n".join(f"{a}   {b}".rstrip() for a, b in filled)


def side_by_side(
    program: Program, mode: str, wrt: str, output: str, unfold: bool = False
) -> SideBySide:
    """Return the evaluation beside the sweep of a mode, both with Baydin's names."""
    if mode not in ("forward", "reverse"):
        raise ArgumentError(f"a sweep is 'forward' or 'reverse'; got {mode!r}")
    names = {
        node: f"v{number}".translate(_SUBSCRIPTS)
        for number, node in enumerate(program.nodes, 1 - len(program.inputs))
    }
    renamed = program.renamed(names)
    given = {names[node]: program.names[node] for node in program.inputs}
    own = {name: Term(its) for name, its in given.items()}
    left = replace_section(values_table(renamed, unfold), 0, own)
    if mode == "forward":
        start = program.node(wrt) if wrt else program.inputs[0]
        swept = tangents_table(renamed, names[start], unfold)
        dotted = {name: tangent_term(its) for name, its in given.items()}
        return SideBySide(left, replace_section(swept, 0, dotted))
    end = program.node(output) if output else program.outputs[0]
    called = {node: name for name, node in output_names(program)}.get(end, program.names[end])
    swept = turn_upward(adjoints_table(renamed, names[end], unfold))
    derivatives = {name: partial_name(called, its) for name, its in given.items()}
    accented = {name: adjoint_term(its) for name, its in given.items()}
    return SideBySide(left, replace_section(swept, 0, derivatives, accented))
