"""Values and adjoints of a few primitives, computed in fewer steps than by their rows.

Each is made from the row's own function for NumPy's arrays, and falls back on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.level import evaluate
from simpleautodiff.core.primitive import TABLE
from simpleautodiff.core.sweep import fit
from simpleautodiff.fast.cache_blocks import add_scaled
from simpleautodiff.fast.memory_pool import POOL, compute_pooled
from simpleautodiff.fast.thresholds import THRESHOLDS

Compute = Callable[..., Any]


def _power(compute: Compute) -> Compute:
    def power(x: Any, y: Any) -> Any:
        """Square large arrays in pooled memory."""
        square = (type(y) is int or type(y) is float) and y == 2
        return (
            compute_pooled(np.square, x)
            if POOL.open and square and POOL.serves(x)
            else compute(x, y)
        )

    return power


def _logaddexp(compute: Compute) -> Compute:
    def logaddexp(a: Any, b: Any) -> Any:
        """Compute it by exp and log1p, which NumPy vectorizes.

        NumPy's own logaddexp is scalar and takes four times as long; it is called for equal
        infinities.
        """
        if type(a) is not np.ndarray and type(b) is not np.ndarray:
            return compute(a, b)
        if getattr(a, "size", 1) < THRESHOLDS.many and getattr(b, "size", 1) < THRESHOLDS.many:
            return compute(a, b)
        with np.errstate(invalid="ignore"):
            larger = compute_pooled(np.maximum, a, b)
            if larger.dtype.char not in "fd":
                return compute(a, b)
            v = compute_pooled(np.minimum, a, b)
            v -= larger
            np.exp(v, out=v)
            np.log1p(v, out=v)
            v += larger
        return compute(a, b) if np.isnan(np.min(v, initial=0)) else v

    return logaddexp


def _softplus(compute: Compute) -> Compute:
    logaddexp = _logaddexp(lambda x, _zero: compute(x))
    return lambda x: logaddexp(x, x.dtype.type(0))


def _sigmoid(compute: Compute) -> Compute:
    def sigmoid(x: Any) -> Any:
        """Compute it in place, with one exponential."""
        largest = _EXP_IS_FINITE_TO.get(x.dtype.char)
        if largest is None or not x.ndim:
            return compute(x)
        if not np.minimum.reduce(x, None, initial=0) >= -largest:  # which nan is not, either
            return compute(x)
        e = np.negative(x)
        np.exp(e, out=e)
        e += 1
        return np.divide(1, e, out=e)

    return sigmoid


def _sech_squared(compute: Compute) -> Compute:
    def sech_squared(x: Any) -> Any:
        """Compute it in place, in one or two arrays instead of eight."""
        largest = _EXP_IS_FINITE_TO.get(x.dtype.char)
        if largest is None or not x.ndim:
            return compute(x)
        e = np.abs(x)
        if x.size < THRESHOLDS.many:  # the square of 1 / cosh(largest) is 0
            np.minimum(e, largest, out=e)
            np.cosh(e, out=e)
            np.reciprocal(e, out=e)
            return np.multiply(e, e, out=e)
        e *= -2
        np.exp(e, out=e)
        below = e + 1
        below *= below
        e *= 4
        return np.divide(e, below, out=e)

    return sech_squared


_EXP_IS_FINITE_TO = {"f": 88.0, "d": 709.0}  # by the character of the dtype


def _sum(compute: Compute) -> Compute:
    def add_up(x: Any, axis: Any, keepdims: Any) -> Any:
        """Add up without the overhead of np.sum."""
        if type(x) is np.ndarray:
            return np.add.reduce(x, axis, keepdims=keepdims)
        return compute(x, axis, keepdims)

    return add_up


def _reshape(compute: Compute) -> Compute:
    return lambda x, new: x.reshape(new) if type(x) is np.ndarray else compute(x, new)


_NUMPY = {np.ndarray, np.float64}


def _set_item(compute: Compute) -> Compute:
    def set_item(x: Any, value: Any, index: Any) -> Any:
        """Copy an array and write to the copy, without asking for the dtype of both."""
        if type(x) is not np.ndarray or type(value) not in _NUMPY or value.dtype is not x.dtype:
            return compute(x, value, index)
        out = x.copy("K")
        out[index] = value
        return out

    return set_item


def _roll(compute: Compute) -> Compute:
    def roll(x: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
        """Roll elements along one axis after another, in two pieces each."""
        if type(x) is not np.ndarray or not axis or not x.size:
            return compute(x, shift, axis)
        for n, k in zip(shift, axis, strict=True):
            x = _roll_once(x, n, k)
        return x

    return roll


def _roll_once(x: Any, shift: int, axis: int) -> Any:
    """Roll elements along one axis, those of a large array into pooled memory."""
    out = POOL.output_like(x)
    if out is None:
        out = np.empty_like(x)
    ahead = (slice(None),) * axis
    split = -shift % x.shape[axis]  # elements from here on come first
    rest = x.shape[axis] - split
    out[(*ahead, slice(rest))] = x[(*ahead, slice(split, None))]
    out[(*ahead, slice(rest, None))] = x[(*ahead, slice(split))]
    return out


FASTER: dict[str, Callable[[Compute], Compute]] = {  # by row, from its own function
    "logaddexp": _logaddexp,
    "power": _power,
    "reshape": _reshape,
    "roll": _roll,
    "set_item": _set_item,
    "sech_squared": _sech_squared,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "sum": _sum,
}


# Adjoints. ----------------------------------------------------------------------------------------


def _broadcast(x: Any, new: tuple[int, ...]) -> Any:
    """Copy what is small, and broadcast a single number, with less overhead than np.broadcast_to.

    Used only for adjoints: for a value, the user's code could see that it is no view.
    """
    if isinstance(x, (np.generic, float)):
        if math.prod(new) <= THRESHOLDS.small:
            filled: Any = np.empty(new, x.dtype if isinstance(x, np.generic) else float)
            filled.fill(x)
            return filled
        one = np.asarray(x)
        spread: Any = np.ndarray(new, one.dtype, one, 0, (0,) * len(new))
        spread.flags.writeable = False  # all elements share memory
        return spread
    if math.prod(new) <= THRESHOLDS.small:
        copied: Any = np.empty(new, x.dtype)
        copied[...] = x
        return copied
    return np.broadcast_to(x, new)


def spread_sum(bar: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Copy the adjoint of a sum to all elements that were added; None if it is not simple."""
    if type(x) is not np.ndarray:
        return None
    if type(bar) is np.float64 or type(bar) is float:
        return _broadcast(bar, x.shape)
    if type(bar) is not np.ndarray or not (keepdims or axis is None or type(axis) is int):
        return None
    if not keepdims:
        rank = x.ndim
        kept = (1,) * rank
        if axis is not None:
            axis %= rank
            kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        bar = bar.reshape(kept)
    return _broadcast(bar, x.shape)


