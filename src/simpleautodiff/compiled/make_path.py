"""Make the path of a call: record the function, long loops of Python by one step each."""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.finish_results import (
    check_same,
    check_types,
    copy_array,
    dtype_of_result,
    find_finish,
)
from simpleautodiff.compiled.loops.plain_loops import NotAsLoop, PlainLoops
from simpleautodiff.compiled.loops.replace_code import (
    FunctionsInMemory,
    LongRecording,
    LoopsToRecord,
)
from simpleautodiff.compiled.paths import Answer, Path
from simpleautodiff.compiled.record_function import F, Options, RecordedFunction, record_program
from simpleautodiff.compiled.signature import CallSignature
from simpleautodiff.compiled.tiers import make_program
from simpleautodiff.core.engine import engine
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.values.pytree import flatten, map_leaves

NOT_RUN = object()  # in place of a result: the function was stopped, as its loops are long
MOST_LOOPS = 16  # how often a recording is restarted, at most


def make_path(
    f: F,
    described: CallSignature,
    result: Any,
    options: Options,
    loops: LoopsToRecord,
    finds_loops: bool = False,
    assumes: bool = True,
) -> tuple[Path, PlainLoops, LoopsToRecord]:
    """Record the path of a call that had this result; return its loops of Python, too.

    `loops` are recorded by one step each; `finds_loops` says that there may be further ones, and
    `assumes` that derivatives of loops are finite, which the program then checks.
    Without a result, if it is `NOT_RUN`, the function is recorded twice, as a step of a loop may
    depend on more than its arguments. The answer to an earlier call tells the types of results.
    """
    earlier = result if isinstance(result, Answer) else None
    made, loops = _record_with_loops(f, described, options, loops, finds_loops, assumes)
    again = None
    if result is NOT_RUN:
        again = _record_with_loops(f, described, options, loops, False, assumes)[0]
        result = made.estimate()
        check_same(again.outputs, result, name_of(f))
    if earlier:
        result = made.estimate()  # its constants and its structure are those of this call
        check_types(earlier.result, result, name_of(f))
    finish = find_finish(made.outputs, result, name_of(f))
    if made.is_exact and not earlier:
        check_same(made.outputs, result, name_of(f))
    results = [dtype_of_result(leaf) for leaf in flatten(result)[0]]
    with engine.recording() as use, use:
        program = make_program(made.program, options)
    path = Path(made.program, program, finish, results, unrolled=made.loops.runner.refusals)
    if again:
        path.example = result
    elif earlier:
        path.unconfirmed = earlier
        numbers = [x.concrete for x in made.outputs if hasattr(x, "concrete")]
        path.example, path.is_result = finish(numbers), made.is_exact
    elif not made.is_exact:
        path.unconfirmed = Answer(*map_leaves(copy_array, ([*described.inputs], result)))
    return path, made.loops, loops


def _record_with_loops(
    f: F,
    described: CallSignature,
    options: Options,
    loops: LoopsToRecord,
    finds_loops: bool,
    assumes: bool,
) -> tuple[RecordedFunction, LoopsToRecord]:
    """Record a function with some loops by one step; return all the loops that were recorded so.

    If `finds_loops`, a recording that turns out to be long begins again, with the loop in which it
    is by one step. What cannot be recorded so is recorded with all its steps.
    """
    known, functions = loops, FunctionsInMemory()
    looking = finds_loops and options.tier not in ("numpy", "tape") and TARGET.is_available()
    for _ in range(MOST_LOOPS if looking else 0):
        try:
            with loops.replaced(functions):
                made = record_program(f, described, options, loops.stop_in_loop, assumes)
                return made, loops
        except LongRecording as long:
            loops = long.loops
        except NotAsLoop as refused:
            loops = loops.without(refused.step)
        except Exception:
            if loops is known:
                raise
            break
    with known.replaced(functions):
        return record_program(f, described, options, assumes=assumes), known
