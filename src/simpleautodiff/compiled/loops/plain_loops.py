"""Run Python's loops that were rewritten as calls; while a function is recorded, by one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from types import CodeType
from typing import Any

from simpleautodiff.compiled.loops.integer_bounds import (
    LARGEST,
    are_exact_as_floats,
    are_of_machine,
    check_integers,
    find_bounds,
    find_integers,
)
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import ENDLESS
from simpleautodiff.compiled.loops.loop_rows import Rows, as_rows
from simpleautodiff.compiled.loops.record_loop import (
    LoopStep,
    RecordedLoop,
    check_dtypes,
    check_repeats,
    record_step,
    run_recorded,
)
from simpleautodiff.compiled.loops.rewrite_loops import GO_ON
from simpleautodiff.compiled.loops.run_loop import DecisionsDifferError, LoopOfRowsError, LoopRunner
from simpleautodiff.compiled.loops.select_branches import UNBOUND
from simpleautodiff.compiled.loops.written_variables import (
    GivenVariables,
    check_apart,
    hiding,
    protect,
    write_back,
)
from simpleautodiff.compiled.recording.body_level import find_example
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.errors import LostDerivativeError
from simpleautodiff.transforms.arguments import call_explained
from simpleautodiff.values.pytree import map_leaves

F = Callable[..., Any]
Names = tuple[str, ...]
RECORDING: ContextVar[PlainLoops | None] = ContextVar("RECORDING", default=None)


class NotAsLoop(BaseException):
    """Raised to tell `jit` that a long loop is better recorded with all its steps."""

    def __init__(self, step: CodeType) -> None:
        super().__init__()
        self.step = step


@dataclass(slots=True)
class PlainLoops:
    """Python's loops that are recorded while a function is."""

    runner: LoopRunner
    recorded: set[CodeType] = field(default_factory=set)  # the steps of those that were

    def note(self, step: F) -> None:
        """Note that a loop was recorded by one step; what was in the way is gone."""
        self.recorded.add(getattr(step, "__wrapped__", step).__code__)
        self.runner.refusals.clear()


def repeat(
    test: F,
    step: F,
    variables: dict[str, Any],
    names: Names,
    written: Names,
    exits: bool,
    is_needed: bool = True,
) -> tuple[Any, ...]:
    """Do ``while test(*state): exit, *state = step(*state)``; return the exit and the state.

    If it cannot be recorded as it is, it may be possible after a first step, when all variables
    exist and have the kind that they keep. `is_needed` says that it must be recorded by one step if
    it can be; if not, that has to be fast, too.
    """
    state = [variables.get(name, UNBOUND) for name in names]
    marked = [name in written for name in names]
    for _ in range(2):
        made = _record(test, None, step, state, marked, exits, is_needed)
        if made is not None:
            return made
        if not test(*state):
            return GO_ON, *state
        number, *state = step(*state)
        if number != GO_ON:
            return number, *state
    _refuse_long(step, is_needed)
    while test(*state):
        number, *state = step(*state)
        if number != GO_ON:
            return number, *state
    return GO_ON, *state


def _refuse_long(step: F, is_needed: bool) -> None:
    """Begin the recording again, with all steps of a loop that is better recorded so."""
    if not is_needed and RECORDING.get() is not None:
        raise NotAsLoop(getattr(step, "__wrapped__", step).__code__)


def repeat_over(
    items: Iterable[Any],
    step: F,
    variables: dict[str, Any],
    names: Names,
    written: Names,
    exits: bool,
    is_needed: bool = True,
) -> tuple[Any, ...]:
    """Do ``for item in items: exit, *state = step(item, *state)``; return the exit and the state.

    Over a range it is a loop that counts; so it is over the rows of an array. `is_needed` says that
    it must be recorded by one step if it can be; if not, that has to be fast, too.
    """
    rows = as_rows(items)
    if rows is not None and not exits:
        return _repeat_counted(rows, step, variables, names, written, is_needed)
    given = (step, variables, names, written, exits, is_needed)
    if type(items) is range:
        return _count(items, lambda k: k, *given)
    if isinstance(items, Traced) and rows is not None:
        array: Any = items
        return _count(range(len(rows)), array.__getitem__, *given)
    _refuse_long(step, is_needed)
    return _run(items, step, [variables.get(name, UNBOUND) for name in names])


