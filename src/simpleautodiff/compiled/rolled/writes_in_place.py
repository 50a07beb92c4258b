"""Find the arrays that a step of a loop writes some elements of, which can be done in place.

    variance[t] = omega + beta * variance[t - 1]

is recorded as a new array, as every version of an array may be read later. In a loop the next
version can take the memory of the last one, if the lines of the step can be put in an order in
which each version is read before the next one is written.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.loops.select_early import SMALL_PART
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    with_values,
)
from simpleautodiff.compiled.rolled.counters import Selected
from simpleautodiff.rules.row import TABLE

Select = Callable[[Any, tuple[int, ...]], Selected | None]


class Write(NamedTuple):
    """A line that writes to elements of a carried array, or adds to them, in place."""

    target: int  # the line of the version before
    value: Any
    selected: Selected
    adds: bool
    spread: int | None = None  # the line of an array with the value, which is not needed

    def renumbered(self, of: dict[int, Ref]) -> Write:
        """Return the write with other references."""
        spread = None if self.spread is None else of[self.spread]
        value = with_values(self.value, of)
        return self._replace(target=of[self.target], value=value, spread=spread)


def arrange_writes(
    program: RecordedProgram, carries: int, select: Select
) -> tuple[RecordedProgram, dict[int, Write]]:
    """Return a step whose lines are in an order for writes in place, and the lines that write."""
    writes = _find_writes(program, carries, select)
    order = _order_lines(program, writes)
    if not writes or order is None:
        return program, {}
    of = {old: Ref(new) for new, old in enumerate(order)}
    guards = [guard._replace(place=of[guard.place]) for guard in program.guards]
    moved = program._replace(
        lines=[program.lines[number].renumbered(of) for number in order],
        guards=sorted(guards, key=lambda guard: guard.place),
        outputs=with_values(program.outputs, of),
    )
    return moved, {of[number]: write.renumbered(of) for number, write in writes.items()}


def _find_writes(program: RecordedProgram, carries: int, select: Select) -> dict[int, Write]:
    """Return the lines of a step that can write in place."""
    writes: dict[int, Write] = {}
    for k in range(carries):
        chain = _follow(program, k, select)
        if chain and _is_private(program, k, chain) and _order_lines(program, writes | chain):
            writes |= chain
    return writes


def _follow(program: RecordedProgram, carry: int, select: Select) -> dict[int, Write]:
    """Return the writes that make the next version of a carried array from the last one."""
    chain: dict[int, Write] = {}
    at = program.outputs[carry]
    while at != carry:
        write = _read_write(program.lines, at, select) if type(at) is Ref else None
        if write is None or at in chain:
            return {}
        chain[at] = write
        at = write.target
    return chain


def _read_write(lines: list[Line], number: int, select: Select) -> Write | None:
    """Return a line as a write in place; None if it is something else."""
    line = lines[number]
    if line.what is TABLE["set_item"]:
        target, value, index = line.args
        return _make_write(line, target, value, index, select, adds=False)
    if line.what is not TABLE["add"]:
        return None
    for target, other in (line.args, line.args[::-1]):
        spread = _read_spread(lines[other]) if type(other) is Ref else None
        if type(target) is Ref and spread is not None:
            write = _make_write(line, target, *spread, select, adds=True)
            if write is not None:
                return write._replace(spread=other)
    return None


def _read_spread(line: Line) -> tuple[Any, Any] | None:
    """Return the value and the index of an array that is 0 elsewhere; None for another one."""
    if line.what is TABLE["scatter"]:
        return line.args[0], line.args[1]
    if line.what is TABLE["set_item"]:
        array, value, index = line.args
        if isinstance(array, np.ndarray) and not np.any(array):
            return value, index
    return None


def _make_write(
    line: Line, target: Any, value: Any, index: Any, select: Select, adds: bool
) -> Write | None:
    selected = select(index, line.shape) if type(target) is Ref else None
    if selected is None or SMALL_PART * math.prod(selected.shape) > math.prod(line.shape):
        return None  # a pass over the whole array takes other operations with it
    return Write(target, value, selected, adds)


def _is_private(program: RecordedProgram, carry: int, chain: dict[int, Write]) -> bool:
    """Tell whether only lines of the step read the versions, and what is written fits them."""
    lines, outputs = program.lines, program.outputs
    returned = [*outputs[:carry], *outputs[carry + 1 :], *[guard.place for guard in program.guards]]
    versions = {carry, *chain, *[write.spread for write in chain.values()]}
    if any(type(place) is Ref and place in versions for place in returned):
        return False
    return all(
        _has_same_type(lines[number], lines[carry])
        and _fits(write, lines, lines[carry])
        and _is_read_once(write.spread, lines)
        for number, write in chain.items()
    )


def _has_same_type(line: Line, other: Line) -> bool:
    return (line.shape, line.dtype) == (other.shape, other.dtype)


def _fits(write: Write, lines: list[Line], array: Line) -> bool:
    """Tell whether a value has the dtype and the shape of what it is written to."""
    if type(write.value) is Ref:
        made = lines[write.value]
        return (made.shape, made.dtype) == (write.selected.shape, array.dtype)
    is_constant = isinstance(write.value, (int, float, np.number, np.ndarray))
    return is_constant and np.shape(write.value) in ((), write.selected.shape)


def _is_read_once(place: int | None, lines: list[Line]) -> bool:
    return place is None or sum([place in line.needs() for line in lines]) == 1


def _order_lines(program: RecordedProgram, writes: dict[int, Write]) -> list[int] | None:
    """Return an order in which each version is read before the next is written; None if none is.

    Lines come as early as in the program, where that is possible.
    """
    lines, first = program.lines, program.inputs
    before: dict[int, set[int]] = {n: set() for n in range(len(lines))}
    following = {write.target: number for number, write in writes.items()}
    for number in range(first, len(lines)):
        for place in lines[number].needs():
            before[number].add(int(place))
            after = following.get(place)
            if after is not None and after != number:
                before[after].add(number)
    users: dict[int, list[int]] = {n: [] for n in before}
    waiting = {}
    for number, needed in before.items():
        waiting[number] = len(needed)
        for other in needed:
            users[other].append(number)
    ready, order = [n for n, count in waiting.items() if not count], list[int]()
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for user in users[number]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    return order if len(order) == len(lines) else None
