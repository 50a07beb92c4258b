"""Find the variables that one step of a Python loop hands to the next, or to what follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Stored(NamedTuple):
    """The variables that some code sets, and those whose elements it may change in place."""

    names: set[str]
    written: set[str]


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all inside it that belongs to the same function."""
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from walk_scope(child)


def walk_body(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield all inside a function that belongs to it."""
    for statement in function.body:
        yield from walk_scope(statement)


def find_stored(node: ast.AST) -> Stored:
    """Return the variables that a statement sets."""
    names: set[str] = set()
    written: set[str] = set()
    for part in _walk_stores(node):
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            written.add(part.target.id)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            assert isinstance(part.value, ast.Name)
            written.add(part.value.id)
    return Stored(names | written, written)


def _walk_stores(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what can set a variable: comprehensions have variables of their own."""
    yield node
    if not isinstance(node, SCOPES + _COMPREHENSIONS):
        for child in ast.iter_child_nodes(node):
            yield from _walk_stores(child)


def find_shared(function: ast.FunctionDef) -> set[str]:
    """Return the variables that other functions see change: global ones, and those of closures."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names |= {*node.names}
        is_step = str(getattr(node, "name", "")).startswith("<")  # of a loop that was rewritten
        if isinstance(node, (*SCOPES, ast.GeneratorExp)) and node is not function and not is_step:
            names |= {name for part in ast.walk(node) for name in _reads(part)}
    return names


def find_carried(
    function: ast.FunctionDef, loop: ast.stmt, body: list[ast.stmt], after: list[ast.stmt]
) -> list[str]:
    """Return the variables that a loop changes and that are read later.

    That is: in the next step, before they are set again, or outside the loop.
    """
    stored = {name for statement in [*body, loop] for name in find_stored(statement).names}
    flow = _Flow(stored)
    if isinstance(loop, ast.While):
        flow.load(loop.test, set())
    flow.block(body, set())
    inside = {id(node) for node in ast.walk(loop)} | {id(n) for s in body for n in ast.walk(s)}
    outside = [node for node in ast.walk(function) if id(node) not in inside]
    outside += [node for statement in after for node in ast.walk(statement)]
    read = {name for node in outside for name in _reads(node)}
    return sorted(stored & (flow.exposed | read))


def _reads(node: ast.AST) -> set[str]:
    """Return the variables that a node itself reads."""
    names: set[str] = set(getattr(node, "reads", ()))
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        names.add(node.id)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        names.add(node.target.id)
    return names


class _Flow:
    """Follows statements, and finds the variables that are read before they are set."""

    def __init__(self, stored: set[str]) -> None:
        self.exposed: set[str] = set()
        self._stored = stored

    def load(self, node: ast.AST, known: set[str]) -> None:
        """Note what a node reads."""
        self.exposed |= {name for part in ast.walk(node) for name in _reads(part)} - known

    def block(self, statements: list[ast.stmt], known: set[str]) -> set[str]:
        """Follow statements; return the variables that are set after them."""
        for statement in statements:
            known = self._follow(statement, known)
        return known

    def _follow(self, statement: ast.stmt, known: set[str]) -> set[str]:
        match statement:
            case ast.If():
                self.load(statement.test, known)
                known = known | find_stored(statement.test).names
                return self.block(statement.body, known) & self.block(statement.orelse, known)
            case ast.Match():
                self.load(statement.subject, known)
                return self._follow_cases(statement.cases, known)
            case ast.While():
                self.load(statement.test, known)
                self.block([*statement.body, *statement.orelse], known)
            case ast.For():
                self.load(statement.iter, known)
                inside = known | find_stored(statement.target).names
                self.block([*statement.body, *statement.orelse], inside)
            case ast.With():
                for item in statement.items:
                    self.load(item, known)
                    known = known | find_stored(item).names
                return self.block(statement.body, known)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.load(statement, known)
                return known | self._stored
            case _:
                self.load(statement, known)
                known = known | find_stored(statement).names
        return known

    def _follow_cases(self, cases: list[ast.match_case], known: set[str]) -> set[str]:
        """Return the variables that are set whichever case it is, or none of them."""
        ends = [known]
        for case in cases:
            self.load(case.pattern, known)
            self.load(case.guard or case.pattern, known)
            ends.append(self.block(case.body, known))
        return set.intersection(*ends)
