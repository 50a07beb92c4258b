"""The sizes up to which loops are recorded, and run, step by step; the results are the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class LoopLimits:
    """The sizes up to which loops are recorded, and run, step by step."""

    lines: int = 400  # lines of all steps of a short loop
    rows: int = 4000  # the same for one example of a batch, whose program has no loops
    long: int = 600  # lines of a recording in which loops of Python are looked for
    inner: int = 200  # lines of a step in which further loops are looked for
    paths: int = 8  # paths through a loop of Python that are recorded step by step
    steps: int = 256  # steps that Python or NumPy takes, before machine code does
    branches: float = 1.5  # lines of all branches of a step, for each line of those it takes
    shared: int = 2**28  # bytes of intermediate values that one loop keeps for another


LOOPS = LoopLimits()
