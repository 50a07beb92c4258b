"""np.linalg's factorizations: Cholesky, eigenvalues, singular values, QR, least squares."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.registry import (
    as_array,
    as_float,
    can_decide,
    decide,
    implements,
    is_batch,
)
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import (
    DomainError,
    InputError,
    RuleError,
    TraceError,
    cite_line,
)
from simpleautodiff.rules.array import decompositions as factors
from simpleautodiff.rules.array.completions import complete_vectors
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import (
    SYMMETRIC,
    Decomposition,
    SymmetricRows,
    cholesky as cholesky_row,
    conjugate_transpose,
    eigenvalues,
    make_symmetric_rows,
    symmetrize,
)
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.repeated_values import (
    are_close,
    move_general,
    move_singular,
    move_symmetric,
    separate,
    split_batch,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.scalar.complex_parts import conj, real, squared_size
from simpleautodiff.values.functions import is_complex


class _Kind(NamedTuple):
    """One kind of decomposition: its row, and functions that return only its values."""

    row: Any
    find_values: Any
    take_values: Any
    move: Any


_UPPER = {"UPLO": "U"}
HALVES = {"L": SYMMETRIC, "U": make_symmetric_rows(Decomposition(np.linalg.eigh, _UPPER))}
HALVES_OF_VALUES = {
    half: make_symmetric_rows(rows.decompose, replace(rows.decompose, function=np.linalg.eigvalsh))
    for half, rows in HALVES.items()
}
GENERAL_KIND = _Kind(
    factors.eig, np.linalg.eigvals, lambda packed, a: packed[..., 0, :], move_general
)
SINGULAR_KIND = _Kind(
    factors.svd,
    lambda a: np.linalg.svd(a, compute_uv=False),
    lambda packed, a: packed[..., shape_of(a)[-2], :],
    move_singular,
)


class EighResult(NamedTuple):
    """What np.linalg.eigh returns, for nodes."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """What np.linalg.eig returns, for nodes."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What np.linalg.svd returns, for nodes."""

    U: Any
    S: Any
    Vh: Any


class QRResult(NamedTuple):
    """What np.linalg.qr returns, for nodes."""

    Q: Any
    R: Any


@implements(np.linalg.cholesky)
def cholesky(a: Any, upper: bool = False) -> Any:
    """Return the triangular factor of a positive definite matrix."""
    return conjugate_transpose(cholesky_row(conjugate_transpose(a))) if upper else cholesky_row(a)


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Return eigenvalues and eigenvectors of a symmetric matrix, of which one triangle is read."""
    return EighResult(*decompose_symmetric(symmetrize(a, UPLO), HALVES[UPLO.upper()]))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of a symmetric matrix, of which one triangle is read."""
    return find_symmetric_values(symmetrize(a, UPLO), HALVES_OF_VALUES[UPLO.upper()])


def decompose_symmetric(a: Any, rows: SymmetricRows) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of a whole symmetric matrix by the given rows."""
    a = _separate_symmetric(a, rows)
    rows = SYMMETRIC if isinstance(to_plain(a), Traced) else rows
    return rows.eigenvalues(a), rows.eigenvectors(a)


def find_symmetric_values(a: Any, rows: SymmetricRows) -> Any:
    """Return the eigenvalues of a whole symmetric matrix by the given rows."""
    a = _separate_symmetric(a, rows)
    return (SYMMETRIC if isinstance(to_plain(a), Traced) else rows).eigenvalues(a)


def _separate_symmetric(a: Any, rows: SymmetricRows) -> Any:
    move = functools.partial(move_symmetric, rows.decompose)
    return _separate(a, _Kind(eigenvalues, np.linalg.eigvalsh, lambda w, a: w, move))


def _separate(a: Any, kind: _Kind) -> Any:
    """Replace a matrix with repeated values by one that moves; see `rules.array.repeated_values`.

    A derivative that is recorded as a program gets a guard instead: no value is repeated.
    """
    if not isinstance(to_plain(a), Traced):
        return separate(a, kind.find_values, kind.move)
    split_batch(a, kind.find_values, kind.move)
    if to_plain(a) is not a and can_decide(a):
        _refuse_repeated(kind.take_values(kind.row(to_plain(a)), a), kind.move is move_singular)
    return a


def _refuse_repeated(values: Any, zero: bool) -> None:
    """Add a guard to a recorded derivative: no value is repeated."""
    n = shape_of(values)[-1]
    gaps = abs(values[..., None, :] - values[..., :, None])
    smallest = np.min(np.where(np.eye(n, dtype=bool), np.inf, gaps), initial=np.inf)
    if zero:
        smallest = np.minimum(smallest, np.min(abs(values), initial=np.inf))
    if are_close(smallest, np.max(abs(values), initial=0.0), n):
        raise TraceError("repeated eigenvalues or singular values: the derivative is a limit")


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Return eigenvalues and eigenvectors: of norm 1, with a real largest component."""
    w, found = _decompose(a)
    with np.errstate(all="ignore"):  # limits at repeated eigenvalues may have no value
        v = found / np.sqrt(sum_over(squared_size(found), -2, True))
        v = _turn_real(v) if is_complex(to_plain(v)) else v
    v = give_values(v, np.positive, (found,), {})  # it has length 1 already
    return EigResult(getitem(w, (..., 0, slice(None))), v)