def _run(items: Iterable[Any], step: F, state: list[Any]) -> tuple[Any, ...]:
    """Take the steps of a loop one by one."""
    for item in items:
        number, *state = step(item, *state)
        if number != GO_ON:
            return number, *state
    return GO_ON, *state


def _repeat_counted(
    rows: Rows,
    step: F,
    variables: dict[str, Any],
    names: Names,
    written: Names,
    is_needed: bool,
) -> tuple[Any, ...]:
    """Repeat a step that ends no loop: the number of steps is known.

    If it cannot be recorded as it is, it may be possible after a first step, as in `repeat`.
    """
    state = [variables.get(name, UNBOUND) for name in names]
    marked = [name in written for name in names]
    for _ in range(2):
        made = _record(lambda *_: True, rows, step, state, marked, False, is_needed)
        if made is not None:
            return made
        if not len(rows):
            break
        _, *state = step(rows[0], *state)
        rows = rows[1:]
    if len(rows):
        _refuse_long(step, is_needed)
    return _run(map(rows.__getitem__, range(len(rows))), step, state)


def _count(
    places: range,
    find_item: F,
    step: F,
    variables: dict[str, Any],
    names: Names,
    written: Names,
    exits: bool,
    is_needed: bool,
) -> tuple[Any, ...]:
    """Repeat a step with a count among its variables."""

    def test(place: Any, *_: Any) -> Any:
        return place < places.stop if places.step > 0 else place > places.stop

    def count(place: Any, *state: Any) -> tuple[Any, ...]:
        number, *after = step(find_item(place), *state)
        return number, place + places.step, *after

    count.__wrapped__ = step  # type: ignore[attr-defined]
    counted = {**variables, "<place>": places.start}
    given = ("<place>", *names), written, exits, is_needed
    number, _, *state = repeat(test, count, counted, *given)
    return number, *state


# Recording. ---------------------------------------------------------------------------------------


def _record(
    test: F,
    rows: Rows | None,
    step: F,
    state: list[Any],
    written: list[bool],
    exits: bool,
    is_needed: bool,
) -> tuple[Any, ...] | None:
    """Record a loop by one step; None if that is not possible, or not fast.

    A loop over rows has a step for each; any other one goes on as long as `test` holds.
    """
    loops = RECORDING.get()
    if loops is None or any(x is UNBOUND for x in state):
        return None  # after a first step all variables exist
    if rows is None:
        loops.runner.estimates.check()
    elif len(rows) < 2:
        return None
    kept: list[bool] = []  # whether a variable refers to the same array, list or dict after a step

    def f(carry: Any, row: Any) -> Any:
        given = GivenVariables(carry[exits:])
        item = () if rows is None else (map_leaves(protect, row),)
        number, *after = call_explained(step, [*item, *carry[exits:]], {})
        kept[:] = given.check(after, written, kept)
        check_apart(after, written)
        carry = (number, *after) if exits else tuple(after)
        if rows is not None:
            return carry, None
        return carry, None, test(*after) if number == GO_ON else False

    try:
        go = test(*state)
        _check_structures(state, written, rows is None or is_needed)
        others = rows.originals if rows is not None else ()
        check_apart([*state, *others], [*written, *[False] * len(others)])
        carry = tuple([map_leaves(take_current, x) for x in state])
        _finish_writes(step)
        with hiding([x for x, is_written in zip(state, written, strict=True) if is_written]):
            carry = (GO_ON, *carry) if exits else carry
            loop = LoopStep(f, exits=rows is None)
            made = _record_branches(loops.runner, loop, carry, rows, go, is_needed)
    except (LoopOfRowsError, LostDerivativeError):
        raise  # the whole batch can take the steps together; the function runs once more
    except Exception as error:  # the loop then runs as usual, or raises the error
        _refuse_long(step, is_needed)
        loops.runner.refuse(error)
        return None
    if made is None:
        _refuse_long(step, is_needed)
        return None
    loops.note(step)
    number, *after = made if exits else (GO_ON, *made)
    return number, *_write_back(state, written, kept, after)


