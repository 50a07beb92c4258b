"""`eliminate`: a Jacobian by elimination of vertices, step by step, and its price by order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.display.notation.formulas import join_terms
from simpleautodiff.display.tables import formats
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.notation import Term, write_true
from simpleautodiff.program.program import Program, output_names
from simpleautodiff.program.recorded_run import trace
from simpleautodiff.program.typed_graphs import as_function
from simpleautodiff.program.written_numbers import write_short
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.elimination import (
    ELIMINATION_ORDERS,
    EliminationGraph,
    EliminationStep,
    NewEdge,
    eliminate_all,
)

_HEADS = ("eliminated", "edge", "chain rule", "in numbers", "value")


@dataclass(frozen=True, slots=True)
class Elimination:
    """A Jacobian by elimination: its steps, and how many products each order takes.

    `order` has the names of the vertices as they were eliminated, `jacobian` a row for each result
    and a column for each input, and `multiplications` a number for each order: that which was
    asked for, the rule of Markowitz, forward and reverse. Results that depend on no input are left
    out.
    """

    title: str
    order: tuple[str, ...]
    steps: tuple[EliminationStep, ...]
    names: tuple[str, ...]
    jacobian: Any
    multiplications: dict[str, int]

    def __str__(self) -> str:
        """Write the steps as text."""
        return self.to("text")

    def to(self, format: str) -> str:
        """Write the steps as text, markdown, latex or html: a row for each edge that is changed."""
        formats.check_format(format, ("text", "markdown", "latex", "html"))
        rows = [
            _write_edge(self.names, step.vertex, edge, edge is step.edges[0])
            for step in self.steps
            for edge in step.edges
        ]
        table = formats.write_grid(format, self.title, _HEADS, rows, math=True)
        return f"{table}\n\n{self._conclusion(format)}"

    def _conclusion(self, format: str) -> str:
        counts = [f"{name} {count}" for name, count in self.multiplications.items()]
        text = f"Multiplications: {', '.join(counts)}."
        return f"<p>{text}</p>" if format == "html" else text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.to("text"), "text/html": self.to("html")}


def eliminate(
    f: Callable[..., Any], *args: Any, order: str | Sequence[str] = "markowitz"
) -> Elimination:
    """Compute the Jacobian of `f` by eliminating vertices, and show every step.

    Eliminating v replaces each path u → v → w by an edge u → w, which carries (∂w/∂v)(∂v/∂u) more
    than before. `order` is "markowitz" (the vertex with the fewest paths next), "forward",
    "reverse", or the names of all vertices between inputs and results, as `trace` has them. `f` is
    a function of single numbers, or of lists of them, or a node typed by hand.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> print(ad.eliminate(lambda x1, x2: ad.log(x1) * x2, 2.0, 5.0))
    Elimination of 2 vertices
    <BLANKLINE>
    eliminated  edge     chain rule         in numbers  value
    ─────────────────────────────────────────────────────────
    v1          ∂v2/∂x1  ∂v2/∂v1 × ∂v1/∂x1  5 × 0.5     2.5
    v2          ∂y/∂x1   ∂v2/∂x1                        2.5
                ∂y/∂x2   ∂v2/∂x2                        0.693
    <BLANKLINE>
    Multiplications: markowitz 1, forward 1, reverse 1.
    """
    f, args = as_function(f, args)
    if not args:
        raise ArgumentError(f"eliminate needs a point: eliminate({name_of(f)}, x, ...)")
    program = trace(f, *args)
    graph = _make_graph(program)
    steps = eliminate_all(graph, order if isinstance(order, str) else _find(program, graph, order))
    inputs, results = range(len(graph.inputs)), range(len(graph.results))
    rows = [[_as_float(graph.derivative(i, k)) for i in inputs] for k in results]
    names = [program.names[node] for node in program.nodes]
    counts = {} if isinstance(order, str) else {"this order": _count(steps)}
    counts |= {
        each: _count(eliminate_all(_make_graph(program), each)) for each in ELIMINATION_ORDERS
    }
    return Elimination(
        f"Elimination of {len(steps)} vertices",
        tuple([names[step.vertex] for step in steps]),
        tuple(steps),
        (*names, *[name for name, _ in output_names(program)]),
        np.array(rows, dtype=object if _has_others(rows) else float),
        counts,
    )


def _make_graph(program: Program) -> EliminationGraph:
    return EliminationGraph(program.nodes, program.inputs, program.outputs)


def _find(program: Program, graph: EliminationGraph, order: Sequence[str]) -> list[int]:
    """Return the vertices of some names; all that are between inputs and results must be there."""
    vertices = [program.position(program.node(name)) for name in order]
    names = [program.names[program.nodes[v]] for v in graph.between]
    if sorted(vertices) != graph.between:
        raise ArgumentError(f"the order has each of {', '.join(names)} once; got {list(order)}")
    return vertices


def _count(steps: Sequence[EliminationStep]) -> int:
    return sum(step.multiplications for step in steps)


def _as_float(derivative: Any) -> Any:
    return 0.0 if derivative is ZERO else derivative


def _has_others(rows: Sequence[Sequence[Any]]) -> bool:
    return any(not isinstance(each, (int, float)) for row in rows for each in row)


def _write_edge(
    names: Sequence[str], vertex: int, edge: NewEdge, first: bool
) -> tuple[str, str, str, str, str]:
    """Write the row of one edge: which it is, the chain rule for it, and that in numbers."""
    u, v, w = names[edge.parent], names[vertex], names[edge.child]
    rule, numbers = f"∂{v}/∂{u}", ""
    if edge.out is not None:
        rule = f"∂{w}/∂{v} × {rule}"
        numbers = write_true(lambda: _write_numbers(edge), edge.after).text
    if edge.before is not ZERO:
        rule = f"∂{w}/∂{u} + {rule}"
    return v if first else "", f"∂{w}/∂{u}", rule, numbers, write_short(edge.after)


def _write_numbers(edge: NewEdge) -> Term:
    """Write the product that an edge is given, and what it is added to."""
    product: Term = Term(edge.out) * Term(edge.into)
    return product if edge.before is ZERO else join_terms(Term(edge.before), product)
