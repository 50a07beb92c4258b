"""Read a formula such as ``log(x1) + x1*x2 - sin(x2)`` into a function of its names.

Python's own parser reads the text; what it returns is looked through with an allow-list of node
kinds and names, and nothing is ever evaluated by `eval`.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable
from typing import Any

from simpleautodiff.errors import FormulaError
from simpleautodiff.node import apply
from simpleautodiff.rules.row import TABLE

MAX_CHARACTERS = 10_000
MAX_DEPTH = 200
MAX_NODES = 5_000
CONSTANTS = {"pi": math.pi, "e": math.e}
OPERATORS: dict[type[ast.AST], str] = {
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
ALIASES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "max": "maximum"}
ALIASES |= {"min": "minimum", "absolute": "abs", "arctan2": "atan2", "pow": "power"}
_NOT_WRITTEN = {"where", "round", "stop_gradient", "sinc_derivative", "floor_divide"}
FUNCTIONS = sorted(
    name for name, row in TABLE.items() if not row.arrays and name not in _NOT_WRITTEN
)


def parse(text: str) -> tuple[Callable[..., Any], list[str]]:
    """Return the function that `text` writes, and its variables in the order they appear.

    Examples
    --------
    >>> f, names = parse("log(x1) + x1*x2 - sin(x2)")
    >>> names, round(f(2.0, 5.0), 3)
    (['x1', 'x2'], 11.652)
    """
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"the formula has {len(text):,} characters; {MAX_CHARACTERS:,} are read")
    tree = _tree(text)
    names = _check(tree, text)

    def formula(*values: Any) -> Any:
        return _evaluate(tree, dict(zip(names, values, strict=True)))

    formula.__name__ = formula.__qualname__ = "formula"
    return formula, names


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        hint = "; powers are written **" if "^" in text else ""
        raise _at(text.strip(), (error.offset or 1) - 1, f"{error.msg}{hint}") from None
    except (MemoryError, RecursionError):
        raise FormulaError(f"the formula is nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise FormulaError(f"the formula cannot be read: {error}") from None


def _at(text: str, column: int, message: str) -> FormulaError:
    start = max(0, column - 40)
    shown = text[start : start + 80].splitlines() or [""]
    return FormulaError(f"{message}\n  {shown[0]}\n  {' ' * (column - start)}^")


def _check(tree: ast.expr, text: str) -> list[str]:
    """Walk the tree without recursion; refuse what is not on the list; return the variables."""
    text = text.strip()
    names: dict[str, tuple[int, int]] = {}
    stack: list[tuple[ast.expr, int]] = [(tree, 1)]
    count = 0
    while stack:
        node, depth = stack.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise FormulaError(f"the formula is nested deeper than {MAX_DEPTH}")
        if count > MAX_NODES:
            raise FormulaError(f"the formula has more than {MAX_NODES:,} parts")
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                _float(number, node, text)
            case ast.Name(id=name) if name in CONSTANTS:
                pass
            case ast.Name(id=name):
                if name in FUNCTIONS or name in ALIASES:
                    raise _at(text, node.col_offset, f"{name} is a function: write {name}(...)")
                if not name.isascii() or name.startswith("_"):
                    raise _at(text, node.col_offset, "a variable is letters, digits, underscores")
                place = (node.lineno, node.col_offset)
                names[name] = min(names.get(name, place), place)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                stack.append((operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                stack += [(right, depth + 1), (left, depth + 1)]
            case ast.BinOp(op=ast.BitXor(), right=right):
                raise _at(text, right.col_offset - 1, "powers are written **, not ^")
            case ast.Call(func=ast.Name() as function, args=args, keywords=[]):
                _check_call(function, args, text)
                stack += [(arg, depth + 1) for arg in args]
            case _:
                kind = type(node).__name__
                raise _at(text, node.col_offset, f"a formula has no {kind} in it")
    return sorted(names, key=lambda name: names[name])


def _check_call(function: ast.Name, args: list[ast.expr], text: str) -> None:
    name = ALIASES.get(function.id, function.id)
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(function.id, [*FUNCTIONS, *ALIASES], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise _at(text, function.col_offset, f"there is no function {function.id!r}{hint}")
    arity = TABLE[name].arity
    if len(args) != arity:
        plural = "s" * (arity != 1)
        message = f"{function.id} takes {arity} argument{plural}, not {len(args)}"
        raise _at(text, function.col_offset, message)


def _float(number: Any, node: ast.expr, text: str) -> Any:
    """Return a constant; whole numbers stay whole, so that x**2 is a square."""
    try:
        float(number)
    except OverflowError:
        raise _at(text, node.col_offset, "the number is too large") from None
    return number if isinstance(number, int) and abs(number) < 2**53 else float(number)


def _evaluate(node: ast.expr, variables: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=number):
            return number if isinstance(number, int) and abs(number) < 2**53 else float(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return variables[name] if name in variables else CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand):
            return apply(TABLE[OPERATORS[type(op)]], _evaluate(operand, variables))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, variables), _evaluate(right, variables)
            if isinstance(op, ast.Pow) and isinstance(a, int) and isinstance(b, int):
                a = float(a)  # 9**9**9 in whole numbers would never end
            return apply(TABLE[OPERATORS[type(op)]], a, b)
        case ast.Call(func=ast.Name(id=name), args=args):
            row = TABLE[ALIASES.get(name, name)]
            return apply(row, *[_evaluate(arg, variables) for arg in args])
    raise AssertionError(f"_check let {ast.dump(node)} through")
