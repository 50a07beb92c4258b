"""`np.argmin` and `np.argmax` as reductions that loops can compute: the first index of an extreme.

The extreme is found first, then the smallest index among the elements that are equal to it. If
there are nans, the first one counts, as in NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.array.shapes import keep_dims
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

_EXTREMES = {np.argmin: "min", np.argmax: "max"}
_WHOLE, _TRUTH = np.dtype(np.int64), np.dtype(bool)


def find_indices(plan: LoopSchedule, line: Line) -> Line:
    """Return the last of the lines that replace `np.argmin` or `np.argmax`.

    Any other line is returned unchanged.
    """
    name = _EXTREMES.get(line.what) if callable(line.what) else None
    given = _arguments(*line.args, **line.kwargs) if name else None
    if given is None or type(given[0]) is not Ref:
        return line
    x, axis = given
    shape, dtype = plan.lines[x].shape, plan.lines[x].dtype
    if plan.dtype_of(x) not in ("d", "f") or 0 in shape or not shape:
        return line
    if axis is None:
        shape, axis = (math.prod(shape),), 0
        x = plan.append(Line(TABLE["reshape"], (x, shape), {}, shape, dtype))
    axis %= len(shape)
    kept = keep_dims(shape, axis)
    best = plan.append(Line(TABLE[str(name)], (x, axis, True), {}, kept, dtype))
    equal = plan.append(Line(np.equal, (x, best), {}, shape, _TRUTH))
    unordered = plan.append(Line(np.not_equal, (x, x), {}, shape, _TRUTH))
    either = plan.append(Line(np.logical_or, (equal, unordered), {}, shape, _TRUTH))
    count = shape[axis]
    numbers = np.arange(count).reshape([count if n == axis else 1 for n in range(len(shape))])
    index = plan.append(Line(TABLE["where"], (either, numbers, count), {}, shape, _WHOLE))
    return line._replace(what=TABLE["min"], args=(index, axis, False), kwargs={})


def _arguments(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = None) -> Any:
    """Return the array and the axis that are searched; None if `out` is given."""
    plain = axis is None or isinstance(axis, (int, np.integer))
    return (a, axis) if out is None and not keepdims and plain else None
