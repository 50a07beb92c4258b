"""HIPS autograd's `convolve`, over some axes of arrays, with sums over others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from simpleautodiff.autograd.extend import defvjp, primitive
from simpleautodiff.errors import ArgumentError

Axes = Sequence[Sequence[int]]


@primitive
def _slide(a: Any, b: Any) -> Any:
    """Return y[i, j, p] = Σ a[i, d, p + n - 1 - q] b[j, d, q], n the lengths of b.

    Here i, j and d are one axis each; p and q are the others, as many in a as in b.
    """
    rank = a.ndim - 2
    windows = sliding_window_view(a, b.shape[2:], tuple(range(2, 2 + rank)))
    moving = [1, *range(2 + rank, 2 + 2 * rank)]
    result = np.tensordot(windows, _reverse(b), (moving, [1, *range(2, 2 + rank)]))
    return np.moveaxis(result, -1, 1)


def _reverse(x: Any) -> Any:
    return x[(..., *[slice(None, None, -1)] * (x.ndim - 2))]


def _swap(x: Any) -> Any:
    return np.swapaxes(x, 0, 1)


def _pad(x: Any, before: list[int], behind: list[int]) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *zip(before, behind, strict=True)])


def _pull_a(ans: Any, a: Any, b: Any) -> Any:
    edges = [n - 1 for n in b.shape[2:]]
    return lambda g: _slide(_pad(g, edges, edges), _swap(_reverse(b)))


def _pull_b(ans: Any, a: Any, b: Any) -> Any:
    return lambda g: _reverse(_swap(_slide(_swap(a), _reverse(_swap(g)))))


defvjp(_slide, _pull_a, _pull_b)


def convolve(
    A: Any,
    B: Any,
    axes: Axes | str | None = None,
    dot_axes: Axes = ((), ()),
    mode: str = "full",
    method: str = "auto",
) -> Any:
    """Convolve along pairs of axes, sum over other pairs, and pair off all others.

    The axes of the result are the others of A, the others of B, and those of the convolution. With
    SciPy's arguments, `convolve(A, B, mode)`, it does what `scipy.signal.convolve` does.

    Examples
    --------
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 1., 12., 20.])
    >>> convolve(np.ones((2, 3)), np.ones((2, 2)), axes=([1], [1]), dot_axes=([0], [0]))
    array([2., 4., 4., 2.])
    """
    if isinstance(axes, str):
        return convolve(A, B, mode=axes)
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"mode is 'full', 'valid' or 'same', not {mode!r}")
    along: Axes = [range(A.ndim), range(A.ndim)] if axes is None else axes
    a, b = (_arrange(x, along[k], dot_axes[k]) for k, x in enumerate((A, B)))
    longer = [n >= m for n, m in zip(a.shape[2:], b.shape[2:], strict=True)]
    if mode == "valid" and not all(longer):
        if any(n > m for n, m in zip(a.shape[2:], b.shape[2:], strict=True)):
            raise ArgumentError("for mode='valid' one array must be the longer along every axis")
        result = _swap(_slide(b, a))
    else:
        edges = [0 if mode == "valid" else n - 1 for n in b.shape[2:]]
        behind = [n // 2 for n in edges] if mode == "same" else edges
        before = [n - m for n, m in zip(edges, behind, strict=True)] if mode == "same" else edges
        result = _slide(_pad(a, before, behind), b)
    others = [_others(x, along[k], dot_axes[k]) for k, x in enumerate((A, B))]
    lengths = [x.shape[i] for x, which in zip((A, B), others, strict=True) for i in which]
    return np.reshape(result, (*lengths, *result.shape[2:]))


def _others(x: Any, along: Sequence[int], summed: Sequence[int]) -> list[int]:
    return [i for i in range(x.ndim) if i not in along and i not in summed]


def _arrange(x: Any, along: Sequence[int], summed: Sequence[int]) -> Any:
    """Return an array with the other axes as one, those to be summed as one, then those along."""
    x = np.transpose(x, (*_others(x, along, summed), *summed, *along))
    first = x.ndim - len(along)
    lengths = x.shape[first - len(summed) : first]
    return np.reshape(x, (-1, math.prod(lengths), *x.shape[first:]))
