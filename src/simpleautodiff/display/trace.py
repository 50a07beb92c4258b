"""`trace`: run a function once and look at every step of it, in tables, words, figures, source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.notation.variables import variables_of
from simpleautodiff.display.tables.side_by_side import SideBySide, side_by_side
from simpleautodiff.display.tables.tables import (
    Table,
    adjoints_table,
    tangents_table,
    turn_upward,
    values_table,
)
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.formula import Formula
from simpleautodiff.program.program import Program
from simpleautodiff.program.recorded_run import record
from simpleautodiff.program.typed_graphs import as_function
from simpleautodiff.program.written_numbers import use_digits
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.values.functions import check_value


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

    def values(self, digits: int | None = None, unfold: bool = False) -> Table:
        """Return the table of values; results have three decimals, or as many as `digits` says.

        Inputs are written as they were typed. The numbers on the left of a result have as many
        digits as make the line true. In this and the other tables a long program is folded, unless
        `unfold` is true: a loop is its first and its last pass, with one row for all between.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> print(ad.trace(lambda x: ad.sin(x) * x, 1e5).values(digits=5))
        x                                   = 100000
        ────────────────────────────────────────────────
        v1  = sin(x) = sin(100000)          = 0.035749
        v2  = v1 × x = 0.035748798 × 100000 = 3574.87980
        ────────────────────────────────────────────────
        y   = v2                            = 3574.87980
        """
        with use_digits(digits):
            return values_table(self, unfold)

    def tangents(
        self, wrt: str = "", seed: Any = 1, *, digits: int | None = None, unfold: bool = False
    ) -> Table:
        """Return the table of the forward sweep from one input, by default the first.

        One element of an array can be selected: ``"w[0, 2]"``; otherwise all change together. The
        sweep starts with the tangent `seed`.
        """
        start = self.proper(wrt) if wrt else self.names[self.inputs[0]]
        with use_digits(digits):
            return tangents_table(self, start, unfold, check_value(seed, "a seed"))

    def adjoints(
        self,
        output: str = "",
        seed: Any = 1,
        *,
        digits: int | None = None,
        unfold: bool = False,
        style: str = "steps",
    ) -> Table:
        """Return the table of the reverse sweep from one output, by default the first.

        One element of an array can be selected: ``"v5[0]"``; otherwise the sum is differentiated.
        With ``style="paper"`` it is printed as in the paper: upwards, and without the numbers. The
        sweep starts with the adjoint `seed`.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> print(ad.trace(lambda x: ad.sin(x) * x, 2.0).adjoints(style="paper"))
        x̄   = ∂y/∂x                           = 0.0770
        ──────────────────────────────────────────────
        x̄   = x̄ + v̄1 ∂v1/∂x = x̄ + v̄1 × cos(x) = 0.0770
        x̄   = v̄2 ∂v2/∂x     = v̄2 × v1         = 0.909
        v̄1  = v̄2 ∂v2/∂v1    = v̄2 × x          = 2
        ──────────────────────────────────────────────
        v̄2  = ȳ                               = 1
        """
        if style not in ("steps", "paper"):
            raise ArgumentError(f"style is 'steps' or 'paper'; got {style!r}")
        with use_digits(digits):
            end = self.proper(output) if output else ""
            table = adjoints_table(self, end, unfold, check_value(seed, "a seed"))
        return turn_upward(table) if style == "paper" else table

    def side_by_side(
        self,
        mode: str = "forward",
        wrt: str = "",
        output: str = "",
        digits: int | None = None,
        unfold: bool = False,
    ) -> SideBySide:
        """Return the values beside a sweep, with inputs v₋₁, v₀, as Baydin et al. print them.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> print(ad.trace(lambda x1, x2: ad.log(x1) * x2, 2.0, 5.0).side_by_side())
        v₋₁  = x1                    = 2       v̇₋₁  = ẋ1                                      = 1
        v₀   = x2                    = 5       v̇₀   = ẋ2                                      = 0
        ────────────────────────────────────   ────────────────────────────────────────────────────
        v₁   = log(v₋₁) = log(2)     = 0.693   v̇₁   = v̇₋₁ / v₋₁         = 1 / 2               = 0.5
        v₂   = v₁ × v₀  = 0.6931 × 5 = 3.466   v̇₂   = v̇₁ × v₀ + v̇₀ × v₁ = 0.5 × 5 + 0 × 0.693 = 2.5
        ────────────────────────────────────   ────────────────────────────────────────────────────
        y    = v₂                    = 3.466   ẏ    = v̇₂                                      = 2.5
        """
        with use_digits(digits):
            start, end = self.proper(wrt) if wrt else "", self.proper(output) if output else ""
            return side_by_side(self, mode, start, end, unfold)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        table = self.values()
        drawn = self.figure().svg()
        shown = table._repr_mimebundle_()["text/html"]
        return {"text/html": f"{drawn}\n{shown}", "text/plain": str(table)}


def trace(
    f: Callable[..., Any] | Node,
    *args: Any,
    numbering: str = "",
    names: Sequence[str] | None = None,
) -> Trace:
    """Run `f` once and return every step of it: names, values, source lines, and ways to show them.

    Parameters
    ----------
    f, args
        The function and the point; arrays and nested structures are inputs, too. Or a node typed by
        hand, for the graph that it was computed by.
    numbering
        `"paper"` numbers the steps by their distance from the inputs, as the paper's tables do;
        `"execution"` numbers them as they happened. By default the paper's for at most 16 nodes; in
        a longer program, execution keeps the steps of a line, a call or a loop together.
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
    >>> x1, x2 = ad.Node(2), ad.Node(5)
    >>> ad.trace(ad.sub(ad.add(ad.log(x1), ad.mul(x1, x2)), ad.sin(x2))).adjoints()["x1"]
    5.5
    """
    if isinstance(f, Node):
        return _trace_graph(f, args, numbering, names)
    found = record(f, args, names)
    variables = variables_of(found.nodes, found.instructions)
    traced = Trace(
        found.nodes, numbering, found.names, found.lines, found.outputs, variables, found.calls
    )
    traced.f, traced.args, traced.compared = f, args, found.compared
    return traced


def _trace_graph(
    node: Node, args: tuple[Any, ...], numbering: str, names: Sequence[str] | None
) -> Trace:
    """Return the graph of a node as it was typed."""
    function, point = as_function(node, args)
    nodes = execution_order(node)
    inputs = [each for each in nodes if each.primitive is None]
    if names is not None and len(names) != len(inputs):
        raise ArgumentError(f"the graph has {len(inputs)} inputs, so names is a list of as many")
    own = None if names is None else dict(zip(inputs, names, strict=True))
    traced = Trace(nodes, numbering, own)
    traced.f, traced.args = function, point
    return traced


def trace_formula(formula: Formula, *args: Any, numbering: str = "") -> Trace:
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
