"""Record loops by one step, while a function is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from simpleautodiff.compiled.loops.integer_bounds import check_integers
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import ENDLESS
from simpleautodiff.compiled.loops.plain_loops import RECORDING, PlainLoops
from simpleautodiff.compiled.loops.record_loop import (
    LoopStep,
    RecordedLoop,
    check_dtypes,
    record_step,
    run_recorded,
)
from simpleautodiff.compiled.loops.run_loop import (
    DecisionsDifferError,
    LoopOfRowsError,
    LoopRunner,
    RunLoop,
)
from simpleautodiff.compiled.recording.estimates import Estimates
from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.compiled.recording.trace_program import Stack
from simpleautodiff.core.level import Traced
from simpleautodiff.transforms.snapshots import RECORDER, SteppedLoop
from simpleautodiff.values.pytree import flatten, map_leaves
from simpleautodiff.values.scoped import scoped


@contextmanager
def recording_loops(
    estimates: Estimates,
    precise: bool,
    run_long: RunLoop,
    on_long: Callable[[Stack], None] | None = None,
) -> Iterator[PlainLoops]:
    """Record loops by one step in this context; `run_long` runs long ones on numbers.

    `on_long` is told the running code of a long step.
    """
    runner = LoopRunner(estimates, precise, run_long, (LOOPS.inner, on_long) if on_long else None)
    loops = PlainLoops(runner)
    with scoped(RECORDER, lambda *loop: _record(runner, *loop)), scoped(RECORDING, loops):
        yield loops


def _record(
    runner: LoopRunner, steps: SteppedLoop, state: Any, xs: Any, args: tuple[Any, ...]
) -> tuple[Any, Any] | None:
    """Record a loop; None if it is short, or has to be recorded step by step."""
    record = _record_while if steps.count is None else _record_counted
    try:
        try:
            return record(runner, steps, state, xs, args, False)
        except DecisionsDifferError:
            return record(runner, steps, state, xs, args, True)
    except LoopOfRowsError:
        raise  # the whole batch can take the steps together
    except Exception as error:  # the loop then runs as usual, or raises the error itself
        runner.refuse(error)
        return None


def _record_while(
    runner: LoopRunner,
    steps: SteppedLoop,
    state: Any,
    xs: Any,
    args: tuple[Any, ...],
    all_branches: bool,
) -> tuple[Any, Any] | None:
    goes_on = steps.goes_on
    if steps.snapshots is not None or goes_on is None:
        return None

    def f(carry: Any, row: Any) -> Any:
        after = steps.step(0, carry, None, *args)[0]
        return after, None, goes_on(after)

    step = LoopStep(f, exits=True, all_branches=all_branches)
    recorded = record_step(step, state, None, 0, runner)
    check_dtypes(recorded, state)
    check_integers(recorded, state, 0)
    if not _is_recorded(recorded):
        return None
    return run_recorded(recorded, ENDLESS, goes_on(state), runner.run)[0], None


def _record_counted(
    runner: LoopRunner,
    steps: SteppedLoop,
    state: Any,
    xs: Any,
    args: tuple[Any, ...],
    all_branches: bool,
) -> tuple[Any, Any] | None:
    count = steps.count or 0
    if count < 2:
        return None
    reverse = steps.places is not None and steps.places.step < 0
    numbers = np.arange(count)[::-1] if reverse else np.arange(count)

    def f(carry: Any, row: Any) -> Any:
        return steps.step(row[0], carry, row[1], *args)

    step = LoopStep(f, reverse, all_branches=all_branches)
    recorded = record_step(step, state, (numbers, xs), count, runner)
    check_dtypes(recorded, state)
    check_integers(recorded, state, count)
    if not _is_recorded(recorded) or _is_short(recorded, count):
        return None
    if steps.snapshots is not None and steps.snapshots < count:
        return _with_snapshots(runner, step, state, (numbers, xs), count, steps.snapshots)
    return run_recorded(recorded, count, True, runner.run)[:2]  # type: ignore[no-any-return]


def _is_recorded(recorded: RecordedLoop) -> bool:
    """Tell whether any value of a loop may differ at another call."""
    return any(isinstance(x, Traced) for x in recorded.values)


def _is_short(recorded: RecordedLoop, count: int) -> bool:
    """Tell whether a loop is better recorded step by step: its steps are compiled together."""
    of_rows = any(_is_of_rows(x) for x in recorded.values)
    return count * recorded.function.steps <= (LOOPS.rows if of_rows else LOOPS.lines)


def _is_of_rows(x: Any) -> bool:
    while isinstance(x, Traced) and not isinstance(x, Symbol):
        x = x.value
    return isinstance(x, Symbol) and x.level.rows


def _with_snapshots(
    runner: LoopRunner, step: LoopStep, state: Any, xs: Any, count: int, snapshots: int
) -> tuple[Any, Any]:
    """Run a loop of loops, so that reverse mode keeps only the states of the outer one.

    The states of each inner loop are computed again when it is reversed.
    """
    length = -(-count // snapshots)
    whole = count // length
    cut = whole * length
    parts = map_leaves(lambda x: np.reshape(x[:cut], (whole, length, *np.shape(x)[1:])), xs)
    rest = map_leaves(lambda x: x[cut:], xs)

    def run_rest(state: Any) -> tuple[Any, Any]:
        if cut == count:
            return state, None
        return runner.loop(step, state, rest, count - cut)[:2]

    before = None
    if step.reverse:
        state, before = run_rest(state)
    inner = LoopStep(lambda carry, part: runner.loop(step, carry, part, length)[:2], step.reverse)
    state, ys, _ = runner.loop(inner, state, parts, whole)
    ys = map_leaves(lambda y: np.reshape(y, (cut, *np.shape(y)[2:])), ys)
    if not step.reverse:
        state, before = run_rest(state)
    if cut == count:
        return state, ys
    others = iter(flatten(before)[0])
    return state, map_leaves(lambda y: np.concatenate([y, next(others)]), ys)
