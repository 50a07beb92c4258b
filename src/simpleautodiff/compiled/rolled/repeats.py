"""Find where a sequence repeats, and cut it into stretches, so that few of them differ.

A recorded loop is the same stretch of lines again and again, nested loops are stretches inside
stretches, and a first or a last iteration may differ from the others. This module only decides
where to cut: whether two stretches are the same is checked later, so a bad cut costs time and is
never wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.rolled.limits import ROLLING

Numbers = NDArray[Any]

CANDIDATES = 6  # periods to try for each window length


class RepeatedRun(NamedTuple):
    """A stretch in which every line equals the line one period later."""

    start: int
    stop: int
    period: int


def cut_at_repeats(symbols: Numbers) -> list[tuple[int, int]]:
    """Cut a sequence into stretches, so that few of them differ.

    Examples
    --------
    >>> body = [5, 6, 7, 8] * 8
    >>> cuts = cut_at_repeats(np.array([1, 2, 3, *body * 20, 4]))
    >>> cuts[0], cuts[1], cuts[2], cuts[-1]
    ((0, 3), (3, 27), (27, 51), (643, 644))
    """
    cutting = _Cutting(len(symbols))
    runs = sorted(_find_runs(symbols), key=_rank)
    for run in runs:
        cutting.take(run, ROLLING.least if run.period < ROLLING.short else 0)
    for run in runs:  # shorter runs of bodies that were found elsewhere
        if run.period in cutting.periods:
            cutting.take(run, 0)
    for start, stop in _find_stretches(cutting.free):
        ends = range(start, stop, ROLLING.most)
        cutting.cuts += [(at, min(at + ROLLING.most, stop)) for at in ends]
    return sorted(cutting.cuts)


class _Cutting:
    """The stretches that were cut out, and what remains."""

    def __init__(self, count: int) -> None:
        self.free = np.ones(count, bool)
        self.cuts: list[tuple[int, int]] = []
        self.periods: set[int] = set()

    def take(self, run: RepeatedRun, least: int) -> None:
        """Cut out the bodies of a run, where it is not cut yet and at least that long."""
        for start, stop in _find_stretches(self.free[run.start : run.stop]):
            if stop - start >= max(least, 2 * run.period):
                taken = _cut_run(RepeatedRun(run.start + start, run.start + stop, run.period))
                self.free[taken[0][0] : taken[-1][1]] = False
                self.cuts += taken
                self.periods.add(run.period)


def _rank(run: RepeatedRun) -> tuple[int, int, int]:
    """Return the rank by which runs are cut out: short enough bodies first, then long runs."""
    return int(run.period > ROLLING.long), run.start - run.stop, run.period


def _cut_run(run: RepeatedRun) -> list[tuple[int, int]]:
    """Return the bodies of a run, several joined if they are short."""
    together = run.period * -(-ROLLING.short // run.period)
    cuts, at = [], run.start
    for length in (together, run.period):
        while at + length <= run.stop:
            cuts.append((at, at + length))
            at += length
    return cuts


def _find_runs(symbols: Numbers) -> list[RepeatedRun]:
    found = []
    for period in _find_periods(symbols):
        same = symbols[period:] == symbols[:-period]
        for start, stop in _find_stretches(same):
            if stop - start >= max(period, ROLLING.short - period):
                found.append(RepeatedRun(start, stop + period, period))
    return found


def _find_periods(symbols: Numbers) -> list[int]:
    """Return the most frequent distances between equal windows, for several window lengths."""
    periods: dict[int, None] = {}
    hashes, width = symbols.astype(np.uint64), 1
    while 4 * width <= len(symbols):
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        distances = order[again + 1] - order[again]
        if not len(distances):
            break
        counts = np.bincount(distances)
        best = np.argsort(-counts, kind="stable")[:CANDIDATES]
        periods |= dict.fromkeys([int(p) for p in best if p and counts[p] * 8 >= width])
        mixed = hashes[:-width] * np.uint64(0x9E3779B97F4A7C15) + hashes[width:]
        hashes, width = mixed ^ (mixed >> np.uint64(29)), 2 * width
    return list(periods)


def _find_stretches(flags: Numbers) -> list[tuple[int, int]]:
    """Return the (start, stop) pairs of the runs of True in a sequence of bools."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
