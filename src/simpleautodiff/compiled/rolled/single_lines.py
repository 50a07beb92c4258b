"""Find out whether a line can be compiled, by trying it alone."""

from __future__ import annotations

from simpleautodiff.compiled.array.classify import NUMPY
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.split_complex import split_complex
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter
from simpleautodiff.core.primitive import Primitive


def alone(lines: list[Line], number: int) -> RecordedProgram:
    """Return the program of one line, whose inputs are its arguments."""
    line = lines[number]
    needed = dict.fromkeys(find_refs((line.args, line.kwargs)))
    given = [Line(None, (), {}, lines[place].shape, lines[place].dtype) for place in needed]
    of = {place: Ref(k) for k, place in enumerate(needed)}
    args, kwargs = with_values(line.args, of), with_values(line.kwargs, of)
    own = line._replace(args=args, kwargs=kwargs)
    return RecordedProgram([*given, own], len(given), [], [Ref(len(given))])


def can_compile(program: RecordedProgram, precise: bool = False) -> bool:
    """Tell whether no line of a program has to be left to NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.ones(3))
    ...     y, z = np.sin(x), np.argsort(x)
    >>> [can_compile(alone(level.lines, k)) for k in (1, 2)]
    [True, False]
    """
    line = program.lines[-1]
    known = isinstance(line.what, Primitive) and not line.what.arrays
    kinds = [dtype_letter(line.dtype) for line in program.lines]
    if known and None not in kinds and can_lower(line.what, line.dtype):
        return True
    program = program if precise else split_complex(program)
    return NUMPY not in LoopSchedule(program, exact=precise).how
