"""Merge a loop into a later one that computes the same values, and more.

`jacfwd` runs the loop of a function, and then the loop whose step is the pushforward of the step,
which computes the values of the function, too: the second loop can take the place of the first.
"""

from __future__ import annotations

import operator
from itertools import combinations
from typing import Any

from simpleautodiff.compiled.loops.loop_line import ENDLESS, LoopFunction
from simpleautodiff.compiled.loops.number_lines import number_lines
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)


def merge_loops(recorded: RecordedProgram) -> RecordedProgram:
    """Return a program without loops whose values another loop computes."""
    loops = [n for n, line in enumerate(recorded.lines) if isinstance(line.what, LoopFunction)]
    for first, second in combinations(loops, 2):
        one, other = recorded.lines[first], recorded.lines[second]
        found = find_results(one.what, one.args, other.what, other.args)
        if found is not None and first not in _find_needed(recorded.lines, second):
            return merge_loops(_merge(recorded, first, second, found))
    return recorded


def find_results(
    one: LoopFunction, given: tuple[Any, ...], other: LoopFunction, more: tuple[Any, ...]
) -> list[int] | None:
    """Return the lines of another loop that are the results of one; None if it lacks some.

    `given` and `more` are what the loops are called with; equal `Ref`s are equal values.
    """
    if one.carries > other.carries or _differ_in_kind(one, other):
        return None
    if one.exits and more[0] == ENDLESS:  # the first is stopped early only to make more room
        given = (ENDLESS, *given[1:])
    if not _are_same(given[: 2 + one.carries], more[: 2 + one.carries]):
        return None
    numbers: dict[Any, Ref] = {}
    own = number_lines(one.body, _key_inputs(one, given), numbers)
    found = number_lines(other.body, _key_inputs(other, more), numbers)
    ends = [*range(one.carries), *([-1] if one.exits else [])]
    for k in ends:
        if own[one.body.outputs[k]] != found[other.body.outputs[k]]:
            return None
    checked = {(found[guard.place], guard.expected) for guard in other.body.guards}
    if not checked.issuperset((own[g.place], g.expected) for g in one.body.guards):
        return None
    places = {number: place for place, number in enumerate(found)}
    results = one.body.outputs[one.carries : len(one.body.outputs) - one.exits]
    if (results and one.rows != other.rows) or not places.keys() >= {own[x] for x in results}:
        return None
    return [places[own[x]] for x in results]


def _differ_in_kind(one: LoopFunction, other: LoopFunction) -> bool:
    return (one.reverse, one.exits) != (other.reverse, other.exits)


def _are_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return bool(argument_key(one) == argument_key(other))


def _key_inputs(function: LoopFunction, args: tuple[Any, ...]) -> list[Any]:
    """Return a key for each input of a step; the k-th carried values of both loops have one."""
    columns = function.carries + function.columns
    return [
        k if k < function.carries else (k < columns, argument_key(operand))
        for k, operand in enumerate(args[2:])
    ]


def _find_needed(lines: list[Line], number: int) -> set[int]:
    """Return the lines that a line needs, directly or not."""
    needed: set[int] = set()
    pending = [number]
    while pending:
        more = [int(place) for place in lines[pending.pop()].needs() if place not in needed]
        needed.update(more)
        pending += more
    return needed


def _merge(
    recorded: RecordedProgram, first: int, second: int, results: list[int]
) -> RecordedProgram:
    """Return the program with the second loop, and all that it needs, in the place of the first."""
    lines = list(recorded.lines)
    one, other = lines[first].what, lines[second].what
    before = len(other.body.outputs) - other.exits
    index = list(range(one.carries))  # of the results of the first loop, among those of the second
    for place in results:
        other, k = other.returning(place)
        index.append(k)
    count = len(other.body.outputs) - other.exits
    status = range(count, count + 3)
    lines[second] = lines[second]._replace(what=other)
    picked = {first: [*index, *status], second: [*range(before), *status]}
    for number, line in enumerate(lines):
        if line.what is operator.getitem and line.args[0] in picked:
            whole, k = line.args
            lines[number] = line._replace(args=(Ref(second), picked[whole][k]))
    needed = {place for place in _find_needed(lines, second) if place > first}
    order = [*range(first), *sorted(needed), second]
    order += [n for n in range(first + 1, len(lines)) if n not in needed and n != second]
    of = {old: Ref(new) for new, old in enumerate(order)}
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    outputs = with_values(recorded.outputs, of)
    return RecordedProgram(
        [lines[n].renumbered(of) for n in order], recorded.inputs, guards, outputs
    )
