"""Record one step of a loop on symbols, and run the loop on the level of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.simplify import without_dead
from simpleautodiff.compiled.loops.loop_function import LoopFunction
from simpleautodiff.compiled.recording.body_level import BodyLevel, find_example
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref, places, with_values
from simpleautodiff.core.level import Traced, unwrapped
from simpleautodiff.values.pytree import Rebuild, flatten

ROUNDS = 3  # in which the dtypes of what is carried have to settle


class Step(NamedTuple):
    """A step of a loop: ``carry, y = f(carry, x)``, with a third result if the loop may end."""

    f: Callable[..., Any]
    reverse: bool = False
    exits: bool = False


class RecordedLoop(NamedTuple):
    """A loop that was recorded, the values it is run on, and the structure of its results."""

    function: LoopFunction
    carry: list[Any]
    columns: list[Any]
    constants: list[Any]
    rebuild_carry: Rebuild
    rebuild_result: Rebuild


def record_step(step: Step, carry: Any, xs: Any, rows: int, settings: Any) -> RecordedLoop:
    """Record one step of a loop, with the carry and one row of the xs as symbols."""
    leaves, rebuild_carry = flatten(carry)
    leaves = [unwrapped(leaf) for leaf in leaves]
    columns, rebuild_row = flatten(xs)
    columns = [unwrapped(column) for column in columns]
    firsts = [_as_number(find_example(leaf)) for leaf in leaves]
    row = [find_example(column)[-1 if step.reverse else 0] for column in columns]
    for _ in range(ROUNDS):
        level = BodyLevel(settings.estimates, settings.precise)
        with level:
            inputs = [level.input(x) for x in (*firsts, *row)]
            before, x = inputs[: len(leaves)], inputs[len(leaves) :]
            made = step.f(rebuild_carry(iter(before)), rebuild_row(iter(x)))
            after = [level.own(leaf) for leaf in flatten(made[0])[0]]
            results, rebuild_result = flatten(made[1])
            own = [*after, *map(level.own, results), *map(level.own, made[2:])]
        wider = [np.result_type(a.dtype, b.dtype) for a, b in zip(before, after, strict=True)]
        if all(b.dtype == dtype for b, dtype in zip(before, wider, strict=True)):
            break
        firsts = [_cast(x, dtype) for x, dtype in zip(firsts, wider, strict=True)]
    else:
        raise not_recorded("a loop whose carried values do not keep their dtype")
    if any(a.dtype != b.dtype or a.shape != b.shape for a, b in zip(before, after, strict=True)):
        raise not_recorded("a loop whose carried values do not keep their dtype and shape")
    first = tuple([symbol.concrete for symbol in own])
    captured = [outer for outer, _ in level.captured.values()]
    program = without_dead(level.finish(own, len(inputs)))
    kept = _find_needed(program, len(leaves))
    count = sum([len(leaves) <= k < len(inputs) for k in kept])
    function = LoopFunction(
        _keep_inputs(program, kept), len(leaves), count, rows, step.reverse, step.exits, first
    )
    leaves = [_cast_value(x, b.dtype) for x, b in zip(leaves, before, strict=True)]
    given = [*leaves, *columns, *captured]
    chosen = [given[k] for k in kept]
    at = len(leaves) + count
    return RecordedLoop(
        function, leaves, chosen[len(leaves) : at], chosen[at:], rebuild_carry, rebuild_result
    )


def run_recorded(loop: RecordedLoop, limit: Any, go: Any, run: Callable[..., Any]) -> Any:
    """Run a recorded loop; return the last carry, the results, and what else the loop tells."""
    function = loop.function
    operands = [limit, go, *loop.carry, *loop.columns, *loop.constants]
    made = run(function, operands)
    carry = loop.rebuild_carry(iter(made[: function.carries]))
    ys = loop.rebuild_result(iter(made[function.carries : -3]))
    return carry, ys, made[-1]


def _as_number(x: Any) -> Any:
    """Return a number as a loop carries it: an integer may be another one in the next step."""
    if type(x) is float or isinstance(x, (np.ndarray, np.generic)):
        return x
    if not isinstance(x, (bool, int, complex)):
        raise not_recorded(f"a loop that carries {x!r}")
    return np.asarray(x)[()]


def _cast(x: Any, dtype: Any) -> Any:
    return x if np.result_type(x) == dtype else np.asarray(x, dtype)[()]


def _cast_value(x: Any, dtype: Any) -> Any:
    """Return a first carried value in the dtype that the later ones have."""
    if isinstance(x, Traced):
        return x if np.result_type(find_example(x)) == dtype else x.astype(dtype)
    return _cast(x, dtype)


def _find_needed(program: RecordedProgram, carries: int) -> list[int]:
    """Return the arguments that a program needs; what is carried stays, needed or not."""
    used = {int(place) for line in program.lines for place in places((line.args, line.kwargs))}
    used |= {int(place) for place in places(program.outputs)}
    used |= {int(guard.place) for guard in program.guards}
    return [k for k in range(program.inputs) if k < carries or k in used]


def _keep_inputs(program: RecordedProgram, kept: list[int]) -> RecordedProgram:
    """Return a program without the arguments that it does not need."""
    order = [*kept, *range(program.inputs, len(program.lines))]
    of = {old: Ref(new) for new, old in enumerate(order)}
    lines = [
        program.lines[old]._replace(
            args=with_values(program.lines[old].args, of),
            kwargs=with_values(program.lines[old].kwargs, of),
        )
        for old in order
    ]
    guards = [guard._replace(place=of[guard.place]) for guard in program.guards]
    return RecordedProgram(lines, len(kept), guards, with_values(program.outputs, of))
