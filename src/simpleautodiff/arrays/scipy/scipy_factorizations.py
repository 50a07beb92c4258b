"""The factorizations of scipy.linalg on nodes: eigenvalues, singular values, QR, least squares.

Arguments that only save time (`overwrite_a`, ...) are accepted and ignored; the module
`argument_checks` checks the input.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import align_phases
from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import factorizations as factors
from simpleautodiff.arrays.registry import implements_scipy
from simpleautodiff.arrays.scipy.scipy_linalg import reject_settings, solve_triangular
from simpleautodiff.core.level import plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import (
    SymmetricRows,
    cholesky,
    flip,
    make_symmetric_rows,
)
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
    whole = factors.symmetrize(a, "L" if lower else "U")
    rows = _make_rows(lower, driver, eigvals_only)
    vectors: Any = None
    if b is not None:
        values, vectors = _pairs(whole, b if lower else flip(b))
    elif eigvals_only:
        values = factors.find_symmetric_values(whole, rows)
    else:
        values, vectors = factors.decompose_symmetric(whole, rows)
    subset = (0, shape_of(a)[-1] - 1) if subset_by_index is None else subset_by_index
    if vectors is not None and (subset_by_index is not None or b is not None):
        vectors = _align_subset(vectors, whole, b, subset, lower, driver)
    first, last = subset
    kept = (..., slice(first, last + 1))
    return (
        getitem(values, kept) if eigvals_only else (getitem(values, kept), getitem(vectors, kept))
    )


def _align_subset(vectors: Any, a: Any, b: Any, subset: Any, lower: bool, driver: Any) -> Any:
    """Give the eigenvectors of a subset the signs with which SciPy finds that subset."""
    import scipy.linalg

    def find() -> Any:
        first, last = map(int, subset)
        full = np.array(plain(vectors))
        settings: Any = {"lower": lower, "driver": driver}
        if last - first + 1 < full.shape[-1]:
            settings["subset_by_index"] = [first, last]
        full[..., first : last + 1] = scipy.linalg.eigh(plain(a), plain(b), **settings)[1]
        return full

    return align_phases(vectors, find)


@functools.cache
def _make_rows(lower: bool, driver: str | None, values_alone: bool) -> SymmetricRows:
    """Return the rows of eigenvalues and eigenvectors as SciPy finds them."""
    import scipy.linalg

    def decompose(a: Any) -> Any:
        return scipy.linalg.eigh(a, lower=lower, driver=driver)

    def find_values(a: Any) -> Any:
        return scipy.linalg.eigh(a, lower=lower, driver=driver, eigvals_only=True)

    return make_symmetric_rows(decompose, find_values if values_alone else None)


def _pairs(a: Any, b: Any) -> Any:
    """Return eigenvalues and eigenvectors of A v = λ B v: with B = L Lᴴ, those of L⁻¹ A L⁻ᴴ."""
    root = cholesky(b)
    half = solve_triangular(root, a, lower=True)
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
