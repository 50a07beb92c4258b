"""Rung 4: a tape instead of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Operand: TypeAlias = "Node | float"
Edges: TypeAlias = "Sequence[tuple[Node, float]]"  # each parent, and the partial derivative by it


def value_of(x: Operand) -> float:
    """Return the number in a node; a constant is one itself."""
    return x.value if isinstance(x, Node) else x


def record(value: float, operator: str, *edges: tuple[Operand, float]) -> Any:
    """Put an operation on the tape of its parents; of constants alone it is a constant."""
    parents = [(arg, d) for arg, d in edges if isinstance(arg, Node)]
    return Node(value, parents[0][0].tape, operator, parents) if parents else value


def add(x: Operand, y: Operand) -> Any:
    """Add two numbers."""
    return record(value_of(x) + value_of(y), "add", (x, 1), (y, 1))


def sub(x: Operand, y: Operand) -> Any:
    """Subtract the second number from the first."""
    return record(value_of(x) - value_of(y), "sub", (x, 1), (y, -1))


def mul(x: Operand, y: Operand) -> Any:
    """Multiply two numbers."""
    a, b = value_of(x), value_of(y)
    return record(a * b, "mul", (x, b), (y, a))


def div(x: Operand, y: Operand) -> Any:
    """Divide the first number by the second."""
    a, b = value_of(x), value_of(y)
    return record(a / b, "div", (x, 1 / b), (y, -a / b**2))


def power(x: Operand, n: float) -> Any:
    """Raise to a constant power."""
    a = value_of(x)
    return record(a**n, "power", (x, n * a ** (n - 1) if n else 0))


def neg(x: Operand) -> Any:
    """Change the sign."""
    return record(-value_of(x), "neg", (x, -1))


def log(x: Operand) -> Any:
    """Take the natural logarithm."""
    a = value_of(x)
    if a <= 0:
        raise ValueError(f"log({x}): the logarithm needs a positive number")
    return record(math.log(a), "log", (x, 1 / a))


def exp(x: Operand) -> Any:
    """Take the exponential."""
    v = math.exp(value_of(x))
    return record(v, "exp", (x, v))


def sin(x: Operand) -> Any:
    """Take the sine."""
    return record(math.sin(value_of(x)), "sin", (x, math.cos(value_of(x))))


def cos(x: Operand) -> Any:
    """Take the cosine."""
    return record(math.cos(value_of(x)), "cos", (x, -math.sin(value_of(x))))


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""


class Node:
    """A number on a tape that knows its parents; it needs no list of children."""

    def __init__(self, value: float, tape: Tape, operator: str = "", edges: Edges = ()) -> None:
        if not isinstance(value, (int, float)):
            raise TypeError(f"the value of a node is a number, not {value!r}")
        self.value, self.operator, self.edges = value, operator, edges
        self.tape = tape
        if any(parent.tape is not tape for parent, _ in edges):
            raise ValueError(f"{operator}: the arguments are nodes of two tapes; use one")
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
    """Return the derivative with respect to the root of each node that it reaches; absent is 0."""
    dot: dict[Node, float] = {root: 1}
    for node in root.tape[root.index + 1 :]:
        for parent, dnode_dparent in node.edges:
            if parent in dot:
                dot[node] = dot.get(node, 0) + dnode_dparent * dot[parent]
    return dot


def reverse(output: Node) -> dict[Node, float]:
    """Return the derivative of the output with respect to each node that it depends on."""
    bar: dict[Node, float] = {output: 1}
    for node in reversed(output.tape[: output.index + 1]):  # children first: its sum is whole
        if node not in bar:
            continue  # the output does not depend on it
        for parent, dnode_dparent in node.edges:
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: float) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [Node(x, tape) for x in point]
        output = f(*inputs)
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient
