"""Rung 6: arrays, and local derivatives that are linear maps."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

levels = count(1)
# A local derivative that is no number: how tangents go through it, and adjoints back.
Linear = namedtuple("Linear", "push pull")


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


def xp(a: Any) -> Any:
    """Return the module with the functions of `a`: NumPy for arrays, else `math`."""
    return np if isinstance(a, np.ndarray) else math


add = wrap("add", lambda a, b: a + b, lambda v, a, b: (1, 1))
sub = wrap("sub", lambda a, b: a - b, lambda v, a, b: (1, -1))
mul = wrap("mul", lambda a, b: a * b, lambda v, a, b: (b, a))
div = wrap("div", lambda a, b: a / b, lambda v, a, b: (1 / b, -a / b**2))
neg = wrap("neg", lambda a: -a, lambda v, a: (-1,))
log = wrap("log", lambda a: xp(a).log(a), lambda v, a: (1 / a,))
exp = wrap("exp", lambda a: xp(a).exp(a), lambda v, a: (v,))
sin = wrap("sin", lambda a: xp(a).sin(a), lambda v, a: (cos(a),))
cos: Any = wrap("cos", lambda a: xp(a).cos(a), lambda v, a: (-sin(a),))
transpose: Any = wrap("transpose", np.matrix_transpose, lambda v, a: (
    Linear(transpose, transpose),
))  # fmt: skip
matmul = wrap("matmul", np.matmul, lambda v, a, b: (
    Linear(lambda d: d @ b, lambda g: g @ transpose(b)),
    Linear(lambda d: a @ d, lambda g: transpose(a) @ g),
))  # fmt: skip


def power(x: Any, n: float) -> Any:
    """Raise to a constant power."""
    return wrap("power", lambda a: a**n, lambda v, a: (n * a ** (n - 1) if n else 0,))(x)


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Add up until the shape is this one, which undoes broadcasting."""

    def compute(a: Any) -> Any:
        a = np.sum(a, axis=tuple(range(np.ndim(a) - len(shape))))
        return np.sum(a, axis=tuple(np.flatnonzero(np.not_equal(a.shape, shape))), keepdims=True)

    linear = Linear(lambda d: sum_to(d, shape), lambda g: g * np.ones(np.shape(x)))
    return wrap("sum_to", compute, lambda v, a: (linear,))(x)


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def __init__(self) -> None:
        self.level = next(levels)


class Node:
    """A value on a tape, with an edge (parent, partial) for each argument that is a node of it."""

    __array_ufunc__ = None  # NumPy's arrays leave their operators to nodes

    def __init__(self, value: Any, tape: Tape, operator: str = "", edges: Any = ()) -> None:
        self.value, self.operator, self.edges = value, operator, edges
        self.shape = np.shape(value)
        self.tape, self.index = tape, len(tape)
        tape.append(self)

    def __repr__(self) -> str:
        return f"Node({self.value!r})"

    __pow__, __neg__ = power, neg


for name, f in dict(add=add, sub=sub, mul=mul, truediv=div, matmul=matmul).items():
    setattr(Node, f"__{name}__", lambda self, other, f=f: f(self, other))
    setattr(Node, f"__r{name}__", lambda self, other, f=f: f(other, self))  # 2 - x is not x - 2


def add_to(derivatives: dict[Node, Any], node: Node, term: Any) -> None:
    """Add a term to the derivative of a node, in the shape of the node's value."""
    if np.shape(term) != node.shape:
        term = sum_to(term * np.ones(node.shape), node.shape)
    derivatives[node] = derivatives[node] + term if node in derivatives else term


def forward(root: Node) -> dict[Node, Any]:
    """Return the derivative with respect to the root of each node that it reaches; absent is 0."""
    dot: dict[Node, Any] = {}
    add_to(dot, root, 1)  # of an array: in each of its elements
    for node in root.tape[root.index + 1 :]:
        for parent, d in node.edges:
            if parent in dot:
                add_to(dot, node, d.push(dot[parent]) if isinstance(d, Linear) else d * dot[parent])
    return dot


def reverse(output: Node) -> dict[Node, Any]:
    """Return the derivative of the output with respect to each node that it depends on."""
    bar: dict[Node, Any] = {}
    add_to(bar, output, 1)
    for node in reversed(output.tape[: output.index + 1]):  # children first: its sum is whole
        if node not in bar:
            continue  # the output does not depend on it
        for parent, d in node.edges:
            add_to(bar, parent, d.pull(bar[node]) if isinstance(d, Linear) else bar[node] * d)
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: Any) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [Node(x, tape) for x in point]
        output = f(*inputs)
        if np.shape(output):
            raise TypeError("grad needs one number; add up the array by sum_to(y, ())")
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient
