"""CPU time, fairly: one thread, all contestants in turn, the best and the median of many rounds."""

from __future__ import annotations

import gc
import itertools
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

FEWEST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    rounds: int  # at most, in one race
    slice_s: float  # a contestant's turn lasts about this long, and at least one call
    budget_s: float  # a contestant that has used this much in one race drops out
    longest_s: float = math.inf  # one that is expected to use this much does not take part


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of CPU time per call."""

    best: float
    median: float
    rounds: int

    def per(self, many: int) -> Timing:
        """Return the seconds for one of many equal parts of a call."""
        return Timing(self.best / many, self.median / many, self.rounds)


def one_thread() -> None:
    """Keep numerical libraries from using several threads. Call it before importing any."""
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"


def deeply(function: Callable[[], None]) -> None:
    """Call a function where deep recursion works: in a thread with a large stack.

    All contestants run there, though only those that recurse along the graph need it.
    """
    errors: list[BaseException] = []

    def target() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    old_limit, old_size = sys.getrecursionlimit(), threading.stack_size(2**29)
    sys.setrecursionlimit(10**6)
    try:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(old_limit)
        threading.stack_size(old_size)
    if errors:
        raise errors[0]


def race(runs: Mapping[str, Callable[[], object]], effort: Effort) -> dict[str, Timing]:
    """Time calls against each other.

    In every round each contestant gets one turn, and each round begins with another one, so what
    disturbs the machine for a while disturbs all of them. Every run must have been called before.
    """
    with _frozen_heap():
        calls: dict[str, int] = {}
        turns: dict[str, list[float]] = {}
        for name, run in runs.items():
            calls[name], turns[name] = _first_turn(run, effort.slice_s)
        names = list(runs)
        for number in range(effort.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                done = turns[name]
                if len(done) > number:
                    continue  # the first turn was one already
                if len(done) < FEWEST_ROUNDS or sum(done) + done[-1] <= effort.budget_s:
                    done.append(_turn(runs[name], calls[name]))
    return {
        name: Timing(
            min(done) / calls[name], statistics.median(done) / calls[name], rounds=len(done)
        )
        for name, done in turns.items()
    }


def _turn(run: Callable[[], object], calls: int) -> float:
    """Return the seconds that some calls take, with freeing all they made.

    Most contestants free a graph by counting references, within the call. The others leave cycles
    to the garbage collector, so the collector is called before the clock stops. The clock counts
    all threads, so it waits for those of others that are still at work.
    """
    _wait_for_threads()
    begin = time.process_time()
    for _ in itertools.repeat(None, calls):
        run()
    gc.collect()
    return time.process_time() - begin


def _wait_for_threads(step_s: float = 0.005, steps: int = 20) -> None:
    """Sleep until the process uses no time, or for a tenth of a second if it never stops."""
    for _ in range(steps):
        begin = time.process_time()
        time.sleep(step_s)
        if time.process_time() - begin < step_s / 10:
            return


def settle(run: Callable[[], object], calls: int = 70, longest_s: float = 60.0) -> int:
    """Call until nothing more is compiled in the background; return the number of calls.

    What is compiled as it is called is so after some calls, in another thread, and more than once.
    """
    done, quiet, begin = 0, 0, time.process_time()
    while quiet < 2 and time.process_time() - begin < longest_s:
        turn = time.process_time()
        for _ in range(calls):
            run()
            done += 1
            if time.process_time() - turn > 1.0:
                break
        busy = time.process_time()
        while time.process_time() - busy < longest_s:
            before = time.process_time()
            time.sleep(0.02)
            if time.process_time() - before < 0.002:
                break
        quiet = quiet + 1 if done >= calls and time.process_time() - busy < 0.01 else 0
    return done


def _first_turn(run: Callable[[], object], slice_s: float) -> tuple[int, list[float]]:
    """Find how many calls make a turn long enough to be timed well.

    If one call is enough, the turn that showed it counts; it is returned too.
    """
    calls = 1
    while (seconds := _turn(run, calls)) < slice_s / 4:
        calls *= 2
    if calls == 1 and seconds >= slice_s:
        return 1, [seconds]
    return max(1, round(calls * slice_s / seconds)), []


@contextmanager
def _frozen_heap() -> Iterator[None]:
    """Hide what the imported libraries keep in memory from the garbage collector.

    Otherwise a contestant that wakes the collector would pay for the size of all the others.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
