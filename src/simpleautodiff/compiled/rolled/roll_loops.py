"""Roll up a program with loops into calls of bodies: the lines between two loops are one body.

The programs of steps are written into that of the function: a row of a column is an address that
advances with every step. A carried value has memory of its own, to which the new value is moved
after each step; if all its values are kept, each is computed where it is kept.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.simplify import without_dead
from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.recording.trace_program import (
    Guard,
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.compiled.rolled.counters import (
    Counter,
    Selected,
    count_rows,
    find_counters,
    select,
)
from simpleautodiff.compiled.rolled.limits import ROLLING
from simpleautodiff.compiled.rolled.lines import find_kinds
from simpleautodiff.compiled.rolled.program_builder import ProgramBuilder
from simpleautodiff.compiled.rolled.rolled_program import (
    BodyCall,
    Given,
    LineCall,
    LoopBegin,
    LoopEnd,
    Move,
    NotRolledError,
    RolledProgram,
    Row,
)
from simpleautodiff.compiled.rolled.single_lines import alone, can_compile
from simpleautodiff.compiled.rolled.writes_in_place import Write, arrange_writes
from simpleautodiff.rules.row import TABLE

_ASTYPE = TABLE["astype"]
BOOL, INTEGER = np.dtype(np.bool_), np.dtype(np.int64)


def roll_loops(recorded: RecordedProgram, precise: bool) -> RolledProgram:
    """Return a program with loops as calls of bodies."""
    builder = ProgramBuilder(precise)
    recorded = without_dead(recorded)
    inputs = [builder.new(line.shape, line.dtype) for line in recorded.lines[: recorded.inputs]]
    part = _Part(builder, recorded, inputs, is_outermost=True)
    outputs = [Ref(part.number(x)) if type(x) is Ref else x for x in recorded.outputs]
    flat = RecordedProgram(builder.lines, recorded.inputs, recorded.guards, outputs)
    return RolledProgram(flat, builder.bodies, builder.calls, {}, builder.rows, builder.constants)


class _Part:
    """The program of the function, or of a step of a loop, as calls."""

    def __init__(
        self,
        builder: ProgramBuilder,
        program: RecordedProgram,
        inputs: list[int],
        counters: dict[int, Counter] | None = None,
        carries: int = 0,
        is_outermost: bool = False,
    ) -> None:
        self.builder, self.is_outermost = builder, is_outermost
        self.counters = find_counters(program, counters or {})
        self.program, self.writes = arrange_writes(program, carries, self._select)
        if self.writes:
            self.counters = find_counters(self.program, counters or {})
        self.cells = {x for x in inputs[:carries] if x not in builder.rows}  # are overwritten
        self.numbers: dict[int, int] = dict(enumerate(inputs))
        self.made: set[int] = set()  # results that bodies of this part write
        self._several: dict[int, list[int]] = {}  # the results of loops
        self._waiting: list[int] = []  # the lines of the next body
        self._selected = self._find_selected()
        self._unneeded = {write.spread for write in self.writes.values()}
        self._last = self._find_last_uses()
        self._kinds = find_kinds(self.program.lines).symbols
        self._compiled: dict[int, bool] = {}  # kinds of lines: whether they can be compiled
        self._asked = 0  # guards that are in a body already
        for number in range(program.inputs, len(program.lines)):
            self._take(number)
        self._compute_counters(find_refs(self.program.outputs))
        self._end_body(len(program.lines))

    def number(self, place: Any) -> int:
        """Return the number of the result of a line."""
        return self.numbers[place]

    def _find_last_uses(self) -> dict[int, int]:
        last: dict[int, int] = {}
        for number, line in enumerate(self.program.lines):
            for place in self._find_operands(number, line):
                last[place] = number
        for place in find_refs(self.program.outputs):
            last[place] = len(self.program.lines)
        return last

    def _find_operands(self, number: int, line: Line) -> Iterable[Any]:
        """Return the lines whose results a line needs; an address needs no index."""
        if number in self.writes:
            write = self.writes[number]
            return [write.target, *find_refs(write.value)]
        return line.args[:1] if number in self._selected else line.needs()

    def _take(self, number: int) -> None:
        line = self.program.lines[number]
        if number in self.writes:
            self._write_in_place(number, self.writes[number])
        elif number in self._selected:
            self._take_selected(number, line.args[0])
        elif number not in self.counters and number not in self._unneeded:
            self._compute_counters(line.needs())
            self._compute(number, line)

    def _compute(self, number: int, line: Line) -> None:
        """Have a line computed."""
        if line.what is operator.getitem and line.args[0] in self._several:
            self.numbers[number] = self._several[line.args[0]][line.args[1]]
        elif line.what is _ASTYPE and type(line.args[0]) is not Ref and not self.is_outermost:
            self.numbers[number] = self.builder.constant(line.args[0], line.dtype)
        elif isinstance(line.what, LoopFunction):
            self._end_body(number)
            self._several[number] = self._write_loop(line.what, line.args)
        elif not self._can_compile(number):
            self._call_numpy(number, line)
        else:
            if len(self._waiting) >= ROLLING.long:
                self._end_body(number)
            self._waiting.append(number)

    def _can_compile(self, number: int) -> bool:
        """Tell whether a line can be compiled, by trying one line of its kind."""
        kind = self._kinds[number]
        if kind not in self._compiled:
            line = alone(self.program.lines, number)
            self._compiled[kind] = can_compile(line, self.builder.precise)
        return self._compiled[kind]

    def _compute_counters(self, needed: Iterable[Any]) -> None:
        """Have those counters computed that are needed as numbers, not only for addresses."""
        for place in needed:
            if place in self.counters and place not in self.numbers and place not in self._waiting:
                line = self.program.lines[place]
                self._compute_counters(line.needs())
                self._compute(int(place), line)

    # Elements that counters select. ---------------------------------------------------------------

    def _select(self, index: Any, shape: tuple[int, ...]) -> Selected | None:
        return select(index, shape, self.counters, self.builder.counts)

    def _find_selected(self) -> dict[int, Selected]:
        """Return the lines that read what a counter selects."""
        found: dict[int, Selected] = {}
        for number, line in enumerate(self.program.lines if self.counters else ()):
            if line.what is TABLE["getitem"] and type(line.args[0]) is Ref:
                selected = self._select(line.args[1], self.program.lines[line.args[0]].shape)
                if selected is not None and selected.advances:
                    found[number] = selected
        return found

    def _take_selected(self, number: int, array: Any) -> None:
        """Read elements where they are; copy them if they may be overwritten, or lie apart."""
        if array not in self.numbers:
            self._end_body(number)
        builder, whole, selected = self.builder, self.numbers[array], self._selected[number]
        view = builder.selected(whole, selected)
        self.numbers[number] = view.root
        if whole in self.cells or not selected.is_contiguous:
            self.numbers[number] = copy = builder.new(view.shape, builder.lines[view.root].dtype)
            builder.calls.append(Move(False, builder.view(copy), view))

    def _write_in_place(self, number: int, write: Write) -> None:
        """Write to elements of a carried array."""
        self._end_body(number)
        builder, cell = self.builder, self.numbers[write.target]
        to = builder.selected(cell, write.selected)
        if type(write.value) is Ref:
            by: Any = builder.view(self.numbers[write.value])
        else:
            by = np.asarray(write.value, builder.lines[cell].dtype)
        builder.calls.append(Move(write.adds, to, by))
        self.numbers[number] = cell

    def _call_numpy(self, number: int, line: Line) -> None:
        if not self.is_outermost:
            raise NotRolledError(f"{line.name} is computed by NumPy")
        self._end_body(number)
        place = self.builder.new(line.shape, line.dtype)
        of = {ref: Ref(self.numbers[ref]) for ref in find_refs((line.args, line.kwargs))}
        args, kwargs = with_values(line.args, of), with_values(line.kwargs, of)
        self.builder.lines[place] = line._replace(args=args, kwargs=kwargs)
        self.builder.calls.append(LineCall(place, [int(ref) for ref in of.values()]))
        self.numbers[number] = place

    # Bodies. --------------------------------------------------------------------------------------

    def _end_body(self, stop: int) -> None:
        """Make a body from the waiting lines, and from the guards that are known."""
        inside, before = self._waiting, self._asked
        self._waiting = []
        guards = self._take_guards(stop)
        results = [n for n in inside if self._last.get(n, -1) >= stop or self._is_asked_later(n)]
        if not results and not guards:
            return
        program = self.program
        needed = [
            p for n in inside for p in find_refs((program.lines[n].args, program.lines[n].kwargs))
        ]
        outside = dict.fromkeys([p for p in [*needed, *[g.place for g in guards]]
                                 if p in self.numbers])  # fmt: skip
        of = {place: Ref(k) for k, place in enumerate([*outside, *inside])}
        lines = [
            Line(None, (), {}, program.lines[p].shape, program.lines[p].dtype) for p in outside
        ]
        for n in inside:
            line = program.lines[n]
            args, kwargs = with_values(line.args, of), with_values(line.kwargs, of)
            lines.append(line._replace(args=args, kwargs=kwargs))
        asked = [guard._replace(place=of[guard.place]) for guard in guards]
        body = RecordedProgram(lines, len(outside), asked, [of[n] for n in results])
        for n in results:
            self.numbers[n] = self.builder.new(program.lines[n].shape, program.lines[n].dtype)
        made = [self.numbers[n] for n in results]
        self.made.update(made)
        given = [Given(self.builder.view(self.numbers[place])) for place in outside]
        self.builder.calls.append(BodyCall(len(self.builder.bodies), given, made, before))
        self.builder.bodies.append(body)

    def _take_guards(self, stop: int) -> list[Guard]:
        guards = self.program.guards
        begin = self._asked
        while self._asked < len(guards) and guards[self._asked].place < stop:
            self._asked += 1
        return guards[begin : self._asked]

    def _is_asked_later(self, number: int) -> bool:
        return any(guard.place == number for guard in self.program.guards[self._asked :])

    # Loops. ---------------------------------------------------------------------------------------

    def _write_loop(self, function: LoopFunction, args: tuple[Any, ...]) -> list[int]:
        """Write a loop; return the numbers of all its results."""
        builder, body = self.builder, function.body
        limit, go, *operands = args
        loop, builder.loops = builder.loops, builder.loops + 1
        given = [self._find(x, line.dtype) for x, line in zip(operands, body.lines, strict=False)]
        results = [builder.new((function.rows, *line.shape), line.dtype)
                   for line in function.results]  # fmt: skip
        is_counted = type(limit) is not Ref and type(go) is not Ref and go
        carried = [
            self._place_kept(function, k, results, int(limit), loop)
            if is_counted and _is_kept(function, k)
            else _Carried(*[builder.new(line.shape, line.dtype)] * 4)
            for k, line in enumerate(body.lines[: function.carries])
        ]
        for cell, first in zip(carried, given, strict=False):
            builder.move(cell.first, first)
        end = function.carries + function.columns
        rows = [builder.row(x, loop) for x in given[function.carries : end]]
        good, more = builder.new((), BOOL), builder.new((), BOOL)
        count = builder.new((), INTEGER)
        for result in results if function.exits or type(limit) is Ref else ():
            zero = np.zeros((), builder.lines[result].dtype)
            builder.calls.append(Move(False, builder.view(result), zero))
        begin = LoopBegin(
            loop,
            self._find(limit, INTEGER),
            self._find(go, BOOL),
            (good, more, count),
            results,
            function.reverse,
        )
        at = len(builder.calls)
        builder.calls.append(begin)
        counters = self._find_inner_counters(function, args, loop)
        inputs = [*[cell.before for cell in carried], *rows, *given[end:]]
        part = _Part(builder, body, inputs, counters, function.carries)
        self._finish_step(function, part, carried, results, loop)
        last = [cell.last for cell in carried]
        kept = [begin.limit, good, more, count, *last, *results, *given]
        if function.exits:  # it is read after the last call of a step
            following = part.number(part.program.outputs[-1])
            builder.calls[at] = begin._replace(next=following)
            kept.append(following)
        builder.calls.append(LoopEnd(loop, kept))
        return [*last, *results, good, more, count]

    def _place_kept(
        self, function: LoopFunction, k: int, results: list[int], limit: int, loop: int
    ) -> _Carried:
        """Place a carried value where its values before each step are kept, with one row more."""
        builder, line = self.builder, function.body.lines[k]
        of, back = builder.new((function.rows + 1, *line.shape), line.dtype), function.reverse
        size = math.prod(line.shape)
        which = function.body.outputs.index(k, function.carries) - function.carries
        builder.rows[results[which]] = Row(of, back * size, {})
        return _Carried(
            builder.row(of, loop, ahead=int(back)),
            builder.row(of, loop, ahead=int(not back)),
            builder.part(of, limit if back else 0, line.shape, {}),
            builder.part(of, 0 if back else limit, line.shape, {}),
        )

    def _find_inner_counters(
        self, function: LoopFunction, args: tuple[Any, ...], loop: int
    ) -> dict[int, Counter]:
        """Return the inputs of a step that are counters; there are none if its length varies."""
        limit, _, *operands = args
        if type(limit) is Ref or limit < 1:
            return {}
        self.builder.counts[loop] = int(limit)
        found: dict[int, Counter] = {}
        for k, x in enumerate(operands):
            if k >= function.carries + function.columns:
                counter = self.counters.get(x) if type(x) is Ref else None
            else:
                counter = count_rows(x, loop) if k >= function.carries else None
            if counter is not None:
                found[k] = counter
        return found

    def _find(self, x: Any, dtype: Any) -> int:
        return self.numbers[x] if type(x) is Ref else self.builder.constant(x, dtype)

    def _finish_step(
        self,
        function: LoopFunction,
        part: _Part,
        carried: list[_Carried],
        results: list[int],
        loop: int,
    ) -> None:
        """Store the results of a step."""
        outputs = [part.number(place) for place in part.program.outputs]
        builder, kept = self.builder, [cell for cell in carried if cell.is_kept]
        for made, result in zip(outputs[function.carries :], results, strict=False):
            if any(cell.before == made and result in builder.rows for cell in kept):
                continue  # it is there already
            self._store(part, made, builder.row(result, loop))
        cells = [cell.before for cell in carried if not cell.is_kept]
        after = outputs[: function.carries]
        for k, made in enumerate(after):
            if carried[k].is_kept:
                self._store(part, made, carried[k].after)
            elif made in cells and made != carried[k].before:  # it may be overwritten by then
                after[k] = builder.new(builder.lines[made].shape, builder.lines[made].dtype)
                builder.move(after[k], made)
        for cell, made in zip(carried, after, strict=True):
            if not cell.is_kept and made != cell.before:
                builder.move(cell.after, made)

    def _store(self, part: _Part, made: int, row: int) -> None:
        """Have a result of a step computed in a row, or moved there."""
        if made in part.made and made not in self.builder.rows:
            self.builder.rows[made] = self.builder.rows[row]
        else:
            self.builder.move(row, made)


class _Carried(NamedTuple):
    """The memory of a carried value: before and after a step, before the first, after the last."""

    before: int
    after: int
    first: int
    last: int

    @property
    def is_kept(self) -> bool:
        """Whether each of its values has memory of its own."""
        return self.before != self.after


def _is_kept(function: LoopFunction, k: int) -> bool:
    """Tell whether an array that a loop carries is among its results, as it is before each step."""
    line, results = function.body.lines[k], function.body.outputs[function.carries :]
    assert line.dtype is not None
    return math.prod(line.shape) * line.dtype.itemsize > ROLLING.kept and k in results
