"""Take views again where they are used, so that a loop keeps arrays, not copies of their parts.

Reverse mode needs `x[1:]` and `y[:-1]` of every step again. As results of a step they would be
copies, one for each step; taken again from `x` and `y`, which are kept anyway, they cost nothing.
"""

from __future__ import annotations

import math

from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    places,
    with_values,
)
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

FAR = 16  # lines between a view and its use, from which on it is taken again
_GETITEM, _SET_ITEM, _SCATTER, _ADD = (
    TABLE[name] for name in ("getitem", "set_item", "scatter", "add")
)


def take_views_late(recorded: RecordedProgram) -> RecordedProgram:
    """Return a program in which views are taken again where they are used later."""
    views = _find_views(recorded)
    if not views:
        return recorded
    lines: list[Line] = []
    of: dict[int, Ref] = {}
    for number, line in enumerate(recorded.lines):
        known = {place: of[place] for place in line.needs()}
        for place in known:
            if place in views and number - place > FAR:
                view = recorded.lines[place]
                known[place] = Ref(len(lines))
                lines.append(view.renumbered(of))
        of[number] = Ref(len(lines))
        lines.append(line.renumbered(known))
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    return RecordedProgram(lines, recorded.inputs, guards, with_values(recorded.outputs, of))


def _find_views(recorded: RecordedProgram) -> set[int]:
    """Return the lines that are views of arrays which do not change, and are kept anyway."""
    lines, changed = recorded.lines, _find_changed(recorded.lines)
    found = set()
    for number, line in enumerate(lines):
        if line.what is _GETITEM and type(line.args[0]) is Ref and is_basic(line.args[1]):
            base = line.args[0]
            half = 2 * math.prod(line.shape) >= math.prod(lines[base].shape)
            kept = base < recorded.inputs or half
            if kept and base not in changed and next(places(line.args[1]), None) is None:
                found.add(number)
    return found


def _find_changed(lines: list[Line]) -> set[int]:
    """Return the arrays whose memory is reused: written to, or added to."""
    changed: set[int] = set()
    for line in lines:
        if line.what is _SET_ITEM:
            changed |= {*places(line.args[:1])}
        elif line.what is _ADD:
            refs = [*places(line.args)]
            if any([lines[place].what is _SCATTER for place in refs]):
                changed |= {*refs}
    return changed
