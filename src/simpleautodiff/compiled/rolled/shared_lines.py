"""Compute lines that depend only on the arguments once, instead of in every step of a loop."""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.array.simplify import argument_key
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    places,
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
    of: dict[int, Ref] = {}
    lines: list[Line] = []
    fixed: set[int] = set()  # new lines that need only the arguments
    known: dict[Any, Ref] = {}
    for number, line in enumerate(recorded.lines):
        if of:
            line = line._replace(
                args=with_values(line.args, of),
                kwargs=with_values(line.kwargs, of) if line.kwargs else line.kwargs,
            )
        needed = [*places((line.args, line.kwargs))]
        is_fixed = number < recorded.inputs or (needed and all([p in fixed for p in needed]))
        if is_fixed and number >= recorded.inputs:
            key = line.what, argument_key(line.args), argument_key(line.kwargs)
            if key in known:
                of[number] = known[key]
                continue
            known[key] = Ref(len(lines))
        if is_fixed:
            fixed.add(len(lines))
        of[number] = Ref(len(lines))
        lines.append(line)
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    return RecordedProgram(lines, recorded.inputs, guards, with_values(recorded.outputs, of))
