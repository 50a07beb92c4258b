"""SciPy's sparse matrices times nodes, sparse linear systems, and banded linear systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD, PLAINLY, SCIPY
from simpleautodiff.arrays.registry import as_array, implements_scipy, is_batch
from simpleautodiff.arrays.scipy.sparse_nodes import (
    SparseNode,
    as_sparse_node,
    from_indices,
    make_bands,
    make_diagonals,
    multiply_by_kronecker,
)
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array import sparse_products as sparse
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.functions import optional

_SPARSE_CLASSES = [
    f"sparse.{format}_{kind}"
    for format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
]


def is_sparse(x: Any) -> bool:
    """Tell whether x is a sparse matrix of SciPy, without importing SciPy."""
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocsr")


def multiply(matrix: Any, x: Any) -> Any:
    """Multiply a sparse matrix by a vector or a matrix."""
    if isinstance(x, SparseNode):
        return as_sparse_node(matrix) @ x
    if not shape_of(x):
        return scale(matrix, x)
    data, pattern = _constants(matrix)
    if len(shape_of(x)) > 2 or shape_of(x)[0] != matrix.shape[1]:
        raise ArgumentError(
            f"a sparse matrix of shape {matrix.shape} cannot be multiplied with an array of shape "
            f"{shape_of(x)}{cite_line()}"
        )
    return sparse.sparse_matmul(data, x, pattern)


def multiply_from_left(x: Any, matrix: Any) -> Any:
    """Multiply a vector, or a matrix, by a sparse matrix."""
    if len(shape_of(x)) < 2:
        return multiply(matrix.T, x)
    return swap(multiply(matrix.T, swap(x)))


def scale(matrix: Any, x: Any) -> Any:
    """Multiply a sparse matrix by a number, or element by element by an array."""
    _constants(matrix)
    return as_sparse_node(matrix).multiply(x)


def multiply_reflected(matrix: Any, x: Any) -> Any:
    """Return x * A of a matrix class: the product with a vector, a multiple by a number."""
    return multiply_from_left(x, matrix) if shape_of(x) else scale(matrix, x)


def _constants(matrix: Any) -> Any:
    """Return the elements of a sparse matrix and their indices."""
    if not is_sparse(matrix) or matrix.ndim != 2 or matrix.dtype.kind not in "biufc":
        raise RuleError(
            "only a sparse matrix of SciPy, of two dimensions and of plain numbers, has a "
            f"derivative rule{cite_line()}"
        )
    return sparse.split_sparse(matrix)


for _name in _SPARSE_CLASSES:
    SCIPY[f"{_name}.__matmul__"] = SCIPY[f"{_name}.dot"] = multiply
    SCIPY[f"{_name}.__rmatmul__"] = lambda matrix, x: multiply_from_left(x, matrix)
    SCIPY[f"{_name}.multiply"] = scale
    _is_matrix = _name.endswith("matrix")
    SCIPY[f"{_name}.__mul__"] = multiply if _is_matrix else scale
    SCIPY[f"{_name}.__rmul__"] = multiply_reflected if _is_matrix else scale


@implements_scipy("sparse.linalg.spsolve")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solve a sparse system."""
    data, pattern = (A.data, A.pattern) if isinstance(A, SparseNode) else _constants(A)
    solution = sparse.sparse_solve(data, b, pattern)
    return solution if len(shape_of(b)) < 2 or shape_of(b)[1] > 1 else reshape(solution, (-1,))


