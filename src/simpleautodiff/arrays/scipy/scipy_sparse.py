"""SciPy's sparse matrices times nodes, sparse linear systems, and banded linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD, SCIPY
from simpleautodiff.arrays.registry import as_array, implements_scipy
from simpleautodiff.arrays.scipy.sparse_nodes import (
    SparseNode,
    as_sparse_node,
    make_diagonals,
    multiply_by_kronecker,
)
from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array import sparse_products as sparse
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import reshape, shape_of

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
    SCIPY[f"{_name}.__mul__"] = multiply if _name.endswith("matrix") else scale


@implements_scipy("sparse.linalg.spsolve")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solve a sparse system."""
    data, pattern = (A.data, A.pattern) if isinstance(A, SparseNode) else _constants(A)
    solution = sparse.sparse_solve(data, b, pattern)
    return solution if len(shape_of(b)) < 2 or shape_of(b)[1] > 1 else reshape(solution, (-1,))


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
