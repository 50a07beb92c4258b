"""Let a loop read what an earlier one has computed in the same step, instead of computing it again.

A step back of a reverse sweep begins with the operations of the step forward (`run_loop`), from
the carried values that were kept. What is cheaper to keep than to compute again is added to the
results of the loop forward, a row for each step (`choose_kept`); carried values that are not needed
for the rest are not kept.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.simplify import without_dead
from simpleautodiff.compiled.loops.choose_kept import NEVER, Price, choose_kept
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.loops.merge_loops import merge_loops
from simpleautodiff.compiled.loops.number_lines import number_lines
from simpleautodiff.compiled.loops.record_loop import find_needed_inputs, keep_inputs
from simpleautodiff.compiled.loops.select_early import select_early
from simpleautodiff.compiled.loops.share_inner_loops import share_inner_loop
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

# What keeping an element costs, and what computing it again does; other rows are never computed
# again.
KEEPING = 12
KEEPING_FAR = 24  # keeping it, if all steps together exceed a cache
CACHE = 2**21  # bytes
COPYING_VIEW = 8  # in addition, of a view
_VIEWS = ("reshape", "transpose", "broadcast_to", "getitem")
_CHEAP = (
    *("add", "sub", "mul", "neg", "pos", "square", "abs", "sign", "copysign", "relu", "where"),
    *("maximum", "minimum", "fmax", "fmin", "clip", "floor", "ceil", "trunc", "rint", "round"),
    *_VIEWS,
    *("astype", "real", "imag", "conj", "stop_gradient", "equal", "not_equal"),
)
_MOVING = ("set_item", "scatter", "roll", "concatenate", "sum_to")
COSTLY = 24  # an operation that is not among these, in a loop
COMPUTING = dict.fromkeys(_CHEAP, 1) | dict.fromkeys(_MOVING, 12)


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
    known, found = _number_steps(lines, earlier, later)
    while both := share_inner_loop(earlier.function.body, known, later.function.body, found):
        earlier.function = replace(earlier.function, body=both[0])
        later.function = replace(later.function, body=both[1])
        known, found = _number_steps(lines, earlier, later)
    places = {number: place for place, number in enumerate(known)}
    body = later.function.body
    shared = {place for place, number in enumerate(found) if number in places}
    operands = enumerate(later.operands[2:])
    rows = {k for k, x in operands if _find_index(x, earlier, lines) is not None}
    choices = {place: _price(body.lines[place], earlier.function.rows, place in rows, shared)
               for place in sorted(shared) if place in rows or place >= body.inputs}  # fmt: skip
    read = [*body.outputs, *[guard.place for guard in body.guards]]
    for place, line in enumerate(body.lines):
        read += line.needs() if place not in shared else ()
    kept = choose_kept(choices, [x for x in read if type(x) is Ref and x in choices])
    added = sorted(kept - rows)
    size = sum([_find_size(body.lines[place]) for place in added])
    if added and size * earlier.function.rows <= LOOPS.shared:
        later.read({place: earlier.add_result(places[found[place]]) for place in added})


def _number_steps(lines: list[Line], earlier: _Loop, later: _Loop) -> tuple[list[Ref], list[Ref]]:
    """Return a number for each line of a step of both loops; equal ones have the same."""
    numbers: dict[Any, Ref] = {}
    known = number_lines(earlier.function.body, _key_inputs(earlier, earlier, {}, lines), numbers)
    keys = _key_inputs(later, earlier, dict(enumerate(known)), lines)
    return known, number_lines(later.function.body, keys, numbers)


def _price(line: Line, rows: int, is_row: bool, shared: set[int]) -> Price:
    """Return what it costs to keep a line of every step, and to compute it again.

    The carried values are where they are kept, so it costs less to keep them (`roll_loops`).
    """
    size = math.prod(line.shape)
    keeping = KEEPING if rows * _find_size(line) <= CACHE else KEEPING_FAR
    if is_row:
        return Price(keeping * size // 2, NEVER, ())
    needs = [int(place) for place in line.needs() if place in shared]
    if isinstance(line.what, LoopFunction):
        return Price(NEVER, _price_loop(line.what), needs)
    of_loop = line.what is operator.getitem
    if line.dtype is None or (line.dtype.kind not in "fc" and not of_loop):
        return Price(NEVER, size, needs)
    exponent = line.args[1] if line.name == "power" else None
    again = COMPUTING.get(line.name)
    if type(exponent) in (int, float) and exponent in (2, 3):
        again = 1  # a product
    if line.what is TABLE["getitem"] and not is_basic(line.args[1]):
        again = keeping
    keeping += COPYING_VIEW if line.name in _VIEWS else 0
    return Price(keeping * size, NEVER if again is None else again * size, needs)


def _price_loop(function: LoopFunction) -> int:
    """Return what it costs to run a loop again."""
    step = 0
    for line in function.body.lines[function.body.inputs :]:
        if isinstance(line.what, LoopFunction):
            step += _price_loop(line.what)
        elif line.dtype is not None:
            step += COMPUTING.get(line.name, COSTLY) * math.prod(line.shape)
    return function.rows * step


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
            body = _drop_unread(without_dead(function.body))  # of inner loops that are shared
            function = replace(function, body=body)
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
