"""Read a formula such as ``log(x1) + x1*x2 - sin(x2)`` into a function of its variables.

Python's own parser reads the text; its tree is checked against an allow-list of node types and
names and compiled to a flat list of instructions. Nothing is ever evaluated by `eval`, and nothing
is recursive. A formula may have several lines: assignments, then a result.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import math
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from simpleautodiff.core.level import apply
from simpleautodiff.errors import FormulaError
from simpleautodiff.program.formula_hints import (
    REFUSALS,
    SIGN_HINTS,
    simplify_message,
    suggest_function,
)
from simpleautodiff.program.formula_names import (
    ALIASES,
    CONSTANTS,
    FORMULA_FUNCTIONS,
    FUNCTION_NAMES,
    GREEK_NAMES,
    MAX_NAME,
    WELL_FORMED,
)
from simpleautodiff.rules.row import TABLE

MAX_CHARACTERS = 10_000
MAX_DEPTH = 200
MAX_NODES = 5_000
AST_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "mod",
    ast.Pow: "power",
    ast.USub: "neg",
    ast.UAdd: "pos",
}
_ASCII_SIGNS = str.maketrans(dict(zip("×·⋅∗÷−–", "****/--", strict=True), **{"^": "**"}))

_CALL_PATTERN = "|".join(sorted(FUNCTION_NAMES, key=len, reverse=True))
_KEYWORD_PATTERN = "|".join(word for word in keyword.kwlist if word not in ("def", "return"))
_HINTS = [
    (re.compile(rf"\b({_CALL_PATTERN})\s+[\w.]"), r"write \1(...)"),
    (re.compile(rf"\b({_KEYWORD_PATTERN})\b"), r"\1 is a word of Python: choose another name"),
    (re.compile(r"(?<![\w.])[\d.]+\s*[^\W\d]"), "write * between factors, as in 2*x"),
    (re.compile(r"[\w)]\s+[\w(]|\)\s*\w"), "write * between factors, as in x*y"),
    (re.compile(r"\|"), "write abs(x) for |x|"),
    (re.compile(r"!"), "write gamma(x + 1) for x!"),
]
Instruction = tuple[str, Any, int]  # the operation, its argument, its line


class Formula:
    """A function read from text; `steps` tells on which line each value is computed."""

    __name__ = __qualname__ = "formula"

    def __init__(self, text: str, code: Sequence[Instruction], names: Sequence[str]) -> None:
        self.text = text
        self.code = code
        self.names = list(names)
        self.__signature__ = signature_of(names)

    def with_variables(self, names: Sequence[str]) -> Formula:
        """Return the formula as a function of these variables, of which it may read fewer."""
        return Formula(self.text, self.code, names)

    def __call__(self, *values: Any) -> Any:
        """Evaluate the formula."""
        *_, (_, _, result) = self.steps(*values)
        return result

    def steps(self, *values: Any) -> Iterator[tuple[int, str, Any]]:
        """Evaluate on a stack: yield the line of each value, its name, and the value."""
        variables = dict(zip(self.names, values, strict=True))
        stack: list[Any] = []
        for kind, what, line in self.code:
            if kind == "number":
                stack.append(what)
            elif kind == "read":
                stack.append(variables[what])
            elif kind == "name":
                variables[what] = stack.pop()
                yield line, what, variables[what]
                continue
            else:
                arity = TABLE[what].arity
                stack[-arity:] = [_apply(what, stack[-arity:])]
            yield line, "", stack[-1]


def parse(text: str) -> tuple[Formula, list[str]]:
    """Return the function that `text` defines, and its variables in order of appearance.

    Examples
    --------
    >>> f, names = parse("log(x1) + x1*x2 - sin(x2)")
    >>> names, round(f(2.0, 5.0), 3)
    (['x1', 'x2'], 11.652)

    Intermediate values can be assigned to names, on lines of their own or before a semicolon; a
    small function definition is read as well.

    >>> f, names = parse("a = x*y; sin(a) + a")
    >>> names, f(0.0, 7.0)
    (['x', 'y'], 0.0)
    """
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"the formula has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    reader = _Reader(textwrap.dedent(text).strip().translate(_ASCII_SIGNS))
    return Formula(reader.text, reader.code, reader.names), reader.names


def signature_of(names: Sequence[str]) -> inspect.Signature:
    """Return the signature of a function with these parameters, positional or by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def read_float(text: str, name: str) -> float:
    """Return the float that a text says, not the inf that a number beyond all floats would become.

    Examples
    --------
    >>> read_float("2.5", "x"), read_float("-inf", "x")
    (2.5, -inf)
    """
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise FormulaError(f"the value of {name} is {text[:40]!r}, which is too large for a float")
    return number


def _apply(name: str, args: list[Any]) -> Any:
    if name == "power" and all(isinstance(arg, int) for arg in args):
        args[0] = float(args[0])  # 9**9**9 in integers would never end
    return _bound_integer(apply(TABLE[name], *args))


