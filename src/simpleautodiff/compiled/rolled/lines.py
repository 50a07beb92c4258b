"""Compare lines of a recorded program: what is the same, and what may differ between steps.

Two lines are of one kind if they do the same to arguments of the same shapes. Numbers among the
arguments may differ (`x * table[t]`), and so may the position of an index (`x[t]`): lines that
differ in nothing else can be one line of a body that is called with another number, or another
address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref, argument_key, find_refs
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

INDEX = {"getitem": 1, "set_item": 2, "scatter": 1}  # the position of the index argument
_PASSED = {np.dtype(np.float64), np.dtype(np.bool_)}  # numbers that a body can take
_REFS = {Ref}
_OF_INTEGERS = {"add", "sub", "mul", "div"}  # rows that convert an integer to a float


class LineKinds(NamedTuple):
    """The kind of each line of a program."""

    symbols: Any  # a number for each line, the same for lines of one kind
    refs: list[Sequence[int]]  # the lines that each line needs, in the order of its arguments
    free: list[tuple[int, ...]]  # which arguments may differ between lines of one kind


def find_kinds(lines: list[Line]) -> LineKinds:
    """Return the kind of each line.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.ones(3))
    ...     y = (x[0] * 2.0, x[1] * 3.0, x[1:] * 2.0)
    >>> find_kinds(level.lines).symbols.tolist()
    [0, 1, 2, 1, 2, 3, 4]
    """
    numbers: dict[Any, int] = {}
    types: list[int] = []
    known: dict[Any, int] = {}
    symbols: list[int] = []
    refs: list[Sequence[int]] = []
    free: list[tuple[int, ...]] = []
    for line in lines:
        what, args, kwargs, shape, dtype, _ = line
        type_ = numbers.setdefault((shape, dtype), len(numbers))
        types.append(type_)
        if not kwargs and {*map(type, args)} == _REFS:  # true for most lines
            key: Any = what, type_, *[types[arg] for arg in args]
            symbols.append(known.setdefault(key, len(known)))
            refs.append(args)
            free.append(())
            continue
        needed: list[int] = []
        described: list[Any] = []
        varies: list[int] = []
        passed = dtype in _PASSED
        for arg in args:
            if type(arg) is Ref:
                needed.append(arg)
                described.append(types[arg])
                passed = passed and lines[arg].dtype in _PASSED
            else:
                needed += find_refs(arg)
                described.append(None)
        if kwargs:
            needed += find_refs(kwargs)
        for k, arg in enumerate(args):
            if type(arg) is not Ref:
                described[k], may_vary = _describe(line, k, arg, passed)
                if may_vary:
                    varies.append(k)
        key = what, type_, tuple(described), argument_key(kwargs) if kwargs else None
        symbols.append(known.setdefault(key, len(known)))
        refs.append(needed)
        free.append(tuple(varies))
    return LineKinds(np.array(symbols, np.int64), refs, free)


def with_slices(line: Line) -> Line:
    """Return a line with evenly spaced integer indices replaced by a slice.

    Examples
    --------
    >>> line = Line(TABLE["getitem"], (Ref(0), (np.array([4, 6]),)), {}, (2,), None)
    >>> with_slices(line).args[1]
    (slice(4, 7, 2),)
    """
    if type(line.what) is not Primitive or line.what.name not in INDEX:
        return line
    k = INDEX[line.what.name]
    index = line.args[k]
    if type(index) is not tuple or len(index) != 1 or type(index[0]) is not np.ndarray:
        return line
    whole = index[0]
    if whole.ndim != 1 or not whole.size or whole.dtype.kind not in "iu" or whole[0] < 0:
        return line
    distances = np.diff(whole)
    step = int(distances[0]) if len(distances) else 1
    if step < 1 or (distances != step).any():
        return line
    part = slice(int(whole[0]), int(whole[-1]) + 1, step if step > 1 else None)
    return line._replace(args=(*line.args[:k], (part,), *line.args[k + 1 :]))


def _describe(line: Line, k: int, arg: Any, passed: bool) -> tuple[Any, bool]:
    """Return what a constant argument must be, and whether it may differ between lines."""
    kind, what = type(arg), line.what
    row = isinstance(what, Primitive)
    if row and INDEX.get(what.name) == k and is_basic(arg) and next(find_refs(arg), None) is None:
        return ("index", _skeleton(arg)), True
    is_setting = k in what.settings and what is not TABLE["where"] if row else False
    is_number = passed and not is_setting and (row or isinstance(what, np.ufunc))
    if is_number and kind in (float, np.float64):
        return "number", True
    if is_number and kind is int and row and what.name in _OF_INTEGERS and abs(arg) <= 2**53:
        return "number", True
    if is_number and kind is np.ndarray and arg.ndim and arg.dtype in _PASSED:
        return ("array", arg.shape, arg.dtype), True
    return argument_key(arg), False


def _skeleton(index: Any) -> Any:
    """Return the form of an index, without its numbers."""
    if type(index) is tuple:
        return tuple([_skeleton(part) for part in index])
    return slice if type(index) is slice else int if isinstance(index, int | np.integer) else index
