"""How far a running function is: the passes of its longest loop, where their number can be read."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import add, mul, sub
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.node import NODES

_SIGNS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul}


class LoopShare(NamedTuple):
    """The line of a loop, and how many of its passes are done."""

    line: int
    done: int
    total: int


def find_loop_share(frames: Iterable[FrameType]) -> LoopShare | None:
    """Return how far the longest running loop is, of those whose lengths can be read.

    Those are loops over a range, over a list or tuple of distinct objects, and both in `enumerate`;
    their variable tells the pass. Nobody knows how often a `while` will be repeated.

    Examples
    --------
    >>> import sys
    >>> def f(n):
    ...     for i in range(2, n):
    ...         if i == 5:
    ...             return find_loop_share([sys._getframe()])
    >>> f(10)
    LoopShare(line=2, done=3, total=8)
    """
    shares = [share for frame in frames for share in _shares(frame)]
    return max(shares, key=lambda share: share.total, default=None)


def _shares(frame: FrameType) -> Iterator[LoopShare]:
    """Yield how far the loops of one function are, outermost first."""
    code, line = frame.f_code, frame.f_lineno
    for loop in _loops("".join(linecache.getlines(code.co_filename))):
        if code.co_firstlineno <= loop.lineno <= line <= (loop.end_lineno or 0):
            names = frame.f_globals | frame.f_locals
            passes = None if _is_misread(loop, names) else _count_passes(loop, names)
            if passes is not None:
                yield LoopShare(loop.lineno, *passes)


@lru_cache(maxsize=16)
def _loops(text: str) -> list[ast.For]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.For)]


def _is_misread(loop: ast.For, names: dict[str, Any]) -> bool:
    """Tell whether a loop changes what it was begun with, or `range` is not Python's."""
    length, variables = _names(loop.iter), _names(loop.target)
    changed = {name for part in loop.body for name in _names(part, ast.Store)}
    misread = length & (variables | changed) or variables & changed
    return bool(misread) or not {"range", "enumerate", "len"}.isdisjoint(names)


def _names(part: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    names = (node for node in ast.walk(part) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}


def _count_passes(loop: ast.For, names: dict[str, Any]) -> tuple[int, int] | None:
    """Return how many passes of a loop are done, and how many there are."""
    match loop.iter, loop.target:
        case ast.Call(func=ast.Name("range"), args=args, keywords=[]), ast.Name(variable):
            bounds = [_read(arg, names) for arg in args]
            if not all(type(bound) is int for bound in bounds) or 0 in bounds[2:]:
                return None
            return _find(range(*bounds), names.get(variable))
        case (
            ast.Call(func=ast.Name("enumerate"), args=[items]),
            ast.Tuple(elts=[ast.Name(variable), *_]),
        ):
            size = _length(_read(items, names))
            return None if size is None else _find(range(size), names.get(variable))
        case ast.Name(variable), ast.Name(target) if type(names.get(variable)) in (list, tuple):
            places = {id(item): place for place, item in enumerate(names[variable])}
            place = places.get(id(names.get(target)))
            size = len(names[variable])
            return None if place is None or len(places) < size else (place, size)
    return None


def _find(passes: range, variable: Any) -> tuple[int, int] | None:
    if type(variable) is not int or variable not in passes:
        return None
    return passes.index(variable), len(passes)


def _read(expression: ast.expr, names: dict[str, Any]) -> Any:
    """Return what a name, an integer, a length or a sum of such stands for; None for all else."""
    match expression:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(name):
            return names.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _read(operand, names)
            return -number if type(number) is int else None
        case ast.Call(func=ast.Name("len"), args=[items], keywords=[]):
            return _length(_read(items, names))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as sign, right=right):
            a, b = _read(left, names), _read(right, names)
            both = type(a) is int and type(b) is int
            return _SIGNS[type(sign)](a, b) if both else None
        case ast.Attribute(value=array, attr="size" | "shape" as attribute):
            return getattr(_known(_read(array, names)), attribute, None)
        case ast.Subscript(
            value=ast.Attribute(attr="shape") as shape, slice=ast.Constant(int(axis))
        ):
            sizes = _read(shape, names)
            return sizes[axis] if type(sizes) is tuple and axis < len(sizes) else None
    return None


def _length(items: Any) -> int | None:
    try:
        return len(_known(items))
    except TypeError:
        return None


def _known(items: Any) -> Any:
    """Return what can be measured without running code of the user's; None for all else."""
    plain = items.value if type(items) in NODES else items
    return plain if type(plain) in (list, tuple, dict, str, np.ndarray) else None
