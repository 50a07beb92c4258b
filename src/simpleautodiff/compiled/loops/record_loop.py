"""Record one step of a loop on symbols, and run the loop on the level of its arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.compiled.array.simplify import without_dead
from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.recording.body_level import BodyLevel, find_example
from simpleautodiff.compiled.recording.symbols import Symbol, not_recorded
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.values.pytree import Rebuild, flatten

DTYPE_ROUNDS = 3  # rounds in which the dtypes of carried values have to settle


class LoopStep(NamedTuple):
    """A step of a loop: ``carry, y = f(carry, x)``, with a third result if the loop may end."""

    f: Callable[..., Any]
    reverse: bool = False
    exits: bool = False
    all_branches: bool = False  # whether decisions may differ from step to step


class RecordedLoop(NamedTuple):
    """A recorded loop, the values it runs on, and the structure of its results."""

    function: LoopFunction
    carry: list[Any]
    columns: list[Any]
    constants: list[Any]
    rebuild_carry: Rebuild
    rebuild_result: Rebuild

    @property
    def values(self) -> list[Any]:
        """The values that the loop runs on, in the order of the arguments of a step."""
        return [*self.carry, *self.columns, *self.constants]


def record_step(step: LoopStep, carry: Any, xs: Any, rows: int, settings: Any) -> RecordedLoop:
    """Record one step of a loop, with the carry and one row of the xs as symbols."""
    (leaves, rebuild_carry), (columns, rebuild_row) = flatten(carry), flatten(xs)
    leaves, columns = [*map(take_current, leaves)], [*map(take_current, columns)]
    first = [_as_number(find_example(leaf)) for leaf in leaves]
    row = [find_example(column)[-1 if step.reverse else 0] for column in columns]
    for _ in range(DTYPE_ROUNDS):
        traced = _trace(step, [*first, *row], (rebuild_carry, rebuild_row), settings)
        before, after = traced.inputs[: len(leaves)], traced.carry
        dtypes = [
            np.result_type(x if type(x) is float else a.dtype, b.dtype)  # as NumPy takes floats
            for x, a, b in zip(first, before, after, strict=False)
        ]
        if all(b.dtype == dtype for b, dtype in zip(before, dtypes, strict=True)):
            break
        first = [_cast(x, dtype) for x, dtype in zip(first, dtypes, strict=True)]
    if [(x.dtype, x.shape) for x in before] != [(x.dtype, x.shape) for x in after]:
        raise not_recorded("a loop whose carried values do not keep their dtype and shape")
    leaves = [_cast(x, b.dtype) for x, b in zip(leaves, before, strict=True)]
    given = [*leaves, *columns, *[outer for outer, _ in traced.level.captured.values()]]
    program = without_dead(traced.level.finish(traced.results, len(traced.inputs)))
    kept = find_needed_inputs(program, len(leaves))
    begin, end = len(leaves), sum([k < len(traced.inputs) for k in kept])
    chosen = [given[k] for k in kept]
    function = LoopFunction(
        keep_inputs(program, kept),
        begin,
        end - begin,
        rows,
        step.reverse,
        step.exits,
        tuple([symbol.concrete for symbol in traced.results]),
    )
    return RecordedLoop(
        function, leaves, chosen[begin:end], chosen[end:], rebuild_carry, traced.rebuild_result
    )


class _Traced(NamedTuple):
    """A step that was run on symbols."""

    level: BodyLevel
    inputs: list[Symbol]
    carry: list[Symbol]
    results: list[Symbol]  # the carry, the leaves of y, and whether there is a next step
    rebuild_result: Rebuild


def _trace(
    step: LoopStep, numbers: list[Any], rebuild: tuple[Rebuild, Rebuild], settings: Any
) -> _Traced:
    """Run a step on symbols that have these numbers meanwhile."""
    level = BodyLevel(settings.estimates, settings.precise, settings.on_long)
    with level:
        inputs = [level.input(x) for x in numbers]

        def run() -> Any:
            symbols = iter([twin(symbol) for symbol in inputs])  # a step may write to it
            return step.f(*[build(symbols) for build in rebuild])

        carry, y, *go = level.record_all_branches(run) if step.all_branches else run()
        pairs = zip(flatten(carry)[0], inputs, strict=False)
        after = [_as_before(level.own(leaf), given) for leaf, given in pairs]
        results, rebuild_result = flatten(y)
        own = [*after, *map(level.own, results), *map(level.own, go)]
    return _Traced(level, inputs, after, own, rebuild_result)


def _as_before(after: Symbol, before: Symbol) -> Any:
    """Return a carried value in the dtype that it had before, if that has all its numbers.

    A Python float takes the dtype of what it is computed with: then it is carried in that.
    """
    given = 1.0 if type(before.concrete) is float else before.dtype
    same = after.dtype == before.dtype or np.result_type(given, after.dtype) != before.dtype
    return after if same else after.astype(before.dtype)


def run_recorded(loop: RecordedLoop, limit: Any, go: Any, run: Callable[..., Any]) -> Any:
    """Run a recorded loop; return the last carry, the results, and the status of the loop."""
    function = loop.function
    made = run(function, [limit, go, *loop.values])
    carry = loop.rebuild_carry(iter(made[: function.carries]))
    ys = loop.rebuild_result(iter(made[function.carries : -3]))
    return carry, ys, made[-1]


def check_dtypes(loop: RecordedLoop, carry: Any, kinds: str = "c") -> None:
    """Refuse a loop whose first step changes the dtypes of carried values, and so its results.

    The square root of -1.0 is nan, that of the complex number -1 is not. `kinds` are the kinds of
    dtypes to which no carried value may change, even if the new dtype can represent it.
    """
    for before, after in zip(map(take_current, flatten(carry)[0]), loop.carry, strict=True):
        dtype, new = [np.result_type(find_example(x)) for x in (before, after)]
        is_exact = dtype.kind in "biu" and new.kind == "f"
        if dtype != new and new.kind in kinds and not is_exact:
            raise not_recorded(f"a loop whose first step changes {dtype} to {new}")


def check_repeats(loop: RecordedLoop, again: RecordedLoop) -> None:
    """Refuse a step that differs when it is recorded again, as it counts or draws random numbers.

    A step also differs if it changes something that it reads and that is not one of its variables.
    """
    one, other = loop.function.body, again.function.body
    lines = [[(x.name, x.args, x.kwargs, x.shape) for x in body.lines] for body in (one, other)]
    same_values = all(map(_is_same, loop.values, again.values))
    if not (same_values and _is_same(lines[0], lines[1]) and _is_same(one.outputs, other.outputs)):
        raise not_recorded("a loop whose step does not depend on its variables alone")


def _is_same(a: Any, b: Any) -> bool:
    """Compare arguments; functions and other objects that are made in a step are not compared."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_is_same(x, b[key]) for key, x in a.items())
    if isinstance(a, Symbol):
        return a.level is b.level and _is_same_line(a.level.lines, a.place, b.place)
    if isinstance(a, Traced):
        return a is b or _is_same(a.value, b.value)
    if isinstance(a, np.ndarray | np.generic | float | complex):
        return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc"))
    return not isinstance(a, int | str) or bool(a == b)


