"""Mutants of a module: copies of its syntax tree, each with one change that a test should notice.

Words, annotations, docstrings and what is raised are left alone: a change there is no other number.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FACTOR = 1 + 1e-9  # what a wrong constant in the last digits of a formula looks like

SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ORDERED = ast.Sub | ast.Div | ast.Pow | ast.MatMult | ast.Mod | ast.FloorDiv
SCALED = ast.Mult | ast.Div | ast.Pow | ast.MatMult
SEQUENCES = ast.Tuple | ast.List
WORDS = {"text", "latex", "reason", "doc", "message", "name"}  # keywords whose values are words
TYPES = ("isinstance", "issubclass", "cast", "TypeVar", "NewType", "getattr", "hasattr", "setattr")


Scopes = tuple[tuple[int, int], ...]  # lines from, to


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: Path
    number: int  # in the order of the module, by which it is made again
    kind: str
    function: str  # the dotted name of what it stands in
    line: int
    before: str
    after: str
    scopes: Scopes
    time: int = 1  # the how many-th of those that read the same

    @property
    def title(self) -> str:
        """Say what is changed, without its line, which moves."""
        again = f" ({self.time})" if self.time > 1 else ""
        return f"{self.function}: {self.before} -> {self.after}{again}"


@dataclass
class _Place:
    """A node of the tree and the field of its parent that holds it."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def _is_for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in ast.unparse(test)


