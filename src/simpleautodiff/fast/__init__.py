"""A faster engine with the same results: deleting this folder changes numbers only by rounding.

`install` puts it into the seams of `core.engine`. It is not installed if the environment variable
SIMPLEAUTODIFF_ENGINE is "plain". Then everything runs on `core` alone, which defines the results
that this folder is tested against.
"""

from __future__ import annotations

from simpleautodiff.core.engine import engine
from simpleautodiff.fast.array_locks import is_locked
from simpleautodiff.fast.calls import wrap
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.memory_pool import POOL
from simpleautodiff.fast.recording import SurelyEnded


def install() -> None:
    """Replace the engine's functions for calling, recording and sweeping by fast ones."""
    engine.wrap = wrap
    engine.new_tape = FastTape
    engine.recording = SurelyEnded
    engine.release = POOL.release
    engine.is_locked = is_locked
