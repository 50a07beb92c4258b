"""`np.all`, `np.any` and `np.count_nonzero` as reductions that loops can compute: of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

_REDUCTIONS = {np.all: "min", np.any: "max", np.count_nonzero: "sum"}
_WHOLE, _TRUTH = np.dtype(np.int64), np.dtype(bool)


def reduce_bools(plan: LoopSchedule, line: Line) -> Line:
    """Return the last of the lines that replace a reduction of bools; any other line unchanged.

    Loops reduce integers, not bools.
    """
    name = _REDUCTIONS.get(line.what) if callable(line.what) else None
    given = line.named_arguments() if name else {}
    x, keeps = given.get("a"), given.get("keepdims")
    is_plain = given.get("out") is None and given.get("where", np._NoValue) is np._NoValue
    if name is None or type(x) is not Ref or not is_plain:
        return line
    shape = plan.lines[x].shape
    if plan.dtype_of(x) is None or 0 in shape:
        return line
    if plan.dtype_of(x) != "?":
        x = plan.append(Line(np.not_equal, (x, 0), {}, shape, _TRUTH))
    x = plan.append(Line(TABLE["astype"], (x, _WHOLE), {}, shape, _WHOLE))
    if shape:
        args = x, given["axis"], keeps is not np._NoValue and bool(keeps)
        x = plan.append(Line(TABLE[name], args, {}, line.shape, _WHOLE))
    if line.dtype == _TRUTH:
        return line._replace(what=np.not_equal, args=(x, 0), kwargs={})
    return line._replace(what=TABLE["astype"], args=(x, line.dtype), kwargs={})