class FactoredMatrix:
    """What `splu` returns for a matrix of nodes: it solves systems with that matrix."""

    def __init__(self, A: Any, *options: Any, **named: Any) -> None:
        self.matrix = as_sparse_node(A)
        data = to_plain(self.matrix.data)
        if not is_batch(data):  # SciPy refuses singular matrices, and options
            splu = optional("scipy.sparse.linalg", "a factored matrix").splu
            splu(self.matrix.pattern.matrix(data).tocsc(), *options, **named)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return self.matrix.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve a system with the matrix, or with its transpose."""
        return _solve_factored(self.matrix.data, rhs, self.matrix.pattern, trans)


def _solve_factored(data: Any, rhs: Any, pattern: sparse.Pattern, trans: str) -> Any:
    """Solve a system with a sparse matrix, or with its transpose."""
    if trans not in ("N", "T", "H") or (trans == "H" and dtype_of(data).kind == "c"):
        raise RuleError(
            f"solve of splu takes trans 'N' or 'T', and 'H' for real matrices, not {trans!r}"
            f"{cite_line()}"
        )
    return sparse.sparse_solve(data, as_array(rhs), pattern if trans == "N" else pattern.transposed)


SCIPY["sparse.linalg.splu"] = FactoredMatrix
SCIPY["sparse.linalg.factorized"] = lambda A: FactoredMatrix(A).solve


class PlainFactors:
    """SciPy's factors of a plain matrix, which solve systems of nodes, too."""

    def __init__(self, superlu: Any, A: Any) -> None:
        self._superlu = superlu
        if getattr(A, "format", "") not in ("csc", "csr"):
            A = optional("scipy.sparse", "a factored matrix").csc_array(A)
        data, pattern = sparse.split_sparse(A)
        self._system = (
            data.copy(),  # the user may write to the matrix
            pattern._replace(
                indices=pattern.indices.copy(),
                indptr=pattern.indptr.copy(),
                factors=sparse.Factors(superlu),
            ),
        )

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._superlu.__class__  # perhaps of a second copy of this package

    def __getattr__(self, name: str) -> Any:
        return getattr(self._superlu, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._superlu.__reduce_ex__(protocol)  # which refuses

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve a system with the matrix, or with its transpose."""
        rhs = take_current(rhs)
        if not isinstance(rhs, Traced):
            return self._superlu.solve(rhs, trans)
        data, pattern = self._system
        return _solve_factored(data, rhs, pattern, trans)


def _factor_plainly(splu: Any, A: Any, *args: Any, **kwargs: Any) -> Any:
    factors = splu(A, *args, **kwargs)
    return PlainFactors(factors, A) if _is_superlu(factors) else factors


def _factorize_plainly(factorized: Any, A: Any) -> Any:
    solve = factorized(A)
    factors = getattr(solve, "__self__", None)  # unless another package solves, UMFPACK
    return PlainFactors(factors, A).solve if _is_superlu(factors) else solve


def _is_superlu(factors: Any) -> bool:
    """Tell whether factors are SciPy's, and not those of nodes of another copy of this package."""
    return isinstance(factors, optional("scipy.sparse.linalg", "a factored matrix").SuperLU)


PLAINLY["sparse.linalg.splu"] = _factor_plainly
PLAINLY["sparse.linalg.factorized"] = _factorize_plainly


# Matrices in blocks. ------------------------------------------------------------------------------


def _join_blocks(blocks: Any, format: Any = None, dtype: Any = None) -> SparseNode:
    """Return the matrix that consists of rows of blocks, `None` for zeros."""
    table = [[None if block is None else _as_block(block) for block in row] for row in blocks]
    columns = list(zip(*table, strict=True))
    heights = [_common_size(row, 0, f"row {i}") for i, row in enumerate(table)]
    widths = [_common_size(column, 1, f"column {j}") for j, column in enumerate(columns)]
    top, left = (np.cumsum([0, *sizes]) for sizes in (heights, widths))
    placed = [
        (block.data, *(first + place for first, place in zip((y, x), block.places, strict=True)))
        for y, row in zip(top, table, strict=False)
        for x, block in zip(left, row, strict=False)
        if block is not None
    ]
    data, rows, columns_of_data = zip(*placed, strict=True)
    shape = int(top[-1]), int(left[-1])
    return from_indices(
        concatenate(data), np.concatenate(rows), np.concatenate(columns_of_data), shape
    )


class _Block(NamedTuple):
    data: Any
    places: tuple[Any, Any]
    shape: tuple[int, int]


def _as_block(block: Any) -> _Block:
    if hasattr(block, "tocsr"):
        matrix = as_sparse_node(block)
        return _Block(matrix.data, matrix.pattern.places, matrix.shape)
    dense = as_array(block)
    m, n = shape_of(dense)
    rows, columns = np.indices((m, n)).reshape(2, -1)
    return _Block(reshape(dense, (-1,)), (rows, columns), (m, n))


def _common_size(blocks: Any, axis: int, which: str) -> int:
    sizes = {block.shape[axis] for block in blocks if block is not None}
    if len(sizes) != 1:
        raise ArgumentError(
            f"{which} of the blocks has the sizes {sorted(sizes)}; they must have one{cite_line()}"
        )
    return int(sizes.pop())


def _join_diagonal(mats: Any, format: Any = None, dtype: Any = None) -> SparseNode:
    """Return the matrix with given blocks on its diagonal."""
    places = range(len(mats))
    return _join_blocks([[mats[i] if i == j else None for j in places] for i in places])


for _name in ("bmat", "block_array"):
    SCIPY[f"sparse.{_name}"] = _join_blocks
SCIPY["sparse.vstack"] = lambda blocks, *options, **named: _join_blocks([[b] for b in blocks])
SCIPY["sparse.hstack"] = lambda blocks, *options, **named: _join_blocks([list(blocks)])
SCIPY["sparse.block_diag"] = _join_diagonal
INSTEAD.update(
    dict.fromkeys(
        [
            f"sparse.linalg.{name}"
            for name in ("bicg", "bicgstab", "cg", "gmres", "lgmres", "minres")
        ],
        "write scipy.sparse.linalg.spsolve(A, b)",
    )
)
for _name in ("diags", "diags_array"):
    SCIPY[f"sparse.{_name}"] = make_diagonals
SCIPY["sparse.spdiags"] = make_bands
SCIPY["sparse.kron"] = multiply_by_kronecker
INSTEAD.update(
    dict.fromkeys(
        [f"sparse.{name}.__setitem__" for name in ("IndexMixin", "_lil_base")],
        "collect the elements and their indices in lists, and write "
        "coo_array((elements, (rows, columns)), shape=...).tocsr()",
    )
)


# Banded matrices. ---------------------------------------------------------------------------------


def _float(x: Any) -> Any:
    x = as_array(x)
    return x if dtype_of(x).kind in "fc" else np.asarray(x, float)


@implements_scipy("linalg.solve_banded")
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system with a banded matrix, given by its diagonals."""
    lower, upper = (int(n) for n in l_and_u)
    if shape_of(ab)[0] != lower + upper + 1:
        raise ArgumentError(
            f"scipy.linalg.solve_banded: {lower} diagonals below and {upper} above need "
            f"{lower + upper + 1} rows of ab, not {shape_of(ab)[0]}{cite_line()}"
        )
    return sparse.solve_band(_float(ab), _float(b), lower, upper)


@implements_scipy("linalg.solveh_banded")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system with a symmetric banded matrix, given by half of its diagonals."""
    ab, n = _float(ab), shape_of(ab)[0] - 1
    below = ab if lower else sparse.transpose_band(ab, 0, n)
    above = getitem(sparse.transpose_band(below, n, 0), slice(0, n))
    return sparse.solve_band(concatenate([above, below], 0), _float(b), n, n)
