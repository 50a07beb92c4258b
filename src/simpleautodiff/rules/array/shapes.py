"""Rows: linear maps that rearrange, copy or sum the elements of arrays; maxima and minima.

The first argument is differentiated; the others are settings (axes, shapes, indices).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear, LinearRule, plus
from simpleautodiff.core.node import NODES
from simpleautodiff.core.primitive import TABLE, Kink
from simpleautodiff.rules.branches import masked, where
from simpleautodiff.rules.decisions import as_operand, find_written_level, note_answer
from simpleautodiff.rules.multiples import carry_root
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.complex_parts import real
from simpleautodiff.values.functions import is_complex, shape


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array, a number, or a node of either."""
    if type(x) in NODES:
        x = x.value
    return x.shape if type(x) is np.ndarray else shape(to_plain(x))


def linear_row(
    name: str,
    value: Callable[..., Any],
    pull: Callable[..., Any],
    settings: int,
    reason: str,
    batch: Callable[..., Any] | None = None,
    *,
    moves: bool = False,
    push: Callable[..., Any] | None = None,
) -> Wrapping:
    """Enter a primitive that is linear in its first argument, with the transpose `pull`.

    `batch` computes it from `(size, x, *settings)`, where x has the axis of a batch in front;
    `moves` says that each element of the result is one of x. A tangent is carried forward by the
    primitive itself, or by `push`, which tells structural zeros from others.
    """
    rule = LinearRule(push or (lambda dot, _x, *given: wrapping(dot, *given)), pull, True)
    slots = ", ".join(f"{{{i}}}" for i in range(1 + settings))
    wrapping = row(
        name,
        rule,
        *[ZERO] * settings,
        value=value,
        numpy=(),
        text=f"{name}({slots})",
        latex=rf"\operatorname{{{{{name}}}}}({slots})".replace("_", r"\_"),
        arrays=True,
        reason=reason,
        settings=tuple(range(1, 1 + settings)),
        batch=batch and (lambda size, which, x, *given: batch(size, x, *given)),
        squared=() if moves else None,
        restate=(lambda *args: carry_root(TABLE[name], *args)) if moves else None,
    )
    return wrapping


def _sum_to(x: Any, new: tuple[int, ...]) -> Any:
    """Sum over the axes along which shape `new` was broadcast to that of x."""
    if not new:
        return _sum(x, None, False)
    extra = len(shape_of(x)) - len(new)
    total = _sum(x, tuple(range(extra)), False) if extra else x
    if 1 not in new:
        return total
    stretched = tuple([i for i, n in enumerate(new) if n == 1 and total.shape[i] != 1])
    return _sum(total, stretched, True) if stretched else total


def pad_rank(x: Any, rank: int) -> Any:
    """Give each example of a batch a higher rank, by axes of length 1 behind the batch axis."""
    size, *one = shape_of(x)
    return reshape(x, (size, *(1,) * (rank - len(one)), *one)) if len(one) < rank else x


def _sum_to_batch(size: int, x: Any, new: tuple[int, ...]) -> Any:
    extra = len(shape_of(x)) - 1 - len(new)
    total = sum_over(x, tuple(range(1, 1 + extra)), False) if extra else x
    return sum_to(total, (size, *new))


def _transpose_batch(size: int, x: Any, axes: tuple[int, ...] | None) -> Any:
    order = reversed(range(len(shape_of(x)) - 1)) if axes is None else axes
    return transpose(x, (0, *[axis + 1 for axis in order]))


