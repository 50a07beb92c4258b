"""Rung 8: derivatives as source code, which is a tape written down."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

levels = count(1)


@dataclass
class Linear:
    """A local derivative that is no number: how tangents go through it, and adjoints back."""

    push: Callable[[Any], Any]
    pull: Callable[[Any], Any]


@dataclass(frozen=True)
class Primitive:
    """A row of the table: a value, and for each argument ∂v/∂argument from (v, *arguments)."""

    name: str
    compute: Callable[..., Any]
    partials: tuple[Any, ...]
    sign: str = ""  # how Python writes it, if not as a call

    def __call__(self, *args: Any) -> Any:
        """Compute it: the row is its own wrapping function."""
        return apply(self, *args)


def apply(primitive: Primitive, *args: Any) -> Any:
    """Compute a primitive, and record it on the newest tape among those of its arguments.

    To that tape everything else is a constant, the nodes of older tapes too. Values are computed
    with the primitives themselves, so an older tape records how they were computed.
    """
    tapes = [arg.tape for arg in args if isinstance(arg, Node)]
    if not tapes:
        return primitive.compute(*args)
    tape = max(tapes, key=lambda tape: tape.level)
    return Node(apply(primitive, *tape.values(args)), tape, primitive, args)


def elementary(name: str) -> Callable[[Any], Any]:
    """Return the function of this name: NumPy's for arrays, else that of `math`."""
    return lambda a: getattr(np if isinstance(a, np.ndarray) else math, name)(a)


def sum_array(a: Any, shape: tuple[int, ...]) -> Any:
    """Add up until the shape is this one: what undoes broadcasting."""
    a = np.sum(a, axis=tuple(range(np.ndim(a) - len(shape))))
    return np.sum(a, axis=tuple(np.flatnonzero(np.not_equal(a.shape, shape))), keepdims=True)


def power_wrt_x(v: Any, a: Any, n: Any) -> Any:
    """Return ∂aⁿ/∂a; the power 0 is constant."""
    return n * a ** (n - 1) if isinstance(n, Node) or n != 0 else 0


def matmul_wrt_x(v: Any, a: Any, b: Any) -> Linear:
    """Return ∂(a @ b)/∂a, which multiplies by b from the right."""
    return Linear(lambda d: matmul(d, b), lambda g: matmul(g, transpose(b)))


def matmul_wrt_y(v: Any, a: Any, b: Any) -> Linear:
    """Return ∂(a @ b)/∂b, which multiplies by a from the left."""
    return Linear(lambda d: matmul(a, d), lambda g: matmul(transpose(a), g))


def transpose_wrt_x(v: Any, a: Any) -> Linear:
    """Return the linear map of a transposition, which is its own transpose."""
    return Linear(transpose, transpose)


def sum_to_wrt_x(v: Any, a: Any, shape: tuple[int, ...]) -> Linear:
    """Return the linear map of a sum; its transpose spreads."""
    return Linear(lambda d: sum_to(d, shape), lambda g: spread(g, shape_of(a)))


def spread_wrt_x(v: Any, a: Any, shape: tuple[int, ...]) -> Linear:
    """Return the linear map of broadcasting; its transpose adds up."""
    return Linear(lambda d: spread(d, shape), lambda g: sum_to(g, shape_of(a)))


# fmt: off
add = Primitive("add", lambda a, b: a + b, (1, 1), "+")
sub = Primitive("sub", lambda a, b: a - b, (1, -1), "-")
mul = Primitive("mul", lambda a, b: a * b, (lambda v, a, b: b, lambda v, a, b: a), "*")
div = Primitive("div", lambda a, b: a / b, (lambda v, a, b: 1 / b, lambda v, a, b: -v / b), "/")
power = Primitive("power", lambda a, n: a**n, (power_wrt_x, lambda v, a, n: v * log(a)), "**")
neg = Primitive("neg", lambda a: -a, (-1,))
log: Primitive = Primitive("log", elementary("log"), (lambda v, a: 1 / a,))
exp = Primitive("exp", elementary("exp"), (lambda v, a: v,))
sin = Primitive("sin", elementary("sin"), (lambda v, a: cos(a),))
cos: Primitive = Primitive("cos", elementary("cos"), (lambda v, a: -sin(a),))
sum_to = Primitive("sum_to", sum_array, (sum_to_wrt_x, None))
spread = Primitive("spread", np.broadcast_to, (spread_wrt_x, None))
transpose: Primitive = Primitive("transpose", np.transpose, (transpose_wrt_x,))
matmul = Primitive("matmul", np.matmul, (matmul_wrt_x, matmul_wrt_y))
# fmt: on


