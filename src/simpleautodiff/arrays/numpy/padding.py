"""np.pad: arrays extended by constants, by their own elements, or by statistics of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.contractions import tensordot
from simpleautodiff.arrays.numpy.creation import array as join
from simpleautodiff.arrays.numpy.sorting import median
from simpleautodiff.arrays.reductions import mean_
from simpleautodiff.arrays.registry import implements
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import RuleError
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import (
    broadcast_to,
    max_over,
    min_over,
    reshape,
    shape_of,
)

_COPYING_MODES = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": lambda x, axis: mean_(x, axis, True),
    "median": lambda x, axis: median(x, axis, keepdims=True),
    "maximum": lambda x, axis: max_over(x, axis, True),
    "minimum": lambda x, axis: min_over(x, axis, True),
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Pad an array, one axis after the other."""
    rank = len(shape_of(array))
    if callable(mode):
        raise RuleError("np.pad of a node takes the name of a mode, not a function")
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - rank, 0)) for i in range(rank)]
        pad_width = [(w, w) if np.ndim(w) == 0 else w for w in pad_width]
    widths = np.broadcast_to(pad_width, (rank, 2)).tolist()
    if mode in _COPYING_MODES and kwargs.get("reflect_type", "even") == "even":
        numbers = np.arange(np.prod(shape_of(array), dtype=int)).reshape(shape_of(array))
        return getitem(reshape(array, (-1,)), np.pad(numbers, widths, mode))  # type: ignore[call-overload]
    if mode not in ("constant", "linear_ramp", "empty", *_COPYING_MODES, *_STATISTICS):
        raise RuleError(f"np.pad of a node has no derivative rule for the mode {mode!r}")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            array = _pad_axis(array, axis, (before, after), mode, kwargs)
    return array


def _pad_axis(x: Any, axis: int, widths: tuple[int, int], mode: str, kwargs: Any) -> Any:
    if mode in _COPYING_MODES:
        return _reflect_as_odd(x, axis, widths, mode)
    before, after = (_make_side(x, axis, widths[end], end, mode, kwargs) for end in (0, 1))
    return concatenate([before, x, after], axis)


def _make_side(x: Any, axis: int, width: int, end: int, mode: str, kwargs: Any) -> Any:
    """Return what is put before (end = 0) or behind (end = 1) an array."""
    new = tuple(width if i == axis else n for i, n in enumerate(shape_of(x)))
    if mode in ("constant", "empty"):
        value = _find_setting(kwargs.get("constant_values", 0), axis, end, len(new))
        value = value if isinstance(value, Traced) else np.asarray(value, dtype_of(x))
        return broadcast_to(value, new)
    if mode == "linear_ramp":
        edge = _take_end(x, axis, 1, end)
        goal = _find_setting(kwargs.get("end_values", 0), axis, end, len(new))
        steps = np.arange(width, dtype=dtype_of(x))[:: -1 if end else 1] / max(width, 1)
        steps = steps.reshape([-1 if i == axis else 1 for i in range(len(new))])
        return goal + (edge - goal) * steps.astype(dtype_of(x))
    length = _find_setting(kwargs.get("stat_length"), axis, end, len(new))
    part = _take_end(x, axis, shape_of(x)[axis] if length is None else length, end)
    return broadcast_to(_STATISTICS[mode](part, axis), new)


def _find_setting(given: Any, axis: int, end: int, rank: int) -> Any:
    """Return the setting of one side, given as a value, as (before, after), or per axis."""
    given = join(given) if isinstance(given, (list, tuple)) else given
    if given is None or not shape_of(given):
        return given
    setting = getitem(broadcast_to(given, (rank, 2)), (axis, end))
    return setting if isinstance(setting, Traced) else setting.item()


def _take_end(x: Any, axis: int, length: int, end: int) -> Any:
    n = shape_of(x)[axis]
    chosen = slice(max(n - length, 0), n) if end else slice(0, length)
    return getitem(x, (slice(None),) * axis + (chosen,))


def _reflect_as_odd(x: Any, axis: int, widths: tuple[int, int], mode: str) -> Any:
    """Reflect as odd functions do: a linear map, found by padding a basis."""
    basis = np.eye(shape_of(x)[axis], dtype=dtype_of(x))
    matrix = np.pad(basis, (widths, (0, 0)), mode, reflect_type="odd")  # type: ignore[call-overload]
    return np.moveaxis(tensordot(matrix, x, ([1], [axis])), 0, axis)
