"""The factorizations of scipy.linalg on nodes: eigenvalues, singular values, QR, least squares.

Arguments that only save time (`overwrite_a`, ...) are accepted and ignored; the module
`argument_checks` checks the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import factorizations as factors
from simpleautodiff.arrays.registry import implements_scipy
from simpleautodiff.arrays.scipy.scipy_linalg import reject_settings, solve_triangular
from simpleautodiff.core.level import plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import cholesky, flip
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.functions import is_complex

# Eigenvalues. -------------------------------------------------------------------------------------


@implements_scipy("linalg.eigh")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    type: int = 1,
    driver: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues and eigenvectors of a symmetric matrix, or of A v = λ B v."""
    reject_settings("eigh", subset_by_value=(subset_by_value, None), type=(type, 1))
    values, vectors = _pairs(a if lower else flip(a), b if lower or b is None else flip(b))
    first, last = (0, shape_of(a)[-1] - 1) if subset_by_index is None else subset_by_index
    kept = (..., slice(first, last + 1))
    return (
        getitem(values, kept) if eigvals_only else (getitem(values, kept), getitem(vectors, kept))
    )


def _pairs(a: Any, b: Any) -> Any:
    """Return eigenvalues and eigenvectors of A v = λ B v: with B = L Lᴴ, those of L⁻¹ A L⁻ᴴ."""
    if b is None:
        return factors.eigh(a)
    below = np.tri(shape_of(a)[-1], k=-1, dtype=bool)
    symmetric = np.where(below, a, 0.0) + flip(np.where(below.T, 0.0, a))
    root = cholesky(b)
    half = solve_triangular(root, symmetric, lower=True)
    values, vectors = factors.eigh(solve_triangular(root, flip(half), lower=True))
    return values, solve_triangular(root, vectors, trans=2, lower=True)


@implements_scipy("linalg.eigvalsh")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **settings: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True, **settings)


def _complex(w: Any) -> Any:
    """Convert eigenvalues to complex, even if all are real, as SciPy does."""
    return w if is_complex(plain(w)) else w + np.zeros(1, np.result_type(dtype_of(w), np.complex64))


@implements_scipy("linalg.eig")
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return the eigenvalues and right eigenvectors of a square matrix."""
    reject_settings(
        "eig", b=(b, None), left=(left, False), homogeneous=(homogeneous_eigvals, False)
    )
    values, vectors = factors.eig(a)
    return (_complex(values), vectors) if right else _complex(values)


@implements_scipy("linalg.eigvals")
def eigvals(a: Any, b: Any = None, *settings: Any, **named: Any) -> Any:
    """Return the eigenvalues of a square matrix."""
    return eig(a, b, False, False, **named)


# Singular values, least squares. ------------------------------------------------------------------


@implements_scipy("linalg.svd")
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return U, the singular values and V conjugate transposed."""
    return factors.svd(a, full_matrices, compute_uv)


SCIPY["linalg.svdvals"] = lambda a, overwrite_a=False, check_finite=True: factors.svdvals(a)


@implements_scipy("linalg.lstsq")
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> tuple[Any, Any, int, Any]:
    """Return the least-squares solution, the residuals, the rank and the singular values."""
    x, sums, rank, s = factors.lstsq(a, b, -1 if cond is None else cond)
    if shape_of(sums) == (1,) and len(shape_of(b)) == 1:
        sums = sums[0]
    return x, sums, rank, s


@implements_scipy("linalg.qr")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return an orthogonal and an upper triangular factor."""
    reject_settings("qr", pivoting=(pivoting, False))
    m, n = shape_of(a)[-2:]
    if mode == "raw" or (mode == "full" and m > n):
        raise RuleError(
            f"scipy.linalg.qr of a node with mode={mode!r}: the columns it adds to Q are any basis "
            f"of what is left, so they have no derivative. Pass mode='economic'{cite_line()}"
        )
    q, r = factors.qr(a)
    if mode != "r":
        return q, r
    below = np.zeros((*shape_of(a)[:-2], m - shape_of(r)[-2], n), dtype_of(r))
    return (concatenate([r, below], -2) if m > n else r,)
