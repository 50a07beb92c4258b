"""Compute lines that depend only on the arguments once, instead of in every step of a loop."""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.array.simplify import argument_key
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    with_values,
)


def share_lines(recorded: RecordedProgram) -> RecordedProgram:
    """Return a program in which equal lines that need only the arguments are one line.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = y = level.input(np.ones(3))
    ...     for _ in range(3):
    ...         y = y + 0.5 / x
    >>> [line.name for line in share_lines(level.finish([y], 1)).lines]
    ['input', 'div', 'add', 'add', 'add']
    """
    same = _find_same(recorded)
    if not same:
        return recorded
    of: dict[int, Ref] = {}
    lines: list[Line] = []
    for number, line in enumerate(recorded.lines):
        if number in same:
            of[number] = of[same[number]]
        else:
            of[number] = Ref(len(lines))
            lines.append(line.renumbered(of))
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    return RecordedProgram(lines, recorded.inputs, guards, with_values(recorded.outputs, of))


def _find_same(recorded: RecordedProgram) -> dict[int, int]:
    """Return the lines that need only the arguments and equal an earlier one, with that one."""
    same: dict[int, int] = {}
    fixed: dict[int, Ref] = {number: Ref(number) for number in range(recorded.inputs)}
    known: dict[Any, Ref] = {}  # what each line that needs only the arguments is, and the first
    for number in range(recorded.inputs, len(recorded.lines)):
        line = recorded.lines[number]
        needed = line.needs()
        if needed and all(map(fixed.__contains__, needed)):
            _, args, kwargs, *_ = line.renumbered(fixed)
            key = line.what, argument_key(args), argument_key(kwargs)
            fixed[number] = known.setdefault(key, Ref(number))
            if fixed[number] != number:
                same[number] = int(fixed[number])
    return same
