"""Choose what runs a recorded program: which kind of program it is, and so its tiers.

Scalar programs (of single numbers and small arrays) begin on the interpreter, which starts at once.
Hot ones are compiled in a background thread while calls go on: optimised, or quickly if they are
long. Array programs are run by NumPy until their loops are compiled; so are batched programs.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.array.classify import NUMPY
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.array.split_complex import split_complex
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.loops.expand import expand_loops, has_loops
from simpleautodiff.compiled.loops.share_steps import share_steps
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.rolled.limits import ROLLING
from simpleautodiff.compiled.rolled.roll import roll
from simpleautodiff.compiled.rolled.roll_loops import roll_loops
from simpleautodiff.compiled.rolled.rolled_program import NotRolledError, RolledProgram
from simpleautodiff.compiled.running.array_tiers import TieredArrayProgram
from simpleautodiff.compiled.running.batched_program import batched_program
from simpleautodiff.compiled.running.rolled_tiers import TieredRolledProgram
from simpleautodiff.compiled.running.runnable import RunnableProgram
from simpleautodiff.compiled.running.scalar_tiers import TieredScalarProgram
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.unroll_arrays import (
    estimate_steps,
    find_large,
    has_systems,
    unroll_if_small,
)
from simpleautodiff.errors import ArgumentError

WRITTEN_OUT = 1000  # steps up to which a program is always unrolled
STEPS_OF_A_LINE = 16  # steps per line from which on loops are better
FEWER = 4  # times fewer steps than are estimated, perhaps
LINES_OF_A_STEP = 4  # lines per step from which on unrolling is not tried


def make_program(recorded: RecordedProgram, options: Any) -> RunnableProgram:
    """Return the runner of a recorded program: batched, unrolled, rolled up, or with array loops.

    A program that is long and does not repeat is compiled in pieces, or, if it is too long even for
    that, not at all.
    """
    if has_loops(recorded):
        return _make_loops(recorded, options)
    batched = batched_program(recorded)
    if batched is not None:
        return batched
    real = recorded if options.precise else split_complex(recorded)
    few = len(real.lines) <= LINES_OF_A_STEP * ROLLING.flat
    tried = few and not _is_surely_better_in_loops(real, options)
    kernel = unroll_if_small(real, options.precise, may_refuse=True) if tried else None
    is_flat = kernel is not None and len(kernel.program) <= ROLLING.flat
    if kernel is not None and is_flat and not _is_better_in_loops(real, kernel, options):
        return TieredScalarProgram(kernel, options.tier)
    rolled = _roll_up(real, options)
    if rolled is not None and ROLLING.gain * rolled.size <= len(real.lines):
        program = _run_rolled(rolled.recorded, rolled, options)
        if program is not None:
            return program
    if not few:
        kernel = unroll_if_small(real, options.precise, may_refuse=True)
    if kernel is not None and not _is_better_in_loops(real, kernel, options):
        return TieredScalarProgram(kernel, options.tier)
    if rolled is None or len(recorded.lines) <= ROLLING.whole:
        return TieredArrayProgram(recorded, options.precise, options.tier, options.threads)
    if rolled.size <= ROLLING.compiled:
        program = _run_rolled(rolled.recorded, rolled, options)
        if program is not None:
            return program
    made = TieredArrayProgram(recorded, options.precise, "numpy")
    made.fail(f"its {len(recorded.lines)} rows do not repeat, and are too many: NumPy runs them")
    return made


def _is_better_in_loops(recorded: RecordedProgram, kernel: Kernel, options: Any) -> bool:
    """Tell whether loops with vectors are faster than all the steps of an unrolled program.

    They are if each line stands for many steps, and if loops can compute all of them; but a call of
    LAPACK takes longer than all steps of a small system.
    """
    if kernel.program.required:
        return False
    return _stands_for_many(recorded, len(kernel.program), options)


def _is_surely_better_in_loops(recorded: RecordedProgram, options: Any) -> bool:
    """Tell the same without unrolling, which takes long; many steps may turn out to be equal."""
    if find_large(recorded) is not None:
        return False  # it is not unrolled in any case
    if has_systems(recorded):
        return False  # they may be small
    return _stands_for_many(recorded, estimate_steps(recorded) / FEWER, options)


def _stands_for_many(recorded: RecordedProgram, steps: float, options: Any) -> bool:
    lines = len(recorded.lines) - recorded.inputs
    if options.tier not in (None, "optimised") or not TARGET.is_available():
        return False
    if steps < WRITTEN_OUT or steps < STEPS_OF_A_LINE * lines:
        return False
    plan = LoopSchedule(clean(recorded, options.precise), exact=options.precise)
    return NUMPY not in plan.how


def _roll_up(recorded: RecordedProgram, options: Any) -> RolledProgram | None:
    """Return a long program as calls of bodies; None if it is short, or cannot be compiled."""
    if options.tier in ("tape", "numpy") or not TARGET.is_available():
        return None
    return roll(recorded, options.precise) if len(recorded.lines) >= ROLLING.lines else None


def _make_loops(recorded: RecordedProgram, options: Any) -> RunnableProgram:
    """Return the runner of a program with loops: machine code, if every step can be compiled.

    If not, the steps are unrolled like those of Python's loops; a loop of unknown length is run by
    NumPy.
    """
    if options.tier in ("tape", "numpy") or not TARGET.is_available():
        return TieredArrayProgram(recorded, options.precise, "numpy")
    try:
        shared = share_steps(recorded)
        rolled = roll_loops(shared, options.precise)
        program = _run_rolled(shared, rolled, options)
        why = "there is nothing to compile in it"
    except NotRolledError as error:
        program, why = None, str(error)
    if program is not None:
        return program
    try:
        return make_program(expand_loops(recorded), options)
    except ArgumentError:
        made = TieredArrayProgram(recorded, options.precise, "numpy")
        made.fail(f"NumPy runs its loops: {why}")
        return made


def _run_rolled(
    recorded: RecordedProgram, rolled: RolledProgram, options: Any
) -> RunnableProgram | None:
    """Return the runner of a rolled program; None if a body cannot be compiled."""
    if not rolled.bodies:
        return None
    try:
        layout = RolledLayout(rolled, options.precise)
    except NotRolledError:
        return None
    return TieredRolledProgram(recorded, rolled, layout, options.precise, options.tier)
