"""Joining arrays and numbers: np.concatenate, np.stack, np.block and their relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.reductions import axis_of
from simpleautodiff.arrays.registry import FUNCTIONS, as_array, as_arrays, implements, to_dtype
from simpleautodiff.arrays.shaping import move_by_index
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.node import TapeNode
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, make_stack
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.pytree import flatten


@implements(np.concatenate)
def concatenate_(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays."""
    parts = as_arrays(arrays)
    if axis is None:
        parts, axis = [reshape(a, (-1,)) for a in parts], 0
    shapes = [shape_of(a) for a in parts]
    if not all(shapes):
        raise ArgumentError("single numbers have no axis to join along; use np.stack")
    axis = axis_of(parts[0], axis)
    if len({(*full[:axis], *full[axis + 1 :], len(full)) for full in shapes}) > 1:
        raise InputError(
            f"arrays of shapes {', '.join(map(str, shapes))} cannot be joined along "
            f"axis {axis}: all their other axes must have equal lengths{cite_line()}"
        )
    joined = concatenate(parts, axis)
    return joined if dtype is None else to_dtype(joined, dtype)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays."""
    return concatenate_([arr, values], axis)


@implements(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Any:
    """Join arrays along a new axis."""
    parts = as_arrays(arrays)
    if axis == 0 and dtype is None and _are_recorded_numbers(parts):
        return make_stack(len(parts))(*parts)
    shapes = [shape_of(a) for a in parts]
    if len(set(shapes)) != 1:
        raise ArgumentError(f"np.stack needs equal shapes, not {shapes}")
    full = shapes[0]
    (position,) = normalize_axis_tuple(axis, len(full) + 1)
    new = (*full[:position], 1, *full[position:])
    joined = concatenate([reshape(a, new) for a in parts], position)
    return joined if dtype is None else to_dtype(joined, dtype)


_REALS = {float, np.float64}


def _are_recorded_numbers(parts: list[Any]) -> bool:
    """Tell whether all are real numbers, some on one tape whose steps are not shown."""
    level: Any = None
    for x in parts:
        if type(x) is TapeNode:
            if type(x.value) not in _REALS or (level is not None and x.level is not level):
                return False
            level = x.level
        elif type(x) not in _REALS:
            return False
    return isinstance(level, Tape) and not level.shown and not getattr(level, "written", False)


def _convert_each(function: Any, arrays: Sequence[Any]) -> list[Any]:
    return [FUNCTIONS[function](as_array(a)) for a in arrays]


@implements(np.vstack)
def vstack(tup: Sequence[Any], dtype: Any = None) -> Any:
    """Join arrays as rows."""
    return concatenate_(_convert_each(np.atleast_2d, tup), 0, dtype)


@implements(np.hstack)
def hstack(tup: Sequence[Any], dtype: Any = None) -> Any:
    """Join arrays horizontally."""
    parts = _convert_each(np.atleast_1d, tup)
    return concatenate_(parts, 0 if len(shape_of(parts[0])) == 1 else 1, dtype)


@implements(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join arrays along the third axis."""
    return concatenate_(_convert_each(np.atleast_3d, tup), 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join vectors as columns."""
    parts = [as_array(a) for a in tup]
    return concatenate_([reshape(a, (-1, 1)) if len(shape_of(a)) < 2 else a for a in parts], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """Join nested lists of blocks."""
    leaves, rebuild = flatten(arrays)
    parts = [as_array(leaf) for leaf in leaves]
    return move_by_index(lambda *numbers: np.block(rebuild(iter(numbers))), *parts)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Insert elements between others."""
    if not isinstance(values, Traced):
        values = np.asarray(values, dtype_of(arr))
    return move_by_index(
        lambda old, new: np.insert(old, to_plain(obj), new, axis), as_array(arr), values
    )
