"""The one table of rows on whole arrays: when machine code computes each, and how.

A row that is not here is left to NumPy, between two segments of machine code. To add one is to say
here when it is compiled (`decide`) and which loops compute it (`loops`, in `assemble.py`); all
backends run loops. For a row that only joins pieces of other arrays, `boxes` lets a loop read the
pieces where they are. (Small arrays are unrolled: see `unroll_arrays.py`.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.assemble import (
    assemble_concatenate,
    assemble_cumsum,
    assemble_roll,
    assemble_scatter,
    assemble_set_item,
)
from simpleautodiff.compiled.array.boxes import (
    Boxes,
    find_boxes_concatenate,
    find_boxes_roll,
    find_boxes_scatter,
    find_boxes_set_item,
)
from simpleautodiff.compiled.array.classify import (
    ASSEMBLE,
    GATHER,
    LAYERS,
    MATMUL,
    NUMPY,
    REDUCE,
    SCATTER,
)
from simpleautodiff.compiled.array.gather import choice
from simpleautodiff.compiled.array.linalg.matrix_rows import has_scipy
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref, find_refs
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter
from simpleautodiff.rules.array.indexing import is_basic

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

MOST_LAYERS = 6  # more pieces than this are joined in memory


class ArrayOperation(NamedTuple):
    """How a row on whole arrays is compiled."""

    decide: Callable[[LoopSchedule, Line], str]  # returns one of the constants of `classify`
    loops: Callable[[LoopSchedule, int], Iterator[Loop]] | None = None  # the loops of ASSEMBLE
    boxes: Callable[[LoopSchedule, Line], Boxes] | None = None
    fold: str = ""  # the operation of a reduction


def boxes(plan: LoopSchedule, line: Line) -> Boxes:
    """Return the pieces of a result, as boxes and the elements in them; [] if it has none."""
    find = ARRAY_OPERATIONS[line.name].boxes
    found = find(plan, line) if find else []
    dtypes = {plan.dtype_of_root(view.root) for _, view in found}
    return found if dtypes == {dtype_letter(line.dtype)} and len(found) <= MOST_LAYERS else []


def _decide_reduction(plan: LoopSchedule, line: Line) -> str:
    arg, to = line.args[0], dtype_letter(line.dtype)
    if type(arg) is not Ref or (to == "?" and not plan.alone):
        return NUMPY
    return REDUCE if to == plan.dtype_of(arg) or (to == "l" and line.name == "sum") else NUMPY


def _is_fixed(index: Any) -> bool:
    return next(find_refs(index), None) is None


def _is_plain(index: Any) -> bool:
    return _is_fixed(index) and is_basic(index)


def _is_index(plan: LoopSchedule, index: Any, rank: int) -> bool:
    """Tell whether an index can be compiled; one that is not constant must be of integers."""
    if _is_fixed(index):
        return True
    chosen = choice(index, rank)
    known = [part for part in chosen.parts if type(part) is Ref] if chosen else []
    return bool(known) and all(plan.dtype_of(part) == "l" for part in known)


def _decide_getitem(plan: LoopSchedule, line: Line) -> str:
    x, index = line.args
    if type(x) is not Ref or _is_plain(index):
        return NUMPY
    return GATHER if _is_index(plan, index, len(plan.lines[x].shape)) else NUMPY


def _decide_scatter(plan: LoopSchedule, line: Line) -> str:
    x, index, shape = line.args
    dtype = dtype_letter(line.dtype)
    is_float = type(x) is Ref and plan.dtype_of(x) == dtype and dtype in ("d", "f")
    if not is_float or not _is_index(plan, index, len(shape)):
        return NUMPY
    if not _is_plain(index):
        return SCATTER
    return LAYERS if plan.read_by_element and boxes(plan, line) else ASSEMBLE


def _decide_set_item(plan: LoopSchedule, line: Line) -> str:
    index = line.args[2]
    if not plan.all_arrays(line.args[:2]) or not _is_index(plan, index, len(line.shape)):
        return NUMPY
    if not _is_fixed(index):
        return SCATTER
    return LAYERS if boxes(plan, line) else ASSEMBLE


def _decide_concatenate(plan: LoopSchedule, line: Line) -> str:
    if not plan.all_arrays(line.args[1:]):
        return NUMPY
    return LAYERS if plan.read_by_element and boxes(plan, line) else ASSEMBLE


def _decide_roll(plan: LoopSchedule, line: Line) -> str:
    if type(line.args[0]) is not Ref:
        return NUMPY
    return LAYERS if plan.read_by_element and boxes(plan, line) else ASSEMBLE


def _is_multiplied(plan: LoopSchedule, shape: tuple[int, ...], line: Line) -> bool:
    """Tell whether BLAS takes a factor: a vector, a matrix, or a stack that is looped over."""
    if len(line.shape) <= 2 and len(shape) <= 2:
        return bool(shape)
    stack = shape[:-2]
    return len(shape) > 1 and not plan.alone and (stack == line.shape[:-2] or math.prod(stack) == 1)


def _decide_matmul(plan: LoopSchedule, line: Line) -> str:
    kinds = set()
    for arg in line.args:
        if type(arg) is not Ref and not isinstance(arg, np.ndarray):
            return NUMPY
        if not _is_multiplied(plan, plan.lines[arg].shape if type(arg) is Ref else arg.shape, line):
            return NUMPY
        kinds.add(plan.dtype_of(arg) if type(arg) is Ref else dtype_letter(arg.dtype))
    return MATMUL if kinds in ({"d"}, {"f"}) and (plan.alone or has_scipy()) else NUMPY


def _decide_cumsum(plan: LoopSchedule, line: Line) -> str:
    return ASSEMBLE if type(line.args[0]) is Ref else NUMPY


ARRAY_OPERATIONS: dict[str, ArrayOperation] = {
    "sum": ArrayOperation(_decide_reduction, fold="add"),
    "sum_to": ArrayOperation(_decide_reduction, fold="add"),
    "max": ArrayOperation(_decide_reduction, fold="maximum"),
    "min": ArrayOperation(_decide_reduction, fold="minimum"),
    "getitem": ArrayOperation(_decide_getitem),
    "scatter": ArrayOperation(_decide_scatter, assemble_scatter, find_boxes_scatter),
    "set_item": ArrayOperation(_decide_set_item, assemble_set_item, find_boxes_set_item),
    "concatenate": ArrayOperation(
        _decide_concatenate, assemble_concatenate, find_boxes_concatenate
    ),
    "roll": ArrayOperation(_decide_roll, assemble_roll, find_boxes_roll),
    "cumsum": ArrayOperation(_decide_cumsum, assemble_cumsum),
    "matmul": ArrayOperation(_decide_matmul),
}


def read_by_element(program: RecordedProgram) -> set[int]:
    """Return the lines that elementwise lines read."""
    return {
        int(place)
        for line in program.lines
        if line.what is not None and (can_lower(line.what, line.dtype) or _is_reduction(line))
        for place in find_refs(line.args)
    }


def _is_reduction(line: Line) -> bool:
    return line.name in ARRAY_OPERATIONS and bool(ARRAY_OPERATIONS[line.name].fold)
