"""Rewrite Python's loops as calls: a step becomes a function of the variables that it changes.

``while test: body`` becomes ``x, y = repeat(test, step, x, y)``, where `test` and `step` are
functions of x and y, the variables that one step hands to the next. A `break`, a `return` or a
`raise` in the body ends the step with the number of the exit; what is returned or raised is
evaluated after the loop. What cannot be written so stays as it is.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from simpleautodiff.compiled.loops.rewrite_branches import define, load, rewrite_branches, texts
from simpleautodiff.compiled.loops.step_variables import (
    SCOPES,
    find_carried,
    find_shared,
    find_stored,
    walk_body,
    walk_scope,
)

_HELPERS = {  # what rewritten loops call, by module
    "simpleautodiff.compiled.loops.plain_loops": ("repeat", "repeat_over"),
    "simpleautodiff.compiled.loops.loop_rows": ("make_items", "read_item"),
    "simpleautodiff.compiled.loops.select_branches": (
        "select",
        "both",
        "either",
        "extreme",
        "decide",
    ),
    "builtins": ("locals",),
}
NO_LINES: frozenset[int] = frozenset()
REMEMBERED = 256  # answers: each takes reading a module anew, and a recording asks for many
GO_ON, BREAK = 0, 1  # exits of a step; each `return` and `raise` has a further number
_REFUSED = (
    ast.AsyncFor, ast.AsyncWith, ast.Await, ast.ClassDef, ast.Delete, ast.FunctionDef, ast.Global,
    ast.Import, ast.ImportFrom, ast.Lambda, ast.NamedExpr, ast.Nonlocal, ast.Try, ast.Yield,
    ast.YieldFrom,
)  # fmt: skip


F = TypeVar("F", bound=Callable[..., Any])


def remembered(function: F) -> F:
    """Remember what a function says of code; the same code of another file is other code."""
    known = lru_cache(REMEMBERED)(lambda _, *args: function(*args))
    return wraps(function)(lambda code, *args: known(code.co_filename, code, *args))  # type: ignore[return-value]


class Rewritten(NamedTuple):
    """The code of a function in which some loops are calls, and how many of them are needed."""

    code: CodeType
    needed: int


@remembered
def rewrite_loops(
    code: CodeType, lines: frozenset[int], may_be: frozenset[int] = NO_LINES
) -> Rewritten | None:
    """Return the code of the same function, with the loops around some lines as calls.

    Those that begin at one of the lines `may_be` are recorded by one step if that is fast. None if
    there are none, or if the source is not at hand.
    """
    source = _Source.find(code)
    if source is None:
        return None
    rewriting = _LoopRewriter(source.function, lines, may_be)
    source.function.body = [*_import_helpers(), *rewriting.block(source.function.body)]
    for part in [*ast.walk(source.function)]:
        if isinstance(part, ast.FunctionDef) and part.name.startswith("<"):
            rewrite_branches(part)
    made = source.compile(code) if rewriting.count else None
    return Rewritten(made, rewriting.needed) if made is not None else None


@remembered
def find_outermost_loop(
    code: CodeType,
    line: int,
    known: frozenset[int] = NO_LINES,
    refused: frozenset[int] = NO_LINES,
) -> int | None:
    """Return the line where the outermost loop around a line begins that can be rewritten.

    Those that begin at `known` lines are passed over: the next one is in them. So is a `while` that
    was refused; in a `for` that was refused, none is looked for.
    """
    source = _Source.find(code)
    if source is None:
        return None
    for loop in walk_body(source.function):
        if not isinstance(loop, _LOOPS) or loop.lineno in known:
            continue
        if loop.lineno <= line <= (loop.body[-1].end_lineno or 0):
            if loop.lineno in refused and isinstance(loop, ast.While):
                continue
            rewriting = _LoopRewriter(source.function, NO_LINES, frozenset([loop.lineno]))
            is_possible = loop.lineno not in refused and rewriting.can_rewrite(loop)
            return loop.lineno if is_possible else None
    return None


class _Source(NamedTuple):
    """The source of a function, in that of its module."""

    module: ast.Module
    function: ast.FunctionDef

    @classmethod
    def find(cls, code: CodeType) -> _Source | None:
        """Return the source of a function; None if it is not the one that was compiled."""
        try:
            module = ast.parse("".join(linecache.getlines(code.co_filename)))
        except (SyntaxError, ValueError):
            return None
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *[x.lineno for x in node.decorator_list]])
                source = cls(module, node)
                if first == code.co_firstlineno and source.compile(code) == code:
                    return source
        return None

    def compile(self, code: CodeType) -> CodeType | None:
        """Compile the module; return the code of the function, if it has the same variables."""
        tree = ast.fix_missing_locations(self.module)
        for made in nested_codes(compile(tree, code.co_filename, "exec", dont_inherit=True)):
            if (made.co_qualname, made.co_firstlineno) == (code.co_qualname, code.co_firstlineno):
                return made if made.co_freevars == code.co_freevars else None
        return None


class _LoopRewriter:
    """Rewrites the loops of one function, those inside others first."""

    def __init__(
        self, definition: ast.FunctionDef, lines: frozenset[int], may_be: frozenset[int]
    ) -> None:
        self.definition, self.lines, self.may_be = definition, lines, may_be
        self.count = self.needed = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the loops among some statements."""
        return [new for statement in statements for new in self._rewrite(statement)]

    def _rewrite(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, SCOPES):
            return [statement]
        holders = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
        for holder in holders:
            for name in ("body", "orelse", "finalbody"):
                if isinstance(inside := getattr(holder, name, None), list):
                    inside[:] = self.block(inside)
        if isinstance(statement, ast.While | ast.For) and self._is_wanted(statement):
            return self._rewrite_loop(statement)
        return [statement]

    def _is_needed(self, loop: ast.While | ast.For) -> bool:
        """Tell whether a loop is around one of the lines."""
        end = loop.body[-1].end_lineno or 0
        return any(loop.lineno <= line <= end for line in self.lines)

    def _is_wanted(self, loop: ast.While | ast.For) -> bool:
        is_wanted = loop.lineno in self.may_be or self._is_needed(loop)
        return is_wanted and self.can_rewrite(loop)

    def can_rewrite(self, loop: ast.While | ast.For) -> bool:
        """Tell whether a step of a loop can be a function."""
        repeated = [part for part in ast.iter_child_nodes(loop) if part not in loop.orelse]
        if not all(_can_repeat(node) for part in repeated for node in walk_scope(part)):
            return False
        return not find_stored(loop).names & find_shared(self.definition)

    def _rewrite_loop(self, loop: ast.While | ast.For) -> list[ast.stmt]:
        self.count += 1
        number, is_needed = self.count, self._is_needed(loop)
        self.needed += is_needed
        exits = _Exits()
        body = [_ItemReader().visit(exits.visit(statement)) for statement in loop.body]
        after = exits.after(f"<exit {number}>", loop.orelse)
        loop.orelse = []
        if isinstance(loop, ast.For):
            body.insert(0, ast.Assign([loop.target], load("<item>"), lineno=loop.lineno))
        names = find_carried(self.definition, loop, body, after)
        for end, exit_number in exits.ends:
            end.value = _end_step(exit_number, names).value
        body.append(_end_step(GO_ON, names))
        made: list[ast.stmt] = []
        if isinstance(loop, ast.While):
            what: ast.expr = load(f"<test {number}>")
            made.append(define(f"<test {number}>", names, [ast.Return(loop.test)]))
            step = define(f"<step {number}>", names, body)
        else:
            what = _rewrite_items(loop.iter)
            step = define(f"<step {number}>", ["<item>", *names], body)
        written = [name for name in names if name in find_stored(loop).written]
        variables, has_exits = ast.Call(load("<locals>"), [], []), ast.Constant(exits.number > 0)
        call = ast.Call(
            load("<repeat>" if isinstance(loop, ast.While) else "<repeat over>"),
            [what, load(step.name), variables, texts(names), texts(written), has_exits],
            [ast.keyword("is_needed", ast.Constant(is_needed))],
        )
        targets = ast.Tuple([_store(f"<exit {number}>"), *map(_store, names)], ast.Store())
        call_loop = ast.Assign([targets], call)
        call_loop.reads = {*names}  # type: ignore[attr-defined]
        made = [*made, step, call_loop, *after]
        return [ast.copy_location(statement, loop) for statement in made]


