"""The paths through the code of a function that calls with one signature have taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.finish_results import copy_array
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.replace_code import LoopsToRecord
from simpleautodiff.compiled.recording.trace_program import Guard, RecordedProgram, native
from simpleautodiff.compiled.running.runnable import RunnableProgram
from simpleautodiff.compiled.signature import CallSignature
from simpleautodiff.errors import ArgumentError, DomainError
from simpleautodiff.values.pytree import flatten, map_leaves

MOST_KEPT = 2**28  # bytes of the inputs and results of a slow first call


class Answer(NamedTuple):
    """What the function itself has returned for some inputs."""

    inputs: list[Any]
    result: Any
    is_earlier: bool = False  # of a call before the recorded one, which may take another path


def keep_answer(described: CallSignature, before: list[Any], result: Any) -> Answer | None:
    """Return the inputs and the result of a call; None if they take too much memory."""
    answer = Answer([native(before[i]) for i in described.varies], result, is_earlier=True)
    size = sum([getattr(x, "nbytes", 0) for x in flatten(answer)[0]])
    return answer._replace(result=map_leaves(copy_array, result)) if size <= MOST_KEPT else None


@dataclass(eq=False)
class Path:
    """One path through the code: its program, and how to assemble its results.

    `branches[k]` is the path where the k-th guard does not hold; `as_is[k]` says why there is none.
    """

    recorded: RecordedProgram
    program: RunnableProgram
    finish: Callable[[list[Any]], Any]
    results: list[Any]  # the dtype of each result; None if it is not a number
    unconfirmed: Answer | None = None  # what the program has not been confirmed to give yet
    branches: dict[int, Path] = field(default_factory=dict)
    as_is: dict[int, str] = field(default_factory=dict)
    unrolled: list[str] = field(default_factory=list)  # why loops were recorded step by step
    example: Any = None  # a result with the right types, if the function itself has not run
    is_result: bool = False  # whether that is the result of the recorded call

    def run(self, inputs: list[Any], out: Any = None) -> tuple[int, list[Any]] | None:
        """Run the program; None if a step has no result for these numbers."""
        try:
            return self.program.run(inputs, out)
        except (ArgumentError, DomainError, IndexError, np.linalg.LinAlgError):
            return None

    def all(self) -> list[Path]:
        """Return this path and all paths that branch off it."""
        return [self, *[path for turn in self.branches.values() for path in turn.all()]]


@dataclass(eq=False, slots=True)
class Specialization:
    """What is known of calls with one signature."""

    calls: int = 0
    slow: Answer | None = None  # the first call, if it took long
    root: Path | None = None
    looped: Path | None = None  # the path on which Python's loops are loops; it replaces the root
    loops: LoopsToRecord = field(default_factory=LoopsToRecord)  # those loops
    records_loops: bool = True  # whether long loops of Python may be recorded by one step
    not_looped: dict[str, str] = field(default_factory=dict)  # lines of others, and why not
    last: Path | None = None  # the path that the last call took
    reason: str = ""  # why it is not compiled
    is_long: bool = False  # whether the loops of the function take many steps
    given: list[str] = field(default_factory=list)  # the paths of the arguments that may change

    @property
    def first(self) -> Path | None:
        """The path that a call begins with, if there is no other to try before."""
        return self.looped or self.root

    def paths(self) -> list[Path]:
        """Return the recorded paths through the code."""
        return [path for begin in (self.root, self.looped) if begin for path in begin.all()]

    def find_loops(self, guard: Guard, most: int) -> LoopsToRecord | None:
        """Return the loops to record by one step, with that around a guard that has failed.

        None if there is no other, or if few short paths do as well.
        """
        paths = self.paths()
        lines = sum([len(path.recorded.lines) for path in paths])
        are_short = lines <= LOOPS.lines and len(paths) < min(LOOPS.paths, most)
        return None if are_short or guard.line in self.not_looped else self.loops.extended(guard)
