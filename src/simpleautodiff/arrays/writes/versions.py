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

    Every write makes a new node, so what was computed from the old one stays correct. `writes` are
    the pending writes, by cell. A view has no value of its own, but reads another array, as
    `as_view` says. `first` is the node before the first write, if there was one. `layout` is an
    array with the memory layout of NumPy's result, once that is known; `form` is the shape and
    dtype, which never change.
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
        """The class that `isinstance` sees outside this library: an array's."""
        return engine.class_of(self, sys._getframe(1))


def as_made(result: Any, args: tuple[Any, ...] = ()) -> Any:
    """Return a new array as a writable one, if new arrays are to be and it is not a view."""
    if type(result) is not np.ndarray or not MAKING.get():
        return result
    new = result.flags.writeable and result.dtype.kind in "fc"
    if not new or any(isinstance(x, np.ndarray) and np.may_share_memory(result, x) for x in args):
        return result
    return Writable(result)
