"""The reverse sweep over a recorded loop: a loop that goes back over the states of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simpleautodiff.compiled.loops.carried_zeros import (
    MASKS,
    CarriedDerivatives,
    join,
    split,
    without_masks,
)
from simpleautodiff.compiled.loops.loop_line import LoopFunction, find_affecting, replay_body
from simpleautodiff.compiled.loops.record_loop import LoopStep
from simpleautodiff.compiled.recording.body_level import is_smooth
from simpleautodiff.core.linear import ZERO, PartialAdjoint, plus
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.recorded_call import RecordedCall, as_number

if TYPE_CHECKING:
    from simpleautodiff.compiled.loops.run_loop import LoopRunner, Operands


class ReverseSweep:
    """The reverse sweep over a loop, from adjoints of its results to those of its arguments."""

    def __init__(
        self,
        runner: LoopRunner,
        function: LoopFunction,
        given: Operands,
        kept: tuple[list[Any], int, Any],
        own: list[int],
        smooth: list[int],
    ) -> None:
        self.runner, self.function, self.given = runner, function, given
        self.states, self.count, self.limit = kept  # the states, room for how many, how many
        self.own = own  # the arguments whose adjoints are wanted
        self.smooth = smooth  # the results that have adjoints
        at = function.carries
        self.carried = [k for k in range(at) if is_smooth(given.carry[k]) and k in smooth]
        self.columns = [k for k in own if at <= k < at + function.columns]
        self.constants = [k for k in own if k >= at + function.columns]

    def pull(self, bar: Any, likes: list[Any]) -> Bundle:
        """Return the adjoints of the arguments.

        Results that nothing depends on, and carried values that affect only those, have no adjoint:
        it would be a zero that becomes nan where a slope is infinite.
        """
        with without_masks(self.runner.estimates):
            return self._pull(bar, likes)

    def _pull(self, bar: Any, likes: list[Any]) -> Bundle:
        """Sweep back over the steps."""
        at = self.function.carries
        bars = dict(zip(self.smooth, bar.entries, strict=True))
        used = {k for k, x in bars.items() if x is not ZERO}
        needed, _ = find_affecting(self.function, used)
        seeds = {k: x for k, x in bars.items() if k in needed}
        first = {k: seeds[k] for k in self.carried if k in needed}
        carried = CarriedDerivatives(
            {**first, **dict.fromkeys(self.constants, ZERO)}, self.given.inputs, MASKS.get()
        )
        of_results = {k: _in_dtype_of(likes[k], x) for k, x in seeds.items() if k >= at}
        (_, found), rows, _ = self.runner.loop_with(
            carried,
            LoopStep(lambda *state: self._step(carried, *state), not self.function.reverse),
            (),
            (self.states, self.given.columns, split(of_results)),
            self.count,
            self.limit,
        )
        return Bundle(tuple([{**found, **join(rows)}.get(k, ZERO) for k in self.own]))

    def _step(self, carried: CarriedDerivatives, state: Any, row: Any) -> Any:
        """Go back by one step."""
        (_, parts), (carry, xs, of_results) = state, row
        inputs = [*carry, *xs, *self.given.constants]
        bars = carried.unpack(parts)
        totals = {k: bars.pop(k) for k in self.constants}
        moving = [*bars, *self.columns, *self.constants]
        seeds = {**bars, **join(of_results)}

        def f(*numbers: Any) -> Any:
            now = list(inputs)
            for k, number in zip(moving, numbers, strict=True):
                now[k] = number
            made = replay_body(self.function, now, self.runner.run, asks=False)
            return [made[k] for k in seeds]

        recorded = RecordedCall(f, Selection(tuple([inputs[k] for k in moving])))
        seeded = list(zip(recorded.result, seeds.values(), strict=True))
        adjoints = recorded.pull_inside(seeded) if carried.masks else recorded.pull(seeded)
        found = dict(zip(moving, adjoints, strict=True))
        rows = {k: _in_dtype_of(inputs[k], found[k]) for k in self.columns}
        found |= {k: plus(total, found[k]) for k, total in totals.items()}
        return ((), carried.pack(found)), split(rows)


def _in_dtype_of(like: Any, derivative: Any) -> Any:
    """Return a derivative in the dtype of what it belongs to; structural zeros stay."""
    if derivative is ZERO or isinstance(derivative, PartialAdjoint):
        return derivative
    return as_number(derivative, like)
