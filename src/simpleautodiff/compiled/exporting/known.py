"""Results that are the same at every call: who takes a program away gets them, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.compiled.numbers.lowering import kind_of
from simpleautodiff.compiled.recorded import Line, Place, Recorded
from simpleautodiff.rules.row import TABLE


def with_known(recorded: Recorded) -> Recorded:
    """Return a program that computes all its results, also the constant ones.

    What is no number that can be compiled is left out.

    Examples
    --------
    >>> x = Line(None, (), {}, (), np.dtype(float))
    >>> program = with_known(Recorded([x], 1, [], [Place(0), 2.5, "text"]))
    >>> program.outputs, program.lines[1].name, program.lines[1].args[0]
    ([0, 1], 'astype', array(2.5))
    """
    lines, outputs = list(recorded.lines), []
    for output in recorded.outputs:
        if type(output) is not Place:
            array = np.asarray(output)
            if kind_of(array.dtype) is None:
                continue
            output = Place(len(lines))
            args = (array, array.dtype)
            lines.append(Line(TABLE["astype"], args, {}, array.shape, array.dtype))
        outputs.append(output)
    return recorded._replace(lines=lines, outputs=outputs)


def result_line(lines: list[Line], output: Any) -> Line:
    """Return the line of a result, or one that says of which kind and shape a known one is."""
    if type(output) is Place:
        return lines[output]
    array = np.asarray(output)
    return Line(None, (), {}, array.shape, array.dtype)
