"""Multiples of arrays: later loops read the array and multiply again; the multiple is not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simpleautodiff.compiled.array.classify import ELEMENTWISE, REDUCE, VIEW
from simpleautodiff.compiled.array.known_numbers import KnownNumber
from simpleautodiff.compiled.recording.trace_program import Line, Ref, find_refs
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


class Recomputed(NamedTuple):
    """A number times an array that is in memory: the root of the array."""

    number: KnownNumber
    source: int


def find_recomputed(plan: LoopSchedule) -> dict[int, Recomputed]:
    """Return the multiples that only loops read, element by element."""
    kept = {plan.views[place].root for place in find_refs(plan.outputs)}
    kept |= {plan.views[guard[0]].root for guard in plan.guards if guard}
    for number, line in enumerate(plan.lines):
        if plan.how[number] not in (ELEMENTWISE, REDUCE, VIEW):
            kept |= {plan.views[place].root for place in find_refs((line.args, line.kwargs))}
    found = {}
    for number, line in enumerate(plan.lines):
        multiple = _as_recomputed(plan, line) if plan.how[number] == ELEMENTWISE else None
        if multiple and number not in kept:
            found[number] = multiple
    return found


def _as_recomputed(plan: LoopSchedule, line: Line) -> Recomputed | None:
    """Return a line as a multiple of an array with the same elements in memory."""
    if line.what is not TABLE["mul"]:
        return None
    for factor, array in (line.args, line.args[::-1]):
        number = plan.known(factor) if type(factor) is not Ref else None
        if number is None or type(array) is not Ref:
            continue
        view, source = plan.views[array], plan.lines[array]
        same = source.shape == line.shape and source.dtype == line.dtype
        if same and view.root >= 0 and view.is_whole:
            return Recomputed(number, view.root)
    return None
