"""Rung 8: derivatives as source code, which is a tape written down."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

levels = count(1)
# A local derivative that is no number: how tangents go through it, and adjoints back.
Linear = namedtuple("Linear", "push pull")


class Primitive(NamedTuple):
    """A row of the table: a value, and for each argument ∂v/∂argument from (v, *arguments)."""

    name: str
    compute: Callable[..., Any]
    partials: tuple[Any, ...]

    def __call__(self, *args: Any) -> Any:
        """Compute it, and record it on the newest tape: a row is its own wrapping function."""
        tapes = [arg.tape for arg in args if isinstance(arg, Node)]
        if not tapes:
            return self.compute(*args)
        tape = max(tapes, key=lambda tape: tape.level)
        own = [isinstance(arg, Node) and arg.tape is tape for arg in args]
        values = [arg.value if mine else arg for arg, mine in zip(args, own, strict=True)]
        value = self(*values)
        needed = ((arg, d) for arg, d, mine in zip(args, self.partials, own, strict=True) if mine)
        edges = [(arg, d(value, *values) if callable(d) else d) for arg, d in needed]
        return Node(value, tape, self, args, edges)


def xp(a: Any) -> Any:
    """Return the module with the functions of `a`: NumPy for arrays, else `math`."""
    return np if isinstance(a, np.ndarray) else math


def add_up(a: Any, shape: tuple[int, ...]) -> Any:
    """Add up until the shape is this one, which undoes broadcasting."""
    a = np.sum(a, axis=tuple(range(np.ndim(a) - len(shape))))
    return np.sum(a, axis=tuple(np.flatnonzero(np.not_equal(a.shape, shape))), keepdims=True)


# fmt: off
add = Primitive("add", lambda a, b: a + b, (1, 1))
sub = Primitive("sub", lambda a, b: a - b, (1, -1))
mul = Primitive("mul", lambda a, b: a * b, (lambda v, a, b: b, lambda v, a, b: a))
div = Primitive("div", lambda a, b: a / b, (lambda v, a, b: 1 / b, lambda v, a, b: -v / b))
neg = Primitive("neg", lambda a: -a, (-1,))
log = Primitive("log", lambda a: xp(a).log(a), (lambda v, a: 1 / a,))
exp = Primitive("exp", lambda a: xp(a).exp(a), (lambda v, a: v,))
sin = Primitive("sin", lambda a: xp(a).sin(a), (lambda v, a: cos(a),))
cos: Any = Primitive("cos", lambda a: xp(a).cos(a), (lambda v, a: -sin(a),))
power = Primitive("power", lambda a, n: a**n, (
    lambda v, a, n: n * a ** (n - 1) if n != 0 else 0, lambda v, a, n: v * log(a)))
transpose: Any = Primitive("transpose", np.matrix_transpose, (
    lambda v, a: Linear(transpose, transpose),))
matmul = Primitive("matmul", np.matmul, (
    lambda v, a, b: Linear(lambda d: d @ b, lambda g: g @ transpose(b)),
    lambda v, a, b: Linear(lambda d: a @ d, lambda g: transpose(a) @ g)))
sum_to: Any = Primitive("sum_to", add_up, (
    lambda v, a, to: Linear(lambda d: sum_to(d, to), lambda g: g * np.ones(np.shape(a))), None))
# fmt: on


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def __init__(self) -> None:
        self.level = next(levels)


class Node:
    """A value on a tape, with its row of the table, its arguments, and its (parent, partial)s."""

    __array_ufunc__ = None  # NumPy's arrays leave their operators to nodes

    def __init__(self, value: Any, tape: Tape, row: Any = None, args: Any = (), edges: Any = ()):
        self.value, self.row, self.args, self.edges = value, row, args, edges
        self.shape = np.shape(value)
        self.tape, self.index = tape, len(tape)
        tape.append(self)

    def __repr__(self) -> str:
        return f"v{self.index}"

    def __neg__(self) -> Any:
        return neg(self)


for name, f in dict(add=add, sub=sub, mul=mul, truediv=div, pow=power, matmul=matmul).items():
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


def source(f: Callable[..., Any], *point: Any) -> str:
    """Write the gradient of `f` as straight-line Python: what a tape records of it at a point."""

    def write(xs: Any) -> str:
        texts = (f"np.array({x.tolist()})" if isinstance(x, np.ndarray) else repr(x) for x in xs)
        return ", ".join(texts)

    tape = Tape()
    inputs = [Node(x, tape) for x in point]
    results = grad(f)(*inputs)
    lines = [f"    {v} = {v.row.name}({write(v.args)})" for v in tape[len(inputs) :]]
    return "\n".join([f"def gradient({write(inputs)}):", *lines, f"    return {write(results)},"])
