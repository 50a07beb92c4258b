"""`np.all` and `np.any` as reductions that loops can compute: the extremes of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

_EXTREMES = {np.all: "min", np.any: "max"}
_WHOLE = np.dtype(np.int64)


def reduce_bools(plan: LoopSchedule, line: Line) -> Line:
    """Return the last of the lines that replace `np.all` or `np.any`; any other line unchanged.

    Loops find extremes of integers, not of bools.
    """
    name = _EXTREMES.get(line.what) if callable(line.what) else None
    if name is None or len(line.args) != 1 or line.kwargs or type(line.args[0]) is not Ref:
        return line
    x = line.args[0]
    shape = plan.lines[x].shape
    if plan.dtype_of(x) != "?" or 0 in shape:
        return line
    if shape:
        numbers = plan.append(Line(TABLE["astype"], (x, _WHOLE), {}, shape, _WHOLE))
        x = plan.append(Line(TABLE[name], (numbers, None, False), {}, (), _WHOLE))
    return line._replace(what=np.not_equal, args=(x, 0))
