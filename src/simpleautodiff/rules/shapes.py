"""Rows: moving the elements of arrays about, and adding them up. All are linear maps.

The first argument is differentiated; the others are settings (axes, shapes, indices).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.linear import ZERO, Bundle, Linear
from simpleautodiff.number import is_complex, shape
from simpleautodiff.rules.complexes import real
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.traced import plain


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array, a number, or a node of either."""
    return shape(plain(x))


def linear(
    name: str,
    value: Callable[..., Any],
    pull: Callable[..., Any],
    settings: int,
    reason: str,
) -> Wrapping:
    """Enter a map that is linear in its first argument: forward it is itself, back it is `pull`."""

    def rule(v: Any, x: Any, *given: Any) -> Linear:
        return Linear(lambda dot: wrapping(dot, *given), lambda bar: pull(bar, x, *given), True)

    slots = ", ".join(f"{{{i}}}" for i in range(1 + settings))
    wrapping = row(
        name,
        rule,
        *[ZERO] * settings,
        value=value,
        numpy=(),
        text=f"{name}({slots})",
        latex=rf"\operatorname{{{{{name}}}}}({slots})",
        arrays=True,
        reason=reason,
        settings=tuple(range(1, 1 + settings)),
    )
    return wrapping


def _sum_to(x: Any, new: tuple[int, ...]) -> Any:
    """Add up what broadcasting from shape `new` had copied."""
    lead = np.ndim(x) - len(new)
    total = np.sum(x, axis=tuple(range(lead))) if lead else x
    stretched = tuple(i for i, n in enumerate(new) if n == 1 and np.shape(total)[i] != 1)
    return np.sum(total, axis=stretched, keepdims=True) if stretched else total


broadcast_to: Wrapping = linear(
    "broadcast_to",
    np.broadcast_to,
    lambda bar, x, new: sum_to(bar, shape_of(x)),
    1,
    "each copy of an element counts, so the adjoint adds them up",
)
sum_to: Wrapping = linear(
    "sum_to",
    _sum_to,
    lambda bar, x, new: broadcast_to(bar, shape_of(x)),
    1,
    "every element that was added counts once",
)
reshape: Wrapping = linear(
    "reshape",
    np.reshape,
    lambda bar, x, new: reshape(bar, shape_of(x)),
    1,
    "the same elements in another shape",
)
transpose: Wrapping = linear(
    "transpose",
    np.transpose,
    lambda bar, x, axes: transpose(bar, _inverse(axes)),
    1,
    "the same elements with the axes in another order",
)


def fit(derivative: Any, like: Any) -> Any:
    """Give a derivative the shape of what it belongs to: broadcasting, done or undone.

    That of a real number is real: of a complex adjoint only the real part counts.
    """
    if type(derivative) is np.ndarray and type(like) is np.ndarray:
        if derivative.shape == like.shape and derivative.dtype is like.dtype:
            return derivative
    elif type(derivative) is float or type(derivative) is Bundle:
        return derivative
    if is_complex(plain(derivative)) and not is_complex(plain(like)):
        derivative = real(derivative)
    have, want = shape_of(derivative), shape_of(like)
    if have == want:
        return derivative
    same_rank = len(have) == len(want)
    grows = same_rank and all(h in (1, w) for h, w in zip(have, want, strict=True))
    grows = grows or len(have) < len(want)
    return broadcast_to(derivative, want) if grows else sum_to(derivative, want)


def _inverse(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(int(i) for i in np.argsort(axes))


def _sum(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims)


def _spread(bar: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Copy the adjoint of a sum to all elements that were added."""
    return broadcast_to(reshape(bar, kept(shape_of(x), axis)), shape_of(x))


def kept(full: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """Return the shape after a reduction that keeps its axes with length 1."""
    axes = range(len(full)) if axis is None else np.atleast_1d(axis)
    reduced = {int(i) % len(full) for i in axes} if full else set()
    return tuple(1 if i in reduced else n for i, n in enumerate(full))


sum_over: Wrapping = linear("sum", _sum, _spread, 2, "a sum grows as much as each of its terms")


def _share(x: Any, v: Any, axis: Any) -> Any:
    """Return how much each element counts in a maximum or minimum: equal ones share equally."""
    chosen = plain(x) == np.reshape(plain(v), kept(shape_of(x), axis))
    return chosen / np.sum(chosen, axis=axis, keepdims=True)


def _extreme(name: str, value: Callable[..., Any], word: str) -> Wrapping:
    def rule(v: Any, x: Any, axis: Any, keepdims: bool) -> Linear:
        share = _share(x, v, axis).astype(getattr(plain(x), "dtype", float))
        return Linear(
            lambda dot: sum_over(dot * share, axis, keepdims),
            lambda bar: _spread(bar, x, axis, keepdims) * share,
        )

    return row(
        name,
        rule,
        ZERO,
        ZERO,
        value=lambda x, axis, keepdims: value(x, axis=axis, keepdims=keepdims),
        numpy=(),
        text=f"{name}({{0}}, {{1}}, {{2}})",
        latex=rf"\{name} {{0}}",
        arrays=True,
        reason=f"the {word} moves with the {word} element; equal ones share equally",
        real=True,
        settings=(1, 2),
    )


max_over = _extreme("max", np.max, "largest")
min_over = _extreme("min", np.min, "smallest")
