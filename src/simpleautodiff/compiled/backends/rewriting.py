"""Rewrite lines as others that C code can compute: `np.all`, counts, `take_along_axis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.gather import index_along
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

WHOLE, TRUTH = np.dtype(np.int64), np.dtype(bool)


def rewrite_lines(program: RecordedProgram) -> RecordedProgram:
    """Return an equivalent program with fewer NumPy functions.

    Examples
    --------
    >>> x = Line(None, (), {}, (2, 3), TRUTH)
    >>> program = RecordedProgram([x, Line(np.all, (Ref(0),), {"axis": 0}, (3,), TRUTH)], 1, [], [])
    >>> rewrite_lines(program).lines[1].name, rewrite_lines(program).lines[1].args
    ('min', (0, 0, False))
    """
    return _each(program, lambda new, line: new.append(new.otherwise(line)))


def without_moves(program: RecordedProgram) -> RecordedProgram:
    """Return a program without indexing of 0, 1, 2, ..., which returns the index itself."""
    return _each(program, lambda new, line: _own_places(new, line) or new.append(line))


def _each(program: RecordedProgram, take: Callable[[_Rewriting, Line], Ref]) -> RecordedProgram:
    new = _Rewriting()
    of: dict[int, Any] = {}
    for number, line in enumerate(program.lines):
        args, kwargs = with_values(line.args, of), with_values(line.kwargs, of)
        of[number] = take(new, line._replace(args=args, kwargs=kwargs))
    guards = [guard._replace(place=with_values(guard.place, of)) for guard in program.guards]
    return RecordedProgram(
        new.lines, program.inputs, guards, with_values(list(program.outputs), of)
    )


class _Rewriting:
    """Rewrites the lines of a program one by one."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def otherwise(self, line: Line) -> Line:
        """Return the line that replaces a line."""
        if isinstance(line.what, Primitive):
            rewrite = _ROWS.get(line.name)
        else:
            rewrite = _FUNCTIONS.get(line.what) if callable(line.what) else None
        return (rewrite(self, line) or line) if rewrite else line

    def append(self, line: Line) -> Ref:
        """Add a line unchanged."""
        self.lines.append(line)
        return Ref(len(self.lines) - 1)

    def as_line(self, arg: Any) -> Any:
        """Return a constant argument as the result of a line."""
        if type(arg) is Ref or arg is None:
            return arg
        array = np.asarray(arg)
        return self.append(
            Line(TABLE["astype"], (array, array.dtype), {}, array.shape, array.dtype)
        )

    def as_bool(self, arg: Any) -> Any:
        """Convert every element to a bool."""
        line = self.lines[arg]
        if line.dtype == TRUTH:
            return arg
        return self.append(Line(np.not_equal, (arg, 0), {}, line.shape, TRUTH))


def _own_places(new: _Rewriting, line: Line) -> Ref | None:
    """Return the index itself, if the indexed array is 0, 1, 2, ..."""
    if line.what not in (TABLE["getitem"], np.take_along_axis) or len(line.shape) != 1:
        return None
    x, index = line.args[:2]
    index = index[0] if type(index) is tuple and len(index) == 1 else index
    if type(x) is not np.ndarray or type(index) is not Ref:
        return None
    order = new.lines[index].what in (np.argsort, np.argpartition)  # no index is negative
    counts = x.dtype == WHOLE and np.array_equal(x, np.arange(*line.shape))
    return index if order and counts else None


def _extreme(row: str) -> Callable[[_Rewriting, Line], Line | None]:
    """Return a rewriting of `np.all` as a minimum of bools, or of `np.any` as a maximum."""

    def rewrite(new: _Rewriting, line: Line) -> Line | None:
        given = line.named_arguments()
        x, keeps = given["a"], given["keepdims"]
        if type(x) is not Ref or given["where"] is not np._NoValue:
            return None
        keeps = keeps is not np._NoValue and bool(keeps)
        return line._replace(
            what=TABLE[row], args=(new.as_bool(x), given["axis"], keeps), kwargs={}
        )

    return rewrite


def _count(new: _Rewriting, line: Line) -> Line | None:
    given = line.named_arguments()
    if type(given["a"]) is not Ref:
        return None
    args = new.as_bool(given["a"]), given["axis"], bool(given["keepdims"])
    return line._replace(what=TABLE["sum"], args=args, kwargs={})


def _digitize(new: _Rewriting, line: Line) -> Line | None:
    """Write the bin of a number as its position among increasing bounds."""
    given = line.named_arguments()
    bins = given["bins"]
    if not isinstance(bins, np.ndarray) or np.any(np.diff(bins) < 0):
        return None
    side = "left" if given["right"] else "right"
    return line._replace(what=np.searchsorted, args=(bins, given["x"], side), kwargs={})


def _along(new: _Rewriting, line: Line) -> Line | None:
    chosen = index_along(new.lines, line)
    return chosen and _rewrite_index(new, chosen)


def _rewrite_index(new: _Rewriting, line: Line) -> Line | None:
    """Make constants that are indexed, or written, results of lines."""
    x, index, *rest = line.args
    if type(x) is Ref or next(find_refs(index), None) is None:
        return line
    return line._replace(args=(new.as_line(x), index, *rest))


def _rewrite_concatenate(new: _Rewriting, line: Line) -> Line | None:
    """Leave out empty parts."""
    (axis, _), *parts = line.args
    full = [part for part in parts if np.prod(_shape(new, part), dtype=int)]
    if not full or len(full) == len(parts):
        return None
    ends = np.cumsum([0, *[_shape(new, part)[axis] for part in full]]).tolist()
    return line._replace(args=((axis, tuple(ends)), *full))


def _shape(new: _Rewriting, arg: Any) -> tuple[int, ...]:
    return new.lines[arg].shape if type(arg) is Ref else np.shape(arg)


_ROWS: dict[str, Any] = {
    "getitem": _rewrite_index,
    "scatter": _rewrite_index,
    "concatenate": _rewrite_concatenate,
}
_FUNCTIONS: dict[Any, Any] = {
    np.all: _extreme("min"),
    np.any: _extreme("max"),
    np.count_nonzero: _count,
    np.digitize: _digitize,
    np.take_along_axis: _along,
}
