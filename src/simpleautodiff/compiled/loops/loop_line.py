"""A loop as one line of a recorded program: the program of one step, and how often it runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simpleautodiff.arrays.writes.example_indices import to_plain_index
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.array.simplify import compute
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.core.level import apply
from simpleautodiff.core.primitive import Primitive

ENDLESS = 2**62  # the limit of a loop that ends by its own condition


@dataclass(frozen=True, eq=False)
class LoopFunction:
    """A loop over the program of one step, which NumPy runs if there is no machine code.

    The program takes the carried values, one row of each column, and constants; it gives the
    carried values of the next step, a row of each result, and, of a loop that `exits`, whether
    there is a next step. The loop is called with the number of steps, whether there is a first one,
    the first carried values, the columns and the constants. It returns the last carried values,
    the results, whether all guards held, whether there would be a next step, and how many steps it
    took.
    """

    body: RecordedProgram
    carries: int
    columns: int
    rows: int  # the length of each result, even if there are fewer steps
    reverse: bool = False  # whether it begins with the last row
    exits: bool = False
    first: tuple[Any, ...] = ()  # the results of the program when it was recorded

    __name__ = "loop"

    @property
    def results(self) -> list[Line]:
        """The lines of the program that compute rows of results."""
        outputs = self.body.outputs[self.carries : len(self.body.outputs) - self.exits]
        return [self.body.lines[place] for place in outputs]

    @property
    def steps(self) -> int:
        """The number of lines of the program, without its arguments."""
        return len(self.body.lines) - self.body.inputs

    @property
    def has_loops(self) -> bool:
        """Whether a step has loops of its own."""
        return any(isinstance(line.what, LoopFunction) for line in self.body.lines)

    def keeping_states(self, rows: int) -> LoopFunction:
        """Return the loop that also returns the carried values before each step."""
        at = len(self.body.outputs) - self.exits
        states: list[Any] = [Ref(k) for k in range(self.carries)]
        outputs = [*self.body.outputs[:at], *states, *self.body.outputs[at:]]
        firsts = [np.zeros(line.shape, line.dtype)[()] for line in self.body.lines[: self.carries]]
        first = (*self.first[:at], *firsts, *self.first[at:])
        return replace(self, body=self.body._replace(outputs=outputs), rows=rows, first=first)

    def returning(self, place: int) -> tuple[LoopFunction, int]:
        """Return the loop with a line of each step among its results, and which of them it is."""
        outputs, end = self.body.outputs, len(self.body.outputs) - self.exits
        for index in range(self.carries, end):
            if outputs[index] == place:
                return self, index
        line = self.body.lines[place]
        body = self.body._replace(outputs=[*outputs[:end], Ref(place), *outputs[end:]])
        first = np.zeros(line.shape, line.dtype)[()]
        firsts = (*self.first[:end], first, *self.first[end:])
        return replace(self, body=body, first=firsts), end

    def estimate(self) -> tuple[Any, ...]:
        """Return numbers with the shapes and dtypes of the results: those of the first step."""
        carries = self.first[: self.carries]
        rows = self.first[self.carries : self.carries + len(self.results)]
        columns = [np.broadcast_to(row, (self.rows, *np.shape(row))) for row in rows]
        return *carries, *columns, np.bool_(True), np.bool_(False), np.int64(self.rows)

    def __call__(self, limit: Any, go: Any, *operands: Any) -> tuple[Any, ...]:
        """Run the steps with NumPy, line by line."""
        made = self.run_steps(ENDLESS, limit, go, *operands)
        assert made is not None
        return made

    def run_steps(self, most: int, limit: Any, go: Any, *operands: Any) -> tuple[Any, ...] | None:
        """Run the steps with NumPy; None if there are more than `most`."""
        inputs = zip(operands, self.body.lines, strict=False)
        carry = [np.asarray(x, line.dtype)[()] for x, line in inputs][: self.carries]
        columns = operands[self.carries : self.carries + self.columns]
        constants = operands[self.carries + self.columns :]
        results = [np.zeros((self.rows, *line.shape), line.dtype) for line in self.results]
        replay, count, good = Replay(self.body), 0, True
        while count < limit and go:
            if count == most:
                return None
            row = limit - 1 - count if self.reverse else count
            status, made = replay.run([*carry, *[x[row] for x in columns], *constants])
            if status:
                good = False
                break
            carry, count = made[: self.carries], count + 1
            for result, value in zip(results, made[self.carries :], strict=False):
                result[row] = value
            go = made[-1] if self.exits else True
        go = bool(go) and self.exits
        return *carry, *results, np.bool_(good), np.bool_(go), np.int64(count)


def replay_body(
    function: LoopFunction, inputs: Sequence[Any], run: Callable[..., Any], asks: bool
) -> list[Any]:
    """Run the program of a step on values of any level, and loops in it by `run`.

    Its guards are checked if `asks` is true; otherwise they are known to hold.
    """
    program = function.body
    values: list[Any] = [*inputs, *[None] * (len(program.lines) - program.inputs)]
    for number in range(program.inputs, len(program.lines)):
        line = program.lines[number]
        if isinstance(line.what, LoopFunction):
            values[number] = run(line.what, with_values(line.args, values))
        else:
            values[number] = _compute_on_levels(line, values)
    for guard in program.guards if asks else ():
        if bool(values[guard.place]) is not guard.expected:
            raise not_recorded("a decision that is another one in another step of a loop")
    return with_values(list(program.outputs), values)  # type: ignore[no-any-return]


def _compute_on_levels(line: Line, values: Any) -> Any:
    """Compute one line with values of any level; an index has no derivative."""
    if isinstance(line.what, Primitive) and any(type(arg) is tuple for arg in line.args):
        args = with_values(line.args, values)
        return apply(line.what, *[to_plain_index(x) if type(x) is tuple else x for x in args])
    return compute(line, values)


def find_dependent(function: LoopFunction, inputs: set[int]) -> tuple[set[int], set[int]]:
    """Return the arguments of a step, and the lines, that depend on some arguments of the loop.

    A carried value does if it does in a later step.
    """
    before: set[int] = set()
    lines: set[int] = set()
    while before != inputs:
        before, lines = inputs, _find_dependent_lines(function.body, inputs)
        outputs = function.body.outputs[: function.carries]
        inputs = inputs | {k for k, place in enumerate(outputs) if place in lines}
    return inputs, lines


def _find_dependent_lines(program: RecordedProgram, inputs: set[int]) -> set[int]:
    lines, of_loops = set(inputs), dict[int, set[int]]()
    for number in range(program.inputs, len(program.lines)):
        line = program.lines[number]
        if isinstance(line.what, LoopFunction):
            given = [type(x) is Ref and x in lines for x in line.args]
            of_loops[number] = _find_dependent_results(line.what, given)
        elif line.what is operator.getitem and line.args[0] in of_loops:
            lines |= {number} if line.args[1] in of_loops[line.args[0]] else set()
        elif any(place in lines for place in find_refs((line.args, line.kwargs))):
            lines.add(number)
    return lines


def _find_dependent_results(function: LoopFunction, given: list[bool]) -> set[int]:
    """Return which results of a loop depend on the marked arguments."""
    count = len(function.body.outputs) - function.exits
    inputs, lines = find_dependent(function, {k for k, is_one in enumerate(given[2:]) if is_one})
    asked = [guard.place for guard in function.body.guards] + function.body.outputs[count:]
    if any(given[:2]) or any(place in lines for place in asked):
        return set(range(count + 3))
    found = {k for k, place in enumerate(function.body.outputs[:count]) if place in lines}
    return found | {k for k in inputs if k < function.carries}


def find_affecting(function: LoopFunction, results: set[int]) -> tuple[set[int], set[int]]:
    """Return the results and the arguments of a step that affect some results of a loop.

    Those results are among them; a carried value affects what later steps compute from it.
    """
    needed, inputs, pending = set(results), set[int](), list(results)
    while pending:
        found = _find_inputs_of(function.body, int(function.body.outputs[pending.pop()]))
        more = {k for k in found if k < function.carries} - needed
        needed, inputs = needed | more, inputs | found
        pending += more
    return needed, inputs


def _find_inputs_of(program: RecordedProgram, place: int) -> set[int]:
    """Return the arguments of a step that a line depends on."""
    seen, pending = set[int](), [place]
    while pending:
        number = pending.pop()
        if number not in seen:
            seen.add(number)
            pending += _find_operands(program.lines, program.lines[number])
    return {number for number in seen if number < program.inputs}


def _find_operands(lines: list[Line], line: Line) -> list[Ref]:
    """Return the lines that a line depends on; of a result of a loop, only what matters for it."""
    whole = lines[line.args[0]] if line.what is operator.getitem else line
    function = whole.what
    if whole is line or not isinstance(function, LoopFunction):
        return line.needs()
    if line.args[1] >= len(function.body.outputs) - function.exits:
        return whole.needs()
    results, inputs = find_affecting(function, {line.args[1]})
    chosen = inputs | {k for k in results if k < function.carries}
    return [x for k, x in enumerate(whole.args[2:]) if k in chosen and type(x) is Ref]
