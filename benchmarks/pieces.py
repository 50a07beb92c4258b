"""What each piece of the fast engine gains: the time without it, over the time with it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from array_contestants import ArrayOurs
from array_workloads import (
    ArrayWorkload,
    elementwise_chain,
    logistic,
    mixed_chain,
    mlp,
    ode,
    physics,
)
from contestants import Ours
from field import Field
from measure import Effort, race
from report import Section, digits
from workloads import chain

NEVER = 2**62
Off = Callable[[], Any]


def _limit(name: str, size: int) -> Off:
    """Leave a piece out by its limit."""
    from simpleautodiff.fast.thresholds import THRESHOLDS

    return lambda: mock.patch.object(THRESHOLDS, name, size)


def _replace(module: Any, name: str, value: Any) -> Off:
    return lambda: mock.patch.object(module, name, value)


@contextmanager
def _single_blocks() -> Iterator[None]:
    """Let each pooled block be an allocation of its own; those in large pieces are freed."""
    from simpleautodiff.fast import memory_pool

    memory_pool.POOL.parts.clear()
    with mock.patch.object(memory_pool, "MIN_TOGETHER", NEVER):
        yield


def pieces() -> dict[str, Off]:
    """Return how to leave out each piece."""
    from simpleautodiff.fast import array_locks, array_sweep, direct_pulls, fast_tape, memory_pool

    return {
        "pooled memory": _limit("pooled", NEVER),
        "pooled blocks in large pieces": _single_blocks,
        "views without NumPy's buffers": _replace(memory_pool, "MIN_RUN", NEVER),
        "locks instead of copies": _replace(
            array_locks.ArrayLocks, "lock", lambda self, array: array.copy()
        ),
        "values that no rule reads are freed": _limit("small", NEVER),
        "deferred factors of adjoints": _replace(
            array_sweep, "can_defer", lambda factor, array: False
        ),
        "slopes by blocks that fit into the caches": _replace(
            array_sweep, "multiply_by_blocks", lambda *args: None
        ),
        "sums by blocks that fit into the caches": _limit("near", NEVER),
        "adjoints of parts of arrays in place": _replace(array_sweep, "ADD_IN_PLACE", {}),
        "the sweep of large arrays": _limit("medium", NEVER),
        "adjoints of small arrays by NumPy": lambda: mock.patch.dict(
            direct_pulls.PULLS, clear=True
        ),
        "the guess that slopes are finite": _replace(
            fast_tape.FastTape, "can_be_swept_again", lambda self: False
        ),
        "the garbage collector paused": _replace(gc, "disable", lambda: None),
    }


@contextmanager
def without(off: Off | None) -> Iterator[None]:
    """Leave a piece out for a while."""
    with ExitStack() as stack:
        if off is not None:
            stack.enter_context(off())
        yield


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    effort: Effort
    size: int


FULL = Plan(Effort(rounds=9, slice_s=0.05, budget_s=2.0), 10**6)
QUICK = Plan(Effort(rounds=3, slice_s=0.02, budget_s=0.5), 10**5)
KINDS = (Ours, ArrayOurs)


def runs(field: Field, size: int) -> dict[str, Callable[[], object]]:
    """Return what is timed: programs on large arrays, chains of small ones, a graph of numbers."""
    ours = field.present[ArrayOurs]
    workloads: dict[str, ArrayWorkload] = {
        "network": mlp(size),
        "logistic": logistic(size),
        "residual": physics(size),
        "ode": ode(size),
        "small": elementwise_chain(),
        "mixed": mixed_chain(),
    }
    graph = chain(10**4)
    both = ours.value_and_grad(graph.f, tuple(range(len(graph.point))))
    return {
        **{name: ours.run(workload) for name, workload in workloads.items()},
        "graph": lambda: both(*graph.point),
    }


def pieces_section(field: Field, plan: Plan) -> Section:
    """Leave out one piece after another."""
    section = Section("16. What each piece of the fast engine gains: time without / time with it")
    offs: dict[str, Off | None] = {"all": None, **pieces()}
    columns = runs(field, plan.size)
    cells: dict[str, dict[str, float]] = {name: {} for name in offs}
    for column, run in columns.items():

        def left_out(off: Off | None, run: Callable[[], object] = run) -> object:
            with without(off):
                return run()

        gc.collect()
        timings = race({name: partial(left_out, off) for name, off in offs.items()}, plan.effort)
        for name, timing in timings.items():
            cells[name][column] = timing.best / timings["all"].best
    section.data["without / with"] = cells
    rows = [
        (name, *[digits(cells[name][column]) for column in columns])
        for name in offs
        if name != "all"
    ]
    section.table((f"arrays of {plan.size:.0e} elements", *columns), rows)
    return section


SECTIONS = (pieces_section,)
