"""Jacobians by elimination of vertices: forward mode, reverse mode, and all that is between.

Every edge of a graph, from a parent u to a child v, carries the local derivative ∂v/∂u. To
eliminate the vertex v between inputs and results is to replace each path u → v → w by an edge
u → w: the chain rule adds (∂w/∂v)(∂v/∂u) to what that edge carries already. When no vertex is left
between them, the edges from inputs to results are the Jacobian.

Every order of elimination gives the same Jacobian, at another price. That of execution does what
forward mode does for all inputs, the opposite order what reverse mode does for all results. The
rule of Markowitz takes the vertex with the fewest paths next, parents × children; where many
inputs and results meet in a few vertices it needs fewer multiplications than both.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear, plus
from simpleautodiff.core.node import Node
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.functions import is_complex

ELIMINATION_ORDERS = ("markowitz", "forward", "reverse")
_SAME = None  # the edge from a node to the result that it is


@dataclass(frozen=True, slots=True)
class NewEdge:
    """A path u → v → w that became an edge: what its two edges carried, and what the new one does.

    `before` is what the edge carried already, `ZERO` if it is new. A result is the number of the
    node before it, so that `out` is None and nothing is multiplied.
    """

    parent: int
    child: int
    out: Any  # ∂w/∂v
    into: Any  # ∂v/∂u
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class EliminationStep:
    """The elimination of one vertex, with the edges past it."""

    vertex: int
    edges: tuple[NewEdge, ...]

    @property
    def multiplications(self) -> int:
        """How many products it took."""
        return sum(edge.out is not _SAME for edge in self.edges)

    @property
    def additions(self) -> int:
        """How many sums it took."""
        return sum(edge.before is not ZERO for edge in self.edges)


class EliminationGraph:
    """The local derivatives of a program of single numbers, on the edges between its vertices.

    A vertex is the position of a node in the order; each result has one of its own behind them.
    """

    def __init__(
        self, order: Sequence[Node], inputs: Sequence[Node], results: Sequence[Any]
    ) -> None:
        positions = {node: i for i, node in enumerate(order)}
        self.inputs = [positions[node] for node in inputs]
        self.results = [len(order) + k for k in range(len(results))]
        self.children: dict[int, dict[int, Any]] = {v: {} for v in (*self.inputs, *self.results)}
        self.parents: dict[int, set[int]] = {v: set() for v in self.children}
        for vertex, result in zip(self.results, results, strict=True):
            if isinstance(result, Node) and result in positions:
                self._connect(positions[result], vertex, _SAME)
        for v in range(len(order) - 1, -1, -1):
            if self.children.get(v):  # a result depends on it
                self._connect_parents(v, order[v], positions)
        self._drop_constants()

    def _connect_parents(self, v: int, node: Node, positions: dict[Node, int]) -> None:
        for k, parent in enumerate(node.args):
            if isinstance(parent, Node):
                self._connect(positions[parent], v, _check_number(node.local_derivative(k), node))

    def _connect(self, u: int, v: int, derivative: Any) -> None:
        """Add to what the edge from u to v carries."""
        if derivative is not ZERO:
            edges = self.children.setdefault(u, {})
            edges[v] = plus(edges.get(v, ZERO), derivative)
            self.parents.setdefault(u, set())
            self.parents[v].add(u)

    def _drop_constants(self) -> None:
        """Drop the vertices that depend on no input."""
        for v in self.between:
            if not self.parents[v]:
                self._remove(v)

    def _remove(self, v: int) -> None:
        for w in self.children.pop(v):
            self.parents[w].discard(v)
        for u in self.parents.pop(v):
            del self.children[u][v]

    @property
    def between(self) -> list[int]:
        """The vertices that are neither inputs nor results, in the order of execution."""
        ends = {*self.inputs, *self.results}
        return sorted(v for v in self.children if v not in ends)

    def eliminate(self, v: int) -> EliminationStep:
        """Replace the paths through a vertex by edges past it."""
        paths = [(u, w) for u in sorted(self.parents[v]) for w in sorted(self.children[v])]
        step = EliminationStep(v, tuple([self._replace_path(u, v, w) for u, w in paths]))
        self._remove(v)
        return step

    def _replace_path(self, u: int, v: int, w: int) -> NewEdge:
        into, out = self.children[u][v], self.children[v][w]
        before = self.children[u].get(w, ZERO)
        self._connect(u, w, into if out is _SAME else out * into)
        return NewEdge(u, w, out, into, before, self.children[u][w])

    def count_paths(self, v: int) -> int:
        """Return parents × children, the price of a vertex."""
        return len(self.parents[v]) * len(self.children[v])

    def derivative(self, i: int, k: int) -> Any:
        """Return the derivative of result k in input i, when everything is eliminated."""
        found = self.children[self.inputs[i]].get(self.results[k], ZERO)
        return 1 if found is _SAME else found


def _check_number(derivative: Any, node: Node) -> Any:
    """Return a local derivative; refuse those that are no single real number."""
    values = (node.value, *[arg.value for arg in node.args if isinstance(arg, Node)])
    arrays = isinstance(derivative, Linear) or any(shape_of(value) for value in values)
    if arrays or any(is_complex(to_plain(value)) for value in values):
        raise ArgumentError(
            f"vertices are eliminated in programs of single real numbers, and {node.operator} here "
            "is one of arrays or complex numbers. Write the function of numbers, or of a list of "
            'numbers, or take mode="forward" or mode="reverse"'
        )
    return derivative


def eliminate_all(
    graph: EliminationGraph, order: str | Iterable[int] = "markowitz"
) -> list[EliminationStep]:
    """Eliminate all vertices between inputs and results; return the steps."""
    if not isinstance(order, str):
        return [graph.eliminate(v) for v in order]
    if order not in ELIMINATION_ORDERS:
        raise ArgumentError(
            f"the order is {', '.join(map(repr, ELIMINATION_ORDERS))}; got {order!r}"
        )
    if order == "markowitz":
        return list(_eliminate_cheapest(graph))
    vertices = graph.between
    return [graph.eliminate(v) for v in (vertices if order == "forward" else vertices[::-1])]


def _eliminate_cheapest(graph: EliminationGraph) -> Iterator[EliminationStep]:
    """Eliminate the vertex with the fewest paths, again and again; of equals the earliest."""
    left = set(graph.between)
    waiting = [(graph.count_paths(v), v) for v in left]
    heapq.heapify(waiting)
    while left:
        price, v = heapq.heappop(waiting)
        if v not in left or price != graph.count_paths(v):
            continue  # outdated: the heap also has its new price
        left.discard(v)
        step = graph.eliminate(v)
        yield step
        for w in left.intersection({end for e in step.edges for end in (e.parent, e.child)}):
            heapq.heappush(waiting, (graph.count_paths(w), w))


Derivatives = list[list[Any]]  # a row for each result, a column for each input


def eliminate_vertices(
    order: Sequence[Node], inputs: Sequence[Node], results: Sequence[Any]
) -> Derivatives:
    """Return the derivatives of all results in all inputs, by the rule of Markowitz."""
    graph = EliminationGraph(order, inputs, results)
    eliminate_all(graph)
    return [[graph.derivative(i, k) for i in range(len(inputs))] for k in range(len(results))]
