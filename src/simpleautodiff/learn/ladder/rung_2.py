"""Rung 2: operators, constants, and more functions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias
from weakref import ref

Operand: TypeAlias = "Node | float"
Edges: TypeAlias = "Sequence[tuple[Node, float]]"  # each parent, and the partial derivative by it


def value_of(x: Operand) -> float:
    """Return the number in a node; a constant is one itself."""
    return x.value if isinstance(x, Node) else x


def record(value: float, operator: str, *edges: tuple[Operand, float]) -> Node:
    """Make the node of an operation from (argument, partial) pairs; a constant is no parent."""
    return Node(value, operator, [(arg, d) for arg, d in edges if isinstance(arg, Node)])


def add(x: Operand, y: Operand) -> Node:
    """Add two numbers."""
    return record(value_of(x) + value_of(y), "add", (x, 1), (y, 1))


def sub(x: Operand, y: Operand) -> Node:
    """Subtract the second number from the first."""
    return record(value_of(x) - value_of(y), "sub", (x, 1), (y, -1))


def mul(x: Operand, y: Operand) -> Node:
    """Multiply two numbers."""
    a, b = value_of(x), value_of(y)
    return record(a * b, "mul", (x, b), (y, a))


def div(x: Operand, y: Operand) -> Node:
    """Divide the first number by the second."""
    a, b = value_of(x), value_of(y)
    return record(a / b, "div", (x, 1 / b), (y, -a / b**2))


def power(x: Operand, n: float) -> Node:
    """Raise to a constant power."""
    a = value_of(x)
    return record(a**n, "power", (x, n * a ** (n - 1) if n else 0))


def neg(x: Operand) -> Node:
    """Change the sign."""
    return record(-value_of(x), "neg", (x, -1))


def log(x: Operand) -> Node:
    """Take the natural logarithm."""
    a = value_of(x)
    if a <= 0:
        raise ValueError(f"log({x}): the logarithm needs a positive number")
    return record(math.log(a), "log", (x, 1 / a))


def exp(x: Operand) -> Node:
    """Take the exponential."""
    v = math.exp(value_of(x))
    return record(v, "exp", (x, v))


def sin(x: Operand) -> Node:
    """Take the sine."""
    return record(math.sin(value_of(x)), "sin", (x, math.cos(value_of(x))))


def cos(x: Operand) -> Node:
    """Take the cosine."""
    return record(math.cos(value_of(x)), "cos", (x, -math.sin(value_of(x))))


class Node:
    """A number of the computational graph that knows its parents and its living children."""

    def __init__(self, value: float, operator: str = "", edges: Edges = ()) -> None:
        if not isinstance(value, (int, float)):
            raise TypeError(f"the value of a node is a number, not {value!r}")
        self.value, self.operator, self.edges = value, operator, edges
        self._children: list[ref[Node]] = []
        for parent, _ in self.edges:  # last, so that what fails leaves no trace in its parents
            parent._children.append(ref(self))

    @property
    def child_nodes(self) -> list[Node]:
        """The nodes computed from this one that somebody still has."""
        return [child for link in self._children if (child := link()) is not None]

    def __repr__(self) -> str:
        return f"Node({self.value!r})"

    __add__ = __radd__ = add
    __mul__ = __rmul__ = mul
    __sub__, __truediv__, __pow__, __neg__ = sub, div, power, neg

    def __rsub__(self, other: Operand) -> Node:
        return sub(other, self)  # 2 - x is not x - 2

    def __rtruediv__(self, other: Operand) -> Node:
        return div(other, self)


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
    """Return the derivative with respect to the root of each node that it reaches; absent is 0."""
    dot: dict[Node, float] = {root: 1}
    for node in topological_order(root)[1:]:
        dot[node] = 0
        for parent, dnode_dparent in node.edges:
            if parent in dot:
                dot[node] += dnode_dparent * dot[parent]
    return dot
