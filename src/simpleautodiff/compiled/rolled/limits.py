"""The sizes from which on programs are rolled up, and how; tests can set them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RollingLimits:
    """Sizes that decide how a program is rolled up; the results are the same."""

    lines: int = 600  # lines of a program that is worth rolling up
    flat: int = 5000  # steps up to which an unrolled program is compiled whole
    gain: float = 4  # the bodies must have this many times fewer lines
    whole: int = 2000  # lines up to which an array program is compiled whole
    compiled: int = 10_000  # lines of all bodies, at most
    short: int = 24  # lines: shorter bodies are joined
    long: int = 600  # lines: longer bodies are cut
    least: int = 200  # lines of a whole run of short bodies, at least
    most: int = 400  # lines of a stretch without repeats, at most
    registers: int = 1600  # steps of a loop whose numbers stay in registers, at most
    kept: int = 128  # bytes of a result of such a loop that is kept in registers, at most
    scalar: int = 500  # elements of all results up to which a body is unrolled
    each: int = 12  # and elements per line up to which a longer one is


ROLLING = RollingLimits()
