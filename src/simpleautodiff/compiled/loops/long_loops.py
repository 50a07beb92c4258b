"""Stop a function at a long loop: it is recorded, and its program takes the steps.

Without this, `jit` would run a function with `scan`, `fori_loop` or `while_loop` step by step in
Python at its first two calls, which may take a thousand times as long as its program.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from simpleautodiff.transforms.snapshots import RECORDER, SteppedLoop
from simpleautodiff.values.scoped import scoped


class LongLoop(BaseException):
    """Raised to tell `jit` that the loops of a function take many steps."""


@dataclass(slots=True)
class StepCounter:
    """Counts the steps of the loops that a function runs, and stops it when there are too many."""

    left: int

    def __call__(self, loop: SteppedLoop, state: Any, xs: Any, args: tuple[Any, ...]) -> Any:
        """Count the steps of a loop; return its result, or None if it is to run as usual."""
        if loop.count is not None:
            self.count(loop.count)
        elif loop.goes_on is not None and not isinstance(loop.goes_on, CountedCondition):
            counted = replace(loop, goes_on=CountedCondition(self, loop.goes_on))
            return counted.run(state, xs, *args)
        return None

    def count(self, steps: int) -> None:
        """Count steps."""
        self.left -= steps
        if self.left < 0:
            raise LongLoop


@dataclass(frozen=True, slots=True)
class CountedCondition:
    """The condition of a loop, which counts how often it is evaluated."""

    counter: StepCounter
    goes_on: Callable[[Any], Any]

    def __call__(self, state: Any) -> Any:
        """Count one step, and evaluate the condition."""
        self.counter.count(1)
        return self.goes_on(state)


def stopping_at_long_loops(most: int) -> AbstractContextManager[None]:
    """Return a context in which `LongLoop` is raised when loops take more than `most` steps.

    Where a function is being recorded already, its loops are that recorder's.
    """
    around = RECORDER.get()
    if around is not None and not isinstance(around, StepCounter):
        return nullcontext()
    return scoped(RECORDER, StepCounter(most))