def _turn_real(v: Any) -> Any:
    """Return complex eigenvectors whose largest component with an exact real value stays real."""
    exact = to_plain(v).imag == 0
    largest = np.argmax(np.where(exact, np.abs(to_plain(v)), 0.0), axis=-2)[..., None, :]
    pivot = np.take_along_axis(v, largest, -2)
    sides = np.where(to_plain(pivot).real < 0, -1, 1).astype(to_plain(pivot).real.dtype)
    return v * (conj(pivot) / np.abs(pivot) * sides)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of any square matrix."""
    return getitem(_decompose(a)[0], (..., 0, slice(None)))


def _decompose(a: Any) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors, which are complex if some eigenvalue is."""
    decide(has_complex_eigenvalues, a)
    return factors.split_eig(factors.eig(_separate(a, GENERAL_KIND)))


def has_complex_eigenvalues(a: Any) -> Any:
    """Tell whether NumPy returns eigenvalues of a complex dtype."""
    return np.bool_(np.iscomplexobj(np.linalg.eigvals(a)))


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return U, the singular values and V conjugate transposed."""
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    u, s, v = factors.split_svd(factors.svd(_separate(a, SINGULAR_KIND)), a)
    s = real(getitem(s, (..., 0, slice(None))))
    if not compute_uv:
        return s
    rows, columns = shape_of(a)[-2:]
    if full_matrices and rows > columns:
        u = complete_vectors(u, a, right=False)
    elif full_matrices and rows < columns:
        v = complete_vectors(v, a, right=True)
    vh = conjugate_transpose(v)
    return SVDResult(u, s, give_values(vh, np.ascontiguousarray, (vh,), {}))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """Return the absolute eigenvalues, largest first, and their vectors."""
    values, vectors = eigh(a)
    order = np.argsort(to_plain(abs(values)), axis=-1)[..., ::-1]
    if not compute_uv:
        return np.take_along_axis(abs(values), order, -1)
    values = np.take_along_axis(values, order, -1)
    u = np.take_along_axis(vectors, order[..., None, :], -1)
    sides = np.sign(to_plain(values))[..., None, :]
    return SVDResult(u, abs(values), conjugate_transpose(u * sides))


def svdvals(x: Any) -> Any:
    """Return the singular values."""
    return svd(x, compute_uv=False)


implements(np.linalg.svdvals)(svdvals)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return an orthogonal and an upper triangular factor."""
    m, n = shape_of(a)[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise RuleError(
            f"np.linalg.qr of a node with mode={mode!r}: the columns it adds to Q are any basis of "
            f"what is left, so they have no derivative. Pass mode='reduced'{cite_line()}"
        )
    square = getitem(a, (..., slice(0, m))) if m < n else a
    q, r = factors.split_qr(factors.qr(square), square)
    if m < n:
        rest = matmul(conjugate_transpose(q), getitem(a, (..., slice(m, n))))
        r = concatenate([r, rest], len(shape_of(a)) - 1)
    return r if mode == "r" else QRResult(q, r)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, rtol: Any = None) -> Any:
    """Return the pseudoinverse; its rank is taken to be locally constant.

    The pseudoinverse of a Hermitian matrix is the same, and NumPy reads its lower triangle alone.
    """
    cut = rcond if rtol is None or rtol is np._NoValue else rtol
    return factors.pinv(symmetrize(as_array(a), "L") if hermitian else a, cut)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, int, Any]:
    """Return the least-squares solution, the residuals, the rank and the singular values."""
    a, b = as_float(as_array(a)), as_array(b)
    if len(shape_of(b)) not in (1, 2) or shape_of(b)[0] != shape_of(a)[0]:
        raise InputError(
            f"least squares need a right side of {shape_of(a)[0]} numbers, or rows, not an array "
            f"of shape {shape_of(b)}{cite_line()}"
        )
    m, n = shape_of(a)[-2:]
    eps = float(np.finfo(dtype_of(a)).eps)
    cut = eps * max(m, n) if rcond is None else eps if rcond == -1 else rcond
    s = to_plain(svdvals(a))
    rank = min(m, n) if is_batch(a) else int(np.sum(s > cut * np.max(s, initial=0.0)))
    if rank < min(m, n):
        raise DomainError(
            f"np.linalg.lstsq: the matrix has the rank {rank}, not {min(m, n)}; the solution jumps "
            f"where the rank changes, and has no derivative. np.linalg.pinv(a) @ b keeps the rank"
            f"{cite_line()}"
        )
    x = matmul(factors.pinv(a, cut), b)
    rest = b - matmul(a, x)
    residuals = sum_over(squared_size(rest), 0, False)
    some = rank == n < m
    none = np.zeros(0, dtype_of(residuals))
    return x, (reshape(residuals, (-1,)) if some else none), rank, svdvals(a)
