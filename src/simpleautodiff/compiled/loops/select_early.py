"""Compute only the elements of an array that a step of a loop reads.

The way back of a write makes arrays of which one element is read: masks of structural zeros, and
adjoints that are spread over the shape of an array. `(a + b)[t]` is computed as `a[t] + b[t]`, and
what was written at t is what `[t]` reads; then nothing needs the whole array. Sums are taken apart
for small parts of arrays alone: others are better read from the sum, which takes one pass.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.simplify import compute, compute_constants, without_dead
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)
from simpleautodiff.compiled.scalar.lower_rows import can_lower
from simpleautodiff.rules.row import TABLE

Shape = tuple[int, ...]
SMALL_PART = 8  # how many times a small part of an array fits into it, at least


def select_early(program: RecordedProgram) -> RecordedProgram:
    """Return a program that computes no more elements than are read."""
    if not any(line.what is TABLE["getitem"] for line in program.lines):
        return program
    return _Selecting(program).finish()


class _Offset(NamedTuple):
    """An index: an integer constant, added to that of a line if `base` is not None."""

    base: int | None
    constant: int


class _Selecting:
    """The lines of a program, written again."""

    def __init__(self, program: RecordedProgram) -> None:
        self.program = program
        self.lines: list[Line] = []
        self.of: dict[int, Any] = {}  # the new lines, by the old ones; or constants
        self._offsets: dict[int, _Offset] = {}
        self._read: dict[Any, Any] = {}
        self._constants: dict[int, Any] = {}  # of lines that are constants

    def finish(self) -> RecordedProgram:
        """Return the new program."""
        old = self.program
        for number, line in enumerate(old.lines):
            self.of[number] = self._write(line)
        guards = [guard._replace(place=self.of[guard.place]) for guard in old.guards]
        outputs = with_values(old.outputs, self.of)
        made = RecordedProgram(self.lines, old.inputs, guards, outputs)
        return without_dead(compute_constants(made, old))

    def _write(self, line: Line) -> Any:
        """Return the new line of an old one, or the constant that it is."""
        if line.what is None:
            return self._append(line)
        if _is_elementwise(line):
            new = line.renumbered(self.of)
            return self._add(new) if new.what is TABLE["add"] else self._simplify(new)
        new = line.renumbered({place: self._as_line(self.of[place]) for place in line.needs()})
        if new.what is TABLE["getitem"]:
            array, index = new.args
            parts = self._find_parts(index, self._shape(array))
            if parts is not None and np.prod(line.shape) < np.prod(self._shape(array)):
                found = self._select(array, index, parts, line)
                return self._append(new) if found is None else found
        elif new.what is TABLE["set_item"]:
            array, value, index = new.args
            new = new._replace(args=(self._skip_overwritten(array, index), value, index))
        return self._append(new)

    def _append(self, line: Line) -> Ref:
        self.lines.append(line)
        place = Ref(len(self.lines) - 1)
        offset = self._find_offset(line)
        if offset is not None:
            self._offsets[place] = offset
        return place

    def _as_line(self, x: Any) -> Ref:
        """Return a constant as a line, as operations on arrays have lines for arguments."""
        if type(x) is Ref:
            return x
        number = np.asarray(x)[()]
        place = self._append(
            Line(TABLE["astype"], (number, number.dtype), {}, number.shape, number.dtype)
        )
        self._constants[place] = number
        return place

    def _shape(self, x: Any) -> Shape:
        return self.lines[x].shape if type(x) is Ref else np.shape(x)

    def _skip_overwritten(self, array: Any, index: Any) -> Any:
        """Return an array before the last changes of elements that will be overwritten."""
        while type(array) is Ref:
            line = self.lines[array]
            if line.what is TABLE["set_item"]:
                before, _, written = line.args
            elif line.what is TABLE["add"]:
                before, written = self._find_spread(line.args)
            else:
                break
            parts, others = [self._find_parts(x, line.shape) for x in (index, written)]
            if parts is None or others is None or not self._compare(parts, others, line.shape):
                break
            array = before
        return array

    def _find_spread(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the other term of a sum with elements spread over a shape, and their index."""
        for term, other in (args, args[::-1]):
            if type(other) is Ref and self.lines[other].what is TABLE["scatter"]:
                return term, self.lines[other].args[1]
        return args[0], None

    # Sums of elements that are spread over a shape. -----------------------------------------------

    def _add(self, line: Line) -> Any:
        """Return a sum such that elements spread over its shape can be added in place.

        Two terms with one index are one, and `a + (b + c)` is computed as `(a + b) + c`.
        """
        terms = [self._find_terms(x, line) for x in line.args]
        if all(terms):
            joined = self._join(terms[0][0], terms[1][0]) if [*map(len, terms)] == [1, 1] else None
            return self._simplify(line) if joined is None else joined
        for array, several in zip(line.args, terms[::-1], strict=True):
            for term in several[:-1]:
                array = self._append(line._replace(args=(array, term)))
            if several:
                line = line._replace(args=(array, several[-1]))
        return self._simplify(line)

    def _find_terms(self, x: Any, like: Line) -> list[Ref]:
        """Return the terms of a sum of a few elements each; none if there is another one."""
        line = self.lines[x] if type(x) is Ref else like
        if line is like or (line.shape, line.dtype) != (like.shape, like.dtype):
            return []
        if line.what is TABLE["scatter"]:
            size = SMALL_PART * np.prod(self._shape(line.args[0]))
            return [x] if size <= np.prod(line.shape) else []
        parts = [self._find_terms(arg, like) for arg in line.args] if line.name == "add" else [[]]
        return [term for part in parts for term in part] if all(parts) else []

    def _join(self, one: Ref, other: Ref) -> Ref | None:
        """Return the sum of elements that are spread in the same way; None if they are not."""
        (value, index, *_), (more, written, *_) = [self.lines[x].args for x in (one, other)]
        shape = self.lines[one].shape
        parts, others = [self._find_parts(x, shape) for x in (index, written)]
        if parts is None or others is None or not self._compare(parts, others, shape):
            return None
        if type(value) is not Ref or type(more) is not Ref:
            return None
        made = self.lines[value]
        if (made.shape, made.dtype) != (self._shape(more), self.lines[more].dtype):
            return None
        total = self._append(Line(TABLE["add"], (value, more), {}, made.shape, made.dtype))
        new = self.lines[one]
        return self._append(new._replace(args=(total, *new.args[1:])))

    # Elements. ------------------------------------------------------------------------------------

    def _select(self, array: Any, index: Any, parts: list[Any], like: Line) -> Any:
        """Return the selected elements of an array; `like` has their shape.

        None if they may be some of those that were written, or not.
        """
        key = argument_key((array, index))
        if key not in self._read:
            self._read[key] = self._compute(array, index, parts, like)
        return self._read[key]

    def _compute(self, array: Any, index: Any, parts: list[Any], like: Line) -> Any:
        if type(array) is not Ref:
            if _is_uniform(array):
                return np.full(like.shape, array.flat[0])[()]
            return self._append(like._replace(args=(array, index)))
        line = self.lines[array]
        own = Line(TABLE["getitem"], (array, index), {}, like.shape, line.dtype)
        if line.what in (TABLE["set_item"], TABLE["scatter"]):
            return self._read_written(line, index, parts, own)
        is_small = SMALL_PART * np.prod(like.shape) <= np.prod(line.shape)
        if not is_small or not _is_elementwise(line):
            return self._append(own)
        if not all(map(self._fits(line.shape), line.args)):
            return self._append(own)
        args = [
            self._select(x, index, parts, own) if self._shape(x) == line.shape else x
            for x in line.args
        ]
        if any(x is None for x in args):
            return None
        return self._simplify(line._replace(args=tuple(args), shape=like.shape))

    def _simplify(self, line: Line) -> Any:
        """Return a line, or the constant or argument that it equals."""
        args = [self._constants.get(x, x) if type(x) is Ref else x for x in line.args]
        line = line._replace(args=tuple(args))
        if not line.needs():
            return compute(line, ())
        if line.what is operator.or_:
            truths = [*map(_find_truth, line.args)]
            if True in truths:
                return np.ones(line.shape, bool)[()]
            if False in truths:
                return line.args[1 - truths.index(False)]
        if line.what is TABLE["where"] and (truth := _find_truth(line.args[0])) is not None:
            chosen = line.args[1 if truth else 2]
            if type(chosen) is Ref and self._shape(chosen) == line.shape:
                return chosen
        return self._append(line)

    def _fits(self, shape: Shape) -> Any:
        """Return a test for arguments that have a shape, or are single numbers."""
        return lambda x: self._shape(x) in (shape, ()) if not isinstance(x, np.dtype) else True

    def _read_written(self, line: Line, index: Any, parts: list[Any], own: Line) -> Any:
        """Return what is read of an array with some elements written; None if it is not known."""
        is_write = line.what is TABLE["set_item"]
        value, written = (line.args[1], line.args[2]) if is_write else line.args[:2]
        others = self._find_parts(written, line.shape)
        same = None if others is None else self._compare(parts, others, line.shape)
        if same is None:
            return None
        if not same:
            if not is_write:
                return np.zeros(own.shape, line.dtype)[()]
            return self._select(line.args[0], index, parts, own)
        if type(value) is Ref:
            made = self.lines[value]
            return value if (made.shape, made.dtype) == (own.shape, line.dtype) else None
        return (
            np.full(own.shape, value, line.dtype)[()]
            if np.shape(value) in ((), own.shape)
            else None
        )

    # Indices. -------------------------------------------------------------------------------------

    def _find_offset(self, line: Line) -> _Offset | None:
        """Return an integer as the sum of another line and a constant."""
        if line.dtype is None or line.dtype.kind not in "iu" or line.shape:
            return None
        own = _Offset(len(self.lines) - 1, 0)
        if line.name not in ("add", "sub"):
            return own
        a, b = [self._as_offset(arg) for arg in line.args]
        if (
            a is None
            or b is None
            or (b.base is not None and (a.base is not None or line.name == "sub"))
        ):
            return own
        sign = 1 if line.name == "add" else -1
        return _Offset(a.base if b.base is None else b.base, a.constant + sign * b.constant)

    def _as_offset(self, part: Any) -> _Offset | None:
        if type(part) is Ref:
            return self._offsets.get(part)
        is_integer = isinstance(part, (int, np.integer)) and not isinstance(part, bool)
        return _Offset(None, int(part)) if is_integer else None

    def _find_parts(self, index: Any, shape: Shape) -> list[Any] | None:
        """Return an index of integers and slices, one for each axis; None for any other."""
        parts = list(index) if isinstance(index, tuple) else [index]
        if len(parts) > len(shape):
            return None
        found = [part if isinstance(part, slice) else self._as_offset(part) for part in parts]
        if None in found:
            return None
        return [*found, *[slice(None)] * (len(shape) - len(found))]

    def _compare(self, one: list[Any], other: list[Any], shape: Shape) -> bool | None:
        """Tell whether two indices select the same elements, or none in common; None: unknown."""
        answers = [_compare_parts(a, b, n) for a, b, n in zip(one, other, shape, strict=True)]
        if False in answers:
            return False
        return None if None in answers else True


def _compare_parts(a: Any, b: Any, length: int) -> bool | None:
    """Compare two indices of one axis; those that differ by its length are the same."""
    if isinstance(a, slice) or isinstance(b, slice):
        return True if a == b else None
    return (a.constant - b.constant) % length == 0 if a.base == b.base else None


def _is_elementwise(line: Line) -> bool:
    is_cast = line.what is TABLE["astype"]
    return not line.kwargs and (is_cast or can_lower(line.what, line.dtype))


def _is_uniform(array: Any) -> bool:
    """Tell whether all elements of a constant are one nonnegative number."""
    is_real = array.size > 0 and array.dtype.kind in "biuf"
    return is_real and bool(np.all(array == array.flat[0])) and not np.any(np.signbit(array))


def _find_truth(x: Any) -> bool | None:
    """Return the one truth of a constant mask; None if it has several, or is no constant."""
    if type(x) is Ref or np.asarray(x).dtype != bool:
        return None
    return True if np.all(x) else None if np.any(x) else False
