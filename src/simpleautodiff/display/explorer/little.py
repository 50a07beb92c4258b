"""Read a small function, `def f(x, y):` with assignments and a `return`, or a formula alone.

Each right-hand side is read by the parser of formulas, which evaluates nothing but what it knows.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simpleautodiff.errors import FormulaError
from simpleautodiff.expression import MAX_CHARACTERS, parse
from simpleautodiff.node import Node
from simpleautodiff.order import execution_order
from simpleautodiff.program import Program, trace

MAX_LINES = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a small function: `target` = `function`(`names`), at a place in the text."""

    target: str
    function: Callable[..., Any]
    names: list[str]
    number: int


@dataclass(frozen=True, slots=True)
class Little:
    """A small function: its text, its variables, its lines."""

    text: str
    names: list[str]
    lines: list[Line]

    def program(self, *values: Any) -> Program:
        """Run it once and return its program, with the line of each node."""
        made: list[tuple[int, Any]] = []

        def f(*args: Any) -> Any:
            known = dict(zip(self.names, args, strict=True))
            for line in self.lines:
                known[line.target] = line.function(*[known[name] for name in line.names])
                made.append((line.number, known[line.target]))
            return known[""]

        f.__name__ = f.__qualname__ = "the formula"
        program = trace(f, *values, names=self.names)
        text = self.text.splitlines()
        lines: dict[Node, str] = {}
        for number, node in made if len(text) > 1 else []:
            for each in execution_order(node) if isinstance(node, Node) else []:
                if each.primitive is not None:
                    lines.setdefault(each, f"formula:{number}: {text[number - 1].strip()}")
        program.lines = lines
        return program


def read(text: str) -> Little:
    r"""Read a formula or a small function.

    Examples
    --------
    >>> f = read("def f(x, y):\n    a = x * y\n    return a + a * a")
    >>> f.names, f.program(2.0, 3.0).tangents("x")["v3"]
    (['x', 'y'], 39.0)
    >>> read("x*y").names
    ['x', 'y']
    """
    text = textwrap.dedent(text.replace("\r\n", "\n")).strip()
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"the text has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    if "\n" not in text and not text.startswith(("def ", "return ")):
        function, names = parse(text)
        return Little(text, names, [Line("", function, names, 1)])
    return _function(text)


def _function(text: str) -> Little:
    body, given = _body(text)
    lines: list[Line] = []
    names = list(given)
    known = set(given)
    for statement in body:
        target, value = _parts(statement, text)
        line = _line(target, value, text)
        free = [name for name in line.names if name not in known]
        if given and free:
            raise FormulaError(f"line {line.number}: {free[0]} has no value yet")
        names += free
        known |= {*free, target}
        lines.append(line)
    if not lines or lines[-1].target:
        raise FormulaError("a small function ends with `return ...`")
    if any(not line.target for line in lines[:-1]):
        raise FormulaError("a small function has one `return`, at its end")
    return Little(text, names, lines)


def _body(text: str) -> tuple[list[ast.stmt], list[str]]:
    """Return the statements, and the parameters if there is a `def`."""
    try:
        wrapped = text if text.startswith("def ") else f"def f():\n{textwrap.indent(text, ' ')}"
        tree = ast.parse(wrapped)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"the text cannot be read: {error}") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise FormulaError("one function is read: `def f(x, y):`, assignments, `return ...`")
    function = tree.body[0]
    if function.decorator_list or len(function.body) > MAX_LINES:
        raise FormulaError(f"a small function has up to {MAX_LINES} lines and no decorators")
    spec = function.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults or spec.posonlyargs:
        raise FormulaError("the parameters of a small function are names alone")
    if not text.startswith("def "):
        for node in ast.walk(function):
            if hasattr(node, "lineno"):
                node.lineno -= 1
    return function.body, [arg.arg for arg in spec.args]


def _parts(statement: ast.stmt, text: str) -> tuple[str, ast.expr]:
    """Return what is assigned to, empty for a return, and the formula."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.Return(value=ast.expr() as value):
            return "", value
    shown = text.splitlines()[statement.lineno - 1].strip()
    raise FormulaError(
        f"line {statement.lineno}: a small function has assignments and a return alone\n  {shown}"
    )


def _line(target: str, value: ast.expr, text: str) -> Line:
    try:
        function, names = parse(ast.unparse(value))
    except (FormulaError, RecursionError) as error:
        raise FormulaError(f"line {value.lineno}: {error}") from None
    return Line(target, function, names, value.lineno)
