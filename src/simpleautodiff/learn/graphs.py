"""Graphs as data: straight-line programs that any engine can be asked to build.

A graph is written as a formula with names, `a = x*x; y = a - a`, and is a list of steps, each one
operation on inputs, earlier steps and constants. The last name is the output.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OPERATION_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "iadd": "+"}
BINARY_OPERATIONS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}

Argument = str | float
Step = tuple[str, str, tuple[Argument, ...]]  # name, operation, arguments


@dataclass(frozen=True)
class Graph:
    """Inputs with their values, steps, and the name of the output."""

    inputs: tuple[tuple[str, Any], ...]
    steps: tuple[Step, ...]
    output: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(name for name, _ in self.inputs)

    @property
    def operations(self) -> set[str]:
        """The operations that an engine needs for it."""
        return {operation for _, operation, _ in self.steps}

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.inputs)
        body = "; ".join(f"{name} = {write_step(op, args)}" for name, op, args in self.steps)
        alias = "" if self.steps and self.steps[-1][0] == self.output else f"y = {self.output}"
        return f"{'; '.join(filter(None, (body, alias)))}  at {at}"


def write_step(operation: str, args: Sequence[Argument]) -> str:
    """Write one operation as in a formula.

    Examples
    --------
    >>> write_step("sub", ("x", 2)), write_step("sin", ("x",))
    ('x - 2', 'sin(x)')
    """
    texts = [arg if isinstance(arg, str) else f"({arg})" if arg < 0 else f"{arg}" for arg in args]
    if operation == "constant":
        return texts[0]
    if operation in OPERATION_SIGNS:
        return f" {OPERATION_SIGNS[operation]} ".join(texts)
    return f"-{texts[0]}" if operation == "neg" else f"{operation}({', '.join(texts)})"


def parse_graph(text: str, **inputs: Any) -> Graph:
    """Read a graph; `inputs` are its inputs with their values.

    Examples
    --------
    >>> graph = parse_graph("a = x*x; y = a - a", x=3)
    >>> graph.steps
    (('a', 'mul', ('x', 'x')), ('y', 'sub', ('a', 'a')))
    >>> print(graph)
    a = x * x; y = a - a  at x = 3
    """
    reader = _Reader(inputs)
    for statement in ast.parse(text).body:
        reader.read(statement)
    return Graph(tuple(inputs.items()), tuple(reader.steps), reader.output)


class _Reader:
    """Take a formula apart into steps; a name that is used again gets a new one for its step."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.alias: dict[str, Argument] = {name: name for name in inputs}
        self.taken = set(inputs)
        self.steps: list[Step] = []
        self.output = ""

    def read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            target, value = statement.target.id, self.value(statement.value, "")
            result: Argument = self.add("iadd", (self.alias[target], value), target)
        else:
            assert isinstance(statement, ast.Assign)
            assert isinstance(statement.targets[0], ast.Name)
            target = statement.targets[0].id
            result = self.value(statement.value, target)
        self.alias[target] = result
        self.output = result if isinstance(result, str) else self.add("constant", (result,), target)

    def value(self, expression: ast.expr, name: str) -> Argument:
        match expression:
            case ast.Constant(value=float() | int() as number):
                return number
            case ast.Name(id=known):
                return self.alias[known]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int() as number)):
                return -number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.add("neg", (self.value(operand, ""),), name)
            case ast.BinOp(left=left, op=op, right=right):
                args = (self.value(left, ""), self.value(right, ""))
                return self.add(BINARY_OPERATIONS[type(op)], args, name)
            case ast.Call(func=ast.Name(id=function), args=args):
                return self.add(function, tuple(self.value(arg, "") for arg in args), name)
        raise AssertionError(ast.unparse(expression))

    def add(self, operation: str, args: tuple[Argument, ...], name: str) -> str:
        count = 1
        own = name
        while not own or own in self.taken:
            own, count = f"{name or 'v'}{count if not name else '_' + str(count)}", count + 1
        self.taken.add(own)
        self.steps.append((own, operation, args))
        return own


# Operations whose domain is all numbers and whose slopes stay small, so that errors stay visible.
EASY = ("add", "sub", "mul", "sin", "cos", "neg", "tanh")


def random_graph(
    rng: random.Random,
    operations: Sequence[str] = EASY,
    size: int = 8,
    inputs: int = 2,
    constants: bool = True,
) -> Graph:
    """Make a random graph of some operations, in which nodes are used again and again.

    Examples
    --------
    >>> print(random_graph(random.Random(1), ("add", "mul"), 3, constants=False))
    v1 = x1 + x1; v2 = x1 * x1; v3 = v2 * x2  at x1 = 0.56, x2 = 1.42
    """
    points = tuple((f"x{i}", round(rng.uniform(0.4, 1.6), 2)) for i in range(1, inputs + 1))
    names: list[str] = [name for name, _ in points]
    steps: list[Step] = []
    for number in range(1, size + 1):
        operation = rng.choice(list(operations))
        recent = [*names, *names[-3:]]  # those of late are used more often
        args: list[Argument] = [rng.choice(recent)]
        if operation in OPERATION_SIGNS:
            args.append(rng.choice(recent))
            if constants and rng.random() < 0.2:
                args[rng.randrange(2)] = rng.choice([0.5, 2, 3])
        if operation == "pow":
            args = [args[0] if isinstance(args[0], str) else names[-1], rng.choice([2, 3])]
        if operation in ("div", "log", "sqrt"):
            if not isinstance(args[-1], str):
                args[-1] = names[-1]
            # denominators and arguments stay positive
            steps.append((f"p{number}", "mul", (args[-1], args[-1])))
            steps.append((f"q{number}", "add", (f"p{number}", 1.5 if constants else names[0])))
            args[-1] = f"q{number}"
        steps.append((f"v{number}", operation, tuple(args)))
        names.append(f"v{number}")
    return Graph(points, tuple(steps), names[-1])
