"""Values of a few primitives for NumPy's arrays, computed with fewer steps than their rows say.

Each takes what the row computes, and falls back on it. The derivatives stay those of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.fast.cache_blocks import add_scaled
from simpleautodiff.fast.limits import LIMITS
from simpleautodiff.fast.memory_pool import POOL, in_place

Compute = Callable[..., Any]
FASTER: dict[str, Callable[[Compute], Compute]] = {}  # by the name of a row


def _faster(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a faster way to compute the values of a row."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FASTER[name] = lambda compute: lambda *args: function(compute, *args)
        return function

    return enter


@_faster("power")
def _power(compute: Compute, x: Any, y: Any) -> Any:
    """Square large arrays in pooled memory."""
    square = (type(y) is int or type(y) is float) and y == 2
    return in_place(np.square, x) if POOL.open and square and POOL.serves(x) else compute(x, y)


@_faster("logaddexp")
def logaddexp(compute: Compute, a: Any, b: Any) -> Any:
    """Compute it by exp and log1p, which NumPy has for several numbers at once.

    NumPy's own takes one number at a time, four times as long. Infinities that are equal go there.
    """
    if type(a) is not np.ndarray and type(b) is not np.ndarray:
        return compute(a, b)
    if getattr(a, "size", 1) < LIMITS.many and getattr(b, "size", 1) < LIMITS.many:
        return compute(a, b)
    with np.errstate(invalid="ignore"):
        larger = in_place(np.maximum, a, b)
        if larger.dtype.char not in "fd":
            return compute(a, b)
        v = in_place(np.minimum, a, b)
        v -= larger
        np.exp(v, out=v)
        np.log1p(v, out=v)
        v += larger
    return compute(a, b) if np.isnan(np.min(v, initial=0)) else v


@_faster("softplus")
def _softplus(compute: Compute, x: Any) -> Any:
    """Compute log(exp(x) + exp(0))."""
    return logaddexp(lambda a, _b: compute(a), x, x.dtype.type(0))


@_faster("sigmoid")
def _sigmoid(compute: Compute, x: Any) -> Any:
    """Compute it in place, with one exponential."""
    if not x.ndim:
        return compute(x)
    with np.errstate(over="ignore"):
        e = np.exp(-x)
    if np.isinf(e).any():  # 1 / (1 + e) would be 0, a little too soon
        return compute(x)
    e += 1
    return np.divide(1, e, out=e)


@_faster("sum")
def _sum(compute: Compute, x: Any, axis: Any, keepdims: Any) -> Any:
    """Add up without the preliminaries of np.sum."""
    if type(x) is np.ndarray:
        return np.add.reduce(x, axis, keepdims=keepdims)
    return compute(x, axis, keepdims)


@_faster("reshape")
def _reshape(compute: Compute, x: Any, new: Any) -> Any:
    """Ask the array itself."""
    return x.reshape(new) if type(x) is np.ndarray else compute(x, new)


@_faster("broadcast_to")
def _broadcast_to(compute: Compute, x: Any, new: tuple[int, ...]) -> Any:
    """Copy what is small, and spread a single number, with less ado than np.broadcast_to."""
    if isinstance(x, (np.generic, float)):
        one = np.asarray(x)
        spread: Any = np.ndarray(new, one.dtype, one, 0, (0,) * len(new))
        spread.flags.writeable = False  # its elements are one
        return spread
    if type(x) is np.ndarray and math.prod(new) <= LIMITS.small:
        copied: Any = np.empty(new, x.dtype)
        copied[...] = x
        return copied
    return compute(x, new)


@_faster("roll")
def _roll(compute: Compute, x: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    """Move elements along one axis of a large array into pooled memory."""
    out = POOL.place(x) if len(axis) == 1 else None
    if out is None:
        return compute(x, shift, axis)
    ahead = (slice(None),) * axis[0]
    split = -shift[0] % x.shape[axis[0]]  # what stands from here on comes first
    rest = x.shape[axis[0]] - split
    out[(*ahead, slice(rest))] = x[(*ahead, slice(split, None))]
    out[(*ahead, slice(rest, None))] = x[(*ahead, slice(split))]
    return out


def _add_at(total: Any, bar: Any, factor: float, _x: Any, index: Any) -> None:
    """Add elements, times a number, to those of an array that an index chooses, in place."""
    if not isinstance(index, (int, slice, tuple)) or not _is_basic(index):
        np.add.at(total, index, bar if factor == 1 else bar * factor)
    elif bar.ndim:
        chosen = total[index]
        add_scaled(chosen, bar, factor, chosen)
    else:
        total[index] += bar * factor


def _is_basic(index: Any) -> bool:
    """Tell whether an index is made of integers and slices, so that NumPy gives a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is ... or _is_plain_part(part) for part in parts)


def _is_plain_part(part: Any) -> bool:
    return isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool)


# How the adjoint of a few elements of a large array is added to the array's, by the row's name.
ADD_IN_PLACE: dict[str, Callable[..., None]] = {"getitem": _add_at}