class Tape(list["Node"]):
    """The nodes in the order in which they were made, which is a topological order."""

    def __init__(self) -> None:
        self.level = next(levels)

    def input(self, value: Any) -> Node:
        """Begin a graph: a node with no parents."""
        return Node(value, self)

    def values(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the values of this tape's nodes; all else is a constant to it."""
        return [a.value if isinstance(a, Node) and a.tape is self else a for a in args]


class Node:
    """A value on a tape that knows its row of the table and its arguments."""

    def __init__(
        self, value: Any, tape: Tape, primitive: Primitive | None = None, args: Any = ()
    ) -> None:
        self.value = value
        self.tape = tape
        self.primitive = primitive
        self.args = args
        self.index = len(tape)
        tape.append(self)

    @property
    def edges(self) -> list[tuple[Node, Any]]:
        """Each parent with ∂self/∂parent, computed from the row when it is asked for."""
        if self.primitive is None:
            return []
        values = self.tape.values(self.args)
        pairs = zip(self.args, self.primitive.partials, strict=True)
        return [
            (arg, partial(self.value, *values) if callable(partial) else partial)
            for arg, partial in pairs
            if isinstance(arg, Node) and arg.tape is self.tape
        ]

    def __repr__(self) -> str:
        return f"Node({self.value!r})"

    __array_ufunc__ = None  # NumPy's arrays leave their operators to nodes

    def __neg__(self) -> Any:
        return neg(self)


for dunder, row in {
    **{"add": add, "sub": sub, "mul": mul},
    **{"truediv": div, "pow": power, "matmul": matmul},
}.items():
    setattr(Node, f"__{dunder}__", lambda self, other, row=row: row(self, other))
    setattr(Node, f"__r{dunder}__", lambda self, other, row=row: row(other, self))


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a number (), of a node that of its value."""
    return shape_of(x.value) if isinstance(x, Node) else np.shape(x)


def accumulate(derivatives: dict[Node, Any], node: Node, term: Any) -> None:
    """Add a term to the derivative of a node, in the shape of its value."""
    shape = shape_of(node)
    if shape_of(term) != shape:
        fits = np.broadcast_shapes(shape_of(term), shape) == shape
        term = spread(term, shape) if fits else sum_to(term, shape)
    derivatives[node] = derivatives[node] + term if node in derivatives else term


def forward(root: Node) -> dict[Node, Any]:
    """Return the derivative with respect to the root of each node that it reaches.

    Nothing is written into nodes: a node that is absent was not reached, so its derivative is 0.
    """
    dot: dict[Node, Any] = {root: 1}
    for node in root.tape[root.index + 1 :]:
        for parent, d in node.edges:
            if parent in dot:
                term = d.push(dot[parent]) if isinstance(d, Linear) else d * dot[parent]
                accumulate(dot, node, term)
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
        for parent, d in node.edges:
            accumulate(bar, parent, d.pull(bar[node]) if isinstance(d, Linear) else bar[node] * d)
    return bar


def grad(f: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make the function that returns the derivatives of `f`, one for each argument."""

    def gradient(*point: Any) -> tuple[Any, ...]:
        tape = Tape()
        inputs = [tape.input(x) for x in point]
        output = f(*inputs)
        if shape_of(output):
            raise TypeError("grad needs one number; add up the array by sum_to(y, ())")
        bar = reverse(output) if isinstance(output, Node) else {}
        return tuple(bar.get(node, 0) for node in inputs)

    return gradient


def source(f: Callable[..., Any], *point: Any) -> str:
    """Write what `f` does at a point as straight-line Python; `f` may be a gradient.

    The function runs once on a tape, and the steps that its results need are written down.
    """
    tape = Tape()
    inputs = [tape.input(x) for x in point]
    results = f(*inputs)
    names: dict[Any, str] = {node: f"x{i}" for i, node in enumerate(inputs, 1)}
    lines = [f"def program({', '.join(names.values())}):"]

    def text_of(x: Any) -> str:
        if isinstance(x, Node):
            return names[tape[x.index]]
        return f"array({x.tolist()})" if isinstance(x, np.ndarray) else f"({x!r})"

    listed = results if isinstance(results, tuple) else (results,)
    needed = {x for x in listed if isinstance(x, Node)}
    for node in reversed(tape):
        if node in needed:
            needed.update(arg for arg in node.args if isinstance(arg, Node))
    for node in tape:
        if node in needed and node.primitive is not None:
            names[node] = f"v{len(lines)}"
            row, texts = node.primitive, [text_of(arg) for arg in node.args]
            right = f" {row.sign} ".join(texts) if row.sign else f"{row.name}({', '.join(texts)})"
            lines.append(f"    {names[node]} = {right}")
    lines.append(f"    return {', '.join(map(text_of, listed))}{',' * isinstance(results, tuple)}")
    return "\n".join(lines)


def compile_source(text: str) -> Callable[..., Any]:
    """Make a function of such a text; the names in it are those of the table."""
    rows = [value for value in globals().values() if isinstance(value, Primitive)]
    namespace: dict[str, Any] = {"array": np.array, **{row.name: row.compute for row in rows}}
    exec(text, namespace)
    return namespace["program"]  # type: ignore[no-any-return]
