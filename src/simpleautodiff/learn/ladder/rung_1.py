"""Rung 1: the paper's program without its defects."""

from __future__ import annotations

import math
from collections.abc import Iterator
from weakref import ref


class Node:
    """A number of the computational graph that knows its parents and its living children."""

    def __init__(
        self,
        value: float,
        parent_nodes: tuple[Node, ...] = (),
        operator: str = "",
        grad_wrt_parents: tuple[float, ...] = (),
    ) -> None:
        if not isinstance(value, (int, float)):
            raise TypeError(f"the value of a node is a number, not {value!r}")
        self.value = value
        self.parent_nodes = parent_nodes
        self.operator = operator
        self.grad_wrt_parents = grad_wrt_parents
        self._children: list[ref[Node]] = []
        for parent in parent_nodes:  # last, so that what fails leaves no trace in its parents
            parent._children.append(ref(self))

    @property
    def child_nodes(self) -> list[Node]:
        """The nodes computed from this one that somebody still has."""
        return [child for link in self._children if (child := link()) is not None]

    def __repr__(self) -> str:
        return f"Node({self.value!r})"


def add(node1: Node, node2: Node) -> Node:
    """Add two nodes."""
    return Node(node1.value + node2.value, (node1, node2), "add", (1, 1))


def sub(node1: Node, node2: Node) -> Node:
    """Subtract the second node from the first."""
    return Node(node1.value - node2.value, (node1, node2), "sub", (1, -1))


def mul(node1: Node, node2: Node) -> Node:
    """Multiply two nodes."""
    return Node(node1.value * node2.value, (node1, node2), "mul", (node2.value, node1.value))


def log(node: Node) -> Node:
    """Take the natural logarithm."""
    if node.value <= 0:
        raise ValueError(f"log({node}): the logarithm needs a positive number")
    return Node(math.log(node.value), (node,), "log", (1 / node.value,))


def sin(node: Node) -> Node:
    """Take the sine."""
    return Node(math.sin(node.value), (node,), "sin", (math.cos(node.value),))


def topological_order(root: Node) -> list[Node]:
    """List the nodes reachable from the root, each before all of its children."""
    ordering: list[Node] = []
    visited = {root}
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(root.child_nodes))]
    while stack:  # the paper's search, with a stack of its own instead of Python's
        node, children = stack[-1]
        for child in children:
            if child not in visited:
                visited.add(child)
                stack.append((child, iter(child.child_nodes)))
                break
        else:
            ordering.append(node)
            stack.pop()
    return ordering[::-1]


def forward(root: Node) -> dict[Node, float]:
    """Return the derivative with respect to the root of each node that it reaches.

    Nothing is written into nodes: a node that is absent was not reached, so its derivative is 0.
    """
    dot: dict[Node, float] = {root: 1}
    for node in topological_order(root)[1:]:
        dot[node] = 0
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
    return dot
