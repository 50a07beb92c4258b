"""Record a function with its long loops of Python as loops, by one step each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.loops.plain_loops import NotAsLoop
from simpleautodiff.compiled.loops.replace_code import LongRecording, LoopsToRecord
from simpleautodiff.compiled.record_function import Options, RecordedFunction, record_program
from simpleautodiff.compiled.signature import CallSignature

MOST_LOOPS = 16  # times that a recording is begun again


def record_with_loops(
    f: Callable[..., Any],
    described: CallSignature,
    options: Options,
    loops: LoopsToRecord,
    finds_loops: bool,
) -> tuple[RecordedFunction, LoopsToRecord]:
    """Record a function with some loops by one step; return all the loops that were recorded so.

    If `finds_loops`, a recording that turns out to be long begins again, with the loop in which it
    is by one step. What cannot be recorded so is recorded with all its steps.
    """
    known = loops
    looking = finds_loops and options.tier not in ("numpy", "tape") and TARGET.is_available()
    for _ in range(MOST_LOOPS if looking else 0):
        try:
            with loops.replaced():
                return record_program(f, described, options, loops.stop_in_loop), loops
        except LongRecording as long:
            loops = long.loops
        except NotAsLoop as refused:
            loops = loops.without(refused.step)
        except Exception:
            if loops is known:
                raise
            break
    with known.replaced():
        return record_program(f, described, options), known
