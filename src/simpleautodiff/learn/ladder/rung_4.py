"""Rung 4: a tape instead of a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

Operand: TypeAlias = "Node | float"


def value_of(x: Operand) -> float:
    """Return the number in a node; a constant is one itself."""
    return x.value if isinstance(x, Node) else x


def make_node(value: float, operator: str, *edges: tuple[Operand, float]) -> Any:
    """Record an operation from its value and (argument, partial derivative) pairs.

    A constant is no parent: it does not depend on anything, so its edge is left out.
    """
    parents = [(arg, partial) for arg, partial in edges if isinstance(arg, Node)]
    if not parents:
        return value  # there is nothing to record
    nodes, partials = tuple(arg for arg, _ in parents), tuple(partial for _, partial in parents)
    return Node(value, nodes[0].tape, nodes, operator, partials)


def add(x: Operand, y: Operand) -> Any:
    """Add two numbers."""
    return make_node(value_of(x) + value_of(y), "add", (x, 1), (y, 1))


def sub(x: Operand, y: Operand) -> Any:
    """Subtract the second number from the first."""
    return make_node(value_of(x) - value_of(y), "sub", (x, 1), (y, -1))


def mul(x: Operand, y: Operand) -> Any:
    """Multiply two numbers."""
    a, b = value_of(x), value_of(y)
    return make_node(a * b, "mul", (x, b), (y, a))


def div(x: Operand, y: Operand) -> Any:
    """Divide the first number by the second."""
    a, b = value_of(x), value_of(y)
    return make_node(a / b, "div", (x, 1 / b), (y, -a / b**2))


def power(x: Operand, n: float) -> Any:
    """Raise to a constant power."""
    a = value_of(x)
    return make_node(a**n, "power", (x, n * a ** (n - 1) if n else 0))


def neg(x: Operand) -> Any:
    """Change the sign."""
    return make_node(-value_of(x), "neg", (x, -1))


def log(x: Operand) -> Any:
    """Take the natural logarithm."""
    a = value_of(x)
    if a <= 0:
        raise ValueError(f"log({x}): the logarithm needs a positive number")
    return make_node(math.log(a), "log", (x, 1 / a))


def exp(x: Operand) -> Any:
    """Take the exponential."""
    v = math.exp(value_of(x))
    return make_node(v, "exp", (x, v))


def sin(x: Operand) -> Any:
    """Take the sine."""
    return make_node(math.sin(value_of(x)), "sin", (x, math.cos(value_of(x))))


def cos(x: Operand) -> Any:
    """Take the cosine."""
    return make_node(math.cos(value_of(x)), "cos", (x, -math.sin(value_of(x))))


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def input(self, value: float) -> Node:
        """Begin a graph: a node with no parents."""
        return Node(value, self)


class Node:
    """A number on a tape that knows its parents; it needs no list of children."""

    def __init__(
        self,
        value: float,
        tape: Tape,
        parent_nodes: tuple[Node, ...] = (),
        operator: str = "",
        grad_wrt_parents: tuple[float, ...] = (),
    ) -> None:
        if not isinstance(value, (int, float)):
            raise TypeError(f"the value of a node is a number, not {value!r}")
        self.value = value
        self.tape = tape
        if any(parent.tape is not tape for parent in parent_nodes):
            raise ValueError(f"{operator}: the arguments are nodes of two tapes; use one")
        self.parent_nodes = parent_nodes
        self.operator = operator
        self.grad_wrt_parents = grad_wrt_parents
        self.index = len(tape)
        tape.append(self)

    def __repr__(self) -> str:
        return f"Node({self.value!r})"

    __add__ = __radd__ = add
    __mul__ = __rmul__ = mul
    __sub__, __truediv__, __pow__, __neg__ = sub, div, power, neg

    def __rsub__(self, other: Operand) -> Any:
        return sub(other, self)  # 2 - x is not x - 2

    def __rtruediv__(self, other: Operand) -> Any:
        return div(other, self)


def forward(root: Node) -> dict[Node, float]:
    """Return the derivative with respect to the root of each node that it reaches.

    Nothing is written into nodes: a node that is absent was not reached, so its derivative is 0.
    """
    dot: dict[Node, float] = {root: 1}
    for node in root.tape[root.index + 1 :]:
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            if parent in dot:
                dot[node] = dot.get(node, 0) + dnode_dparent * dot[parent]
    return dot


def reverse(output: Node) -> dict[Node, float]:
    """Return the derivative of the output with respect to each node that it depends on.

    A node has its whole adjoint only when all of its children have passed theirs on: on the tape
    they stand behind it.
    """
    bar: dict[Node, float] = {output: 1}
    for node in reversed(output.tape[: output.index + 1]):
        if node not in bar:
            continue  # the output does not depend on it
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: float) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [tape.input(x) for x in point]
        output = f(*inputs)
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient
