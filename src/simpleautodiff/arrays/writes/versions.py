"""`Writable`: an array that is written to, as a sequence of nodes."""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.level import Written


class Writable(Written):
    """An array that is written to.

    Every write makes a new node, so what was computed from the old one stays right. `writes` are
    those still to be carried out, by cell; a view has no value of its own, but one it is `seen` in.
    `first` is the node that it was before the first write, if it was one. `lies` is an array that
    lies in memory as NumPy's own would, once that is known.
    """

    __slots__ = ("first", "lies", "seen", "value", "writes")

    def __init__(self, value: Any, seen: Any = None) -> None:
        self.value = value
        self.seen = seen
        self.first: Any = None
        self.lies: Any = None
        self.writes: dict[tuple[int, ...], Any] = {}
