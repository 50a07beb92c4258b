"""Let a step forward run the inner loops of the step back, which compute all its values, and more.

A step back begins with the operations of the step forward, inner loops among them, and keeps what
their steps back need. Where a step forward runs such a loop, too, it can keep that for the way
back.
"""

from __future__ import annotations

import operator
from typing import Any

from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.loops.merge_loops import find_results
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref, with_values


def share_inner_loop(
    forward: RecordedProgram, known: list[Ref], back: RecordedProgram, found: list[Ref]
) -> tuple[RecordedProgram, RecordedProgram] | None:
    """Return the programs of two steps with one more inner loop in common; None if none is left.

    `known` and `found` number the lines of both; equal lines have the same number.
    """
    places = {number: Ref(place) for place, number in reversed([*enumerate(known)])}
    for n, line in _find_loops(forward):
        for m, other in _find_loops(back):
            if line.what is other.what or line.what.carries != other.what.carries:
                continue
            given, more = with_values(line.args, known), with_values(other.args, found)
            results = find_results(line.what, given, other.what, more)
            args = [places.get(found[x], n) if type(x) is Ref else x for x in other.args]
            if results is None or any(type(x) is Ref and x >= n for x in args):
                continue
            function, index = other.what, [*range(other.what.carries)]
            for place in results:
                function, k = function.returning(place)
                index.append(k)
            count = len(other.what.body.outputs) - function.exits
            shared = line._replace(what=function, args=tuple(args))
            return (
                _with_all_results(_replace(forward, n, shared, index), n),
                _replace(back, m, other._replace(what=function), [*range(count)]),
            )
    return None


def _find_loops(program: RecordedProgram) -> list[tuple[Ref, Line]]:
    lines = enumerate(program.lines)
    return [(Ref(n), line) for n, line in lines if isinstance(line.what, LoopFunction)]


def _replace(
    program: RecordedProgram, number: int, loop: Line, index: list[int]
) -> RecordedProgram:
    """Return a program with another loop in a line; `index` tells where its results are now."""
    lines: list[Any] = [*program.lines]
    count = len(loop.what.body.outputs) - loop.what.exits
    index = [*index, count, count + 1, count + 2]
    lines[number] = loop
    for place, line in enumerate(lines):
        if line.what is operator.getitem and line.args[0] == number:
            lines[place] = line._replace(args=(line.args[0], index[line.args[1]]))
    return program._replace(lines=lines)


def _with_all_results(program: RecordedProgram, number: Ref) -> RecordedProgram:
    """Return a program with lines for all results of a loop."""
    function, lines = program.lines[number].what, [*program.lines]
    for k, place in enumerate(function.body.outputs[: len(function.body.outputs) - function.exits]):
        row = function.body.lines[place]
        shape = row.shape if k < function.carries else (function.rows, *row.shape)
        lines.append(Line(operator.getitem, (number, k), {}, shape, row.dtype))
    return program._replace(lines=lines)
