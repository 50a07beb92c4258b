"""Rows: the convolution of arrays of any rank, and filters along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear, LinearRule
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import optional


def reverse_axes(x: Any) -> Any:
    """Reverse the elements along every axis."""
    return getitem(x, (slice(None, None, -1),) * len(shape_of(x)))


def _correlate(bar: Any, other: Any, like: Any, method: str) -> Any:
    """Correlate an adjoint with the other factor, where the two overlap fully."""
    pairs = zip(shape_of(other), shape_of(like), strict=True)
    inner = tuple(slice(m - 1, m - 1 + n) for m, n in pairs)
    return getitem(convolve_all(bar, reverse_axes(other), method), inner)


def _convolve(a: Any, b: Any, method: str) -> Any:
    return optional("scipy.signal", "a convolution").convolve(a, b, "full", method)


convolve_all: Wrapping = row(
    "convolve_all",
    LinearRule(
        lambda dot, _a, b, method: convolve_all(dot, b, method),
        lambda bar, _a, b, method: _correlate(bar, b, _a, method),
    ),
    LinearRule(
        lambda dot, a, _b, method: convolve_all(a, dot, method),
        lambda bar, a, _b, method: _correlate(bar, a, _b, method),
    ),
    ZERO,
    value=_convolve,
    numpy=(),
    text="convolve({0}, {1}, {2})",
    latex="{0} * {1}",
    arrays=True,
    reason="each element of one is multiplied by each of the other; the transpose is a correlation",
    settings=(2,),
)

# Filters along the first axis. --------------------------------------------------------------------


def _reverse(x: Any) -> Any:
    return getitem(x, slice(None, None, -1))


def _correlate_lags(bar: Any, x: Any, like: Any) -> Any:
    """Return the sum over n of bar[n] x[n - k], for each coefficient k of a filter."""
    n = shape_of(x)[0]
    sums = [
        sum_over(getitem(bar, slice(k, None)) * getitem(x, slice(0, max(n - k, 0))), None, False)
        for k in range(shape_of(like)[0])
    ]
    return concatenate([reshape(total, (1,)) for total in sums])


def _apply_filter(b: Any, a: Any, x: Any) -> Any:
    dtype = np.result_type(b, a, x)
    b, a = (np.asarray(numbers, dtype) for numbers in (b, a))
    return optional("scipy.signal", "a filter").lfilter(b, a, x, axis=0)


moving_sum: Wrapping = row(
    "moving_sum",
    LinearRule(
        lambda dot, _b, x: moving_sum(dot, x),
        lambda bar, _b, x: _correlate_lags(bar, x, _b),
    ),
    LinearRule(
        lambda dot, b, _x: moving_sum(b, dot),
        lambda bar, b, _x: _reverse(moving_sum(b, _reverse(bar))),
    ),
    value=lambda b, x: _apply_filter(b, np.ones(1, x.dtype), x),
    numpy=(),
    text="moving_sum({0}, {1})",
    latex="{0} * {1}",
    arrays=True,
    reason="v[n] is the sum of b[k] x[n - k]; the transpose runs from the end",
)
recursion: Wrapping = row(
    "recursion",
    lambda v, a, _x: Linear(
        lambda dot: -recursion(a, moving_sum(dot, v)),
        lambda bar: -_correlate_lags(_reverse(recursion(a, _reverse(bar))), v, a),
    ),
    lambda _v, a, _x: Linear(
        lambda dot: recursion(a, dot), lambda bar: _reverse(recursion(a, _reverse(bar)))
    ),
    value=lambda a, x: _apply_filter(np.ones(1, x.dtype), a, x),
    numpy=(),
    text="recursion({0}, {1})",
    latex="{0}^{{-1}} * {1}",
    arrays=True,
    reason="from a * v = x follows a * dv = dx - da * v; the transpose runs from the end",
)
