"""Sparse matrices whose elements are nodes: products, linear systems, sums, and conversions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, as_array
from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.errors import ArgumentError, LostDerivativeError, RuleError, cite_line
from simpleautodiff.rules.array import sparse_products as sparse
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import reshape, shape_of


class SparseNode:
    """A sparse matrix with differentiated elements; SciPy's constructors return it for nodes.

    It has products `A @ x`, `x @ A`, `A @ B`, `k * A`, `A + B`, the transpose, parts `A[i, j]`, and
    SciPy's `multiply()`, `toarray()`, `diagonal()` and `sum()`; `scipy.sparse.kron` and
    `scipy.sparse.linalg.spsolve` take it. Everything else is refused.
    """

    __array_ufunc__ = None  # makes NumPy's arrays call its operators
    ndim = 2

    def __init__(self, data: Any, pattern: sparse.Pattern) -> None:
        self.data, self.pattern = data, pattern

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return self.pattern.shape

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return len(self.pattern.indices)

    @property
    def T(self) -> SparseNode:
        """The transpose."""
        return SparseNode(self.data, self.pattern.transposed)

    def transpose(self) -> SparseNode:
        """Return the transpose."""
        return self.T

    def __repr__(self) -> str:
        return f"SparseNode of shape {self.shape} with {self.nnz} stored elements"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LostDerivativeError(
            f"{name} of a sparse matrix with differentiated elements has no derivative rule; use "
            f"A @ x, spsolve(A, b), k * A, A + B, A.T, A[i, j] or A.toarray(){cite_line()}"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be an array of objects."""
        return self.__getattr__("an array")

    def __getitem__(self, index: Any) -> Any:
        places = self.pattern.matrix(np.arange(1, self.nnz + 1))[index]  # 0: is not stored
        if np.ndim(places) == 0:
            return getitem(self.data, int(places) - 1) if places else 0.0
        if places.ndim != 2:
            raise RuleError(
                "one row or column of a sparse matrix with differentiated elements is taken by "
                f"A[[i], :] or A[:, [j]], elements at lists of indices by A.toarray(){cite_line()}"
            )
        part = places.tocoo()
        return from_indices(getitem(self.data, part.data - 1), part.row, part.col, part.shape)

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, SparseNode) or hasattr(x, "tocsr"):
            return multiply_sparse(self, as_sparse_node(x))
        x = as_array(x)
        if len(shape_of(x)) not in (1, 2) or shape_of(x)[0] != self.shape[1]:
            raise ArgumentError(
                f"a sparse matrix of shape {self.shape} cannot be multiplied with an array of "
                f"shape {shape_of(x)}{cite_line()}"
            )
        return sparse.sparse_matmul(self.data, x, self.pattern)

    dot = __matmul__

    def __rmatmul__(self, x: Any) -> Any:
        x = as_array(x)
        return self.T @ x if len(shape_of(x)) < 2 else swap(self.T @ swap(x))

    def __mul__(self, factor: Any) -> SparseNode:
        if shape_of(factor):
            raise RuleError(
                "a sparse matrix with differentiated elements is multiplied by single numbers; "
                f"its product with an array is A @ x{cite_line()}"
            )
        return SparseNode(self.data * factor, self.pattern)

    __rmul__ = __mul__

    def multiply(self, x: Any) -> SparseNode:
        """Multiply by a number, or element by element by an array, which is broadcast."""
        if isinstance(x, SparseNode) or hasattr(x, "tocsr"):
            x = as_sparse_node(x).toarray()
        dense = np.broadcast_to(as_array(x), self.shape)
        return SparseNode(self.data * getitem(dense, self.pattern.places), self.pattern)

    def __truediv__(self, divisor: Any) -> SparseNode:
        return SparseNode(self.data / divisor, self.pattern)

    def __neg__(self) -> SparseNode:
        return self * -1

    def __add__(self, other: Any) -> Any:
        if shape_of(other) == self.shape and not hasattr(type(other), "tocsr"):
            return self.toarray() + other  # dense, as SciPy's is
        if not isinstance(other, SparseNode):
            if not hasattr(other, "tocsr"):
                return NotImplemented
            other = as_sparse_node(other)
        if other.shape != self.shape:
            raise ArgumentError(f"matrices of shapes {self.shape}, {other.shape} are added")
        rows, columns = np.concatenate([self.pattern.places, other.pattern.places], 1)
        return from_indices(concatenate([self.data, other.data]), rows, columns, self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def tocsr(self) -> SparseNode:
        """Return itself: the format makes no difference here."""
        return self

    tocsc = tocoo = tolil = todia = todok = tobsr = copy = tocsr

    def asformat(self, format: Any, copy: bool = False) -> SparseNode:
        """Return itself: the format makes no difference here."""
        return self

    def toarray(self) -> Any:
        """Return the dense array."""
        flat = np.bincount(self._places_in_array(), self.data, int(np.prod(self.shape)))
        return reshape(flat, self.shape)

    todense = toarray

    def diagonal(self) -> Any:
        """Return the diagonal."""
        return np.diagonal(self.toarray())

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        rows, columns = self.pattern.places
        return np.sum(getitem(self.data, np.flatnonzero(columns - rows == offset)))

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all elements, or those of the columns or rows."""
        if axis is None:
            return np.sum(self.data)
        along = self if axis in (1, -1) else self.T
        return along @ np.ones(along.shape[1])

    def _places_in_array(self) -> Any:
        rows, columns = self.pattern.places
        return rows * self.shape[1] + columns


def as_sparse_node(matrix: Any) -> SparseNode:
    """Return a sparse matrix of SciPy as one whose elements may be nodes."""
    if isinstance(matrix, SparseNode):
        return matrix
    return SparseNode(*sparse.split_sparse(matrix))


def multiply_sparse(a: SparseNode, b: SparseNode) -> SparseNode:
    """Return the product of two sparse matrices: each element of a times the row of b it meets."""
    if a.shape[1] != b.shape[0]:
        raise ArgumentError(
            f"a sparse matrix of shape {a.shape} cannot be multiplied with one of shape {b.shape}"
            f"{cite_line()}"
        )
    (rows, meets), (b_rows, b_columns) = a.pattern.places, b.pattern.places
    order = np.argsort(b_rows, kind="stable")
    starts = np.searchsorted(b_rows[order], np.arange(b.shape[0] + 1))
    counts = np.diff(starts)[meets]
    left = np.repeat(np.arange(a.nnz), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[starts[meets[left]] + within]
    products = getitem(a.data, left) * getitem(b.data, right)
    return from_indices(products, rows[left], b_columns[right], (a.shape[0], b.shape[1]))


def multiply_by_kronecker(A: Any, B: Any, format: Any = None) -> SparseNode:
    """Return the Kronecker product of two sparse matrices, as `scipy.sparse.kron` does."""
    a, b = as_sparse_node(A), as_sparse_node(B)
    rows, columns = (
        (one[:, None] * size + other).ravel()
        for one, other, size in zip(a.pattern.places, b.pattern.places, b.shape, strict=True)
    )
    products = reshape(a.data, (-1, 1)) * reshape(b.data, (1, -1))
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return from_indices(reshape(products, (-1,)), rows, columns, shape)


def from_indices(data: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> SparseNode:
    """Return the matrix with elements at given indices; elements with equal indices are added."""
    rows, columns = np.asarray(rows, np.intp), np.asarray(columns, np.intp)
    keys, which = np.unique(rows * shape[1] + columns, return_inverse=True)
    starts = np.searchsorted(keys // shape[1], np.arange(shape[0] + 1))
    added = np.bincount(which, data, len(keys)) if len(keys) < len(rows) else None
    ordered = getitem(data, np.argsort(which)) if added is None else added
    return SparseNode(ordered, sparse.Pattern("csr", keys % shape[1], starts, shape))


def make_sparse(format: str, given: Any, shape: Any = None, **options: Any) -> SparseNode:
    """Return the matrix for a constructor's arguments: (data, (rows, columns)) or CSR's three."""
    given = _join_lists(given)
    parts = given if isinstance(given, tuple) else ()
    if len(parts) == 3 and format in ("csr", "csc"):
        data, indices, starts = parts
        indices, starts = np.asarray(indices), np.asarray(starts)
        if shape is None:
            across = int(indices.max(initial=-1)) + 1
            shape = (len(starts) - 1, across)[:: 1 if format == "csr" else -1]
        pattern = sparse.Pattern(format, indices, starts, tuple(shape))
        return from_indices(as_array(data), *pattern.places, pattern.shape)
    if len(parts) == 2 and format == "dia" and shape is not None:
        return make_bands(*parts, *shape)
    if len(parts) == 2 and np.ndim(parts[1]) == 2:
        rows, columns = (np.asarray(place) for place in parts[1])
        if shape is None:
            shape = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
        return from_indices(as_array(parts[0]), rows, columns, tuple(shape))
    if isinstance(given, SparseNode):
        return given
    if isinstance(given, Traced) and len(shape_of(given)) == 2:
        m, n = shape_of(given)
        rows, columns = np.indices((m, n)).reshape(2, -1)  # a 0 may have a derivative
        return from_indices(reshape(given, (-1,)), rows, columns, (m, n))
    raise RuleError(
        "a sparse matrix of nodes is made by csr_array((data, (rows, columns)), shape=...) or by "
        f"diags_array(diagonals, offsets=...){cite_line()}"
    )


def _join_lists(given: Any) -> Any:
    """Return what a constructor was given, with a list of elements as an array."""
    if isinstance(given, tuple):
        return (_join_lists(given[0]), *given[1:])
    return FUNCTIONS[np.array](given) if isinstance(given, list) else take_current(given)


def make_diagonals(
    diagonals: Any, offsets: Any = 0, shape: Any = None, **options: Any
) -> SparseNode:
    """Return the matrix with given diagonals, as `scipy.sparse.diags` does."""
    several = np.ndim(offsets) > 0
    places = list(np.atleast_1d(offsets))
    lines = list(map(as_array, diagonals if several or _is_list(diagonals) else [diagonals]))
    if shape is None:
        size = shape_of(lines[0])[0] + abs(int(places[0]))
        shape = size, size
    rows, columns, data = [], [], []
    for offset, line in zip(places, lines, strict=True):
        first = np.array([max(0, -offset), max(0, offset)])
        length = int(min(np.array(shape) - first))
        line = np.broadcast_to(line, (length,)) if shape_of(line) in ((), (1,)) else line
        if shape_of(line)[0] != length:
            raise ArgumentError(
                f"the diagonal {offset} of a matrix of shape {shape} has {length} elements, not "
                f"{shape_of(line)[0]}{cite_line()}"
            )
        rows.append(first[0] + np.arange(length))
        columns.append(first[1] + np.arange(length))
        data.append(line)
    return from_indices(
        concatenate(data), np.concatenate(rows), np.concatenate(columns), tuple(shape)
    )


def make_bands(
    data: Any, diags: Any, m: Any = None, n: int | None = None, format: Any = None
) -> SparseNode:
    """Return the matrix whose diagonals are rows of an array, as `scipy.sparse.spdiags` does.

    Each row has an element for every column of the matrix, whether its diagonal reaches it or not.
    """
    data, offsets = as_array(data), np.atleast_1d(diags)
    data = reshape(data, (1, -1)) if len(shape_of(data)) < 2 else data
    if m is None:
        m = n = shape_of(data)[1]
    shape = tuple(m) if n is None else (m, n)
    lines, columns = np.indices(shape_of(data))
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    elements = getitem(data, (lines[inside], columns[inside]))
    return from_indices(elements, rows[inside], columns[inside], shape)


def _is_list(diagonals: Any) -> bool:
    return isinstance(diagonals, (list, tuple)) and len(np.shape(diagonals[0])) > 0


_PLAIN = {float, int, str, type(None), np.ndarray, np.float64}  # most are


def has_node(values: Iterable[Any]) -> bool:
    """Tell whether there is a node among values, or in a list, tuple or deque among them."""
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if issubclass(kind, (Traced, Written, SparseNode)):
            return True
        if issubclass(kind, (list, tuple, deque)) and has_node(value):
            return True
    return False
