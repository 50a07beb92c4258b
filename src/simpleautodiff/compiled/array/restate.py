"""Replace lines by others that loops and BLAS know: sums of products, reductions, indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.all_any import reduce_bools
from simpleautodiff.compiled.array.arg_extremes import find_indices
from simpleautodiff.compiled.array.einsum import contract, contract_sum
from simpleautodiff.compiled.array.gather import index_along, put_indices_first
from simpleautodiff.compiled.recording.trace_program import Line, Ref, find_refs
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def restate(plan: LoopSchedule, line: Line) -> Line:
    """Return a line, or the last of the lines that replace it; the others are added."""
    if not isinstance(line.what, Primitive):
        return line if plan.alone else _restate_function(plan, line)
    if line.name in ("getitem", "scatter"):
        return _put_indices_first(plan, line)
    line = _in_floats(plan, line)
    if line.name in ("einsum", "matmul"):
        return contract(plan, line) or line
    if line.name in ("sum", "sum_to") and not plan.alone and not plan.exact:
        return contract_sum(plan, line) or line
    return line


def _restate_function(plan: LoopSchedule, line: Line) -> Line:
    """Return a function of NumPy without a derivative as rows, if that is possible."""
    if line.what is np.take_along_axis:
        index = index_along(plan.lines, line)
        return restate(plan, index) if index else line
    return find_indices(plan, reduce_bools(plan, line))


def _in_floats(plan: LoopSchedule, line: Line) -> Line:
    """Return a line of arithmetic with its integers and bools converted to floats."""
    if line.dtype is None or line.dtype.kind != "f" or line.name == "where":
        return line
    if line.name in ("matmul", "einsum"):
        return line._replace(args=tuple([_in_dtype(plan, x, line.dtype) for x in line.args]))
    if can_lower(line.what, line.dtype):
        return line._replace(args=tuple([_constant_in_dtype(x, line.dtype) for x in line.args]))
    return line


def _in_dtype(plan: LoopSchedule, x: Any, dtype: Any) -> Any:
    if type(x) is not Ref or plan.lines[x].dtype == dtype or plan.dtype_of(x) is None:
        return _constant_in_dtype(x, dtype)
    return plan.append(Line(TABLE["astype"], (x, dtype), {}, plan.lines[x].shape, dtype))


def _constant_in_dtype(x: Any, dtype: Any) -> Any:
    """Return constant integers or bools in a dtype; return anything else unchanged."""
    return x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind in "iub" else x


def _put_indices_first(plan: LoopSchedule, line: Line) -> Line:
    """Return an index of later axes as one of the first, of the transposed array."""
    x, index = line.args[:2]
    if next(find_refs(index), None) is None:
        return line
    if isinstance(x, np.ndarray) and x.size and dtype_letter(x.dtype):
        line = line._replace(args=(plan.constant_line(x), *line.args[1:]))
    return (put_indices_first(plan, line) or line) if type(line.args[0]) is Ref else line
