"""From which sizes on programs are rolled up, and how; all can be set, as tests do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RollingLimits:
    """Sizes that decide how a program is rolled up; the results are the same."""

    lines: int = 600  # of a program that is worth it
    flat: int = 5000  # steps of an unrolled program that is compiled as it is
    gain: float = 4  # how many times fewer lines all bodies have together
    whole: int = 2000  # lines of a program on arrays that is compiled in one piece
    compiled: int = 10_000  # lines of all bodies that are compiled
    short: int = 24  # lines: a body of fewer is taken several times
    long: int = 600  # lines: a body of more is cut
    least: int = 200  # lines that a repeat of short bodies has in all, if it is to be cut out
    most: int = 400  # lines of a stretch that repeats nothing
    scalar: int = 500  # elements of all results of a body that is unrolled


ROLLING = RollingLimits()
