"""Repetitions in a list of steps: the same run several times in succession."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

MIN_REPETITIONS = 3  # repetitions from which it is a loop


class MarkedStep(Protocol):
    """A step that can be compared: steps with equal marks do the same; `line` is 0 if unknown."""

    @property
    def mark(self) -> Any:
        """What the step does."""

    @property
    def line(self) -> int:
        """The source line."""


M = TypeVar("M", bound=MarkedStep)
Join = Callable[[Sequence[Sequence[M]]], M]


def fold_repeats(steps: Sequence[M], join: Join[M], longest: int = 1000) -> list[M]:
    """Replace every run that is repeated in succession by what `join` makes of its copies.

    Short runs first: the inner loop, then the outer one; none longer than `longest`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def step(mark):
    ...     return SimpleNamespace(mark=mark, line=0)
    >>> def join(copies):
    ...     return step(f"{len(copies)}({''.join(s.mark for s in copies[0])})")
    >>> [found.mark for found in fold_repeats([step(letter) for letter in "abababc"], join)]
    ['3(ab)', 'c']
    """
    found = list(steps)
    before = len(found) + 1
    while len(found) < before:  # what was folded may be a part of a repetition
        before = len(found)
        found = _fold_once(found, join, longest)
    return found


def _fold_once(steps: list[M], join: Join[M], longest: int) -> list[M]:
    number: dict[Any, int] = {}
    marks, period = np.zeros(0, int), 1
    while period <= min(len(steps) // MIN_REPETITIONS, longest):
        if len(marks) != len(steps):
            marks = np.array([number.setdefault(step.mark, len(number)) for step in steps])
        steps = _fold_period(steps, marks, period, join)
        period += 1
    return steps


def _fold_period(steps: list[M], marks: np.ndarray, period: int, join: Join[M]) -> list[M]:
    """Fold what repeats with one period."""
    same = np.concatenate(([False], marks[:-period] == marks[period:], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    result: list[M] = []
    done = 0
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first = max(start, done)
        count = (stop + period - first) // period
        if count < MIN_REPETITIONS:
            continue
        spare = (stop + period - first) % period
        first += _choose_start([steps[first + i].line for i in range(spare + 1)])
        result += steps[done:first]
        copies = [steps[first + i * period : first + (i + 1) * period] for i in range(count)]
        result.append(join(copies))
        done = first + count * period
    return result + steps[done:]


def _choose_start(lines: list[int]) -> int:
    """Choose the start of a loop: its upper line, if there is a choice."""
    return lines.index(min(lines))


def fold_passes(steps: Sequence[M], join: Join[M]) -> list[M]:
    """Fold loops whose passes differ: a pass ends where the source lines jump back.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def join(copies):
    ...     return SimpleNamespace(line=f"×{len(copies)}")
    >>> steps = [SimpleNamespace(line=line) for line in (1, 2, 3, 4, 2, 4, 2, 3, 4, 9)]
    >>> [found.line for found in fold_passes(steps, join)]
    [1, '×3', 9]
    """
    cut: list[list[M]] = []
    for step in steps:
        if cut and step.line > cut[-1][-1].line:
            cut[-1].append(step)
        else:
            cut.append([step])
    if len(cut) < MIN_REPETITIONS:
        return list(steps)
    low = min(one[0].line for one in cut[1:])
    high = max(one[-1].line for one in cut[:-1])
    before = [step for step in cut[0] if step.line < low]
    after = [step for step in cut[-1] if step.line > high]
    cut[0], cut[-1] = cut[0][len(before) :], cut[-1][: len(cut[-1]) - len(after)]
    return [*before, join([one for one in cut if one]), *after]
