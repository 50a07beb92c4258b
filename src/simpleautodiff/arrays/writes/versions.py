"""`Writable`: an array that is written to, as a sequence of versions."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Written

MAKING = ContextVar("MAKING", default=False)  # whether new arrays are writable ones; `made_arrays`


class Writable(Written):
    """An array that is written to.

    Every write makes a new node, so what was computed from the old one stays right. `writes` are
    the pending writes, by cell. A view has no value of its own, but reads another array: `as_view`
    says how. `first` is the node that it was before the first write, if it was one. `layout` is an
    array with the memory layout of NumPy's own, once that is known; `form` is the shape and dtype,
    which stay the same.
    """

    __slots__ = ("as_view", "first", "form", "layout", "value", "writes")

    def __init__(self, value: Any, as_view: Any = None) -> None:
        self.value = value
        self.as_view = as_view
        self.first: Any = None
        self.layout: Any = None
        self.form: Any = None
        self.writes: dict[tuple[int, ...], Any] = {}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told outside this library: that it is an array."""
        return engine.class_of(self, sys._getframe(1))


def as_made(result: Any, args: tuple[Any, ...] = ()) -> Any:
    """Return a new array as a writable one, if they are to be, unless it is a view of another."""
    if type(result) is not np.ndarray or not MAKING.get():
        return result
    new = result.flags.writeable and result.dtype.kind in "fc"
    if not new or any(isinstance(x, np.ndarray) and np.may_share_memory(result, x) for x in args):
        return result
    return Writable(result)