class _Finder:
    """Walk through a module and yield (kind, place, node, replacement), always in one order."""

    def __init__(self, tree: ast.Module, scaled: bool) -> None:
        self.tree, self.scaled = tree, scaled

    def find(self) -> Iterator[tuple[str, _Place, ast.expr, ast.expr, tuple[ast.AST, ...]]]:
        yield from self._inside(self.tree, ())

    def _inside(self, node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator:
        above = (*above, node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_comment", "op", "ops"):
                continue
            if isinstance(node, ast.keyword) and node.arg in WORDS:
                continue
            children = enumerate(value) if isinstance(value, list) else [(None, value)]
            for index, child in children:
                if isinstance(child, ast.AST) and not self._is_left_alone(child, node):
                    if isinstance(child, ast.expr):
                        place = _Place(node, field, index)
                        for kind, new in self._changes(child, node, field):
                            yield kind, place, child, new, above
                    yield from self._inside(child, above)

    def _is_left_alone(self, node: ast.AST, parent: ast.AST) -> bool:
        match node:
            case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                return True
            case ast.Expr(value=ast.Constant()):
                return True
            case ast.If(test=test) if _is_for_types(test):
                return True
            case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__" | "__match_args__"), *_]):
                return True
            case ast.AnnAssign(value=None):
                return True
            case ast.Call(func=ast.Attribute(attr="warn") | ast.Name(id="warn")):
                return True
            case ast.Call(func=ast.Name(id=name)) if name in TYPES or name.endswith("Error"):
                return True
            case ast.Subscript() if isinstance(parent, ast.Assign) and _is_alias(parent):
                return True
            case ast.BinOp(op=ast.BitOr()) if _is_type(node):
                return True
        return False

    def _changes(
        self, node: ast.expr, parent: ast.AST, field: str
    ) -> Iterator[tuple[str, ast.expr]]:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                if _is_text(left) or _is_text(right):
                    return
                if type(op) in SIGNS:
                    yield "sign", ast.BinOp(left, SIGNS[type(op)](), right)
                if isinstance(op, ORDERED) and ast.dump(left) != ast.dump(right):
                    yield "swap", ast.BinOp(right, op, left)
                lists = isinstance(left, SEQUENCES) or isinstance(right, SEQUENCES)
                if self.scaled and isinstance(op, SCALED) and not lists:
                    yield "factor", ast.BinOp(node, ast.Mult(), ast.Constant(FACTOR))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                if self.scaled and _is_arithmetic(parent, field):
                    yield "factor", ast.Constant(-value * FACTOR)
                else:
                    yield "constant", ast.Constant(-value - 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield "sign", operand
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "branch", operand
            case ast.Constant(value=bool() | str() | bytes() | None):
                return
            case ast.Constant(value=int() | float() as value):
                if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
                    return
                if self.scaled and value and _is_arithmetic(parent, field):
                    yield "factor", ast.Constant(value * FACTOR)
                elif isinstance(value, int):
                    yield "constant", ast.Constant(value + 1)
                elif not self.scaled or isinstance(parent, ast.Compare) or value == 0:
                    yield "threshold", ast.Constant(2 * value if value else 1.0)
                else:
                    yield "factor", ast.Constant(value * FACTOR)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield "comparison", ast.Compare(left, [COMPARISONS[type(op)]()], [right])
            case ast.BoolOp(op=op, values=values):
                other = ast.Or() if isinstance(op, ast.And) else ast.And()
                yield "branch", ast.BoolOp(other, values)
            case ast.Call(func=func, args=[first, second, *rest], keywords=keywords):
                alike = type(first) is type(second) and ast.dump(first) != ast.dump(second)
                if alike and not isinstance(first, ast.Starred) and not _is_text(first):
                    yield "swap", ast.Call(func, [second, first, *rest], keywords)
            case ast.Name(id=name) if (
                self.scaled and field == "body" and isinstance(parent, ast.Lambda)
            ):
                if name not in ("ZERO", "None"):
                    yield "factor", ast.BinOp(node, ast.Mult(), ast.Constant(FACTOR))
        if (
            field == "test"
            and isinstance(parent, ast.If | ast.IfExp)
            and not isinstance(node, ast.Compare | ast.UnaryOp)
        ):
            yield "branch", ast.UnaryOp(ast.Not(), node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_type(node: ast.BinOp) -> bool:
    """Tell whether `a | b` is a union of types: its names are written as classes are."""
    names = [side for side in (node.left, node.right) if not isinstance(side, ast.BinOp)]
    return all(
        (isinstance(side, ast.Constant) and side.value is None)
        or (isinstance(side, ast.Name) and (side.id[:1].isupper() or side.id in _BUILT_IN))
        or isinstance(side, ast.Subscript)
        or (isinstance(side, ast.Attribute) and side.attr[:1].isupper())
        for side in names
    )


_BUILT_IN = {"int", "float", "complex", "str", "bytes", "bool", "list", "tuple", "dict", "slice"}


def _is_alias(node: ast.Assign) -> bool:
    return all(
        isinstance(target, ast.Name) and target.id[:1].isupper() and not target.id.isupper()
        for target in node.targets
    )


def _is_arithmetic(parent: ast.AST, field: str) -> bool:
    """Tell whether a constant is part of a formula, rather than a position, a count or a bound."""
    if isinstance(parent, ast.BinOp):
        return not (isinstance(parent.op, ast.Pow) and field == "right") and isinstance(
            parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div
        )
    return isinstance(parent, ast.Lambda) and field == "body"


def _describe(above: tuple[ast.AST, ...]) -> str:
    """Give the dotted name of the function, or of the variable, that is changed."""
    names = []
    for node in above:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case (
                ast.Assign(targets=[ast.Name(id=name), *_])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                if not names or isinstance(above[-2], ast.ClassDef):
                    names.append(name)
    return ".".join(names) or "module"


def _find_scopes(tree: ast.Module, node: ast.expr, above: tuple[ast.AST, ...]) -> Scopes:
    """Give lines that run where the expression does, the closest first.

    Its own, those of its statement and those of its function; of what is evaluated when a function
    is defined those of the function; of what is evaluated once, when the module is imported, those
    that use the names it defines.
    """
    inner = (*above[1:], node)
    for k in reversed(range(len(above))):
        function = above[k]
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            body = function.body if isinstance(function.body, list) else [function.body]
            whole = _span(body[0], body[-1])
            if not any(inner[k] is part for part in body):
                return (whole,)
            statements = [one for one in inner[k:] if isinstance(one, ast.stmt)]
            return (_span(node, node), *(_span(one, one) for one in statements[-1:]), whole)
    defined = {one.id for one in ast.walk(above[1]) if _is_name(one, ast.Store)}
    uses = [one.lineno for one in ast.walk(tree) if _is_name(one, ast.Load) and one.id in defined]
    first, last = _span(above[1], above[1])  # type: ignore[arg-type]
    return tuple((line, line) for line in uses if not first <= line <= last)


def _span(first: ast.expr | ast.stmt, last: ast.expr | ast.stmt) -> tuple[int, int]:
    return first.lineno, last.end_lineno or last.lineno


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def find_mutants(path: Path, *, scaled: bool) -> list[Mutant]:
    """List the mutants of a module; `scaled` also multiplies formulas by 1 + 1e-9."""
    tree = ast.parse(path.read_text())
    found: list[Mutant] = []
    times: Counter[tuple[str, str, str]] = Counter()
    for number, (kind, _, node, new, above) in enumerate(_Finder(tree, scaled).find()):
        ast.fix_missing_locations(ast.copy_location(new, node))
        words = _describe(above), ast.unparse(node), ast.unparse(new)
        times[words] += 1
        function, *texts = words
        scopes = _find_scopes(tree, node, above)
        found.append(
            Mutant(path, number, kind, function, node.lineno, *texts, scopes, times[words])
        )
    return found


def mutate(source: str, number: int, *, scaled: bool) -> ast.Module:
    """Make the mutant of that number."""
    tree = ast.parse(source)
    for count, (_, place, node, new, _) in enumerate(_Finder(tree, scaled).find()):
        if count == number:
            place.put(copy.deepcopy(ast.copy_location(new, node)))
            return ast.fix_missing_locations(tree)
    raise IndexError(number)
