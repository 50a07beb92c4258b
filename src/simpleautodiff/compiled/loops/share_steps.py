"""Let a loop read what an earlier one has computed in the same step, instead of computing it again.

A step back of a reverse sweep begins with the operations of the step forward (`run_loop`), from
the carried values that were kept. What is expensive of it is added to the results of the loop
forward, a row for each step; cheap operations are done again. So is an element of a carried array:
the array itself need then not be kept.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.simplify import argument_key, without_dead
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.loops.merge_loops import merge_loops
from simpleautodiff.compiled.loops.number_lines import number_lines
from simpleautodiff.compiled.loops.record_loop import find_needed_inputs, keep_inputs
from simpleautodiff.compiled.loops.select_early import select_early
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref, with_values
from simpleautodiff.rules.row import TABLE

RECOMPUTED = {  # rows that are computed again rather than kept
    *("add", "sub", "mul", "neg", "pos", "square", "abs", "sign", "copysign", "relu", "where"),
    *("maximum", "minimum", "fmax", "fmin", "clip", "floor", "ceil", "trunc", "rint", "round"),
    *("getitem", "set_item", "scatter", "roll", "reshape", "transpose", "broadcast_to", "sum_to"),
    *("astype", "real", "imag", "conj", "stop_gradient"),
}


def share_steps(recorded: RecordedProgram) -> RecordedProgram:
    """Return a program whose loops compute in one step what several of them need of it."""
    recorded = merge_loops(_drop_unread(without_dead(recorded)))
    loops: dict[int, _Loop] = {}
    for number, line in enumerate(recorded.lines):
        if isinstance(line.what, LoopFunction):
            body = select_early(share_steps(line.what.body))
            loop = _Loop(number, replace(line.what, body=body), list(line.args))
            for earlier in loops.values():
                _share(recorded.lines, earlier, loop)
            loops[number] = loop
    return _rebuild(recorded, loops) if loops else recorded


@dataclass(frozen=True, slots=True)
class _Added:
    """A result that was added to a loop, as an operand of another one."""

    loop: int
    index: int


@dataclass(slots=True)
class _Loop:
    """A loop of a program, which gets further results and columns."""

    number: int
    function: LoopFunction
    operands: list[Any]  # the limit, whether there is a first step, and the inputs of a step
    added: int = 0  # results

    @property
    def results(self) -> int:
        """How many results it has, with the last carried values."""
        return len(self.function.body.outputs) - self.function.exits

    def add_result(self, place: int) -> _Added:
        """Return the result that has a row of a line of every step."""
        before = self.results
        self.function, index = self.function.returning(place)
        self.added += self.results - before
        return _Added(self.number, index)

    def read(self, columns: dict[int, Any]) -> None:
        """Read some lines of every step from columns instead of computing them."""
        function, body = self.function, self.function.body
        at, more = function.carries + function.columns, len(columns)
        of: dict[int, Any] = {k: Ref(k + more * (k >= at)) for k in range(len(body.lines))}
        of |= {place: Ref(at + k) for k, place in enumerate(columns)}
        lines = [line.renumbered(of) for line in body.lines]
        given = [Line(None, (), {}, lines[k].shape, lines[k].dtype) for k in columns]
        program = RecordedProgram(
            [*lines[:at], *given, *lines[at:]],
            body.inputs + more,
            [guard._replace(place=of[guard.place]) for guard in body.guards],
            with_values(body.outputs, of),
        )
        operands = [*self.operands[2 : at + 2], *columns.values(), *self.operands[at + 2 :]]
        self._keep_needed(without_dead(program), at + more, operands)

    def _keep_needed(self, program: RecordedProgram, end: int, operands: list[Any]) -> None:
        """Drop inputs that the program of a step does not need; the columns are before `end`."""
        carries = self.function.carries
        kept = find_needed_inputs(program, carries)
        columns = sum([k < end for k in kept]) - carries
        self.operands[2:] = [operands[k] for k in kept]
        self.function = replace(self.function, body=keep_inputs(program, kept), columns=columns)


# What two loops have in common. -------------------------------------------------------------------


def _share(lines: list[Line], earlier: _Loop, later: _Loop) -> None:
    """Let the later loop read what the earlier one computes in the same step, if it is costly."""
    if not _take_same_steps(lines, earlier, later):
        return
    numbers: dict[Any, Ref] = {}
    known = number_lines(earlier.function.body, _key_inputs(earlier, earlier, {}, lines), numbers)
    places = {number: place for place, number in enumerate(known)}
    found = number_lines(
        later.function.body, _key_inputs(later, earlier, dict(enumerate(known)), lines), numbers
    )
    body, columns = later.function.body, dict[int, Any]()
    room, seen = LOOPS.shared, set[int]()
    pending = [x for x in [*body.outputs, *[g.place for g in body.guards]] if type(x) is Ref]
    while pending:
        place = int(pending.pop())
        line = body.lines[place]
        if place in seen or line.what is None:
            continue
        seen.add(place)
        size = _find_size(line) * earlier.function.rows
        is_kept = _is_costly(line) or _is_part(line, body.lines, later, earlier, lines)
        if found[place] in places and is_kept and size <= room:
            columns[place] = earlier.add_result(places[found[place]])
            room -= size
        else:
            pending += line.needs()
    if columns:
        later.read(columns)


def _take_same_steps(lines: list[Line], earlier: _Loop, later: _Loop) -> bool:
    """Tell whether every step of the later loop has a row among the results of the earlier one."""
    limit, go = later.operands[:2]
    if type(limit) is Ref and lines[limit].what is operator.getitem:
        of, index = lines[limit].args
        if of == earlier.number:
            return bool(index == earlier.results - earlier.added + 2)
    same = bool(argument_key(tuple(earlier.operands[:2])) == argument_key((limit, go)))
    return same and not earlier.function.exits


def _key_inputs(loop: _Loop, earlier: _Loop, known: dict[int, Ref], lines: list[Line]) -> list[Any]:
    """Return a key for each input of a step: of rows of the earlier loop's results, its lines'."""
    carries, columns = loop.function.carries, loop.function.columns
    keys: list[Any] = []
    for k, operand in enumerate(loop.operands[2:]):
        kind = "carry" if k < carries else "column" if k < carries + columns else "constant"
        index = _find_index(operand, earlier, lines) if kind == "column" else None
        if index is not None and loop is not earlier and index < earlier.results:
            keys.append(known.get(earlier.function.body.outputs[index]))
        elif kind == "carry":
            keys.append((loop.number, k))
        else:
            keys.append((kind, operand if isinstance(operand, _Added) else argument_key(operand)))
    return keys


def _find_index(operand: Any, loop: _Loop, lines: list[Line]) -> int | None:
    """Return which result of a loop an operand is."""
    if isinstance(operand, _Added):
        return operand.index if operand.loop == loop.number else None
    if type(operand) is Ref and lines[operand].what is operator.getitem:
        of, index = lines[operand].args
        return index if of == loop.number else None
    return None


def _is_costly(line: Line) -> bool:
    is_number = line.dtype is not None and line.dtype.kind in "fc"
    return is_number and line.name not in RECOMPUTED and not isinstance(line.what, LoopFunction)


def _is_part(line: Line, body: list[Line], loop: _Loop, earlier: _Loop, lines: list[Line]) -> bool:
    """Tell whether a line reads a part of what would otherwise be kept of every step."""
    if line.what is not TABLE["getitem"] or type(line.args[0]) is not Ref:
        return False
    whole = int(line.args[0])
    if _find_size(line) >= _find_size(body[whole]):
        return False
    if body[whole].what is not None:
        return True
    return _find_index(loop.operands[2 + whole], earlier, lines) is not None


def _find_size(line: Line) -> int:
    """Return the number of bytes of a result."""
    return 0 if line.dtype is None else int(np.prod(line.shape)) * line.dtype.itemsize


# The program with the new loops. ------------------------------------------------------------------


def _rebuild(recorded: RecordedProgram, loops: dict[int, _Loop]) -> RecordedProgram:
    """Return the program with other loops, and with lines for the results that others read."""
    read = {x for loop in loops.values() for x in loop.operands if isinstance(x, _Added)}
    of: dict[Any, Any] = {}
    lines: list[Line] = []
    for number, line in enumerate(recorded.lines):
        of[number] = Ref(len(lines))
        if number in loops:
            function, operands = loops[number].function, loops[number].operands
            args = [of[x] if isinstance(x, _Added) else with_values(x, of) for x in operands]
            lines.append(line._replace(what=function, args=tuple(args)))
            for added in sorted([x for x in read if x.loop == number], key=lambda x: x.index):
                of[added] = Ref(len(lines))
                lines.append(_pick(function, of[number], added.index))
        elif line.what is operator.getitem and line.args[0] in loops:
            whole, index = line.args
            loop = loops[whole]
            is_status = index >= loop.results - loop.added
            lines.append(line._replace(args=(of[whole], index + loop.added * is_status)))
        else:
            lines.append(line.renumbered(of))
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    outputs = with_values(recorded.outputs, of)
    return _drop_unread(without_dead(RecordedProgram(lines, recorded.inputs, guards, outputs)))


def _pick(function: LoopFunction, whole: Ref, index: int) -> Line:
    """Return the line that is one of the results of a loop."""
    row = function.results[index - function.carries]
    return Line(operator.getitem, (whole, index), {}, (function.rows, *row.shape), row.dtype)


def _drop_unread(program: RecordedProgram) -> RecordedProgram:
    """Return a program whose loops have only results that are read."""
    lines = list(program.lines)
    parts: dict[int, list[int]] = {}  # the lines of the results of each loop
    for number, line in enumerate(lines):
        if isinstance(line.what, LoopFunction):
            parts[number] = []
        elif line.what is operator.getitem and line.args[0] in parts:
            parts[line.args[0]].append(number)
    for number, picks in parts.items():
        function = lines[number].what
        count = len(function.body.outputs) - function.exits
        read = {lines[pick].args[1] for pick in picks}
        kept = [k for k in range(count) if k < function.carries or k in read]
        of = {k: index for index, k in enumerate([*kept, *range(count, count + 3)])}
        ends = [*kept, *range(count, len(function.body.outputs))]
        body = without_dead(
            function.body._replace(outputs=[function.body.outputs[k] for k in ends])
        )
        first = tuple([function.first[k] for k in ends])
        lines[number] = lines[number]._replace(what=replace(function, body=body, first=first))
        for pick in picks:
            whole, index = lines[pick].args
            lines[pick] = lines[pick]._replace(args=(whole, of[index]))
    return program._replace(lines=lines)
