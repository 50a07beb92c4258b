"""`Writable`: an array that is written to, as a sequence of versions."""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.level import Written


class Writable(Written):
    """An array that is written to.

    Every write makes a new node, so what was computed from the old one stays right. `writes` are
    the pending writes, by cell. A view has no value of its own, but reads another array: `as_view`
    says how. `first` is the node that it was before the first write, if it was one. `layout` is an
    array with the memory layout of NumPy's own, once that is known.
    """

    __slots__ = ("as_view", "first", "layout", "value", "writes")

    def __init__(self, value: Any, as_view: Any = None) -> None:
        self.value = value
        self.as_view = as_view
        self.first: Any = None
        self.layout: Any = None
        self.writes: dict[tuple[int, ...], Any] = {}
