"""From stretches of lines to bodies that are called: equal stretches are calls of one body.

A stretch takes what it needs of earlier lines by its address, so it does not matter how far back
those lines are: a value of the step before, one that was there before the loop, or, in a sweep
back, one of the same step on the way forth. Stretches are the same if they are the same inside.

What differs from step to step is passed: numbers lie in a table, an element or a part of an array
(`x[t]`) is read where it lies. An array that is written at another place at every step
(`x[t] = y`, and what the sweep back makes of `x[t]`) is not copied if nothing needs what it was: such
a line is a move of its own, between two stretches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.simplify import argument_key, without_dead
from simpleautodiff.compiled.array.view_accesses import View, apply_view, steps, whole
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.compiled.rolled.lines import INDEX, LineKinds, find_kinds
from simpleautodiff.compiled.rolled.repeats import cut_at_repeats
from simpleautodiff.rules.row import TABLE

GAIN = 4  # times fewer lines in all bodies than in the program
ROUNDS = 4  # how often stretches are cut again at what has to be moved
GETITEM = TABLE["getitem"]

Stretch = tuple[int, int]


class Given(NamedTuple):
    """What a body is given at a call: a view of an earlier result, or a constant."""

    view: View | None
    constant: Any = None


class BodyCall(NamedTuple):
    """One call of a body: what it is given, and the lines whose results it leaves behind."""

    body: int
    given: list[Given]
    results: list[int]
    guards: int  # how many guards come before those of the body


class Move(NamedTuple):
    """Elements of an array that are set, or added to: by those of a view, or by a number."""

    adds: bool
    to: View
    by: View | float


class RolledProgram(NamedTuple):
    """A program as calls of bodies, in order, with moves between them."""

    recorded: RecordedProgram
    bodies: list[RecordedProgram]
    calls: list[BodyCall | Move]
    views: dict[int, View]  # lines that are only looked at where others lie


def roll(recorded: RecordedProgram) -> RolledProgram | None:
    """Return a program as calls of bodies; None if it does not repeat enough.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(0.5)
    ...     y = x
    ...     for step in range(500):
    ...         y = y + 0.01 * np.sin(y * float(step))
    >>> rolled = roll(level.finish([y], 1))
    >>> [len(body.lines) - body.inputs for body in rolled.bodies], len(rolled.calls)
    ([24, 4, 4], 85)
    """
    recorded = without_dead(recorded)
    rolling = _Rolling(recorded, find_kinds(recorded.lines))
    return rolling.program() if rolling.pays() else None


class _Group:
    """Stretches that are the same inside, with what each needs from outside."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.needs: list[list[int]] = []


class _Rolling:
    def __init__(self, recorded: RecordedProgram, kinds: LineKinds) -> None:
        self.recorded, self.lines, self.kinds = recorded, recorded.lines, kinds
        self.dropped: set[int] = set()  # lines that are views of what was computed before
        self.moved: set[int] = set()  # lines that are moves
        self.views: dict[int, View] = {}
        self._find_uses()
        self._place_guards()
        first = recorded.inputs
        cuts = cut_at_repeats(kinds.symbols[first:])
        self.stretches = [(first + start, first + stop) for start, stop in cuts]
        self._settle()

    def _find_uses(self) -> None:
        """Find the last line that needs each, and how many do."""
        count = len(self.lines)
        self.last, self.users = [-1] * count, [0] * count
        for number, needed in enumerate(self.kinds.refs):
            for place in needed:
                self.last[place] = number
                self.users[place] += 1
        for output in self.recorded.outputs:
            if type(output) is Ref:
                self.last[output] = count
                self.users[output] += 1

    def _place_guards(self) -> None:
        """Let each guard be asked once it is known, after all guards before it."""
        self.guards_at: dict[int, list[int]] = {}
        at = self.recorded.inputs
        for number, guard in enumerate(self.recorded.guards):
            at = max(at, int(guard.place))
            self.guards_at.setdefault(at, []).append(number)
            self.last[guard.place] = max(self.last[guard.place], at)
            self.users[guard.place] += 1

    # What is the same. ----------------------------------------------------------------------------

    def _settle(self) -> None:
        """Cut at what has to be moved, until nothing more has."""
        for _ in range(ROUNDS):
            cuts: set[int] = set()
            for group in self._group():
                if len(group.starts) > 1:
                    cuts |= self._look_at_indices(group)
            if not cuts:
                break
            self.stretches = [part for stretch in self.stretches for part in _cut(stretch, cuts)]
        self._fuse_additions()
        self._find_views()

    def _group(self) -> list[_Group]:
        self.groups: dict[Any, _Group] = {}
        for stretch in self.stretches:
            key, needs = self._form(stretch)
            group = self.groups.setdefault(key, _Group())
            group.starts.append(stretch[0])
            group.needs.append(needs)
            self.length = stretch
        return list(self.groups.values())

    def _form(self, stretch: Stretch) -> tuple[Any, list[int]]:
        """Return what a stretch is inside, and the lines before it that it needs."""
        start, stop = stretch
        outside: dict[int, int] = {}
        wiring: list[int] = []
        dropped: list[int] = []
        for number in range(start, stop):
            if number in self.dropped or number in self.moved:
                dropped.append(number - start)
            for place in self.kinds.refs[number]:
                inside = place - start
                wiring.append(inside if inside >= 0 else ~outside.setdefault(place, len(outside)))
        guards = []
        for at in range(start, stop) if self.guards_at else ():
            for number in self.guards_at.get(at, ()):
                guard = self.recorded.guards[number]
                inside = int(guard.place) - start
                place = inside if inside >= 0 else ~outside.setdefault(guard.place, len(outside))
                guards.append((place, guard.expected))
        layouts = [self.views[place][1:] if place in self.views else None for place in outside]
        symbols = self.kinds.symbols[start:stop].tobytes()
        key = symbols, tuple(wiring), tuple(dropped), tuple(guards), _strides(layouts)
        return key, list(outside)

    def _look_at_indices(self, group: _Group) -> set[int]:
        """Find indices that differ from step to step; return the lines to cut at."""
        cuts: set[int] = set()
        begin = group.starts[0]
        length = self._length_of(group)
        for at in range(length):
            line = self.lines[begin + at]
            if line.name not in INDEX or begin + at in self.dropped or begin + at in self.moved:
                continue
            k = INDEX[line.name]
            if k not in self.kinds.free[begin + at] or not self._differs(group, at, k):
                continue
            numbers = [start + at for start in group.starts]
            if line.name != "getitem":
                self.moved.update(numbers)
                cuts.update(numbers, [number + 1 for number in numbers])
            elif any(int(line.args[0]) >= begin for _ in (0,)):
                cuts.update(numbers)
            else:
                self.dropped.update(numbers)
        return cuts

    def _length_of(self, group: _Group) -> int:
        return self._stops[group.starts[0]] - group.starts[0]

    @property
    def _stops(self) -> dict[int, int]:
        return dict(self.stretches)

    def _differs(self, group: _Group, at: int, k: int) -> bool:
        lines, starts = self.lines, group.starts
        first = argument_key(lines[starts[0] + at].args[k])
        return any(argument_key(lines[start + at].args[k]) != first for start in starts[1:])
