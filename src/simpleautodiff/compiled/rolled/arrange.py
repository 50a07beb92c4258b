"""Arrange the lines of a program before it is rolled up: drop, share and move lines.

Lines that nothing needs are dropped. Lines that need only the arguments are computed once, instead
of in every step of a loop. And views are taken again where they are used: reverse mode needs
`x[1:]` and `y[:-1]` of every step again. As results of a step they would be copies, one for each
step; taken again from `x` and `y`, which are kept anyway, they cost nothing.

A program may have a million lines, so all this is one pass that decides and one that writes.
"""

from __future__ import annotations

import math
from typing import Any

from simpleautodiff.compiled.array.simplify import find_needed
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)
from simpleautodiff.compiled.rolled.lines import with_slices
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

FAR = 16  # lines between a view and its use, from which on it is taken again
_GETITEM, _SET_ITEM, _SCATTER, _ADD = (
    TABLE[name] for name in ("getitem", "set_item", "scatter", "add")
)


def arrange(recorded: RecordedProgram) -> RecordedProgram:
    """Return the same program without repeated lines, and with views close to their uses.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = y = level.input(np.ones(3))
    ...     for _ in range(3):
    ...         y = y + 0.5 / x
    >>> [line.name for line in arrange(level.finish([y], 1)).lines]
    ['input', 'div', 'add', 'add', 'add']
    """
    return _Arranging(recorded).write()


class _Arranging:
    """The lines of a program, which of them stay, and which are views."""

    def __init__(self, recorded: RecordedProgram) -> None:
        self.recorded, self.lines = recorded, recorded.lines
        self.refs = [line.needs() for line in self.lines]
        self.stays = find_needed(recorded, self.refs)
        self.same = self._share()
        self.views = self._find_views()

    def _share(self) -> dict[int, Ref]:
        """Find lines that need only the arguments and equal an earlier one, which is used instead.

        Return that one for each.
        """
        same: dict[int, Ref] = {}
        fixed = {number: Ref(number) for number in range(self.recorded.inputs)}
        rough: dict[Any, int] = {}  # the first line that does the same to the same lines
        known: dict[Any, Ref] = {}  # what lines are that are not the only such one, and the first
        compared: set[int] = set()
        is_fixed = fixed.__contains__

        def describe(number: int) -> Any:
            _, args, kwargs, *_ = self.lines[number]
            return argument_key(with_values((args, kwargs), fixed))

        for number in range(self.recorded.inputs, len(self.lines)):
            refs = self.refs[number]
            if refs and self.stays[number] and all(map(is_fixed, refs)):
                key = (self.lines[number][0], *[fixed[place] for place in refs])
                first = rough.setdefault(key, number)
                if first != number:  # most lines are not compared in full
                    if first not in compared:
                        compared.add(first)
                        known[key, describe(first)] = fixed[first]
                    first = known.setdefault((key, describe(number)), Ref(number))
                fixed[number] = Ref(first)
                if first != number:
                    same[number], self.stays[number] = fixed[number], False
        if same:
            self.refs = [[same.get(place, place) for place in refs] for refs in self.refs]
        return same

    def _find_views(self) -> set[int]:
        """Return the lines that are views of arrays which do not change, and are kept anyway."""
        lines, changed, found = self.lines, self._find_changed(), set()
        for number, line in enumerate(lines):
            if line[0] is _GETITEM and self.stays[number] and type(line.args[0]) is Ref:
                base, *others = self.refs[number]
                half = 2 * math.prod(line.shape) >= math.prod(lines[base].shape)
                kept = (base < self.recorded.inputs or half) and base not in changed
                if kept and not others and is_basic(line.args[1]):
                    found.add(number)
        return found

    def _find_changed(self) -> set[int]:
        """Return the arrays whose memory is reused: written to, or added to."""
        lines, changed = self.lines, set[int]()
        for line, refs, stays in zip(lines, self.refs, self.stays, strict=True):
            if line[0] is _SET_ITEM and stays and type(line.args[0]) is Ref:
                changed.add(refs[0])
            elif line[0] is _ADD and stays and any([lines[place][0] is _SCATTER for place in refs]):
                changed.update(refs)
        return changed

    def _find_near(self) -> set[int]:
        """Return the views that are used where they are, and not only far from there."""
        views = self.views
        ends = [*self.recorded.outputs, *[guard.place for guard in self.recorded.guards]]
        near = {int(self.same.get(place, place)) for place in ends if type(place) is Ref}
        near |= {place for view in views for place in self.refs[view]}  # views of views
        for number, refs in enumerate(self.refs):
            if self.stays[number] and not views.isdisjoint(refs):
                near |= {place for place in refs if number - place <= FAR}
        return near

    def write(self) -> RecordedProgram:
        """Return the program."""
        recorded, views, near = self.recorded, self.views, self._find_near()
        made: list[Line] = []
        of: list[Any] = [None] * len(self.lines)
        for number, line in enumerate(self.lines):
            if number in self.same:
                of[number] = of[self.same[number]]
            elif self.stays[number] and (number not in views or number in near):
                refs = self.refs[number]
                known: Any = of
                if not views.isdisjoint(refs):
                    known = dict(zip(line.needs(), [of[place] for place in refs], strict=True))
                    for place, old in zip(refs, known, strict=False):
                        if place in views and number - place > FAR:
                            known[old] = Ref(len(made))
                            made.append(with_slices(self.lines[place].renumbered(of)))
                of[number] = Ref(len(made))
                made.append(with_slices(line.renumbered(known)))
        guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
        return RecordedProgram(made, recorded.inputs, guards, with_values(recorded.outputs, of))