def _scatter(bar: Any, x: Any, index: Any) -> Any:
    """Put the adjoints of elements among zeros."""
    return evaluate(TABLE["scatter"], (bar, index, x.shape))


def _clear_items(bar: Any, _x: Any, _value: Any, index: Any) -> Any:
    """Return an adjoint with zeros where elements were overwritten."""
    return evaluate(TABLE["set_item"], (bar, 0, index))


# Transposes for tapes whose slopes are all finite, where structural zeros need no mask.
UNMASKED: dict[str, Compute] = {"getitem": _scatter, "set_item": _clear_items}


def fit_quickly(derivative: Any, like: Any) -> Any:
    """Give a derivative the shape of a value, with a fast path for NumPy arrays of one dtype."""
    arrays = type(derivative) is np.ndarray and isinstance(like, (np.ndarray, np.generic))
    if arrays and derivative.dtype is like.dtype:
        new, extra = like.shape, derivative.ndim - like.ndim
        if derivative.shape == new:
            return derivative
        if not new:
            return np.add.reduce(derivative, None)
        total = np.add.reduce(derivative, tuple(range(extra))) if extra > 0 else derivative
        if extra >= 0 and 1 in new:
            stretched = tuple([i for i, n in enumerate(new) if n == 1 != total.shape[i]])
            total = np.add.reduce(total, stretched, keepdims=True)
        if total.shape == new:
            return total
    return fit(derivative, like)


def _add_at(total: Any, bar: Any, factor: float, _x: Any, index: Any) -> None:
    """Add `factor` × `bar` in place to the elements that an index selects."""
    if not is_basic(index):
        np.add.at(total, index, bar if factor == 1 else bar * factor)
    elif bar.ndim:
        chosen = total[index]
        add_scaled(chosen, bar, factor, chosen)
    else:
        total[index] += bar * factor


def is_basic(index: Any) -> bool:
    """Tell whether an index has only integers and slices, so that NumPy returns a view."""
    kind = type(index)
    return kind in _BASIC or (kind is tuple and _BASIC.issuperset(map(type, index)))


_BASIC = {int, slice, type(None), type(...), np.int64, np.intp}


# By row: adds the adjoint of a few elements in place to that of the large array.
ADD_IN_PLACE: dict[str, Callable[..., None]] = {"getitem": _add_at}
