"""How large the integers of a loop become: those of Python grow without end, a machine's do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.loops.record_loop import RecordedLoop
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.values.pytree import flatten

LARGEST = 2**53  # integers up to which a float is exact
_MACHINE = 2**63
_ANY = 2**200  # the bound of integers of which nothing is known
_MANY = 2**31  # steps of a loop that ends when a condition says so, at most
_COUNTING = {"add", "sub", "pos", "astype"}
_SAME = {"pos", "neg", "abs", "astype", "maximum", "minimum", "sign", "where"}
_EXACT = {  # functions of an integer that a rounded one would change
    *("mod", "floor_divide", "and_", "or_", "xor", "invert"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}

Bounds = Sequence[int | None]  # the largest absolute value of each line; None: no Python integer


def find_bounds(loop: RecordedLoop, whole: list[int], count: int) -> Bounds:
    """Return how large each integer of a step becomes, in all steps; None for other numbers.

    `whole` are the carried values that are Python's integers; `count` is the number of steps, 0 if
    it is not known. Integers in arrays that are arguments are NumPy's, which do not grow.
    """
    program = loop.function.body
    starts = {k: abs(int(loop.carry[k])) for k in whole if _is_integer(program.lines[k])}
    most = _ANY
    if all(_is_counted(program, k, whole) for k in starts):
        steps = sum([abs(n) for line in program.lines for n in _constants(line)])
        first = max([0, *starts.values(), *[x or 0 for x in map(_bound_value, loop.columns)]])
        most = first + (count or _MANY) * steps
    bounds = _follow(loop, dict.fromkeys(starts, most))
    made = {k: _bound_of(program.outputs[k], bounds) for k in starts}
    known = {k: most if (x := made[k]) is None else max(starts[k], x) for k in starts}
    return bounds if most < _ANY else _follow(loop, known)


def find_integers(carry: Any) -> list[int]:
    """Return which carried values are Python's integers."""
    return [k for k, x in enumerate(flatten(carry)[0]) if type(take_current(x)) is int]


def check_integers(loop: RecordedLoop, carry: Any, count: int) -> None:
    """Refuse a loop whose integers may exceed those of a machine, which would wrap around."""
    if not are_of_machine(find_bounds(loop, find_integers(carry), count)):
        raise not_recorded("a loop with integers that may grow large")


def are_of_machine(bounds: Bounds) -> bool:
    """Tell whether no integer of a step exceeds those of a machine."""
    return all(x is None or x < _MACHINE for x in bounds)


def are_exact_as_floats(program: RecordedProgram, bounds: Bounds) -> bool:
    """Tell whether remainders and comparisons are the same if integers become floats."""
    return all(
        (_bound_of(arg, bounds) or 0) <= LARGEST
        for line in program.lines
        if line.name in _EXACT
        for arg in line.args
    )


def _is_counted(program: RecordedProgram, carried: int, whole: list[int]) -> bool:
    """Tell whether a step changes a carried integer by constants at most, or sets it."""

    def counts(place: Any) -> bool:
        if type(place) is not Ref or place in whole:
            return True
        line = program.lines[place]
        if line.what is None and _is_integer(line):
            return True  # a number of the row
        if line.name == "where":
            return all(map(counts, line.args[1:]))
        refs = [arg for arg in line.args if type(arg) is Ref]
        return line.name in _COUNTING and len(refs) <= 1 and all(map(counts, refs))

    return counts(program.outputs[carried])


def _is_integer(line: Line) -> bool:
    return line.dtype is not None and line.dtype.kind in "iu"


def _constants(line: Line) -> list[int]:
    """Return the constants that a line may add to an integer, or set it to."""
    return [arg for arg in line.args if type(arg) is int] if _is_integer(line) else []


def _follow(loop: RecordedLoop, carried: dict[int, int]) -> Bounds:
    """Return the bounds of all lines, from those of carried integers."""
    program, bounds = loop.function.body, list[int | None]()
    for k, value in enumerate(loop.values):
        bounds.append(carried.get(k) if k < len(loop.carry) else _bound_value(value))
    for line in program.lines[len(bounds) :]:
        is_whole = line.dtype is not None and line.dtype.kind in "biu" and not line.shape
        bounds.append(_bound_line(line, bounds) if is_whole else None)
    return bounds


def _bound_value(value: Any) -> int | None:
    """Return the bound of a row of integers, or of one that is the same in all steps."""
    if isinstance(value, Traced) or np.asarray(value).dtype.kind not in "biu":
        return None
    numbers = np.asarray(value)
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if numbers.size else 0


def _bound_of(arg: Any, bounds: Bounds) -> int | None:
    if type(arg) is Ref:
        return bounds[arg]
    return abs(int(arg)) if isinstance(arg, (bool, int, np.integer)) else None


def _bound_line(line: Line, bounds: Bounds) -> int | None:
    """Return the bound of the result of a line."""
    args = line.args[1:] if line.name == "where" else line.args
    sizes = [x for arg in args if (x := _bound_of(arg, bounds)) is not None]
    if line.dtype is not None and line.dtype.kind == "b":
        return 1
    if not sizes or len(sizes) < len(args):
        return None
    match line.name:
        case "add" | "sub":
            found = sum(sizes)
        case "mul":
            found = math.prod(sizes)
        case "mod":
            found = sizes[1]
        case "floor_divide":
            found = sizes[0] + 1
        case "power" if type(line.args[1]) is int and sizes[1] * sizes[0].bit_length() < 200:
            found = sizes[0] ** sizes[1]
        case name if name in _SAME:
            found = max(sizes)
        case "and_" | "or_" | "xor":
            found = 2 * max(sizes)
        case _:
            found = _ANY
    return min(found, _ANY)
