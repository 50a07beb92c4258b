"""Record a function: run it on symbols, and return the program of what it did."""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.made_arrays import run_with_replacements
from simpleautodiff.arrays.patch_scipy import patch_scipy
from simpleautodiff.compiled.loops.carried_zeros import assume_finite
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.plain_loops import PlainLoops
from simpleautodiff.compiled.loops.recorder import recording_loops
from simpleautodiff.compiled.recording.estimates import Estimates, MasksNeeded, NumbersNeeded
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Stack, native
from simpleautodiff.compiled.run_long_loop import run_long_loop
from simpleautodiff.compiled.running.batched_function import record_batched
from simpleautodiff.compiled.signature import CallSignature
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Written, take_current
from simpleautodiff.errors import TraceError
from simpleautodiff.transforms.arguments import call_explained, name_of
from simpleautodiff.transforms.results import ON_DERIVATIVES
from simpleautodiff.values.pytree import Rebuild, flatten
from simpleautodiff.values.scoped import scoped

F = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `jit`."""

    precise: bool = False
    tier: str | None = None
    threads: int = 1
    max_paths: int = 64


class RecordedFunction(NamedTuple):
    """A recorded function."""

    program: RecordedProgram
    outputs: list[Any]  # its results: symbols, or constants if they do not depend on the arguments
    rebuild: Rebuild
    is_exact: bool  # whether the symbols have the numbers of the call
    loops: PlainLoops

    def estimate(self) -> Any:
        """Return a result of the right structure, shapes and dtypes."""
        return self.rebuild(iter([getattr(x, "concrete", x) for x in self.outputs]))


def record_program(
    f: F,
    described: CallSignature,
    options: Options,
    on_long: Callable[[Stack], None] | None = None,
    assumes: bool = False,
) -> RecordedFunction:
    """Run a function on symbols instead of its inputs; return the program and its results.

    Loops are recorded by one step each; if code branches on their results, the function is recorded
    again with the numbers of all steps. `on_long` is told the running code of a long recording;
    `assumes` says that derivatives of loops are finite, which the program then checks.
    """
    choices = [Estimates(True, assumes=True), Estimates(assumes=True)] if assumes else []
    for estimates in (*choices, Estimates(True), Estimates()):
        with suppress(NumbersNeeded, MasksNeeded):
            return _record_once(f, described, options, estimates, on_long)
    raise AssertionError("true numbers are never asked for again")


def _record_once(
    f: F,
    described: CallSignature,
    options: Options,
    estimates: Estimates,
    on_long: Callable[[Stack], None] | None,
) -> RecordedFunction:
    """Record a function with estimated numbers, or with true ones, and loops with or without masks.

    Derivatives that were found without masks are checked.
    """

    def check(derivatives: list[Any]) -> None:
        if estimates.unmasked:
            assume_finite(derivatives)

    run_long = partial(run_long_loop, options=replace(options, tier=None))
    with (
        recording_loops(estimates, options.precise, run_long, on_long) as loops,
        scoped(ON_DERIVATIVES, check if estimates.assumes else None),
    ):
        recorded, outputs, rebuild = run_on_symbols(f, described, options, estimates, on_long)
        return RecordedFunction(recorded, outputs, rebuild, not estimates.made, loops)


def run_on_symbols(
    f: F,
    described: CallSignature,
    options: Options,
    estimates: Estimates,
    on_long: Callable[[Stack], None] | None = None,
) -> tuple[RecordedProgram, list[Any], Rebuild]:
    """Run a function on symbols; return the program, its results and their structure."""
    patch_scipy()
    level = SymbolLevel(
        False,
        options.precise,
        options.threads,
        options.tier,
        record_batched,
        estimates,
        (LOOPS.long, on_long) if on_long else None,
    )
    leaves, rebuild = flatten(described.tree)
    with (
        engine.recording() as use,
        _WithoutWarnings() as silence,
        use,
        silence,
        level,
        np.errstate(all="ignore"),
    ):

        def run() -> Any:
            level.restart()
            estimates.made = False
            given = list(leaves)
            for i in described.varies:
                given[i] = level.input(_as_input(leaves[i]))
            some, more = rebuild(iter(given))
            result = call_explained(f, some, more)
            if _is_written(given, (some, more)):
                raise argument_error(name_of(f))
            return result

        results, rebuild_result = flatten(run_with_replacements(f, run, run))
        outputs = [take_current(x) for x in results]
        if level.captured:
            raise TraceError(f"{name_of(f)} reads a number of a function being recorded")
        return level.finish(outputs, len(described.varies)), outputs, rebuild_result


def _is_written(given: list[Any], tree: Any) -> bool:
    """Tell whether a function has written to one of its arguments, or to a list or dict of them."""
    now = flatten(tree)[0]
    same = len(now) == len(given) and all(map(operator.is_, now, given))
    return not same or any(issubclass(type(x), Written) for x in given)


def argument_error(name: str) -> TraceError:
    """Return the error for a function that writes to its argument."""
    return TraceError(f"{name} writes to its argument; let it write to a copy: x = x.copy()")


class _Silence(warnings.catch_warnings):
    """Suppresses warnings that the function has already issued."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


class _WithoutWarnings:
    """Suppress warnings: ``with _WithoutWarnings() as silence, silence``, ended twice.

    Warnings are switched off for all threads, so only one of them can switch them on again.
    """

    def __init__(self) -> None:
        alone = threading.current_thread() is threading.main_thread()
        self.silence: AbstractContextManager[None] = _Silence() if alone else nullcontext()

    def __enter__(self) -> AbstractContextManager[None]:
        return self.silence

    def __exit__(self, *exception: object) -> None:
        with suppress(AttributeError, RuntimeError):  # interrupted before anything was changed
            self.silence.__exit__(None, None, None)


def _as_input(leaf: Any) -> Any:
    leaf = native(leaf)
    return leaf[()] if isinstance(leaf, np.ndarray) and not leaf.ndim else leaf
