"""What runs a recorded program: which kind of program it is, and so which tiers it has.

Scalar programs (of single numbers and small arrays) begin on the interpreter, which starts at once.
Those that are called again are compiled quickly, and hot ones compiled well, in a thread of their
own while the calls go on. Array programs run through NumPy until their loops are compiled; so do
batched programs.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.array.complex_parts import split_complex
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.compiled.rolled.layout import NotRolledError, RolledLayout
from simpleautodiff.compiled.rolled.roll import roll
from simpleautodiff.compiled.running.array_tiers import TieredArrayProgram
from simpleautodiff.compiled.running.batched_program import batched_program
from simpleautodiff.compiled.running.rolled_tiers import TieredRolledProgram
from simpleautodiff.compiled.running.runnable import RunnableProgram
from simpleautodiff.compiled.running.scalar_tiers import TieredScalarProgram
from simpleautodiff.compiled.scalar.unroll_arrays import unroll_if_small


def make_program(recorded: RecordedProgram, options: Any) -> RunnableProgram:
    """Return what runs a recorded program: a batch, unrolled if it is small, in loops if not."""
    batched = batched_program(recorded)
    if batched is not None:
        return batched
    real = recorded if options.precise else split_complex(recorded)
    rolled = _roll_up(real, options)
    if rolled is not None:
        return rolled
    kernel = unroll_if_small(real, options.precise)
    if kernel is not None:
        return TieredScalarProgram(kernel, options.tier)
    return TieredArrayProgram(recorded, options.precise, options.tier)


def _roll_up(recorded: RecordedProgram, options: Any) -> RunnableProgram | None:
    """Return what runs a long program that repeats; None if there is nothing to gain."""
    if options.tier in ("tape", "numpy") or not TARGET.is_available():
        return None
    rolled = roll(recorded, options.precise)
    if rolled is None:
        return None
    try:
        layout = RolledLayout(rolled, options.precise)
    except NotRolledError:
        return None
    return TieredRolledProgram(rolled, layout, options.precise, options.tier)
