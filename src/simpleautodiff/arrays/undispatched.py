"""Functions of NumPy that do not dispatch on nodes: what replaces them in code that runs again."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from simpleautodiff.arrays.elements import iterate_elements
from simpleautodiff.arrays.registry import FUNCTIONS, decide
from simpleautodiff.arrays.scipy.sparse_nodes import has_node
from simpleautodiff.arrays.shaping import add_axes, lay_out
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.errors import InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.shapes import shape_of


def convert(a: Any, dtype: Any = None, order: Any = None, ndmin: int = 0) -> Any:
    """Return a node, or a list of them, as an array: itself if it is one already."""
    if not isinstance(a, (Traced, Written)):
        return FUNCTIONS[np.array](a, dtype, ndmin, order)
    node: Any = a
    node = node if dtype is None else node.astype(dtype, copy=False)
    now = take_current(node)
    converted = add_axes(lay_out(now, order), ndmin)
    return node if converted is now else converted


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """Do what np.require does."""
    if not has_node([a]):
        return np.require(a, dtype, requirements, like=like)
    asked = {str(each).upper() for each in requirements or ()}
    by_rows, by_columns = asked & _BY_ROWS, asked & _BY_COLUMNS
    return convert(a, dtype, "C" if by_rows else "F" if by_columns else None)


def _require_finite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Do what np.asarray_chkfinite does."""
    if not has_node([a]):
        return np.asarray_chkfinite(a, dtype, order)
    array = convert(a, dtype, order)
    if not decide(is_finite, take_current(array)):
        raise InputError(f"np.asarray_chkfinite: the array has infs or nans{cite_line()}")
    return array


def is_finite(a: Any) -> Any:
    """Tell whether all elements of an array are finite."""
    return np.all(np.isfinite(a))


def _norm(x: Any, ord: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Do what np.linalg.norm does, which does not dispatch on its order."""
    norm = FUNCTIONS[np.linalg.norm] if has_node([ord]) else np.linalg.norm
    return norm(x, ord, *args, **kwargs)


def _vector_norm(x: Any, /, *, ord: Any = 2, **kwargs: Any) -> Any:
    """Do what np.linalg.vector_norm does."""
    norm = FUNCTIONS[np.linalg.vector_norm] if has_node([ord]) else np.linalg.vector_norm
    return norm(x, ord=ord, **kwargs)


def _fill_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """Do what np.full_like does, which does not dispatch on what it fills the array with."""
    fill = FUNCTIONS[np.full_like] if has_node([fill_value]) else np.full_like
    return fill(a, fill_value, *args, **kwargs)


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **settings: Any) -> Any:
    """Do what np.pad does, which does not dispatch on what it puts beside the array."""
    pad = FUNCTIONS[np.pad] if has_node(settings.values()) else np.pad
    return pad(array, pad_width, mode, **settings)


def _arange(*bounds: Any, dtype: Any = None, **ignored: Any) -> Any:
    """Do what np.arange does: start + i step; how many numbers there are is a step function."""
    if not has_node(bounds):
        return np.arange(*bounds, dtype=dtype, **ignored)
    match bounds:
        case (stop,):
            start, step = 0, 1
        case (start, stop):
            step = 1
        case (start, stop, step, *_):
            dtype = next(iter(bounds[3:]), dtype)
    count = max(int(np.ceil((stop - start) / step)), 0)
    numbers = start + (start + step - start) * np.arange(count)
    return numbers if dtype is None else np.asarray(numbers, like=numbers).astype(dtype)


def _kaiser(M: Any, beta: Any) -> Any:
    """Do what np.kaiser does, which stores the shape of the window in an array of its own."""
    if not has_node([beta]):
        return np.kaiser(M, beta)
    if M == 1:
        return np.ones(1)
    half = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((np.arange(0, M) - half) / half) ** 2.0)) / np.i0(beta)


def _make_array(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy that makes an array of what it is given; it may be given nodes."""
    if function is _FROM_ITERATOR:
        return _join_numbers(*args, **kwargs)
    if not has_node(args) and not has_node(kwargs.values()):
        return function(*args, **kwargs)
    given = {name: arg for name, arg in kwargs.items() if name not in _IGNORED}
    if function in _IN_ORDER:
        given |= {"order": _IN_ORDER[function], "ndmin": 1}
    copied = kwargs.get("copy", function in _LIKE)
    if function in _LIKE and copied:
        return _as_writable(FUNCTIONS[function](*args, **given))
    made = convert(*args, **given)
    return _as_writable(made) if copied else made


def _as_writable(made: Any) -> Any:
    """Return a single number as an array without axes that can be written to, as NumPy's is."""
    if not isinstance(made, Traced) or shape_of(made) or dtype_of(made).kind not in "fc":
        return made
    array: Any = Writable(np.zeros((), dtype_of(made)))
    array[()] = made
    return array


def _join_numbers(numbers: Any, dtype: Any, count: int = -1, **_: Any) -> Any:
    """Do what np.fromiter does; nodes that are yielded become an array."""
    numbers = list(numbers) if count < 0 else list(islice(numbers, count))
    if has_node(numbers):
        return FUNCTIONS[np.array](numbers, dtype)
    return np.fromiter(numbers, dtype, count)


_FROM_ITERATOR = np.fromiter
_LIKE = (np.array, np.full)  # they dispatch on `like=` only
_AS_IT_IS = (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
_IN_ORDER = {np.ascontiguousarray: "C", np.asfortranarray: "F"}  # they return at least one axis
_IGNORED = {"copy", "subok", "device", "like"}
CONVERTING: set[Any] = {*_LIKE, *_AS_IT_IS, _FROM_ITERATOR}  # make arrays of what they are given
_BY_ROWS = {"C", "C_CONTIGUOUS", "CONTIGUOUS"}  # what np.require may be asked for
_BY_COLUMNS = {"F", "F_CONTIGUOUS", "FORTRAN"}
UNDISPATCHED: dict[Any, Any] = {
    np.arange: _arange,
    np.full_like: _fill_like,
    np.pad: _pad,
    np.kaiser: _kaiser,
    np.nditer: iterate_elements,
    np.require: _require,
    np.asarray_chkfinite: _require_finite,
    np.linalg.norm: _norm,
    np.linalg.vector_norm: _vector_norm,
    **{function: FUNCTIONS[function] for function in (np.apply_along_axis, np.piecewise)},
    **{function: partial(_make_array, function) for function in CONVERTING},
}
