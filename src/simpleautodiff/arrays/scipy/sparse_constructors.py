"""The constructors of SciPy's sparse matrices: for nodes, and for matrices filled with nodes."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, as_array
from simpleautodiff.arrays.scipy.sparse_nodes import SparseNode, has_node, make_sparse
from simpleautodiff.arrays.writes.versions import MAKING
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.array.sparse_products import Pattern
from simpleautodiff.values.functions import optional


class SparseList(SparseNode):
    """A sparse matrix that is filled element by element, as `lil_matrix` and `dok_matrix` are."""

    def __init__(self, shape: Any, kind: str) -> None:
        self.size = int(shape[0]), int(shape[1])
        self.kind = kind  # "array" or "matrix"
        self.elements: dict[tuple[int, int], Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return self.size

    @property
    def data(self) -> Any:
        """The elements, row by row."""
        values = [self.elements[place] for place in sorted(self.elements)]
        return FUNCTIONS[np.array](values) if values else np.zeros(0)

    @property
    def pattern(self) -> Pattern:  # type: ignore[override]
        """The indices of the elements."""
        places = np.array(sorted(self.elements), np.intp).reshape(-1, 2)
        starts = np.searchsorted(places[:, 0], np.arange(self.shape[0] + 1))
        return Pattern("csr", places[:, 1], starts, self.shape)

    def __setitem__(self, index: Any, value: Any) -> None:
        rows, columns = self._find_places(index)
        value = value.toarray() if hasattr(type(value), "tocsr") else take_current(value)
        if shape_of(value):
            values = list(np.broadcast_to(as_array(value), rows.shape).ravel())
        else:
            values = [value] * rows.size
        places = zip(rows.ravel().tolist(), columns.ravel().tolist(), strict=True)
        self.elements.update(zip(places, values, strict=True))

    def __getitem__(self, index: Any) -> Any:
        rows, columns = self._find_places(index)
        if rows.ndim:
            return super().__getitem__(index)
        return self.elements.get((int(rows), int(columns)), 0.0)

    def tocsr(self) -> Any:
        """Return what a sparse matrix of nodes is; if all elements are plain, SciPy's matrix."""
        if any(isinstance(element, Traced) for element in self.elements.values()):
            return SparseNode(self.data, self.pattern)
        make = getattr(optional("scipy.sparse", "a sparse matrix"), f"csr_{self.kind}")
        return make(self.pattern.matrix(self.data))

    tocsc = tocoo = tobsr = todia = tocsr

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the elements of a diagonal."""
        rows = np.arange(max(0, -k), min(self.shape[0], self.shape[1] - k))
        values = take_current(values)
        self[rows, rows + k] = values[: len(rows)] if shape_of(values) else values

    def _find_places(self, index: Any) -> Any:
        """Return arrays of the rows and columns at an index."""
        parts = index if isinstance(index, tuple) else (index, slice(None))
        rows, columns = (np.arange(n)[part] for n, part in zip(self.shape, parts, strict=True))
        if any(isinstance(part, slice) for part in parts):
            rows = np.reshape(rows, (-1, 1)) if np.ndim(rows) < 2 else rows
        return np.broadcast_arrays(rows, columns)


def patch_constructors() -> None:
    """Make the constructors of SciPy's sparse matrices return a `SparseNode` for nodes."""
    module = optional("scipy.sparse", "a sparse matrix")
    for format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for kind in ("array", "matrix"):
            _patch_new(getattr(module, f"{format}_{kind}"), format)


def _patch_new(owner: Any, format: str) -> None:
    original = owner.__new__

    @functools.wraps(original)
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if args and _holds_node(args[0]):
            return make_sparse(format, *args, **kwargs)
        if MAKING.get() and format in ("lil", "dok") and _is_users_shape(args):
            return SparseList(args[0], owner.__name__.partition("_")[2])
        if original is object.__new__:
            return object.__new__(cls)
        return original(cls, *args, **kwargs)

    owner.__new__ = staticmethod(new)


def _holds_node(given: Any) -> bool:
    if isinstance(given, SparseNode):
        return True
    elements = given[0] if isinstance(given, tuple) and given else given
    return has_node([elements if isinstance(elements, list) else take_current(elements)])


def _is_users_shape(args: tuple[Any, ...]) -> bool:
    """Tell whether code of the user makes an empty matrix of a given shape."""
    shape = args[0] if args else ()
    sizes = shape if isinstance(shape, tuple) and len(shape) == 2 else (None,)
    if not all(isinstance(size, int | np.integer) for size in sizes):
        return False
    frame: Any = sys._getframe(2)
    while _package_of(frame) == "simpleautodiff":  # another copy has patched the class, too
        frame = frame.f_back
    return _package_of(frame) != "scipy"


def _package_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
