"""The same derivatives sooner: without this folder no number changes, beyond rounding.

`install` puts it into the seams of `core.engine`. It is not installed where the environment
variable SIMPLEAUTODIFF_ENGINE says "plain"; everything then runs on `core` alone, which is the
definition that this folder is tested against.
"""

from __future__ import annotations

from simpleautodiff.core.engine import engine
from simpleautodiff.fast.array_locks import is_locked
from simpleautodiff.fast.calls import wrap
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.memory_pool import POOL
from simpleautodiff.fast.recording import SurelyEnded


def install() -> None:
    """Put the fast ways of calling, recording and sweeping into the engine."""
    engine.wrap = wrap
    engine.new_tape = FastTape
    engine.recording = SurelyEnded
    engine.release = POOL.release
    engine.is_locked = is_locked
