"""Run a recorded program line by line with NumPy: the reference for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.compiled.array.simplify import compute
from simpleautodiff.compiled.recording.trace_program import Guard, RecordedProgram, Ref, find_refs


class Replay:
    """A program that NumPy runs; values are freed after their last use.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     y = np.sin(level.input(np.zeros(2)))
    >>> Replay(level.finish([y], 1)).run([np.array([0.0, np.pi / 2])])
    (0, [array([0., 1.])])
    """

    def __init__(self, program: RecordedProgram) -> None:
        self.program = program
        last = {int(place): number for number, line in enumerate(program.lines)
                for place in find_refs((line.args, line.kwargs))}  # fmt: skip
        kept = {int(place) for place in find_refs(program.outputs)}
        kept |= {int(guard.place) for guard in program.guards}
        self._freed: list[list[int]] = [[] for _ in program.lines]
        for place, number in last.items():
            if place not in kept:
                self._freed[number].append(place)

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed."""
        lines, guards = self.program.lines, self.program.guards
        values = [*map(as_numpy, inputs), *[None] * (len(lines) - len(inputs))]
        asked = 0
        with np.errstate(all="ignore"):
            for number, line in enumerate(lines):
                if line.what is not None:
                    values[number] = compute(line, values)
                for place in self._freed[number]:
                    values[place] = None
                while asked < len(guards) and is_known(guards[asked], number):
                    if fails(guards[asked], values):
                        return asked + 1, []
                    asked += 1
        return 0, own_results(self.program.outputs, values, inputs)


def as_numpy(value: Any) -> Any:
    """Return a Python float as NumPy's, which allows log(0)."""
    return np.float64(value) if type(value) is float else value


def is_known(guard: Guard, number: int) -> bool:
    """Tell whether the bool of a guard is computed by a given line."""
    return type(guard.place) is not Ref or guard.place <= number


def fails(guard: Guard, values: Any) -> bool:
    """Tell whether the bool of a guard differs from the recorded one."""
    truth = values[guard.place] if type(guard.place) is Ref else guard.place
    return bool(truth) is not guard.expected


def own_results(outputs: list[Any], values: Any, inputs: list[Any]) -> list[Any]:
    """Return the results; none shares memory with an input, a constant, or another result."""
    results: list[Any] = []
    seen = {id(value) for value in inputs}
    for output in outputs:
        is_place = type(output) is Ref
        value = values[output] if is_place else output
        if isinstance(value, np.ndarray):
            shared = not is_place or value.base is not None or id(value) in seen
            value = value.copy() if shared else value
            seen.add(id(value))
        results.append(value)
    return results
