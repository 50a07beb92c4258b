"""Run a recorded loop on any level: its derivative is a loop over the derivative of its step.

Each level hands on to the one below, on which another loop is run. For a tape, that is the same
loop with the carried values of every step as results, and later one that goes back over them; for
jets and batches, the loop whose step is the pushforward, or the batched function, of the step. On
the level of symbols a loop is a line of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.batch.batch_level import Batch, BatchLevel, unbatch
from simpleautodiff.compiled.loops.carried_zeros import (
    MASKS,
    CarriedDerivatives,
    join,
    split,
    without_masks,
)
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import (
    LoopFunction,
    find_dependent,
    replay_body,
)
from simpleautodiff.compiled.loops.record_loop import LoopStep, record_step, run_recorded
from simpleautodiff.compiled.loops.reverse_loop import ReverseSweep
from simpleautodiff.compiled.recording.body_level import find_example, is_smooth
from simpleautodiff.compiled.recording.estimates import Estimates
from simpleautodiff.compiled.recording.symbol_level import OnLong, SymbolLevel
from simpleautodiff.compiled.recording.symbols import NotRecordedError, not_recorded
from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import Level, Traced
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.tape import Tape
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.checkpoint import make_primitive, pack, pick
from simpleautodiff.transforms.grad import run_jets
from simpleautodiff.transforms.vmap import vmap

RunLoop = Callable[[LoopFunction, Sequence[Any]], Sequence[Any]]


class LoopOfRowsError(NotRecordedError):
    """A recorded loop cannot be part of a program for one example of a batch."""


class DecisionsDifferError(NotRecordedError):
    """A guard that holds in the first step of a loop fails in another one."""


class Operands(NamedTuple):
    """The operands of a loop."""

    limit: Any  # the largest number of steps
    go: Any  # whether there is a first step
    carry: list[Any]
    columns: list[Any]
    constants: list[Any]

    @property
    def inputs(self) -> list[Any]:
        """The operands that have derivatives."""
        return [*self.carry, *self.columns, *self.constants]

    def replaced(self, inputs: Sequence[Any], function: LoopFunction) -> Operands:
        """Return the same operands with other numbers."""
        at, end = function.carries, function.carries + function.columns
        return self._replace(
            carry=[*inputs[:at]], columns=[*inputs[at:end]], constants=[*inputs[end:]]
        )


class LoopRunner:
    """Runs loops while a function is recorded."""

    def __init__(
        self, estimates: Estimates, precise: bool, run_long: RunLoop, on_long: OnLong | None = None
    ) -> None:
        self.estimates, self.precise = estimates, precise
        self.run_long = run_long  # runs a loop of many steps on numbers
        self.on_long = on_long  # after how many lines of a step to call a function with its code
        self.refusals: list[str] = []  # why loops were not recorded by one step

    def refuse(self, error: Exception) -> None:
        """Note why a loop is recorded step by step."""
        self.refusals.append(str(error) or type(error).__name__)

    def loop(
        self, step: LoopStep, carry: Any, xs: Any, rows: int, limit: Any = None, go: Any = True
    ) -> tuple[Any, Any, Any]:
        """Record a step and run the loop; return the last carry, the results, and the steps."""
        recorded = record_step(step, carry, xs, rows, self)
        return run_recorded(recorded, rows if limit is None else limit, go, self.run)  # type: ignore[no-any-return]

    def loop_with(
        self,
        carried: CarriedDerivatives,
        step: LoopStep,
        carry: Any,
        xs: Any,
        rows: int,
        limit: Any = None,
        go: Any = True,
    ) -> tuple[Any, Any, Any]:
        """Run a loop that carries derivatives, besides others; record a step until they settle."""
        while True:
            recorded = record_step(step, (carry, carried.before()), xs, rows, self)
            if not carried.extend():
                break
        limit = rows if limit is None else limit
        (carry, parts), ys, steps = run_recorded(recorded, limit, go, self.run)
        return (carry, carried.unpack_last(parts, limit)), ys, steps

    def run(self, function: LoopFunction, operands: Sequence[Any]) -> list[Any]:
        """Run a loop on the highest level among its operands."""
        limit, go, *inputs = operands
        given = Operands(limit, go, [], [], []).replaced(inputs, function)
        levels = [x.level for x in operands if isinstance(x, Traced)]
        if not levels:
            return list(function(*operands))
        level = max(levels, key=lambda level: level.number)
        if isinstance(level, SymbolLevel):
            return self._on_symbols(level, function, operands)
        if isinstance(level, Tape):
            return self._on_tape(level, function, given)
        if isinstance(level, JetLevel):
            return self._on_jets(level, function, given)
        if isinstance(level, BatchLevel):
            return self._on_batches(level, function, given)
        raise not_recorded("a loop under this transformation")

    def _evaluate(self, function: LoopFunction, operands: Sequence[Any]) -> Sequence[Any]:
        """Run a loop on the numbers of this call."""
        self.estimates.check()
        numbers = [find_example(x) for x in operands]
        most = 0 if function.has_loops else LOOPS.steps
        made = function.run_steps(most, *numbers) or self.run_long(function, numbers)
        return [
            *map(_in_kind_of, function.first[: function.carries], made),
            *made[function.carries :],
        ]

    def _find_rows(self, function: LoopFunction, given: Operands) -> int:
        """Return the number of steps to make room for: a power of 2, so that other calls fit."""
        steps = int(self._evaluate(function, _as_list(given))[-1])
        return max(16, 1 << (steps - 1).bit_length() if steps else 0)

    # Symbols. -------------------------------------------------------------------------------------

    def _on_symbols(
        self, level: SymbolLevel, function: LoopFunction, operands: Sequence[Any]
    ) -> list[Any]:
        """Record the loop as one line, with a line for each of its results."""
        if level.rows:
            raise LoopOfRowsError("a loop that each row takes for itself")
        decides = bool(function.body.guards) or (function.exits and bool(function.results))
        if not decides and self.estimates.estimate():
            value = function.estimate()
        else:
            value = tuple(self._evaluate(function, operands))
        if not value[-3]:
            raise DecisionsDifferError("a decision is another one in another step of a loop")
        whole = level.record(function, level.take_in(tuple(operands)), {}, value)
        made: list[Any] = [
            level.record(operator.getitem, (whole, k), {}, part) for k, part in enumerate(value)
        ]
        good, more, _ = made[-3:]
        if function.body.guards:
            bits = [guard.expected for guard in function.body.guards]
            level.note_guard(good, int("".join(map(str, map(int, bits))), 2))
        if function.exits and function.results:
            level.note_guard(np.logical_not(more), function.rows)
        return made

    # Tapes. ---------------------------------------------------------------------------------------

    def _on_tape(self, level: Tape, function: LoopFunction, given: Operands) -> list[Any]:
        """Record the loop as one node between a bundle of arguments and one of results."""
        rows = self._find_rows(function, given) if function.exits else function.rows
        inputs = given.inputs
        own = [k for k, x in enumerate(inputs) if _is_on(x, level) and is_smooth(x)]
        values = [x.value if _is_on(x, level) else x for x in inputs]
        lower = given.replaced(values, function)
        limit = rows if function.exits else given.limit
        made = self.run(function.keeping_states(rows), _as_list(lower._replace(limit=limit)))
        count = function.carries + len(function.results)
        results, states = made[:count], made[count : count + function.carries]
        smooth = [k for k, x in enumerate(results) if is_smooth(x)]
        limit = made[-1] if function.exits else given.limit
        back = ReverseSweep(self, function, lower, (states, rows, limit), own, smooth)
        likes = list(results)

        def rule(_v: Bundle, x: Bundle) -> Linear:
            return Linear(
                lambda dot: self._push(function, lower, own, smooth, dot),
                lambda bar: back.pull(bar, likes),
            )

        bundle = level.record(
            pack(len(own)), tuple([inputs[k] for k in own]), Bundle(tuple([values[k] for k in own]))
        )
        node = level.record(
            make_primitive("loop", (rule,)),
            (bundle,),
            Bundle(tuple([results[k] for k in smooth])),
        )
        for place, k in enumerate(smooth):
            results[k] = level.record(pick(place, len(smooth)), (node,), results[k])
        return [*results, *made[-3:]]

    def _push(
        self, function: LoopFunction, given: Operands, own: list[int], smooth: list[int], dot: Any
    ) -> Bundle:
        """Return the tangents of the results, given those of some arguments."""
        level, inputs = JetLevel(1), given.inputs
        for k, tangent in zip(own, dot.entries, strict=True):
            if tangent is not ZERO:
                inputs[k] = Jet(inputs[k], [tangent], level)
        with level:
            made = self.run(function, _as_list(given.replaced(inputs, function)))
        entries = [made[k] for k in smooth]
        return Bundle(tuple([x.higher[0] if _is_on(x, level) else ZERO for x in entries]))

    # Jets. ----------------------------------------------------------------------------------------

    def _on_jets(self, level: JetLevel, function: LoopFunction, given: Operands) -> list[Any]:
        """Run the loop whose step is the pushforward of the step."""
        with without_masks(self.estimates):
            return self._push_jets(level, function, given)

    def _push_jets(self, level: JetLevel, function: LoopFunction, given: Operands) -> list[Any]:
        inputs, at = given.inputs, function.carries
        values = [x.value if _is_on(x, level) else x for x in inputs]
        order, end, stop = level.order, at + function.columns, at + len(function.results)
        higher = {
            (k, n): x.nth(n + 1) if _is_on(x, level) else ZERO
            for k, x in enumerate(inputs)
            if is_smooth(x)
            for n in range(order)
        }
        carried = CarriedDerivatives(
            {key: x for key, x in higher.items() if key[0] < at},
            {key: values[key[0]] for key in higher},
            masks=order == 1 and MASKS.get(),
        )
        columns = {key: x for key, x in higher.items() if at <= key[0] < end}

        def f(state: Any, row: Any) -> Any:
            (now, parts), (xs, of_xs) = state, row
            terms = {**higher, **dict.fromkeys(columns, ZERO)}
            terms |= {**carried.unpack(parts), **join(of_xs)}
            now = [*now, *xs, *values[end:]]
            made, pushed = _push_step(self.run, function, now, terms, order)
            of_ys = {key: x for key, x in pushed.items() if at <= key[0] < stop}
            after = carried.pack({**dict.fromkeys(carried.kinds, ZERO), **pushed})
            return (made[:at], after), (made[at:stop], split(of_ys)), *made[stop:]

        (carry, derivatives), (ys, of_ys), count = self.loop_with(
            carried,
            LoopStep(f, function.reverse, function.exits),
            values[:at],
            (values[at:end], split(columns)),
            function.rows,
            given.limit,
            given.go,
        )
        made = [*carry, *ys]
        derivatives |= join(of_ys)
        for k, x in enumerate(made):
            orders = [derivatives.get((k, n), ZERO) for n in range(order)]
            if any([derivative is not ZERO for derivative in orders]):
                made[k] = Jet(x, orders, level)
        return [*made, True, False, count]

    # Batches. -------------------------------------------------------------------------------------

    def _on_batches(self, level: BatchLevel, function: LoopFunction, given: Operands) -> list[Any]:
        """Run the loop whose step is the batched step; what does not differ is not batched."""
        program, at = function.body, function.carries
        batched = {k for k, x in enumerate(given.inputs) if _is_on(x, level)}
        batched, lines = find_dependent(function, batched)
        decisions = [guard.place for guard in program.guards]
        decisions += program.outputs[len(program.outputs) - function.exits :]
        if any(isinstance(x, Traced) and x.level is level for x in (given.limit, given.go)) or any(
            place in lines for place in decisions
        ):
            raise not_recorded("a loop whose examples take different ways")
        in_axes = tuple([0 if k in batched else None for k in range(program.inputs)])
        out_axes = tuple(
            [
                0 if place in lines or (k < at and k in batched) else None
                for k, place in enumerate(program.outputs)
            ]
        )
        step = vmap(
            lambda *xs: tuple(replay_body(function, xs, self.run, asks=True)), in_axes, out_axes
        )
        carry = [unbatch(x, 0, level) if k in batched else x for k, x in enumerate(given.carry)]
        columns = [np.moveaxis(x.value, 0, 1) if _is_on(x, level) else x for x in given.columns]
        constants = [x.value if _is_on(x, level) else x for x in given.constants]
        stop = at + len(function.results)

        def f(carry: Any, row: Any) -> Any:
            made = step(*carry, *row, *constants)
            return list(made[:at]), list(made[at:stop]), *made[stop:]

        after, ys, count = self.loop(
            LoopStep(f, function.reverse, function.exits),
            carry, columns, function.rows, given.limit, given.go,
        )  # fmt: skip
        ys = [np.moveaxis(y, 1, 0) if out_axes[at + k] == 0 else y for k, y in enumerate(ys)]
        made = [Batch(x, level) if axis == 0 else x
                for x, axis in zip([*after, *ys], out_axes, strict=False)]  # fmt: skip
        return [*made, True, False, count]


def _in_kind_of(like: Any, number: Any) -> Any:
    """Return a carried number as a Python number, if it is one in the step that was recorded."""
    return float(number) if type(like) is float else number


def _push_step(
    run: Any, function: LoopFunction, inputs: list[Any], terms: Any, order: int
) -> tuple[list[Any], dict[tuple[int, int], Any]]:
    """Return the results of a step, and the derivatives of every order of the smooth ones."""
    level = JetLevel(order)
    moving = sorted({k for (k, _), x in terms.items() if x is not ZERO})
    jets = tuple([Jet(inputs[k], [terms[k, n] for n in range(order)], level) for k in moving])
    smooth: list[int] = []

    def f(*numbers: Any) -> Any:
        now = list(inputs)
        for k, number in zip(moving, numbers, strict=True):
            now[k] = number
        made = replay_body(function, now, run, asks=True)
        smooth[:] = [k for k, x in enumerate(made) if is_smooth(x)]
        return [made[k] for k in smooth], made

    _, orders, made = run_jets(f, Selection(jets), level, has_aux=True, partly=True)
    return made, {
        (k, n): x
        for n, derivatives in enumerate(orders)
        for k, x in zip(smooth, derivatives, strict=True)
    }


def _as_list(given: Operands) -> list[Any]:
    return [given.limit, given.go, *given.inputs]


def _is_on(x: Any, level: Level) -> bool:
    return isinstance(x, Traced) and x.level is level
