"""The chain rule along an order of nodes, forward or reverse: each is written here, once.

A sweep fills a mapping from nodes to derivatives. A node that is absent was not reached, so its
derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.linear import ZERO, PartialAdjoint, plus, pull, push
from simpleautodiff.core.node import Node


def forward_sweep(order: Iterable[Node], dot: dict[Node, Any]) -> None:
    """Carry tangents along an order: v̇ = Σ over parents u of (∂v/∂u) u̇."""
    for node in order:
        if not any(arg in dot for arg in node.args if isinstance(arg, Node)):
            continue
        for k, derivative in node.local_derivatives():
            tangent = push(derivative, dot.get(node.args[k], ZERO))
            if tangent is not ZERO:
                dot[node] = plus(dot.get(node, ZERO), fit(tangent, node.value))


def reverse_sweep(order: Sequence[Node], bar: dict[Node, Any]) -> None:
    """Carry adjoints back along an order: ū = Σ over children v of v̄ (∂v/∂u)."""
    for _ in accumulations(order, bar):
        pass


def accumulations(
    order: Sequence[Node], bar: dict[Node, Any]
) -> Iterator[tuple[Node, int, Any, Any]]:
    """Do the reverse sweep one accumulation at a time.

    Yields `(child, k, ∂child/∂parent, sum so far)` after each change of the adjoint of a parent,
    which is the k-th argument of the child.
    """
    for node in reversed(order):
        if node not in bar:
            continue
        adjoint = bar[node]
        for k, derivative in local_derivatives(node, adjoint):
            parent, term = node.args[k], pull(derivative, adjoint)
            if term is not ZERO:
                bar[parent] = plus(bar.get(parent, ZERO), fit(term, parent.value))
                yield node, k, derivative, bar[parent]


def local_derivatives(node: Node, adjoint: Any) -> list[tuple[int, Any]]:
    """Return the local derivatives of a node for its adjoint, of which only a part may exist."""
    if not isinstance(adjoint, PartialAdjoint):
        return node.local_derivatives()
    with adjoint.quietly():
        return node.local_derivatives()


def fit(derivative: Any, value: Any) -> Any:
    """Give a derivative the shape of the value it belongs to; that of a real number is real."""
    if type(derivative) in engine.scalars and type(value) in engine.scalars:
        return derivative
    if isinstance(derivative, PartialAdjoint):
        return derivative.fit(value)
    return engine.fit(derivative, value)
