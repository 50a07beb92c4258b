"""How a writable array views another: what it reads of it, and how it writes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.rules.array.indexing import getitem, set_item

Cell = tuple[int, ...]


class ArrayView:
    """How an array views another: a function that reads it, and one that writes back."""

    __slots__ = ("base", "read", "shape", "write")
    cell: Cell | None = None
    index: Any = None  # its basic index into the other array, if it has one

    def __init__(
        self,
        base: Writable,
        shape: tuple[int, ...],
        read: Callable[[Any], Any],
        write: Callable[[Any, Any], Any],
    ) -> None:
        self.base = base
        self.shape = shape
        self.read = read
        self.write = write


class IndexedView:
    """How an array views the elements of another at a basic index.

    The shape of a slice is found when it is needed: most slices are read once, and forgotten.
    """

    __slots__ = ("base", "cell", "index", "shape")

    def __init__(
        self,
        base: Writable,
        index: Any,
        cell: Cell | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.base = base
        self.index = index
        self.cell = cell
        self.shape = shape

    def read(self, base: Any) -> Any:
        """Return the elements of the other array."""
        return getitem(base, self.index)

    def write(self, base: Any, new: Any) -> Any:
        """Return the other array with new elements."""
        return set_item(base, new, self.index)