def _infer_shape(new: tuple[int, ...], old: tuple[int, ...]) -> tuple[int, ...]:
    """Replace the -1 in a new shape, since NumPy cannot infer it in a batch without examples."""
    known = math.prod([n for n in new if n >= 0])
    return tuple([n if n >= 0 else math.prod(old) // max(known, 1) for n in new])


broadcast_to: Wrapping = linear_row(
    "broadcast_to",
    np.broadcast_to,
    lambda bar, _x, _new: sum_to(bar, shape_of(_x)),
    1,
    "an element is copied, so its adjoint is the sum of the adjoints of the copies",
    lambda size, x, new: broadcast_to(pad_rank(x, len(new)), (size, *new)),
    moves=True,
)
sum_to: Wrapping = linear_row(
    "sum_to",
    _sum_to,
    lambda bar, _x, _new: broadcast_to(bar, shape_of(_x)),
    1,
    "every element is added once, so it receives the adjoint of its sum",
    _sum_to_batch,
)
reshape: Wrapping = linear_row(
    "reshape",
    np.reshape,
    lambda bar, _x, _new: reshape(bar, shape_of(_x)),
    1,
    "the same elements in another shape",
    lambda size, x, new: reshape(x, (size, *_infer_shape(new, shape_of(x)[1:]))),
    moves=True,
)
transpose: Wrapping = linear_row(
    "transpose",
    np.transpose,
    lambda bar, _x, axes: transpose(bar, _invert_axes(axes)),
    1,
    "the same elements with the axes in another order",
    _transpose_batch,
    moves=True,
)


class Bundle:
    """Several numbers as one value: the arguments or the results of a whole function.

    An entry is a number or `ZERO`. Bundles add entry by entry. Adjoints and tangents of functions
    with many arguments are bundles.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[Any, ...]) -> None:
        self.entries = entries

    def __add__(self, other: Bundle) -> Bundle:
        pairs = zip(self.entries, other.entries, strict=True)
        return Bundle(tuple(plus(a, b) for a, b in pairs))

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.entries))})"

    @classmethod
    def single(cls, index: int, entry: Any, size: int) -> Bundle:
        """Put `entry` at `index`; all else is `ZERO`."""
        return cls(tuple(entry if i == index else ZERO for i in range(size)))


_WITH_DTYPE = (np.ndarray, np.integer)


def fit(derivative: Any, like: Any) -> Any:
    """Give a derivative the shape of `like`, by broadcasting or by summing over broadcast axes.

    The derivative with respect to a real number is real: the real part of a complex adjoint.
    """
    if type(derivative) is Bundle:
        return derivative
    if is_complex(to_plain(derivative)) and not is_complex(to_plain(like)):
        derivative = real(derivative)
    have, want = shape_of(derivative), shape_of(like)
    if have != want:
        same_rank = len(have) == len(want)
        grows = same_rank and all(h in (1, w) for h, w in zip(have, want, strict=True))
        grows = grows or len(have) < len(want)
        derivative = broadcast_to(derivative, want) if grows else sum_to(derivative, want)
    if issubclass(type(derivative), _WITH_DTYPE):
        return _fit_dtype(derivative, like)
    return derivative


def _fit_dtype(derivative: Any, like: Any) -> Any:
    """Give a derivative that integers have made, such as the seed 1, the dtype of a float array.

    NumPy's integers overflow, and Python's large ones make arrays of objects.
    """
    if type(like) is float or type(like) is int:
        return derivative.item()
    dtype = getattr(like, "dtype", None)  # a node has one, too
    if derivative.dtype.kind not in "iuO" or not isinstance(dtype, np.dtype):
        return derivative
    return derivative.astype(dtype) if dtype.kind in "fc" else derivative


def _invert_axes(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(int(i) for i in np.argsort(axes))


engine.fit = fit


# The annotations of NumPy accept the literals True and False for keepdims, but not bool: use Any.
def _sum(x: Any, axis: Any, keepdims: Any) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims)


def _spread(bar: Any, _x: Any, axis: Any, keepdims: bool) -> Any:
    """Copy the adjoint of a sum to all its terms."""
    full = shape_of(_x)
    if shape_of(bar) and not keepdims:
        bar = reshape(bar, keep_dims(full, axis))
    return broadcast_to(bar, full)


def keep_dims(full: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """Return the shape of a reduction along `axis` with keepdims=True."""
    if axis is None:
        return (1,) * len(full)
    if type(axis) is int and 0 <= axis < len(full):
        return (*full[:axis], 1, *full[axis + 1 :])
    axes = (axis,) if type(axis) is int else axis if type(axis) is tuple else np.atleast_1d(axis)
    reduced = {int(i) % len(full) for i in axes} if full else set()
    return tuple(1 if i in reduced else n for i, n in enumerate(full))


def shift_axes(axis: Any, rank: int) -> Any:
    """Convert the axes of one example of the given rank to axes of the batch, one higher."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if not rank and axis in (0, -1):
        return ()  # NumPy treats a single number like an array of one element
    if isinstance(axis, (tuple, list)):
        return tuple([shift_axes(one, rank) for one in axis])
    return normalize_axis_tuple(axis, rank)[0] + 1


def _batch_by_axis(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Make the rule that applies a reduction to a batch, along the axes of the examples."""

    def batch(size: int, x: Any, axis: Any, keepdims: bool) -> Any:
        return reduction()(x, shift_axes(axis, len(shape_of(x)) - 1), keepdims)

    return batch


sum_over: Wrapping = linear_row(
    "sum",
    _sum,
    _spread,
    2,
    "a sum grows as much as each of its terms",
    _batch_by_axis(lambda: sum_over),
)


def _find_extremes(x: Any, v: Any, axis: Any, keepdims: Any) -> tuple[Any, Any]:
    """Return the mask of the elements equal to the extreme, and their number.

    Where the extreme is nan all elements have to do with it, and their number is nan.
    """
    v = as_operand(v)
    whole = np.reshape(v, keep_dims(shape_of(x), axis))
    chosen = (as_operand(x) == whole) | (whole != whole)
    if find_written_level(chosen) is not None:
        note_answer(np.sum(chosen, axis=axis), np.sum, chosen, axis=axis)
    x, plain = to_plain(x), to_plain(v)
    if (
        type(x) is np.ndarray
        and np.count_nonzero(chosen) == np.size(v)
        and not np.isnan(plain).any()
    ):
        return chosen, 1  # there are no ties
    count = np.sum(chosen, axis=axis, keepdims=keepdims).astype(getattr(x, "dtype", float))
    return chosen, where(v != v, math.nan, count)


def _extreme_row(name: str, value: Callable[..., Any], word: str) -> Wrapping:
    def rule(v: Any, x: Any, axis: Any, keepdims: bool) -> Linear:
        chosen, count = _find_extremes(x, v, axis, keepdims)
        return Linear(
            lambda dot: sum_over(where(chosen, dot, 0), axis, keepdims) / count,
            lambda bar: masked(where(chosen, _spread(bar / count, x, axis, keepdims), 0), chosen),
            moves=True,
        )

    def has_ties(x: Any, axis: Any, keepdims: bool) -> Any:
        extreme = value(x, axis=axis, keepdims=True)
        return np.any(np.sum(x == extreme, axis=axis) > 1)

    batch = _batch_by_axis(lambda: wrapping)
    wrapping = row(
        name,
        rule,
        ZERO,
        ZERO,
        value=lambda x, axis, keepdims: value(x, axis=axis, keepdims=keepdims),
        numpy=(),
        text=f"{name}({{0}}, {{1}}, {{2}})",
        latex=rf"\{name} {{0}}",
        arrays=True,
        reason=f"the result is the {word} element; equal ones share the derivative equally",
        kinks=[Kink(f"several equal {word} elements", has_ties, "they share equally")],
        settings=(1, 2),
        batch=lambda size, which, *given: batch(size, *given),
    )
    return wrapping


max_over = _extreme_row("max", np.max, "largest")
min_over = _extreme_row("min", np.min, "smallest")