def _finish_writes(step: F) -> None:
    """Finish what was written to arrays that a step reads: it is recorded twice, and compared."""
    for cell in getattr(step, "__wrapped__", step).__closure__ or ():
        with suppress(ValueError):  # a variable that does not exist yet
            map_leaves(take_current, cell.cell_contents)


def _write_back(state: list[Any], written: list[bool], kept: list[bool], after: Any) -> list[Any]:
    """Write what a loop has changed in place to the arrays, lists and dicts it has changed."""
    changed = [a and b for a, b in zip(written, kept, strict=True)]
    pairs = zip(state, changed, after, strict=True)
    return [write_back(x, new) if is_changed else new for x, is_changed, new in pairs]


def _record_branches(
    runner: LoopRunner, step: LoopStep, carry: Any, rows: Rows | None, go: Any, is_needed: bool
) -> tuple[Any, ...] | None:
    """Record a loop whose steps all take one branch, or else every branch."""
    most = inf if is_needed else LOOPS.lines  # lines of a step
    columns, limit = (None, ENDLESS) if rows is None else (rows.arrays, len(rows))
    for all_branches in (False, True):
        step = step._replace(all_branches=all_branches)
        recorded = _record_numbers(runner, step, carry, columns, 0 if rows is None else limit)
        if not _is_worthwhile(recorded, most):
            return None
        try:
            made, _, count = run_recorded(recorded, limit, go, runner.run)
            is_short = not is_needed and _is_short(recorded, int(find_example(count)))
            return None if is_short else made
        except DecisionsDifferError:
            if all_branches:
                raise
            most = min(most, LOOPS.branches * recorded.function.steps) if not is_needed else most
    raise AssertionError("a loop is recorded with one branch, or with all")


def _is_worthwhile(recorded: RecordedLoop, most: float) -> bool:
    """Tell whether a step has anything to record, and not too much."""
    return any(isinstance(x, Traced) for x in recorded.values) and recorded.function.steps <= most


def _is_short(recorded: RecordedLoop, count: int) -> bool:
    """Tell whether the steps of a loop are better compiled together."""
    return recorded.function.steps * count <= LOOPS.lines


def _record_numbers(
    runner: LoopRunner, step: LoopStep, carry: Any, rows: Any = None, count: int = 0
) -> RecordedLoop:
    """Record a step with its integers as a machine's if they fit, or else as floats."""
    recorded = record_step(step, carry, rows, count, runner)
    check_dtypes(recorded, carry, "fc")
    bounds = find_bounds(recorded, find_integers(carry), count)
    if not are_of_machine(bounds):
        exact = are_exact_as_floats(recorded.function.body, bounds)
        carry = map_leaves(_as_float, carry)
        recorded = record_step(step, carry, rows, count, runner)
        if not exact:
            raise not_recorded("a loop with integers that may grow large")
        check_integers(recorded, carry, count)
    check_repeats(recorded, record_step(step, carry, rows, count, runner))
    return recorded


def _as_float(x: Any) -> Any:
    if type(take_current(x)) is not int:
        return x
    if abs(take_current(x)) > LARGEST:
        raise not_recorded(f"a loop that carries the integer {take_current(x)}")
    return float(take_current(x))


def _check_structures(state: list[Any], written: list[bool], is_needed: bool = True) -> None:
    """Refuse variables without a value, and structures that change: others may refer to them."""
    for x, is_written in zip(state, written, strict=True):
        if x is None:
            raise not_recorded("a variable that is None before the first step of a loop")
        if is_written and isinstance(x, (list, dict, set) if is_needed else set):
            raise not_recorded(f"a loop that changes a {type(x).__name__} in place")
