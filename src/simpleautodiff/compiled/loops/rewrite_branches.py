"""Rewrite the decisions in a step of a loop as calls that may compute both branches.

``if test: x = a`` becomes ``x = decide(test, then, otherwise, ...)``, where the branches are
functions of the variables that they set; `a if test else b`, `and`, `or`, `min` and `max` become
calls, too. A branch that leaves the step, writes to elements, or holds a loop stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from simpleautodiff.compiled.loops.step_variables import SCOPES, find_stored

_EXTREMES = ("min", "max")
_SETTING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass, ast.Expr)


def rewrite_branches(function: ast.FunctionDef) -> None:
    """Rewrite the decisions in a step, or in the test, of a loop."""
    function.body = _BranchRewriter(function).block(function.body)


class _BranchRewriter(ast.NodeTransformer):
    """Rewrites the decisions of one function, those inside others first."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.count = 0
        nodes = [*ast.walk(function)]
        self._read_elsewhere = {
            id(node): _find_reads(nodes, {*map(id, ast.walk(node))})
            for node in nodes
            if isinstance(node, ast.If)
        }

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite some statements."""
        made = [self.visit(statement) for statement in statements]
        return [x for each in made for x in (each if isinstance(each, list) else [each])]

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a part of the function; other functions inside stay as they are."""
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_If(self, node: ast.If) -> Any:
        """Rewrite a statement."""
        self.generic_visit(node)
        stored = find_stored(ast.Module([*node.body, *node.orelse], []))
        names = sorted(stored.names)
        kept = [name for name in names if name in self._read_elsewhere[id(node)]]
        if not kept or not all(map(_can_join, [*node.body, *node.orelse])):
            return node
        self.count += 1
        branches = [
            define(f"<{name} {self.count}>", names, [*block, _return(kept)])
            for name, block in (("then", node.body), ("else", node.orelse))
        ]
        named = [texts(names), texts(sorted(stored.written))]
        arguments = [node.test, *[load(branch.name) for branch in branches], _variables(), *named]
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in kept], ast.Store())
        call = ast.Assign([targets], ast.Call(load("<decide>"), arguments, []))
        return [ast.copy_location(statement, node) for statement in (*branches, call)]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Rewrite ``a if test else b``."""
        self.generic_visit(node)
        branches = [_delay(node.body), _delay(node.orelse)]
        return _call("<select>", node, [node.test, *branches, _variables()])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Rewrite ``a and b and c`` as ``both(a, lambda: both(b, lambda: c))``."""
        self.generic_visit(node)
        name = "<both>" if isinstance(node.op, ast.And) else "<either>"
        *others, made = node.values
        for test in reversed(others):
            made = _call(name, node, [test, _delay(made), _variables()])
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite ``min(a, b)``."""
        self.generic_visit(node)
        is_extreme = isinstance(node.func, ast.Name) and node.func.id in _EXTREMES
        if not is_extreme or len(node.args) < 2 or node.keywords:
            return node
        return _call("<extreme>", node, [node.func, *node.args])


def _find_reads(nodes: Iterable[ast.AST], inside: set[int]) -> set[str]:
    """Return the variables that are read outside of some nodes."""
    names = {x.id for x in nodes if isinstance(x, ast.Name) and id(x) not in inside
             and isinstance(x.ctx, ast.Load)}  # fmt: skip
    targets = [x.target for x in nodes if isinstance(x, ast.AugAssign) and id(x) not in inside]
    return names | {target.id for target in targets if isinstance(target, ast.Name)}


def _can_join(statement: ast.stmt) -> bool:
    """Tell whether a statement of a branch only sets variables."""
    if isinstance(statement, ast.FunctionDef):
        return statement.name.startswith(("<then", "<else"))
    stores = [x for x in ast.walk(statement) if isinstance(getattr(x, "ctx", None), ast.Store)]
    return isinstance(statement, _SETTING) and not any(
        isinstance(x, ast.Subscript | ast.Attribute) for x in stores
    )


# Pieces of code. ----------------------------------------------------------------------------------


def load(name: str) -> ast.Name:
    """Return the code that reads a variable."""
    return ast.Name(name, ast.Load())


def define(name: str, parameters: list[str], body: Iterable[ast.stmt]) -> ast.FunctionDef:
    """Return the code of a function."""
    args = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
    made = ast.FunctionDef(name, args, list(body), [], None)
    made.type_params = []  # type: ignore[attr-defined]
    return made


def texts(names: list[str]) -> ast.Tuple:
    """Return the code of a tuple of names."""
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _variables() -> ast.Call:
    return ast.Call(load("<locals>"), [], [])


def _delay(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(nothing, value), value)


def _call(name: str, like: ast.expr, arguments: list[Any]) -> ast.expr:
    return ast.copy_location(ast.Call(load(name), arguments, []), like)


def _return(names: list[str]) -> ast.Return:
    return ast.Return(ast.Tuple([load(name) for name in names], ast.Load()))
