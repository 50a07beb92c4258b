"""Find equal lines in the steps of loops."""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.recording.trace_program import (
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)


def number_lines(program: RecordedProgram, keys: list[Any], numbers: dict[Any, Ref]) -> list[Ref]:
    """Return a number for each line of a step; equal lines have one, also in another loop.

    `keys` tell which inputs are equal: a key, or the number of a line of another loop.
    """
    found: list[Ref] = []
    for place, line in enumerate(program.lines):
        if line.what is None:
            key = keys[place]
        else:
            args, kwargs = with_values(line.args, found), with_values(line.kwargs, found)
            key = line.what, argument_key(args), argument_key(kwargs)
        found.append(key if type(key) is Ref else numbers.setdefault(key, Ref(len(numbers))))
    return found
