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
from simpleautodiff.arrays.scipy.scipy_linalg import (
    check_rank,
    check_single,
    reject_settings,
    solve_triangular,
)
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import InputError, MatrixError, RuleError, cite_line
from simpleautodiff.rules.array import matrix_functions as matrices
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import (
    Decomposition,
    SymmetricRows,
    cholesky,
    conjugate_transpose,
    make_symmetric_rows,
    symmetrize,
)
from simpleautodiff.rules.array.matrix_functions import scipy_linalg
from simpleautodiff.rules.array.products import matmul, swap
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
    whole = symmetrize(a, "L" if lower else "U")
    rows = _make_rows(lower, driver, eigvals_only)
    vectors: Any = None
    if b is not None:
        values, vectors = _find_pairs(whole, symmetrize(b, "L" if lower else "U"))
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
        full = np.array(to_plain(vectors))
        settings: Any = {"lower": lower, "driver": driver}
        if last - first + 1 < full.shape[-1]:
            settings["subset_by_index"] = [first, last]
        full[..., first : last + 1] = scipy.linalg.eigh(to_plain(a), to_plain(b), **settings)[1]
        return full

    return align_phases(vectors, find)


@functools.cache
def _make_rows(lower: bool, driver: str | None, values_alone: bool) -> SymmetricRows:
    """Return the rows of eigenvalues and eigenvectors as SciPy finds them."""
    import scipy.linalg

    settings = {"lower": lower, "driver": driver}
    decompose = Decomposition(scipy.linalg.eigh, settings)
    find_values = Decomposition(scipy.linalg.eigh, {**settings, "eigvals_only": True})
    return make_symmetric_rows(decompose, find_values if values_alone else None)


def _find_pairs(a: Any, b: Any) -> Any:
    """Return eigenvalues and eigenvectors of A v = λ B v: with B = L Lᴴ, those of L⁻¹ A L⁻ᴴ."""
    root = cholesky(b)
    half = solve_triangular(root, a, lower=True)
    values, vectors = factors.eigh(solve_triangular(root, conjugate_transpose(half), lower=True))
    return values, solve_triangular(root, vectors, trans=2, lower=True)


@implements_scipy("linalg.eigvalsh")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **settings: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True, **settings)


def _to_complex(w: Any) -> Any:
    """Convert eigenvalues to complex, even if all are real, as SciPy does."""
    return (
        w if is_complex(to_plain(w)) else w + np.zeros(1, np.result_type(dtype_of(w), np.complex64))
    )


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
    if not right:
        return _to_complex(values)
    return _to_complex(values), align_phases(vectors, lambda: scipy_linalg("eig")(to_plain(a))[1])


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
    found = factors.svd(a, full_matrices, compute_uv)
    if not compute_uv:
        return found

    @functools.cache
    def find() -> Any:
        return scipy_linalg("svd")(to_plain(a), full_matrices, lapack_driver=lapack_driver)

    u = align_phases(found.U, lambda: find()[0])
    v = align_phases(conjugate_transpose(found.Vh), lambda: conjugate_transpose(find()[2]))
    return u, found.S, conjugate_transpose(v)


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


# Polar, Schur, Hessenberg, LDL. -------------------------------------------------------------------


@implements_scipy("linalg.polar")
def polar(a: Any, side: str = "right") -> Any:
    """Return an orthogonal and a positive factor, of a matrix of full rank."""
    if side not in ("right", "left"):
        raise InputError(
            f"scipy.linalg.polar: side is 'right' or 'left', not {side!r}{cite_line()}"
        )
    check_rank("polar", a)
    m, n = shape_of(a)[-2:]
    turned = conjugate_transpose(a)
    if m >= n:
        turn = matmul(a, np.linalg.inv(matrices.principal_root(matmul(turned, a), False)))
    else:
        turn = matmul(np.linalg.inv(matrices.principal_root(matmul(a, turned), False)), a)
    back = conjugate_transpose(turn)
    return turn, matmul(back, a) if side == "right" else matmul(a, back)


@implements_scipy("linalg.schur")
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return Schur's form of a matrix with distinct real eigenvalues: T, and Z with A = Z T Zᵀ.

    The first columns of Z span the same spaces as the first eigenvectors.
    """
    check_single("schur", a)
    reject_settings("schur", sort=(sort, None))
    form, basis = scipy_linalg("schur")(to_plain(a), "real")
    found = np.sort(np.diagonal(form))
    equal = np.any(np.diff(found) <= 1e-12 * np.max(np.abs(found), initial=0.0))
    if output not in ("real", "r") or equal or np.any(np.diagonal(form, -1)):
        raise RuleError(
            "scipy.linalg.schur of a node has a rule for distinct real eigenvalues and "
            "output='real': other forms are any of many bases, and have no derivative. Use "
            f"scipy.linalg.eig{cite_line()}"
        )
    values, vectors = factors.eig(a)
    order = [int(np.argmin(np.abs(to_plain(values) - each))) for each in np.diagonal(form)]
    z = align_phases(factors.qr(np.real(getitem(vectors, (..., order))))[0], lambda: basis)
    return matrices.upper_part(matmul(matmul(swap(z), a), z)), z


@implements_scipy("linalg.hessenberg")
def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return Hessenberg's form H, and Q with A = Q H Qᵀ.

    Each column of Q is A times the previous one, made orthogonal to all before.
    """
    check_single("hessenberg", a)
    n = shape_of(a)[-1]
    basis = scipy_linalg("hessenberg")(to_plain(a), calc_q=True)[1]
    columns = [np.eye(n)[:, :1]]
    for k in range(1, n):
        q, step = concatenate(columns, -1), matmul(a, columns[-1])
        for _ in range(2):
            step = step - matmul(q, matmul(swap(q), step))
        length = np.linalg.norm(step)
        if np.abs(to_plain(length)) <= n * np.finfo(float).eps * np.linalg.norm(to_plain(a)):
            raise MatrixError(
                "scipy.linalg.hessenberg of a node needs a matrix whose form has no 0 below the "
                f"diagonal: there its columns are any basis, and have no derivative{cite_line()}"
            )
        columns.append(step / length * np.sign(np.sum(to_plain(step)[:, 0] * basis[:, k])))
    q = concatenate(columns, -1)
    form = matrices.upper_part(matmul(matmul(swap(q), a), q), -1)
    return (form, q) if calc_q else form


@implements_scipy("linalg.ldl")
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return L and D with A = L D Lᵀ, and the row order of L, which is plain."""
    check_single("ldl", A)
    if not lower:
        raise RuleError(
            f"scipy.linalg.ldl of a node takes lower=True, the triangle it reads{cite_line()}"
        )
    whole = symmetrize(A, "L")
    _, diagonal, order = scipy_linalg("ldl")(to_plain(whole))
    blocks = np.eye(len(order), dtype=bool) | (diagonal != 0)
    packed = matrices.ldl(whole, order, blocks)
    n = len(order)
    factor = getitem(getitem(packed, slice(n)), np.argsort(order))
    return factor, getitem(packed, slice(n, None)), order
