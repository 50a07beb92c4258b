"""`trace`: run a function once and look at every step of it, in tables, words, figures, source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.display.notation.variables import variables_of
from simpleautodiff.display.tables.tables import (
    Table,
    adjoints_table,
    tangents_table,
    values_table,
)
from simpleautodiff.program.formula import Formula
from simpleautodiff.program.program import Program, record
from simpleautodiff.transforms.arguments import name_of


class Trace(Program):
    """A program with methods that show it; `trace` makes it.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> t = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    >>> t.tangents("x1")["v5"], t.adjoints()["x1"]
    (5.5, 5.5)
    """

    f: Callable[..., Any]
    args: tuple[Any, ...]
    explain: Callable[..., str]  # this and the following methods are added by `display`
    source: Callable[..., Any]
    figure: Callable[..., Any]
    step: Callable[..., Any]
    explore: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<Trace of {name_of(self.f)}, {len(self)} steps>"

    def values(self, unfold: bool = False) -> Table:
        """Return the table of values.

        In this and the other tables a long program is folded, unless `unfold` is true: a loop is
        its first and its last pass, with one row for all between.
        """
        return values_table(self, unfold)

    def tangents(self, wrt: str = "", unfold: bool = False) -> Table:
        """Return the table of the forward sweep from one input, by default the first.

        One element of an array can be selected: ``"w[0, 2]"``; otherwise all change together.
        """
        start = self.proper(wrt) if wrt else self.names[self.inputs[0]]
        return tangents_table(self, start, unfold)

    def adjoints(self, output: str = "", unfold: bool = False) -> Table:
        """Return the table of the reverse sweep from one output, by default the first.

        One element of an array can be selected: ``"v5[0]"``; otherwise the sum is differentiated.
        """
        return adjoints_table(self, self.proper(output) if output else "", unfold)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        table = self.values()
        drawn = self.figure().svg()
        shown = table._repr_mimebundle_()["text/html"]
        return {"text/html": f"{drawn}\n{shown}", "text/plain": str(table)}


def trace(
    f: Callable[..., Any],
    *args: Any,
    numbering: str = "paper",
    names: Sequence[str] | None = None,
) -> Trace:
    """Run `f` once and return every step of it: names, values, source lines, and ways to show them.

    Parameters
    ----------
    f, args
        The function and the point; arrays and nested structures are inputs, too.
    numbering
        `"paper"` numbers the steps by their distance from the inputs, as the paper's tables do;
        `"execution"` numbers them as they happened.
    names
        The names of the inputs; by default the parameters of `f`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x1, x2):
    ...     product = x1 * x2
    ...     return ad.log(x1) + product - ad.sin(x2)
    >>> t = ad.trace(f, 2.0, 5.0)
    >>> [(step.name, step.variable) for step in t.steps if step.variable]
    [('v1', 'product')]
    >>> t.adjoints()["x1"]
    5.5
    """
    found = record(f, args, names)
    variables = variables_of(found.nodes, found.instructions)
    traced = Trace(
        found.nodes, numbering, found.names, found.lines, found.outputs, variables, found.calls
    )
    traced.f, traced.args, traced.compared = f, args, found.compared
    return traced


def trace_formula(formula: Formula, *args: Any, numbering: str = "paper") -> Trace:
    r"""Run a formula once; the lines and variables of its steps are those of its own text.

    Examples
    --------
    >>> from simpleautodiff.program.formula import parse
    >>> f, names = parse("a = x * y\nsin(a)")
    >>> for step in trace_formula(f, 2.0, 3.0).steps[2:]:
    ...     print(step.name, step.line, step.variable)
    v1 formula:1: a = x * y a
    v2 formula:2: sin(a)
    """
    made: list[tuple[int, str, Any]] = []

    def run(*values: Any) -> Any:
        made.extend(formula.steps(*values))
        return made[-1][2]

    run.__name__ = run.__qualname__ = formula.__name__
    found = record(run, args, formula.names)
    text = formula.text.splitlines()
    lines: dict[Node, str] = {}
    variables: dict[Node, str] = {}
    for line, name, node in made:
        if isinstance(node, Node) and node.primitive is not None:
            lines.setdefault(node, f"formula:{line}: {text[line - 1].strip()}")
            variables |= {node: name} if name else {}
    several = len(text) > 1  # otherwise the line is the title
    lines = lines if several else {}
    traced = Trace(
        found.nodes, numbering, found.names, lines, found.outputs, variables, found.calls
    )
    traced.f, traced.args = formula, args
    return traced
