"""Decide where a program is cut, and which of its lines are not part of any body.

A stretch takes the earlier lines that it needs by address, so it does not matter how far back those
lines are: in the previous step, before the loop, or, in a reverse sweep, in the forward part of the
same step. Stretches are the same if they are the same inside.

What differs from step to step is passed. An element or a part of an array (`x[t]`) is read where it
is: such a line is a view of an earlier result. An array that is written at another index at every
step (`x[t] = y`, and the adjoint of `x[t]`) is not part of a body either: the program is cut there,
and elements are moved.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.view_accesses import View
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref, argument_key
from simpleautodiff.compiled.rolled.lines import INDEX, LineKinds
from simpleautodiff.compiled.rolled.repeats import cut_at_repeats
from simpleautodiff.compiled.rolled.single_lines import alone, can_compile
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter

ROUNDS = 4  # how often stretches are cut again at moves
PIECES = 8  # pieces from which on an array is joined by moves


class Group:
    """Stretches of one length that are the same inside, with what each needs from outside."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.starts: list[int] = []
        self.needs: list[list[int]] = []


class Stretches:
    """The stretches of a program.

    Attributes
    ----------
    dropped : set of int
        Lines that are views of results before their stretch.
    moved : set of int
        Lines that are moves.
    by_numpy : set of int
        Lines that NumPy computes.
    added : dict
        For sums that are moves: the line of the array of zeros with the added elements.
    last : list of int
        The last line that needs each; for results of the program, the number of lines.
    """

    def __init__(self, recorded: RecordedProgram, kinds: LineKinds, precise: bool) -> None:
        self.recorded, self.lines, self.kinds = recorded, recorded.lines, kinds
        self.dropped: set[int] = set()
        self.moved: set[int] = set()
        self.added: dict[int, int] = {}
        self.last = [-1] * len(self.lines)
        self._users = [0] * len(self.lines)
        self._forms: dict[tuple[int, int], tuple[Any, list[int]]] = {}
        self._find_uses()
        self.guards_at: dict[int, list[int]] = {}
        self._place_guards()
        first = recorded.inputs
        self.parts = [(first + a, first + b) for a, b in cut_at_repeats(kinds.symbols[first:])]
        self._move_pieces()
        self.by_numpy = self._find_numpy_lines(precise)
        self._cut(self.by_numpy | {number + 1 for number in self.by_numpy})
        self._cut_at_moves()
        self._add_in_place()

    def _find_uses(self) -> None:
        for number, needed in enumerate(self.kinds.refs):
            for place in needed:
                self.last[place] = number
                self._users[place] += 1
        for output in self.recorded.outputs:
            if type(output) is Ref:
                self.last[output] = len(self.lines)
                self._users[output] += 1

    def _place_guards(self) -> None:
        """Check each guard once it is known, after all guards before it."""
        at = self.recorded.inputs
        for number, guard in enumerate(self.recorded.guards):
            at = max(at, int(guard.place))
            self.guards_at.setdefault(at, []).append(number)
            self.last[guard.place] = max(self.last[guard.place], at)
            self._users[guard.place] += 1

    def groups(self, views: dict[int, View] | None = None) -> list[Group]:
        """Return the stretches in groups that are the same inside; with views, also outside."""
        found: dict[Any, Group] = {}
        for start, stop in self.parts:
            if start in self.moved or start in self.by_numpy:
                continue
            if (start, stop) not in self._forms:
                self._forms[start, stop] = self._form(start, stop)
            key, needs = self._forms[start, stop]
            if views is not None:
                key = key, self._layouts(start, stop, needs, views)
            group = found.setdefault(key, Group(stop - start))
            group.starts.append(start)
            group.needs.append(needs)
        return list(found.values())

    def _form(self, start: int, stop: int) -> tuple[Any, list[int]]:
        """Return the content of a stretch, and the earlier lines that it needs."""
        outside: dict[int, int] = {}
        wiring: list[int] = []
        for number in range(start, stop):
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
        symbols = self.kinds.symbols[start:stop].tobytes()
        return (symbols, tuple(wiring), tuple(guards)), list(outside)

    def _layouts(
        self, start: int, stop: int, needs: list[int], views: dict[int, View]
    ) -> tuple[Any, ...]:
        """Return the layouts of the needed elements, and the indices that are not passed."""
        found: list[Any] = [views[place].strides if place in views else None for place in needs]
        for number in range(start, stop):
            line = self.lines[number]
            if number in self.dropped:
                found.append((number - start, views[number].strides))
            elif self.kinds.free[number] and line.name in INDEX:
                found.append(argument_key(line.args[INDEX[line.name]]))
        return tuple(found)

    def _can_move(self, line: Line) -> bool:
        """Tell whether a line only takes numbers of its own dtype, and at least one."""
        refs = [arg for arg in line.args if type(arg) is Ref]
        kinds = {self.lines[place].dtype for place in refs}
        empty = any(0 in self.lines[place].shape for place in refs)
        return kinds == {line.dtype} and dtype_letter(line.dtype) is not None and not empty

    def _move_pieces(self) -> None:
        """Turn arrays that are joined from many pieces into moves."""
        for number, line in enumerate(self.lines):
            if len(line.args) > PIECES and line.name == "concatenate" and self._can_move(line):
                self.moved.add(number)
        self._cut(self.moved | {number + 1 for number in self.moved})

    def _find_numpy_lines(self, precise: bool) -> set[int]:
        """Return the lines that cannot be compiled, by trying one line of each kind."""
        symbols, first = self.kinds.symbols, self.recorded.inputs
        kinds, where = np.unique(symbols[first:], return_index=True)
        refused = [
            kind for kind, number in zip(kinds, first + where, strict=True)
            if number not in self.moved and not can_compile(alone(self.lines, int(number)), precise)
        ]  # fmt: skip
        found = np.flatnonzero(np.isin(symbols[first:], refused)) + first
        return {int(number) for number in found}

    def _cut_at_moves(self) -> None:
        """Cut at moves, until there are no more."""
        for _ in range(ROUNDS):
            cuts: set[int] = set()
            for group in self.groups():
                if len(group.starts) > 1:
                    cuts |= self._look_at_indices(group)
            if not cuts:
                break
            self._cut(cuts)

    def _cut(self, cuts: set[int]) -> None:
        parts = []
        for start, stop in self.parts:
            edges = [start, *[at for at in range(start + 1, stop) if at in cuts], stop]
            parts += list(pairwise(edges))
        self.parts = parts

    def _look_at_indices(self, group: Group) -> set[int]:
        """Find indices that differ from step to step; return the lines to cut at."""
        cuts: set[int] = set()
        begin = group.starts[0]
        for at in range(group.length):
            line = self.lines[begin + at]
            if begin + at in self.dropped or not self._varies(line, group, at):
                continue
            numbers = [start + at for start in group.starts]
            if line.name != "getitem":
                self.moved.update(numbers)
                cuts.update(numbers, [number + 1 for number in numbers])
            elif line.args[0] >= begin:
                cuts.update(numbers)
            else:
                self.dropped.update(numbers)
        return cuts

    def _varies(self, line: Line, group: Group, at: int) -> bool:
        k = INDEX.get(line.name)
        if k is None or k not in self.kinds.free[group.starts[0] + at]:
            return False
        if 0 in line.shape or not (line.name == "getitem" or self._can_move(line)):
            return False
        first = argument_key(line.args[k])
        return any(argument_key(self.lines[start + at].args[k]) != first for start in group.starts)

    def _add_in_place(self) -> None:
        """Turn the sum of an array and one that is mostly zeros into a move."""
        cuts: set[int] = set()
        for number in sorted(self.moved):
            line, user = self.lines[number], self.last[number]
            if line.name != "scatter" or self._users[number] != 1 or user >= len(self.lines):
                continue
            add = self.lines[user]
            if add.name == "add" and all(type(arg) is Ref for arg in add.args):
                other = next(arg for arg in add.args if arg != number)
                same = self.lines[other].shape == line.shape == add.shape
                if same and self.lines[other].dtype == line.dtype and user not in self.moved:
                    self.added[user] = number
                    self.moved.add(user)
                    cuts.update((user, user + 1))
                    for place in self.kinds.refs[number]:
                        self.last[place] = max(self.last[place], user)
        self._cut(cuts)