class _Exits(ast.NodeTransformer):
    """Replaces what leaves a loop by the end of its step."""

    def __init__(self) -> None:
        self.number = GO_ON
        self.ends: list[tuple[ast.Return, int]] = []
        self._later: list[tuple[int, ast.stmt]] = []
        self._is_inside = False  # whether in a loop of the step

    def after(self, name: str, otherwise: list[ast.stmt]) -> list[ast.stmt]:
        """Return what is done after the loop: it leaves the function, raises, or goes on.

        `otherwise` is the block after `else`, for a loop that has ended by itself.
        """
        blocks = [(number, [statement]) for number, statement in self._later]
        blocks += [(GO_ON, otherwise)] if otherwise else []
        return [
            ast.copy_location(
                ast.If(ast.Compare(load(name), [ast.Eq()], [ast.Constant(number)]), block, []),
                block[0],
            )
            for number, block in blocks
        ]

    def visit(self, node: ast.AST) -> Any:
        """Replace the exits in a statement."""
        if isinstance(node, SCOPES):
            return node
        if isinstance(node, ast.Return | ast.Raise):
            self.number = max(self.number, BREAK) + 1
            self._later.append((self.number, node))
            return self._end(node, self.number)
        if isinstance(node, ast.Break | ast.Continue) and not self._is_inside:
            is_break = isinstance(node, ast.Break)
            self.number = max(self.number, BREAK) if is_break else self.number
            return self._end(node, BREAK if is_break else GO_ON)
        if isinstance(node, _LOOPS):  # what is after `else` is not in the loop
            outside, self._is_inside = self._is_inside, True
            node.body = [self.visit(statement) for statement in node.body]
            self._is_inside = outside
            node.orelse = [self.visit(statement) for statement in node.orelse]
            return node
        return self.generic_visit(node)

    def _end(self, node: ast.AST, number: int) -> ast.AST:
        end = ast.Return()
        self.ends.append((end, number))
        return ast.copy_location(end, node)


