"""The chain rule along an order of nodes, forward or reverse: each is written here, once.

A sweep fills a mapping from nodes to derivatives. A node that is absent was not reached, so its
derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.linear import ZERO, PartialAdjoint, pull, push
from simpleautodiff.core.node import Node


def forward_sweep(order: Iterable[Node], dot: dict[Node, Any]) -> None:
    """Carry tangents along an order: v̇ = Σ over parents u of (∂v/∂u) u̇."""
    for node in order:
        row, values = node.primitive, node.values()
        for k, parent in enumerate(node.args):
            if isinstance(parent, Node) and parent in dot and row is not None:
                accumulate(dot, node, push(row.partial(k, node.value, values), dot[parent]))


def reverse_sweep(
    order: Sequence[Node], bar: dict[Node, Any]
) -> Iterator[tuple[Node, int, Any, Any]]:
    """Carry adjoints back along an order: ū = Σ over children v of v̄ (∂v/∂u).

    Yields `(child, k, ∂child/∂parent, sum so far)` after each change of the adjoint of a parent,
    which is the k-th argument of the child.
    """
    for node in reversed(order):
        if node not in bar:
            continue
        adjoint, row, value, values = bar[node], node.primitive, node.value, node.values()
        partly = isinstance(adjoint, PartialAdjoint)
        for k, parent in enumerate(node.args):
            if not isinstance(parent, Node) or row is None:
                continue
            found = adjoint.local_derivative(node, k) if partly else row.partial(k, value, values)
            if accumulate(bar, parent, pull(found, adjoint)):
                yield node, k, found, bar[parent]


def accumulate(derivatives: dict[Node, Any], node: Node, term: Any) -> bool:
    """Add a term to the derivative of a node, in the shape of its value; tell if it is not zero."""
    if term is ZERO:
        return False
    if type(term) not in engine.scalars or type(node.value) not in engine.scalars:
        term = fit(term, node.value)
    if node in derivatives:
        known = derivatives[node]
        term = term + known if isinstance(term, PartialAdjoint) else known + term
    derivatives[node] = term
    return True


def fit(derivative: Any, value: Any) -> Any:
    """Give a derivative the shape of its value; the derivative of a real number is real."""
    if type(derivative) in engine.scalars and type(value) in engine.scalars:
        return derivative
    if issubclass(type(derivative), PartialAdjoint):
        return derivative.fit(value)
    return engine.fit(derivative, value)
