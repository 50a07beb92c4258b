"""Rows: the convolution of arrays of any rank, with all elements that overlap."""

from __future__ import annotations

from typing import Any

from simpleautodiff.linear import ZERO, LinearRule
from simpleautodiff.number import optional
from simpleautodiff.rules.indexing import getitem
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.shapes import shape_of


def backwards(x: Any) -> Any:
    """Turn all axes around."""
    return getitem(x, (slice(None, None, -1),) * len(shape_of(x)))


def _back(bar: Any, other: Any, like: Any, method: str) -> Any:
    """Correlate an adjoint with the other factor, as far as they overlap fully."""
    pairs = zip(shape_of(other), shape_of(like), strict=True)
    inner = tuple(slice(m - 1, m - 1 + n) for m, n in pairs)
    return getitem(convolve_all(bar, backwards(other), method), inner)


def _convolve(a: Any, b: Any, method: str) -> Any:
    return optional("scipy.signal", "a convolution").convolve(a, b, "full", method)


convolve_all: Wrapping = row(
    "convolve_all",
    LinearRule(
        lambda dot, _a, b, method: convolve_all(dot, b, method),
        lambda bar, _a, b, method: _back(bar, b, _a, method),
    ),
    LinearRule(
        lambda dot, a, _b, method: convolve_all(a, dot, method),
        lambda bar, a, _b, method: _back(bar, a, _b, method),
    ),
    ZERO,
    value=_convolve,
    numpy=(),
    text="convolve({0}, {1}, {2})",
    latex="{0} * {1}",
    arrays=True,
    reason="every element of one meets every element of the other; back it is the correlation",
    settings=(2,),
)