_LOOPS = (ast.While, ast.For)


class _ItemReader(ast.NodeTransformer):
    """Replaces ``x[i]`` by a call: a plain array cannot look up a recorded index itself."""

    def visit(self, node: ast.AST) -> Any:
        """Replace what reads elements in a statement."""
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace one read."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or _has_slice(node.slice):
            return node
        call = ast.Call(load("<read item>"), [node.value, node.slice], [])
        return ast.copy_location(call, node)


def _has_slice(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.Slice | ast.Starred) for part in parts)


def _rewrite_items(items: ast.expr) -> ast.expr:
    """Return what a loop goes over; ``zip(a, b)`` as a call that can tell what a and b are."""
    if not isinstance(items, ast.Call):
        return items
    call = ast.Call(load("<make items>"), [items.func, *items.args], items.keywords)
    return ast.copy_location(call, items)


def _can_repeat(node: ast.AST) -> bool:
    """Tell whether a part of a loop can be part of a function."""
    if isinstance(node, ast.FunctionDef) and node.name.startswith("<"):
        return True  # a loop inside that has been rewritten
    if isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
        return isinstance(node, ast.MatchAs) and node.name is None  # others set variables
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)  # what does not return anything has effects
    changes = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    elsewhere = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    if elsewhere and not isinstance(node.value, ast.Name):  # type: ignore[attr-defined]
        return False
    return not changes and not isinstance(node, _REFUSED)


# Pieces of code. ----------------------------------------------------------------------------------


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _end_step(number: int, names: list[str]) -> ast.Return:
    return ast.Return(ast.Tuple([ast.Constant(number), *map(load, names)], ast.Load()))


def _import_helpers() -> list[ast.stmt]:
    """Return the code that imports what the rewritten loops call."""
    return [
        ast.ImportFrom(
            module, [ast.alias(name, f"<{name.replace('_', ' ')}>") for name in names], 0
        )
        for module, names in _HELPERS.items()
    ]


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield code and all code of functions defined in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from nested_codes(part)
