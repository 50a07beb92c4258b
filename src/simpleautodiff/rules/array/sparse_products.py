"""Rows: products and systems with sparse and with banded matrices.

A sparse matrix is an array of its stored elements, and their pattern. A banded matrix is stored as
SciPy's `solve_banded` takes it: element (i, j) is element (upper + i - j, j) of the array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear, LinearRule
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.matrix_functions import scipy_linalg
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over, transpose
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import optional

# Sparse matrices. ---------------------------------------------------------------------------------


class Factors(NamedTuple):
    """The factors that SciPy's `splu` has found of a matrix that stays the same."""

    superlu: Any
    trans: str = "N"

    @property
    def transposed(self) -> Factors:
        """The factors of the transpose."""
        return Factors(self.superlu, "N" if self.trans == "T" else "T")

    def __reduce__(self) -> Any:
        return type(None), ()  # they cannot be saved; a system is solved without them, too


class Pattern(NamedTuple):
    """The indices of the stored elements of a sparse matrix, in SciPy's format "csr" or "csc"."""

    format: str
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    factors: Factors | None = None

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transpose, which stores the same elements in the same order."""
        other = "csc" if self.format == "csr" else "csr"
        factors = self.factors and self.factors.transposed
        return Pattern(other, self.indices, self.indptr, self.shape[::-1], factors)

    @property
    def places(self) -> tuple[Any, Any]:
        """The row and column indices of the stored elements."""
        along = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return (along, self.indices) if self.format == "csr" else (self.indices, along)

    def matrix(self, data: Any) -> Any:
        """Return the sparse matrix with the elements `data`."""
        make = getattr(optional("scipy.sparse", "a sparse matrix"), f"{self.format}_array")
        return make((data, self.indices, self.indptr), shape=self.shape)


def split_sparse(matrix: Any) -> tuple[Any, Pattern]:
    """Return the elements and the pattern of a sparse matrix of SciPy."""
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    return matrix.data, Pattern(matrix.format, matrix.indices, matrix.indptr, matrix.shape)


def _map_batch(wrapping: Any, size: int, which: Any, data: Any, x: Any, pattern: Pattern) -> Any:
    """Apply a row to a batch: one matrix to all columns, or each matrix to its own."""
    if which[0]:
        of = [getitem(x, i) if which[1] else x for i in range(size)]
        results = [wrapping(getitem(data, i), each, pattern) for i, each in enumerate(of)]
        return concatenate([reshape(each, (1, *shape_of(each))) for each in results], 0)
    n, rank = pattern.shape[1], len(shape_of(x))
    columns = reshape(transpose(x, (1, 0, 2)[:rank]), (n, -1))
    result = wrapping(data, columns, pattern)
    new = (shape_of(result)[0], size, *shape_of(x)[2:])
    return transpose(reshape(result, new), (1, 0, 2)[:rank])


def _take_products(a: Any, b: Any, pattern: Pattern) -> Any:
    """Return the elements of the matrix a bᵀ at the indices of a pattern."""
    rows, columns = pattern.places
    products = getitem(a, rows) * getitem(b, columns)
    return sum_over(products, (1,), False) if len(shape_of(products)) > 1 else products


def _sparse_row(name: str, value: Any, latex: str, reason: str, by_data: Any) -> Wrapping:
    """Enter a linear map of vectors or columns that a sparse matrix defines."""
    wrapping = row(
        name,
        by_data,
        LinearRule(
            lambda dot, data, _x, pattern: wrapping(data, dot, pattern),
            lambda bar, data, _x, pattern: wrapping(data, bar, pattern.transposed),
        ),
        ZERO,
        value=value,
        numpy=(),
        text=f"{name}({{0}}, {{1}})",
        latex=latex,
        arrays=True,
        reason=reason,
        settings=(2,),
        batch=lambda size, which, data, x, pattern: _map_batch(
            wrapping, size, which, data, x, pattern
        ),
    )
    return wrapping


sparse_matmul: Wrapping = _sparse_row(
    "sparse_matmul",
    lambda data, x, pattern: pattern.matrix(data) @ x,
    "{0} {1}",
    "it is linear in both; reverse mode multiplies by the transpose, and each element by its own",
    LinearRule(
        lambda dot, _data, x, pattern: sparse_matmul(dot, x, pattern),
        lambda bar, _data, x, pattern: _take_products(bar, x, pattern),
    ),
)


def _sparse_solve(data: Any, x: Any, pattern: Pattern) -> Any:
    if pattern.factors is not None:
        return pattern.factors.superlu.solve(x, pattern.factors.trans)
    solve = optional("scipy.sparse.linalg", "a sparse system").spsolve
    matrix = pattern.matrix(data).astype(np.promote_types(data.dtype, np.float64)).tocsc()
    result = solve(matrix, x)
    return np.reshape(result, x.shape).astype(np.result_type(data, x))


def _solve_rule(v: Any, data: Any, _x: Any, pattern: Pattern) -> Linear:
    def push(dot: Any) -> Any:
        return -sparse_solve(data, sparse_matmul(dot, v, pattern), pattern)

    def pull(bar: Any) -> Any:
        return -_take_products(sparse_solve(data, bar, pattern.transposed), v, pattern)

    return Linear(push, pull)


sparse_solve: Wrapping = _sparse_row(
    "sparse_solve",
    _sparse_solve,
    "{0}^{{-1}} {1}",
    "from A v = x follows A dv = dx - dA v; reverse mode solves with the transpose",
    _solve_rule,
)

# Banded matrices. ---------------------------------------------------------------------------------


def _shift(x: Any, by: int) -> Any:
    """Return x[j + by] for every j, along the first axis; 0 outside."""
    n, rest = shape_of(x)[0], shape_of(x)[1:]
    missing = np.zeros((min(abs(by), n), *rest), dtype_of(x))
    if by >= 0:
        return concatenate([getitem(x, slice(by, None)), missing], 0) if by else x
    return concatenate([missing, getitem(x, slice(0, max(n + by, 0)))], 0)


def _stack(arrays: list[Any]) -> Any:
    return concatenate([reshape(x, (1, *shape_of(x))) for x in arrays], 0)


def _stack_shifts(x: Any, lower: int, upper: int) -> Any:
    """Return x[j + r - upper] for each diagonal r and column j; 0 outside."""
    return _stack([_shift(x, by) for by in range(-upper, lower + 1)])


def transpose_band(band: Any, lower: int, upper: int) -> Any:
    """Return the transpose of a banded matrix."""
    diagonals = range(lower + upper, -1, -1)
    return _stack([_shift(getitem(band, r), upper - r) for r in diagonals])


def _multiply_band(band: Any, x: Any, lower: int, upper: int) -> Any:
    """Multiply a banded matrix by a vector or by columns."""
    rest = [1] * (len(shape_of(x)) - 1)
    transposed = transpose_band(band, lower, upper)
    transposed = reshape(transposed, (*shape_of(transposed), *rest))
    return sum_over(transposed * _stack_shifts(x, upper, lower), 0, False)


def _band_pull(bar: Any, v: Any, band: Any, lower: int, upper: int) -> Any:
    back = solve_band(transpose_band(band, lower, upper), bar, upper, lower)
    product = -_stack_shifts(back, lower, upper) * v
    return sum_over(product, -1, False) if len(shape_of(v)) > 1 else product


def _solve_band(band: Any, b: Any, lower: int, upper: int) -> Any:
    result = scipy_linalg("solve_banded")((lower, upper), band, b)
    return result.astype(np.result_type(dtype_of(band), dtype_of(b)))


solve_band: Wrapping = row(
    "solve_band",
    lambda v, band, _b, lower, upper: Linear(
        lambda dot: -solve_band(band, _multiply_band(dot, v, lower, upper), lower, upper),
        lambda bar: _band_pull(bar, v, band, lower, upper),
    ),
    lambda _v, band, _b, lower, upper: Linear(
        lambda dot: solve_band(band, dot, lower, upper),
        lambda bar: solve_band(transpose_band(band, lower, upper), bar, upper, lower),
    ),
    ZERO,
    ZERO,
    value=_solve_band,
    numpy=(),
    text="solve_band({0}, {1}, {2}, {3})",
    latex="{0}^{{-1}} {1}",
    arrays=True,
    reason="from A V = B follows A dV = dB - dA V, where dA has the diagonals of A",
    settings=(2, 3),
)