def _bound_integer(number: Any) -> Any:
    """Return small integers as integers, so that x**2 is a square, and large ones as floats."""
    return float(number) if isinstance(number, int) and abs(number) >= 2**53 else number


class _Reader:
    """The instructions of a formula, and its variables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code: list[Instruction] = []
        self.names: list[str] = []
        self._given: set[str] = set()  # assigned in the formula
        self._defined = False  # whether all variables are known, from a function's parameters
        self._count = 0
        body = self._parse()
        if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
            body = self._read_definition(body[0])
        for statement in body[:-1]:
            self._read_line(statement)
        self._read_result(body[-1])

    def _parse(self) -> list[ast.stmt]:
        for place, character in enumerate(self.text):
            if character in SIGN_HINTS:
                line = self.text.count("\n", 0, place) + 1
                column = place - (self.text.rfind("\n", 0, place) + 1)
                raise self._blame_column(line, column, f"{character}: {SIGN_HINTS[character]}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the parser, about what is rejected below
                body = ast.parse(self.text).body
        except SyntaxError as error:
            raise self._explain_syntax_error(error) from None
        except (MemoryError, RecursionError):
            raise FormulaError("the formula is too long or nested too deeply") from None
        except ValueError as error:
            raise FormulaError(f"the formula cannot be read: {error}") from None
        if not body:
            raise FormulaError("the formula is empty; write one such as x**2 * sin(y)")
        return body

    def _explain_syntax_error(self, error: SyntaxError) -> FormulaError:
        message = f"{simplify_message(error.msg)}{_find_hint(self.text)}"
        line, column = error.lineno or 1, (error.offset or 1) - 1
        if message == "invalid syntax" and column >= len(self.text):
            message = "something is missing at the end"
        return self._blame_column(line, column, message)

    def _read_definition(self, function: ast.FunctionDef) -> list[ast.stmt]:
        match function.args:
            case ast.arguments(
                posonlyargs=[], vararg=None, kwonlyargs=[], kwarg=None, defaults=[], args=args
            ) if not function.decorator_list:
                for arg in args:
                    self._read_variable(arg.arg, arg)
                if not isinstance(function.body[-1], ast.Return):
                    raise self._blame(function.body[-1], "a function ends with return ...")
                self._defined = True
                return function.body
        raise self._blame(function, "a function has plain parameters here: def f(x, y):")

    def _read_line(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                self._compile_expression(value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                start = ast.copy_location(ast.Name(name, ast.Load()), target)
                self._compile_expression(ast.copy_location(ast.BinOp(start, op, value), statement))
            case ast.Expr():
                raise self._blame(statement, "what this line computes is not used: write a = ...")
            case ast.Return():
                raise self._blame(statement, "the lines after this one are never reached")
            case _:
                raise self._explain_refusal(statement)
        if name in FUNCTION_NAMES - GREEK_NAMES:
            raise self._blame(target, f"{name} is a function: choose another name")
        self._check_name(name, target)
        self.code.append(("name", name, target.lineno))
        self._given.add(name)

    def _read_result(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self._compile_expression(value)
            case _:
                self._read_line(statement)
                self.code.append(("read", *self.code[-1][1:]))

    def _compile_expression(self, tree: ast.expr) -> None:
        """Compile an expression, operands before the operation."""
        order: list[ast.expr] = []
        stack = [(tree, 1)]
        while stack:
            node, depth = stack.pop()
            order.append(node)
            self._count += 1
            if depth > MAX_DEPTH:
                raise FormulaError(f"the formula is nested deeper than {MAX_DEPTH}")
            if self._count > MAX_NODES:
                raise FormulaError(f"the formula has more than {MAX_NODES:,} parts")
            match node:
                case ast.BinOp(left=left, right=right):  # a long sum is not nested
                    stack += [(left, depth), (right, depth + 1)]
                case ast.UnaryOp(operand=operand):
                    stack.append((operand, depth + 1))
                case ast.Call(func=ast.Name(), args=args):
                    stack += [(arg, depth + 1) for arg in args]
        in_text = sorted(reversed(order), key=lambda node: (node.lineno, node.col_offset))
        done = {node: self._read_instruction(node) for node in in_text}  # report the first mistake
        self._check_constants([(node, *done[node]) for node in reversed(order)])
        self.code += [(*done[node], node.lineno) for node in reversed(order)]

    def _check_constants(self, code: Sequence[tuple[ast.expr, str, Any]]) -> None:
        """Evaluate the parts without variables, and reject those that are not finite."""
        known: list[Any] = []  # None for what depends on a variable
        for node, kind, what in code:
            args = [known.pop() for _ in range(TABLE[what].arity)][::-1] if kind == "call" else []
            if kind == "number":
                known.append(what)
            elif None in args or not args:
                known.append(None)
            else:
                known.append(self._evaluate_constant(node, what, args))

    def _evaluate_constant(self, node: ast.expr, name: str, args: list[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            number = _apply(name, args)
        if not abs(number) < math.inf:
            raise self._blame(node, "this part is too large for a number, or outside a domain")
        return number

    def _read_instruction(self, node: ast.expr) -> tuple[str, Any]:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return "number", self._read_number(number, node)
            case ast.Name(id=name) if name in CONSTANTS:
                return "number", CONSTANTS[name]
            case ast.Name(id=name):
                if name not in self._given:
                    self._read_variable(name, node)
                return "read", name
            case ast.UnaryOp(op=op) | ast.BinOp(op=op) if type(op) in AST_OPERATORS:
                return "call", AST_OPERATORS[type(op)]
            case ast.Call(func=ast.Name() as function, args=args, keywords=[]):
                return "call", self._read_function(function, args)
        raise self._explain_refusal(node)

    def _read_number(self, number: float, node: ast.expr) -> Any:
        try:
            finite = math.isfinite(number)
        except OverflowError:
            finite = False
        if not finite:
            raise self._blame(node, "the number is too large")
        return _bound_integer(number)

    def _read_variable(self, name: str, node: ast.expr | ast.arg) -> None:
        self._check_name(name, node)
        if name in self.names:
            return
        if self._defined:
            raise self._blame(node, f"{name} has no value: it is no parameter of the function")
        self.names.append(name)

    def _check_name(self, name: str, node: ast.expr | ast.arg) -> None:
        if name in CONSTANTS:
            raise self._blame(node, f"{name} is a constant: choose another name")
        if name in FUNCTION_NAMES - GREEK_NAMES:
            raise self._blame(node, f"{name} is a function: write {self._spell_call(name)}")
        if not WELL_FORMED.fullmatch(name):
            raise self._blame(
                node,
                "a variable is letters (a to z, α to ω), digits and underscores, a letter first",
            )
        if len(name) > MAX_NAME:
            raise self._blame(node, f"a name has at most {MAX_NAME} letters")

    def _spell_call(self, name: str) -> str:
        """Spell a call of a function; the power of one, sin^2(x), as sin(x)**2."""
        power = re.search(rf"\b{name}\s*\*\*\s*(\d+)\s*(\([^()]*\))?", self.text)
        return f"{name}{power[2] or '(...)'}**{power[1]}" if power else f"{name}(...)"

    def _read_function(self, function: ast.Name, args: list[ast.expr]) -> str:
        name = ALIASES.get(function.id, function.id)
        if name not in FORMULA_FUNCTIONS:
            near = self._suggest(function)
            raise self._blame(function, f"there is no function {function.id!r}{near}")
        arity = TABLE[name].arity
        if len(args) != arity:
            plural = "s" * (arity != 1)
            message = f"{function.id} takes {arity} argument{plural}, not {len(args)}"
            if name == "log" and len(args) == 2:
                message += "; for the logarithm to another base write log(x)/log(b)"
            raise self._blame(function, message)
        return name

    def _suggest(self, function: ast.Name) -> str:
        name = function.id
        if name in CONSTANTS or name in self.names or name in self._given or len(name) == 1:
            return f"; for a product write {name}*(...)"
        return suggest_function(name, FUNCTION_NAMES)

    def _explain_refusal(self, node: ast.expr | ast.stmt) -> FormulaError:
        match node:
            case ast.BinOp(op=ast.BitOr()):
                return self._blame(node, "write abs(x) for |x|")
            case ast.Call(func=ast.Name()):
                return self._blame(node, "an argument is given by its place: sin(x), hypot(x, y)")
            case ast.Call(func=ast.Constant() | ast.BinOp() | ast.UnaryOp() | ast.Call() as factor):
                return self._blame(node, "write * between factors", factor.end_col_offset)
            case ast.Call(func=function):
                return self._explain_refusal(function)
            case ast.Lambda(body=body):
                own = ast.get_source_segment(self.text, body)
                return self._blame(node, f"a formula stands alone, without lambda: write {own}")
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in FUNCTION_NAMES:
                return self._blame(node, f"write {name}(...), not {module}.{name}(...)")
        return self._blame(node, REFUSALS.get(type(node), "this is no part of a formula"))

    def _blame(self, node: Any, message: str, column: int | None = None) -> FormulaError:
        """Return an error that points at a node, whose column counts bytes."""
        line = self.text.splitlines()[node.lineno - 1]
        start = node.col_offset if column is None else column
        letters = len(line.encode()[:start].decode(errors="ignore"))
        return self._blame_column(node.lineno, letters, message)

    def _blame_column(self, lineno: int, column: int, message: str) -> FormulaError:
        """Return an error that shows the line, or a part of it, with a caret under the mistake."""
        lines = self.text.splitlines() or [""]
        start = max(0, column - 40)
        shown = lines[min(lineno, len(lines)) - 1][start : start + 72].replace("\t", " ")
        return FormulaError(f"{message}\n  {shown}\n  {' ' * (column - start)}^")


def _find_hint(text: str) -> str:
    for pattern, hint in _HINTS:
        found = pattern.search(text)
        if found:
            return f"; {found.expand(hint)}"
    return ""
