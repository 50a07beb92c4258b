"""Writable arrays from NumPy's functions that make arrays: copies, `np.zeros_like`, `np.zeros`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, PLAIN_FUNCTIONS, implements
from simpleautodiff.arrays.shaping import lay_out, layout_of
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.writable import snapshot
from simpleautodiff.core.level import to_plain
from simpleautodiff.values.functions import is_array


@implements(np.copy)
def copy(a: Any, order: str = "K") -> Writable:
    """Return a writable copy."""
    return Writable(snapshot(lay_out(a, order)))


def make_like(function: Any) -> Callable[..., Any]:
    """Implement zeros_like and its relatives: all but arrays of integers are writable."""

    def implementation(a: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        made = function(outline_of(a), *args, dtype=dtype, **kwargs)
        return Writable(made) if made.dtype.kind in "fc" else made

    return implementation


def outline_of(a: Any) -> Any:
    """Return a plain array of the shape, dtype and memory layout of `a`."""
    if not is_array(to_plain(a)):
        return to_plain(a)
    layout = layout_of(a)
    return np.empty_like(np.empty(np.shape(a)) if layout is None else layout, to_plain(a).dtype)


_LIKE_FUNCTIONS: tuple[Any, ...] = (np.zeros_like, np.ones_like, np.full_like, np.empty_like)
FUNCTIONS.update({function: make_like(function) for function in _LIKE_FUNCTIONS})
FUNCTIONS[np.empty_like] = make_like(np.zeros_like)  # so that unwritten elements do not vary
PLAIN_FUNCTIONS.difference_update(_LIKE_FUNCTIONS)


def _make_new(function: Any) -> Callable[..., Writable]:
    """Implement np.zeros(shape, like=x) and its relatives by returning a writable array."""

    def implementation(*args: Any, dtype: Any = None, **kwargs: Any) -> Writable:
        return Writable(function(*args, dtype=dtype, **kwargs))

    return implementation


NEW_ARRAY_FUNCTIONS: tuple[Any, ...] = (np.zeros, np.ones, np.empty, np.eye, np.identity)
FUNCTIONS.update({function: _make_new(function) for function in NEW_ARRAY_FUNCTIONS})
FUNCTIONS[np.empty] = _make_new(np.zeros)