def _is_same_line(lines: list[Line], a: Ref, b: Ref) -> bool:
    """Tell whether two lines of a program compute the same."""
    pending, seen = [(a, b)], set[tuple[Ref, Ref]]()
    while pending:
        pair = pending.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        one, other = [lines[place] for place in pair]
        given = [with_values((x.args, x.kwargs), defaultdict(int)) for x in (one, other)]
        if one.what is None or one.name != other.name or not _is_same(*given):
            return False
        pending += zip(one.needs(), other.needs(), strict=True)
    return True


def _as_number(x: Any) -> Any:
    """Return a number in the form in which a loop carries it: integers may change, too."""
    if type(x) is float or isinstance(x, (np.ndarray, np.generic)):
        return x
    if not isinstance(x, (bool, int, complex)):
        raise not_recorded(f"a loop that carries {x!r}")
    return np.asarray(x)[()]


def _cast(x: Any, dtype: Any) -> Any:
    """Convert a first carried value to the dtype of the later ones."""
    if np.result_type(find_example(x)) == dtype:
        return x
    return x.astype(dtype) if isinstance(x, Traced) else np.asarray(x, dtype)[()]  # type: ignore[attr-defined]


def find_needed_inputs(program: RecordedProgram, carries: int) -> list[int]:
    """Return the arguments that a program needs; carried values always stay."""
    used = {int(place) for line in program.lines for place in find_refs((line.args, line.kwargs))}
    used |= {int(place) for place in find_refs(program.outputs)}
    used |= {int(guard.place) for guard in program.guards}
    return [k for k in range(program.inputs) if k < carries or k in used]


def keep_inputs(program: RecordedProgram, kept: list[int]) -> RecordedProgram:
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
