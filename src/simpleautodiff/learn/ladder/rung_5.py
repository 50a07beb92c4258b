"""Rung 5: values of any number type, nodes among them, so second derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any

levels = count(1)


def apply(operator: str, compute: Callable[..., Any], partials: Any, *args: Any) -> Any:
    """Compute an operation, and record it on the newest tape among those of its arguments.

    To that tape everything else is a constant, the nodes of older tapes too. Values are computed
    with the operations of this file, so an older tape records how they were computed, and how the
    partial derivatives were.
    """
    tapes = [arg.tape for arg in args if isinstance(arg, Node)]
    if not tapes:
        return compute(*args)
    tape = max(tapes, key=lambda tape: tape.level)
    own = [isinstance(arg, Node) and arg.tape is tape for arg in args]
    values = [arg.value if mine else arg for arg, mine in zip(args, own, strict=True)]
    value = apply(operator, compute, partials, *values)
    edges = zip(args, partials(value, *values), own, strict=True)
    parents = [(arg, partial) for arg, partial, mine in edges if mine]
    nodes, local = tuple(arg for arg, _ in parents), tuple(partial for _, partial in parents)
    return Node(value, tape, nodes, operator, local)


def add(x: Any, y: Any) -> Any:
    """Add two numbers."""
    return apply("add", lambda a, b: a + b, lambda v, a, b: (1, 1), x, y)


def sub(x: Any, y: Any) -> Any:
    """Subtract the second number from the first."""
    return apply("sub", lambda a, b: a - b, lambda v, a, b: (1, -1), x, y)


def mul(x: Any, y: Any) -> Any:
    """Multiply two numbers."""
    return apply("mul", lambda a, b: a * b, lambda v, a, b: (b, a), x, y)


def div(x: Any, y: Any) -> Any:
    """Divide the first number by the second."""
    return apply("div", lambda a, b: a / b, lambda v, a, b: (1 / b, -a / b**2), x, y)


def power(x: Any, n: float) -> Any:
    """Raise to a constant power."""
    return apply("power", lambda a: a**n, lambda v, a: (n * a ** (n - 1) if n else 0,), x)


def neg(x: Any) -> Any:
    """Change the sign."""
    return apply("neg", lambda a: -a, lambda v, a: (-1,), x)


def log(x: Any) -> Any:
    """Take the natural logarithm."""
    return apply("log", math.log, lambda v, a: (1 / a,), x)


def exp(x: Any) -> Any:
    """Take the exponential."""
    return apply("exp", math.exp, lambda v, a: (v,), x)


def sin(x: Any) -> Any:
    """Take the sine."""
    return apply("sin", math.sin, lambda v, a: (cos(a),), x)


def cos(x: Any) -> Any:
    """Take the cosine."""
    return apply("cos", math.cos, lambda v, a: (-sin(a),), x)


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def __init__(self) -> None:
        self.level = next(levels)

    def input(self, value: Any) -> Node:
        """Begin a graph: a node with no parents."""
        return Node(value, self)


class Node:
    """A value on a tape that knows its parents; the value may be a node of an older tape."""

    def __init__(
        self,
        value: Any,
        tape: Tape,
        parent_nodes: tuple[Node, ...] = (),
        operator: str = "",
        grad_wrt_parents: tuple[Any, ...] = (),
    ) -> None:
        self.value = value
        self.tape = tape
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

    def __rsub__(self, other: Any) -> Any:
        return sub(other, self)  # 2 - x is not x - 2

    def __rtruediv__(self, other: Any) -> Any:
        return div(other, self)


def forward(root: Node) -> dict[Node, Any]:
    """Return the derivative with respect to the root of each node that it reaches.

    Nothing is written into nodes: a node that is absent was not reached, so its derivative is 0.
    """
    dot: dict[Node, Any] = {root: 1}
    for node in root.tape[root.index + 1 :]:
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            if parent in dot:
                dot[node] = dot.get(node, 0) + dnode_dparent * dot[parent]
    return dot


def reverse(output: Node) -> dict[Node, Any]:
    """Return the derivative of the output with respect to each node that it depends on.

    A node has its whole adjoint only when all of its children have passed theirs on: on the tape
    they stand behind it.
    """
    bar: dict[Node, Any] = {output: 1}
    for node in reversed(output.tape[: output.index + 1]):
        if node not in bar:
            continue  # the output does not depend on it
        for parent, dnode_dparent in zip(node.parent_nodes, node.grad_wrt_parents, strict=True):
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: Any) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [tape.input(x) for x in point]
        output = f(*inputs)
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient
