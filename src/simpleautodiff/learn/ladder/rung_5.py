"""Rung 5: values of any number type, nodes among them, so second derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any

levels = count(1)


def wrap(operator: str, compute: Callable[..., Any], partials: Callable[..., Any]) -> Any:
    """Make the wrapping function of an operation, which records on the newest tape it is given.

    To that tape all else is a constant, the nodes of older tapes too. Values and partials are
    computed by wrapping functions, so an older tape records how.
    """

    def wrapped(*args: Any) -> Any:
        tapes = [arg.tape for arg in args if isinstance(arg, Node)]
        if not tapes:
            return compute(*args)
        tape = max(tapes, key=lambda tape: tape.level)
        own = [isinstance(arg, Node) and arg.tape is tape for arg in args]
        values = [arg.value if mine else arg for arg, mine in zip(args, own, strict=True)]
        value = wrapped(*values)
        edges = zip(args, partials(value, *values), own, strict=True)
        return Node(value, tape, operator, [(arg, d) for arg, d, mine in edges if mine])

    return wrapped


add = wrap("add", lambda a, b: a + b, lambda v, a, b: (1, 1))
sub = wrap("sub", lambda a, b: a - b, lambda v, a, b: (1, -1))
mul = wrap("mul", lambda a, b: a * b, lambda v, a, b: (b, a))
div = wrap("div", lambda a, b: a / b, lambda v, a, b: (1 / b, -a / b**2))
neg = wrap("neg", lambda a: -a, lambda v, a: (-1,))
log = wrap("log", math.log, lambda v, a: (1 / a,))
exp = wrap("exp", math.exp, lambda v, a: (v,))
sin = wrap("sin", math.sin, lambda v, a: (cos(a),))
cos: Any = wrap("cos", math.cos, lambda v, a: (-sin(a),))


def power(x: Any, n: float) -> Any:
    """Raise to a constant power."""
    return wrap("power", lambda a: a**n, lambda v, a: (n * a ** (n - 1) if n else 0,))(x)


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def __init__(self) -> None:
        self.level = next(levels)


class Node:
    """A value on a tape, with an edge (parent, partial) for each argument that is a node of it."""

    def __init__(self, value: Any, tape: Tape, operator: str = "", edges: Any = ()) -> None:
        self.value, self.operator, self.edges = value, operator, edges
        self.tape = tape
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
    """Return the derivative with respect to the root of each node that it reaches; absent is 0."""
    dot: dict[Node, Any] = {root: 1}
    for node in root.tape[root.index + 1 :]:
        for parent, dnode_dparent in node.edges:
            if parent in dot:
                dot[node] = dot.get(node, 0) + dnode_dparent * dot[parent]
    return dot


def reverse(output: Node) -> dict[Node, Any]:
    """Return the derivative of the output with respect to each node that it depends on."""
    bar: dict[Node, Any] = {output: 1}
    for node in reversed(output.tape[: output.index + 1]):  # children first: its sum is whole
        if node not in bar:
            continue  # the output does not depend on it
        for parent, dnode_dparent in node.edges:
            bar[parent] = bar.get(parent, 0) + bar[node] * dnode_dparent
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: Any) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [Node(x, tape) for x in point]
        output = f(*inputs)
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient
