"""The paper's three tables for any program: values, tangents, adjoints; in any format.

Each table row has a name, the right-hand side in symbols, the same with numbers, and the result;
beside them the user's own variable and source line, if they are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.display.folding.fold import Box
from simpleautodiff.display.notation.formulas import (
    EMPTY,
    Pull,
    adjoint_term,
    adjoint_terms,
    chain_term,
    join_terms,
    partial_name,
    suppress_warnings,
    tangent_term,
    tangent_terms,
    value_terms,
    write_bar,
    write_dot,
    write_value,
)
from simpleautodiff.display.notation.missing import write_missing
from simpleautodiff.display.notation.step_sentences import ALL_ONES
from simpleautodiff.display.tables import formats
from simpleautodiff.display.tables.folded_rows import SkippedRow, close_gaps, hide_steps
from simpleautodiff.program.notation import Term
from simpleautodiff.program.program import Accumulation, Program, output_names, sweeps_all_elements
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.program.written_numbers import latex_number, write_result, write_short
from simpleautodiff.values.other_arrays import unwrap_foreign


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    `cells` are the columns as terms, which have text and LaTeX; `name`, `symbolic`, `numeric` and
    `result` are the paper's columns, as text.
    """

    cells: tuple[Term, ...]
    value: Any
    node: str  # whose value or derivative this is
    line: str = ""
    variable: str = ""
    folded: str = ""  # instead of the cells: which rows this one stands for

    @property
    def name(self) -> str:
        """The left-hand side."""
        return self.cells[0].text

    @property
    def symbolic(self) -> str:
        """The right-hand side in symbols."""
        return self.cells[-3].text or self.cells[1].text

    @property
    def numeric(self) -> str:
        """The right-hand side with numbers."""
        return self.cells[-2].text

    @property
    def result(self) -> str:
        """The result, in a few digits."""
        return self.cells[-1].text


class Table(Mapping[str, Any]):
    """One of the paper's tables; as a mapping, the full numbers by name.

    `sections` are groups of rows, with a horizontal line between them.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> table = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5).adjoints()
    >>> table["x1"]
    5.5
    >>> table.rows[-3].name, table.rows[-3].symbolic, table.rows[-3].result
    ('x̄1', 'x̄1 + v̄1 / x1', '5.5')
    >>> print(table.to("markdown").splitlines()[0])
    **Reverse mode: derivatives of y**
    """

    def __init__(
        self,
        title: str,
        heads: tuple[str, ...],
        sections: tuple[tuple[TableRow, ...], ...],
        numbers: Mapping[str, Any],
        upward: bool = False,
        remark: str = "",
    ) -> None:
        self.upward = upward  # whether it is read from its end
        self.remark = remark  # a sentence below the table
        self.title = title
        self.heads = heads
        self.sections = sections
        self._numbers = dict(numbers)

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """All rows, from top to bottom."""
        return tuple(row for section in self.sections for row in section)

    def written_sections(self) -> Iterator[Iterator[TableRow]]:
        """Yield the sections while the table is written, row by row; none is empty."""
        rows = iter(go_through(self.rows, "writing"))
        for section in filter(None, self.sections):
            yield islice(rows, len(section))

    def __getitem__(self, name: str) -> Any:
        return unwrap_foreign(self._numbers[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __str__(self) -> str:
        """Write the table as aligned text."""
        return formats.write_text(self)

    def __repr__(self) -> str:
        return f"<Table {self.title!r}, {len(self.rows)} rows>"

    def with_sections(
        self, sections: tuple[tuple[TableRow, ...], ...], upward: bool | None = None
    ) -> Table:
        """Return the same table with other rows."""
        direction = self.upward if upward is None else upward
        return Table(self.title, self.heads, sections, self._numbers, direction, self.remark)

    def to(self, format: str) -> str:
        """Write the table as text, rich (coloured text), markdown, latex, html or json."""
        return formats.write_table(self, format)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {
            "text/plain": self.to("text"),
            "text/html": formats.NOTEBOOK_STYLE + self.to("html"),
            "text/markdown": self.to("markdown"),
            "text/latex": self.to("latex"),
        }


def values_table(program: Program, unfold: bool = False) -> Table:
    """Return the values: the evaluation of the function, step by step.

    A long program is folded: what repeats is one row, unless `unfold` is true.

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
    v3  = sin(x2) = sin(5)            = −0.959
    v4  = v1 + v2 = 0.693 + 10        = 10.693
    v5  = v4 − v3 = 10.693 − (−0.959) = 11.652
    ──────────────────────────────────────────
    y   = v5                          = 11.652
    """
    hidden = {} if unfold else hide_steps(program)
    inputs = [
        _skip_row(program, node, hidden)
        or TableRow(
            (Term(program.names[node]), EMPTY, EMPTY, _number_term(write_value(node), node.value)),
            node.value,
            program.names[node],
        )
        for node in program.inputs
    ]
    steps = [
        _skip_row(program, node, hidden)
        or _table_row(
            program, node, (Term(program.names[node]), *value_terms(program, node)), node.value
        )
        for node in go_through(program.nodes[len(program.inputs) :], "values")
    ]
    ends = [
        _skip_row(program, node, hidden, name)
        or TableRow(
            (Term(name), Term(program.names[node]), EMPTY, _result_term(node.value)),
            node.value,
            name,
        )
        for name, node in output_names(program)
    ]
    numbers = {program.names[node]: node.value for node in program.nodes}
    heads = ("name", "symbols", "numbers", "value")
    return Table("Values", heads, _close_gaps(heads, inputs, steps, ends), numbers)


@suppress_warnings()
def tangents_table(program: Program, wrt: str, unfold: bool = False, seed: Any = 1) -> Table:
    """Return the tangents: the forward sweep from one input."""
    hidden = {} if unfold else hide_steps(program)
    dot = Program.tangents(program, wrt, seed=seed)
    seeded = not isinstance(seed, int) or seed != 1
    whole = sweeps_all_elements(program, wrt) or seeded
    start = _words("the seed" if seeded else ALL_ONES)
    inputs = [
        _skip_row(program, node, hidden, write_dot(name))
        or _table_row(
            program,
            node,
            (
                tangent_term(name),
                start if whole and name == wrt else partial_name(name, wrt),
                EMPTY,
            ),
            dot[name],
        )
        for node, name in _name_nodes(program, program.inputs)
    ]
    steps = [
        _skip_row(program, node, hidden, write_dot(name))
        or _table_row(
            program, node, (tangent_term(name), *tangent_terms(program, node, dot)), dot[name]
        )
        for node, name in go_through(
            _name_nodes(program, program.nodes[len(program.inputs) :]), "tangents"
        )
    ]
    ends: list[TableRow | SkippedRow] = []
    for end, node in output_names(program):
        name = program.names[node]
        cells = (tangent_term(end), tangent_term(name), EMPTY, _result_term(dot[name]))
        skipped = _skip_row(program, node, hidden, write_dot(end))
        ends.append(skipped or TableRow(cells, dot[name], end))
    title = f"Forward mode: derivatives with respect to {wrt}"
    if seeded:
        title += f", times {write_short(seed)}"
    elif whole:
        title = f"Forward mode: derivatives in one direction, all elements of {wrt} together"
    heads = ("name", "symbols", "numbers", "tangent")
    remark = write_missing({name: node.value for name, node in output_names(program)})
    return Table(title, heads, _close_gaps(heads, inputs, steps, ends), dot, remark=remark)


@suppress_warnings()
def adjoints_table(
    program: Program, output: str = "", unfold: bool = False, seed: Any = 1
) -> Table:
    """Return the adjoints: the reverse sweep from one output, each accumulation in its order."""
    hidden = {} if unfold else hide_steps(program)
    output = output or program.names[program.outputs[0]]
    place, unit = program.seed(output)
    start = unit * seed
    base = program.steps[place].name
    end = {program.names[node]: name for name, node in output_names(program)}.get(base, base)
    end += output.removeprefix(base)
    first = TableRow(
        (adjoint_term(base), adjoint_term(end), EMPTY, EMPTY, _result_term(start)), start, base
    )
    totals: dict[str, Any] = {step.name: 0 for step in program.steps} | {base: start}
    nodes = {name: node for node, name in program.names.items()}
    sweep: list[TableRow | SkippedRow] = []
    for item in go_through(program.accumulations(output, seed), "adjoints"):
        bar = write_bar(item.parent)
        skipped = _skip_row(program, nodes[item.parent], hidden, bar)
        skipped = skipped or _skip_row(program, nodes[item.child], hidden, bar)
        sweep.append(skipped or _accumulation_row(program, nodes, item, totals))
        totals[item.parent] = item.total
    inputs: list[TableRow | SkippedRow] = []
    for node, name in _name_nodes(program, program.inputs):
        cells = (adjoint_term(name), _times_seed(partial_name(end, name), seed), EMPTY, EMPTY)
        skipped = _skip_row(program, node, hidden, write_bar(name))
        inputs.append(skipped or _table_row(program, node, cells, totals[name]))
    title = f"Reverse mode: derivatives of {end}"
    title += "" if isinstance(seed, int) and seed == 1 else f", times {write_short(seed)}"
    heads = ("name", "chain rule", "symbols", "numbers", "adjoint")
    remark = write_missing({end: program.nodes[place].value})
    return Table(title, heads, _close_gaps(heads, [first], sweep, inputs), totals, remark=remark)


def _words(text: str) -> Term:
    return Term(text, latex=rf"\text{{{text}}}")


def _times_seed(derivative: Term, seed: Any) -> Term:
    if isinstance(seed, int) and seed == 1:
        return derivative
    number = write_short(seed)
    return Term(
        f"{number} × {derivative.text}",
        latex=lambda: rf"{latex_number(number)} \times {derivative.latex}",
    )


def turn_upward(table: Table) -> Table:
    """Return a reverse sweep as the paper prints it: from bottom to top, without the numbers."""
    sections = tuple(
        tuple(
            replace(row, cells=(*row.cells[:-2], EMPTY, row.cells[-1])) for row in reversed(section)
        )
        for section in reversed(table.sections)
    )
    first = tuple(reversed(sections[0]))  # the inputs, in their order
    return table.with_sections((first, *sections[1:]), upward=True)


def replace_section(
    table: Table, number: int, symbols: Mapping[str, Term], names: Mapping[str, Term] | None = None
) -> Table:
    """Replace the symbols, and the names if given, in the rows of one section; by node."""
    rows = []
    for row in table.sections[number]:
        if row.folded:
            rows.append(row)
            continue
        name = names[row.node] if names else row.cells[0]
        rest = [EMPTY] * (len(row.cells) - 3)
        rows.append(replace(row, cells=(name, symbols[row.node], *rest, row.cells[-1])))
    sections = (*table.sections[:number], tuple(rows), *table.sections[number + 1 :])
    return table.with_sections(sections)


def _accumulation_row(
    program: Program, nodes: dict[str, Node], item: Accumulation, totals: Mapping[str, Any]
) -> TableRow:
    """Return the table row of one accumulation: ū = ū + v̄ ∂v/∂u."""
    pull = Pull(nodes[item.child], item.index, item.derivative, totals[item.child])
    chain, before = chain_term(item.child, item.parent), None
    if not item.first:
        before = adjoint_term(item.parent), totals[item.parent]
        chain = join_terms(before[0], chain)
    symbols, numbers = adjoint_terms(program, [pull], item.total, before)
    cells = (adjoint_term(item.parent), chain, symbols, numbers)
    return _table_row(program, nodes[item.parent], cells, item.total)


def _table_row(program: Program, node: Node, cells: tuple[Term, ...], value: Any) -> TableRow:
    line, variable = program.lines.get(node, ""), program.variables.get(node, "")
    return TableRow((*cells, _result_term(value)), value, program.names[node], line, variable)


def _skip_row(
    program: Program, node: Node, hidden: Mapping[Node, Box], name: str = ""
) -> SkippedRow | None:
    """Return what is left of the row of a step that is hidden; None if it is shown."""
    return SkippedRow(name or program.names[node], hidden[node]) if node in hidden else None


def _close_gaps(
    heads: tuple[str, ...], *sections: Sequence[TableRow | SkippedRow]
) -> tuple[tuple[TableRow, ...], ...]:
    """Return the sections of a table, with one row for rows that are skipped in succession."""
    blank = (EMPTY,) * len(heads)
    return tuple(
        close_gaps(rows, lambda text: TableRow(blank, None, "", folded=text)) for rows in sections
    )


def _result_term(value: Any) -> Term:
    return _number_term(write_result(value), value)


def _number_term(text: str, value: Any) -> Term:
    return Term(text, value=value, latex=lambda: latex_number(text))


def _name_nodes(program: Program, nodes: list[Node]) -> list[tuple[Node, str]]:
    return [(node, program.names[node]) for node in nodes]
