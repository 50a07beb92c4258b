"""What is done for rows of whole arrays: which of them machine code computes, and how."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.boxes import boxes
from simpleautodiff.compiled.array.gather import choice
from simpleautodiff.compiled.array.linalg.matrix_rows import has_scipy
from simpleautodiff.compiled.recording.trace_program import Line, Place, places
from simpleautodiff.compiled.scalar.lower_rows import kind_of
from simpleautodiff.rules.array.indexing import is_basic

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import Plan

INPUT, VIEW, ELEMENT, REDUCE = "input", "view", "element", "reduce"
GATHER, LAYERS = "gather", "layers"
MATMUL, JOIN, SCATTER, CUMSUM, NUMPY = "matmul", "join", "scatter", "cumsum", "numpy"
LAPACK = "lapack"
IN_LOOPS = frozenset((ELEMENT, GATHER, LAYERS, REDUCE))
LOADED = (GATHER, LAYERS)  # elements that are only loaded
REDUCTIONS = {"sum": "add", "sum_to": "add", "max": "maximum", "min": "minimum"}


def _reduced(plan: Plan, line: Line) -> str:
    arg, to = line.args[0], kind_of(line.dtype)
    if type(arg) is not Place or (to == "?" and not plan.alone):
        return NUMPY
    return REDUCE if to == plan.kind(arg) or (to == "l" and line.name == "sum") else NUMPY


def _is_fixed(index: Any) -> bool:
    return next(places(index), None) is None


def _is_plain(index: Any) -> bool:
    return _is_fixed(index) and is_basic(index)


def _is_index(plan: Plan, index: Any, rank: int) -> bool:
    """Tell whether an index can be compiled; one that is not fixed is of whole numbers."""
    if _is_fixed(index):
        return True
    chosen = choice(index, rank)
    known = [part for part in chosen.parts if type(part) is Place] if chosen else []
    return bool(known) and all(plan.kind(part) == "l" for part in known)


def _gathered(plan: Plan, line: Line) -> str:
    x, index = line.args
    if type(x) is not Place or _is_plain(index):
        return NUMPY
    return GATHER if _is_index(plan, index, len(plan.lines[x].shape)) else NUMPY


def _scattered(plan: Plan, line: Line) -> str:
    x, index, shape = line.args
    floats = plan.kind(x) == kind_of(line.dtype) and kind_of(line.dtype) in ("d", "f") if (
        type(x) is Place) else False  # fmt: skip
    if not floats or not _is_index(plan, index, len(shape)):
        return NUMPY
    if not _is_plain(index):
        return SCATTER
    return LAYERS if plan.read_by_element and boxes(plan, line) else JOIN


def _written(plan: Plan, line: Line) -> str:
    fits = _is_plain(line.args[2]) and plan.all_arrays(line.args[:2])
    return JOIN if fits else NUMPY


def _joined(plan: Plan, line: Line) -> str:
    if not plan.all_arrays(line.args[1:]):
        return NUMPY
    return LAYERS if plan.read_by_element and boxes(plan, line) else JOIN


def _rolled(plan: Plan, line: Line) -> str:
    if type(line.args[0]) is not Place:
        return NUMPY
    return LAYERS if plan.read_by_element and boxes(plan, line) else JOIN


def _is_multiplied(plan: Plan, shape: tuple[int, ...], line: Line) -> bool:
    """Tell whether BLAS takes a factor: a vector, a matrix, or a stack that is gone through."""
    if len(line.shape) <= 2 and len(shape) <= 2:
        return bool(shape)
    stack = shape[:-2]
    return len(shape) > 1 and not plan.alone and (stack == line.shape[:-2] or math.prod(stack) == 1)


def _multiplied(plan: Plan, line: Line) -> str:
    kinds = set()
    for arg in line.args:
        if type(arg) is not Place and not isinstance(arg, np.ndarray):
            return NUMPY
        if not _is_multiplied(
            plan, plan.lines[arg].shape if type(arg) is Place else arg.shape, line
        ):
            return NUMPY
        kinds.add(plan.kind(arg) if type(arg) is Place else kind_of(arg.dtype))
    return MATMUL if kinds in ({"d"}, {"f"}) and (plan.alone or has_scipy()) else NUMPY


SPECIAL: dict[str, Any] = {
    **dict.fromkeys(REDUCTIONS, _reduced),
    "getitem": _gathered,
    "scatter": _scattered,
    "set_item": _written,
    "concatenate": _joined,
    "roll": _rolled,
    "cumsum": lambda plan, line: CUMSUM if type(line.args[0]) is Place else NUMPY,
    "matmul": _multiplied,
}
