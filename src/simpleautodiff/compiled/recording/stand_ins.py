"""Stand-ins for large arrays, which are not computed while a program is recorded.

Recording needs the shapes and the dtypes of results; their numbers only matter where code decides
by them. A stand-in is an array of zeros that takes no memory. What is computed from it is another
one, where its shape is known without computing it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.array.shapes import keep_dims

LARGE_ENOUGH = 1 << 16  # elements of an array from which on it is not computed


def stand_in(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that take no memory.

    Examples
    --------
    >>> stand_in((10**6, 10**6), np.float64).nbytes, stand_in((2,), np.float64)
    (8000000000000, array([0., 0.]))
    """
    return np.broadcast_to(np.zeros((), dtype), shape)


def estimate_row(primitive: Primitive, args: tuple[Any, ...]) -> Any:
    """Return a stand-in for the result of a row; None if it is small, or has to be computed."""
    if not primitive.arrays:
        return estimate_elementwise(primitive.compute, args)
    outline = _OUTLINES.get(primitive.name)
    if outline is None or not any([_is_large(arg) for arg in args]):
        return None
    return outline(primitive, *args)


def estimate_elementwise(compute: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return a stand-in for the result of an elementwise function; None if it is small."""
    arrays = [arg for arg in args if type(arg) is np.ndarray]
    if not arrays:
        return None
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    if math.prod(shape) < LARGE_ENOUGH:
        return None
    made = compute(*[_one_of(arg) if type(arg) is np.ndarray else arg for arg in args])
    return stand_in(shape, made.dtype)


def _is_large(x: Any) -> bool:
    return type(x) is np.ndarray and x.size >= LARGE_ENOUGH


def _one_of(array: Any) -> Any:
    """Return an array with one element along each axis."""
    return np.ones((1,) * array.ndim, array.dtype)


def _outline_reduction(primitive: Primitive, x: Any, axis: Any, keepdims: Any) -> Any:
    return primitive.compute(np.ones(keep_dims(x.shape, axis), x.dtype), axis, keepdims)


def _outline_sum_to(primitive: Primitive, x: Any, shape: Any) -> Any:
    return primitive.compute(np.ones(shape, x.dtype), shape)


def _outline_scatter(_: Primitive, x: Any, index: Any, shape: Any) -> Any:
    return stand_in(shape, x.dtype)


def _outline_write(_: Primitive, x: Any, value: Any, index: Any) -> Any:
    return stand_in(np.shape(x), np.result_type(x, value))


def _outline_product(_: Primitive, a: Any, b: Any) -> Any:
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return stand_in((*stack, *rows, *columns), np.result_type(a, b))


_OUTLINES: dict[str, Callable[..., Any]] = {
    "sum": _outline_reduction,
    "max": _outline_reduction,
    "min": _outline_reduction,
    "sum_to": _outline_sum_to,
    "scatter": _outline_scatter,
    "set_item": _outline_write,
    "matmul": _outline_product,
}
