"""Integers that count the steps of loops, such as t and t - 1, and the elements that they select.

`x[t - 1]` is then at an address that advances with every step: nothing has to be looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.view_accesses import Shape, find_strides, have_same_strides
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref

Counts = dict[int, int]  # how many steps some loops take at most


class Counter(NamedTuple):
    """An integer `first` + the sum of `each[loop]` times the number of the row of that loop."""

    first: int
    each: dict[int, int]

    def plus(self, other: Counter, sign: int = 1) -> Counter:
        """Return the sum or the difference of two counters."""
        loops = [*self.each, *[loop for loop in other.each if loop not in self.each]]
        each = {k: self.each.get(k, 0) + sign * other.each.get(k, 0) for k in loops}
        return Counter(self.first + sign * other.first, each)

    def times(self, factor: int) -> Counter:
        """Return a multiple of a counter."""
        return Counter(self.first * factor, {k: n * factor for k, n in self.each.items()})

    def range(self, counts: Counts) -> tuple[int, int]:
        """Return its least and its greatest value."""
        ends = [sorted((0, n * (counts[k] - 1))) for k, n in self.each.items()]
        return self.first + sum([a for a, _ in ends]), self.first + sum([b for _, b in ends])


class Selected(NamedTuple):
    """Some elements of an array: where they begin, their shape and strides, all in elements."""

    at: Counter
    shape: Shape
    strides: Shape

    @property
    def advances(self) -> bool:
        """Whether other steps select other elements."""
        return any(self.at.each.values())

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are side by side."""
        return have_same_strides(self.shape, self.strides, find_strides(self.shape))


def count_rows(column: Any, loop: int) -> Counter | None:
    """Return a column of equidistant integers as a counter; None if it is something else.

    Examples
    --------
    >>> count_rows(np.arange(1, 9, 2), 0)
    Counter(first=1, each={0: 2})
    """
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu" or column.ndim != 1:
        return None
    gaps = np.unique(np.diff(column))
    if not column.size or len(gaps) > 1:
        return None
    return Counter(int(column[0]), {loop: int(gaps[0]) if len(gaps) else 0})


def find_counters(program: RecordedProgram, known: Mapping[int, Counter]) -> dict[int, Counter]:
    """Return the lines of a step that are counters; `known` are those among its inputs."""
    found = dict(known)
    for number in range(program.inputs if found else len(program.lines), len(program.lines)):
        counter = _compute(program.lines[number], found)
        if counter is not None:
            found[number] = counter
    return found


def _compute(line: Line, known: dict[int, Counter]) -> Counter | None:
    """Return what a line computes from counters; None if that is no counter."""
    if line.name not in ("add", "sub", "mul") or line.dtype is None or line.dtype.kind not in "iu":
        return None
    a, b = [_as_counter(arg, known) for arg in line.args]
    if a is None or b is None:
        return None
    if line.name == "mul":
        return a.times(b.first) if not b.each else b.times(a.first) if not a.each else None
    return a.plus(b, 1 if line.name == "add" else -1)


def _as_counter(part: Any, known: dict[int, Counter]) -> Counter | None:
    if type(part) is Ref:
        return known.get(part)
    is_integer = isinstance(part, (int, np.integer)) and not isinstance(part, bool)
    return Counter(int(part), {}) if is_integer else None


def select(index: Any, shape: Shape, known: dict[int, Counter], counts: Counts) -> Selected | None:
    """Return what an index of counters, integers and slices selects, if it surely exists.

    Examples
    --------
    >>> known = {5: Counter(1, {0: 1})}
    >>> select((slice(1, None), Ref(5)), (3, 4), known, {0: 3})
    Selected(at=Counter(first=5, each={0: 1}), shape=(2,), strides=(4,))
    >>> print(select((slice(1, None), Ref(5)), (3, 4), known, {0: 4}))
    None
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    numbers = [part for part in parts if not isinstance(part, slice)]
    if len(parts) > len(shape):
        return None
    if len(numbers) == 1 and isinstance(numbers[0], np.ndarray):
        pairs = zip(parts, shape, strict=False)
        parts = [part if isinstance(part, slice) else _as_slice(part, n) for part, n in pairs]
    at, axes = Counter(0, {}), list[tuple[int, int]]()
    parts += [slice(None)] * (len(shape) - len(parts))
    for part, length, stride in zip(parts, shape, find_strides(shape), strict=True):
        if isinstance(part, slice):
            chosen = _slice(part, length)
            if chosen is None:
                return None
            at = at.plus(Counter(chosen.start * stride, {}))
            axes.append((len(chosen), chosen.step * stride))
        else:
            counter = _count_from_start(_as_counter(part, known), length, counts)
            if counter is None:
                return None
            at = at.plus(counter.times(stride))
    return Selected(at, tuple([n for n, _ in axes]), tuple([step for _, step in axes]))


def _as_slice(indices: Any, length: int) -> Any:
    """Return equidistant indices as a slice; others as they are.

    Examples
    --------
    >>> _as_slice(np.array([5, 3, 1]), 6), _as_slice(np.array([-1]), 6)
    (slice(5, None, -2), slice(5, 6, 1))
    """
    counted = count_rows(np.where(indices < 0, indices + length, indices), 0)
    if counted is None or (indices.size > 1 and not counted.each[0]):
        return indices
    step = counted.each[0] or 1
    last = counted.first + (indices.size - 1) * step
    if not 0 <= counted.first < length or not 0 <= last < length:
        return indices
    return slice(counted.first, None if last + step < 0 else last + step, step)


def _slice(part: slice, length: int) -> range | None:
    """Return the indices that a slice of constants selects; None if there are none, or others."""
    if any(type(x) not in (int, type(None)) for x in (part.start, part.stop, part.step)):
        return None
    return range(length)[part] or None


def _count_from_start(counter: Counter | None, length: int, counts: Counts) -> Counter | None:
    """Return an index that is never negative; None if it may be out of bounds."""
    if counter is None:
        return None
    least, greatest = counter.range(counts)
    if greatest < 0:
        counter, least = counter.plus(Counter(length, {})), least + length
    return counter if least >= 0 and greatest < length else None
