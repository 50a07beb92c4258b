"""Results that are the same at every call, which an exported program has to compute, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.rules.row import TABLE


def compute_known_results(recorded: RecordedProgram, kinds: Sequence[Any]) -> RecordedProgram:
    """Return a program that computes all its results, also constant ones, in these dtypes.

    Examples
    --------
    >>> x = Line(None, (), {}, (), np.dtype(float))
    >>> program = RecordedProgram([x], 1, [], [Ref(0), 2.5])
    >>> program = compute_known_results(program, [x.dtype, x.dtype])
    >>> program.outputs, program.lines[1].name, program.lines[1].args[0]
    ([0, 1], 'astype', array(2.5))
    """
    lines, outputs = list(recorded.lines), []
    for output, kind in zip(recorded.outputs, kinds, strict=True):
        if type(output) is not Ref:
            array = np.asarray(output, kind)
            output = Ref(len(lines))
            lines.append(Line(TABLE["astype"], (array, kind), {}, array.shape, array.dtype))
        outputs.append(output)
    return recorded._replace(lines=lines, outputs=outputs)


def result_line(lines: list[Line], output: Any) -> Line:
    """Return the line of a result, or a line with the dtype and shape of a constant one."""
    if type(output) is Ref:
        return lines[output]
    array = np.asarray(output)
    return Line(None, (), {}, array.shape, array.dtype)
