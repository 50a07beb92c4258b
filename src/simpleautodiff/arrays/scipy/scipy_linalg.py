"""The functions of scipy.linalg on nodes, as primitives or as short compositions of them.

Arguments that only save time (`overwrite_a`, ...) are accepted and ignored; the module
`argument_checks` checks the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD, SCIPY
from simpleautodiff.arrays.registry import FUNCTIONS, Function, implements_scipy, is_batch
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array import matrix_equations as equations, matrix_functions as matrices
from simpleautodiff.rules.array.decompositions import find_examples, refuse_matrix
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem, set_item
from simpleautodiff.rules.array.linear_systems import (
    cholesky as cholesky_row,
    conjugate_transpose,
    symmetrize,
)
from simpleautodiff.rules.array.matrix_functions import scipy_linalg
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.repeated_values import OneByOne
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where


def _to_array(x: Any) -> Any:
    return x if isinstance(x, Traced) else np.asarray(x)


def reject_settings(name: str, **given: Any) -> None:
    """Reject settings that change the result and have no rule."""
    for setting, (value, default) in given.items():
        if value is not default:
            raise RuleError(
                f"scipy.linalg.{name} of a node has no rule for {setting}={value!r}; leave it at "
                f"{default!r}{cite_line()}"
            )


def check_single(name: str, a: Any) -> None:
    """Have `vmap` compute examples one by one if a function takes one matrix at a time."""
    if is_batch(a):
        level = to_plain(a).level
        if getattr(level, "splits", False):
            raise OneByOne(level)
        raise RuleError(
            f"scipy.linalg.{name} takes one matrix at a time, not a batch: call it in a loop"
            f"{cite_line()}"
        )


def check_rank(name: str, a: Any) -> None:
    """Refuse a matrix of less than full rank."""
    examples = find_examples(a)
    if examples is None or not examples.size:
        return
    s = np.linalg.svd(examples, compute_uv=False)
    if np.any(s <= max(examples.shape[-2:]) * np.finfo(s.dtype).eps * s[..., :1]):
        refuse_matrix(a, f"scipy.linalg.{name} has no derivative here: it needs full rank")


def _check_equal(name: str, a: Any, q: Any) -> None:
    if shape_of(a) != shape_of(q):
        raise InputError(
            f"scipy.linalg.{name} needs matrices of one shape, not {shape_of(a)} and {shape_of(q)}"
            f"{cite_line()}"
        )


# Functions of matrices. ---------------------------------------------------------------------------

SCIPY["linalg.expm"] = lambda A: matrices.expm(A)
SCIPY["linalg.sinm"] = lambda A: matrices.sinm(A)
SCIPY["linalg.cosm"] = lambda A: matrices.cosm(A)
SCIPY["linalg.sinhm"] = lambda A: matrices.sinhm(A)
SCIPY["linalg.coshm"] = lambda A: matrices.coshm(A)
SCIPY["linalg.sqrtm"] = lambda A, disp=None, blocksize=None: matrices.sqrtm(A)
SCIPY["linalg.logm"] = lambda A, disp=None: matrices.logm(A)
SCIPY["linalg.tanm"] = lambda A: np.linalg.solve(matrices.cosm(A), matrices.sinm(A))
SCIPY["linalg.tanhm"] = lambda A: np.linalg.solve(matrices.coshm(A), matrices.sinhm(A))


@implements_scipy("linalg.fractional_matrix_power")
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Return a power of a matrix; a fractional one is exp(t log A)."""
    if not isinstance(t, Traced) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    check_rank("fractional_matrix_power", A)
    return matrices.expm(t * matrices.logm(A))


@implements_scipy("linalg.signm")
def signm(A: Any, disp: Any = None) -> Any:
    """Return the sign of a matrix: A times the inverse of the root of A²."""
    return matmul(A, np.linalg.inv(matrices.principal_root(matmul(A, A), False)))


# Functions that NumPy has as well. ----------------------------------------------------------------

SCIPY["linalg.inv"] = lambda a, overwrite_a=False, check_finite=True, **_: np.linalg.inv(a)
SCIPY["linalg.kron"] = np.kron
SCIPY["linalg.det"] = lambda a, overwrite_a=False, check_finite=True: np.linalg.det(a)


@implements_scipy("linalg.norm")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Return a norm of vectors or matrices."""
    return FUNCTIONS[np.linalg.norm](a, ord, axis, keepdims)


@implements_scipy("linalg.pinv")
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: Any = 1
) -> Any:
    """Return the pseudoinverse of a matrix of full rank."""
    reject_settings("pinv", atol=(atol, None), rtol=(rtol, None), return_rank=(return_rank, False))
    return np.linalg.pinv(a)


# Solving linear systems. --------------------------------------------------------------------------


def _solve_columns(solve: Function, b: Any) -> Any:
    """Solve for a matrix of right-hand sides; a vector is one column."""
    if len(shape_of(b)) == 1:
        return getitem(solve(reshape(b, (-1, 1))), (..., 0))
    return solve(b)


@implements_scipy("linalg.solve")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """Solve a linear system; of a matrix with an assumed form only that part is read."""
    whole = _read_as(_to_array(a), assume_a, lower)
    return np.linalg.solve(swap(whole) if transposed else whole, b)


def _read_as(a: Any, form: Any, lower: bool) -> Any:
    """Return the matrix of which only the elements that a form needs are read."""
    rows, columns = np.indices(shape_of(a)[-2:])
    half = rows >= columns if lower else rows <= columns
    match form:
        case "sym" | "symmetric":
            part = where(half, a, 0.0)
            return part + where(rows == columns, 0.0, swap(part))
        case "her" | "hermitian" | "pos" | "positive definite":
            return symmetrize(a, "L" if lower else "U")
        case "diagonal":
            return where(rows == columns, a, 0.0)
        case "tridiagonal":
            return where(abs(rows - columns) < 2, a, 0.0)
        case "lower triangular" | "upper triangular":
            return where(rows >= columns if form[0] == "l" else rows <= columns, a, 0.0)
    return a


@implements_scipy("linalg.solve_triangular")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a triangular system; only one triangle of the matrix is read."""
    turn = {1: swap, "T": swap, 2: conjugate_transpose, "C": conjugate_transpose}.get(trans)
    matrix, below = (turn(_to_array(a)), not lower) if turn else (a, lower)
    return _solve_columns(lambda b: matrices.solve_triangular(matrix, b, below, unit_diagonal), b)


@implements_scipy("linalg.cholesky")
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the Cholesky factor, the upper one unless `lower`."""
    return cholesky_row(a) if lower else conjugate_transpose(cholesky_row(conjugate_transpose(a)))


@implements_scipy("linalg.cho_factor")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the Cholesky factor in the form that cho_solve takes; its other triangle is 0."""
    return cholesky(a, lower), lower


@implements_scipy("linalg.cho_solve")
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve by a Cholesky factor: two triangular systems."""
    c, lower = c_and_lower
    first = solve_triangular(c, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(c, first, trans=2 if lower else 0, lower=lower)


@implements_scipy("linalg.lu_factor")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return L and U in one matrix, and the pivots, which are plain."""
    check_single("lu_factor", a)
    pivots = scipy_linalg("lu_factor")(to_plain(a))[1]
    return matrices.lu(a, _order(pivots)), pivots


def _order(pivots: Any) -> Any:
    """Return the row order that results from exchanging row i with row pivots[i], for all i."""
    order = np.arange(len(pivots))
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order


@implements_scipy("linalg.lu_solve")
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve by the factors L and U."""
    lu, pivots = lu_and_piv
    if shape_of(b)[:1] != shape_of(lu)[:1]:
        raise InputError(
            f"scipy.linalg.lu_solve: a right side of shape {shape_of(b)} does not fit the factors "
            f"of shape {shape_of(lu)}{cite_line()}"
        )
    order = _order(to_plain(pivots))
    if trans:
        inner = solve_triangular(lu, b, trans=trans)
        outer = solve_triangular(lu, inner, trans=trans, lower=True, unit_diagonal=True)
        return getitem(outer, np.argsort(order))
    first = solve_triangular(lu, getitem(_to_array(b), order), lower=True, unit_diagonal=True)
    return solve_triangular(lu, first)


@implements_scipy("linalg.lu")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Return the permutation, which is plain, and the factors L and U."""
    packed, pivots = lu_factor(a)
    order = np.argsort(_order(pivots))
    lower, upper = matrices.unit_lower(packed), matrices.upper_part(packed)
    if permute_l:
        return getitem(lower, order), upper
    return order if p_indices else np.eye(len(order))[order], lower, upper


@implements_scipy("linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve A X + X B = Q."""
    return equations.sylvester(a, b, q)


@implements_scipy("linalg.solve_continuous_lyapunov", "linalg.solve_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve A X + X Aᴴ = Q."""
    _check_equal("solve_continuous_lyapunov", a, q)
    return equations.sylvester(a, conjugate_transpose(_to_array(a)), q)


@implements_scipy("linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Solve A X Aᴴ - X + Q = 0, as one linear system for all elements of X."""
    _check_equal("solve_discrete_lyapunov", a, q)
    n = shape_of(a)[-1]
    system = np.eye(n * n) - np.kron(a, np.conj(a))
    return reshape(np.linalg.solve(system, reshape(_to_array(q), (-1,))), (n, n))


@implements_scipy("linalg.solve_continuous_are")
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᵀ X + X A - X B R⁻¹ Bᵀ X + Q = 0."""
    reject_settings("solve_continuous_are", e=(e, None), s=(s, None))
    return equations.solve_continuous_are(*map(_to_array, (a, b, q, r)))


@implements_scipy("linalg.solve_discrete_are")
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᵀ X A - X - Aᵀ X B (R + Bᵀ X B)⁻¹ Bᵀ X A + Q = 0."""
    reject_settings("solve_discrete_are", e=(e, None), s=(s, None))
    return equations.solve_discrete_are(*map(_to_array, (a, b, q, r)))


# Structured matrices. -----------------------------------------------------------------------------


def _arrange(name: str) -> Function:
    """Let SciPy arrange the indices of the elements, and look the elements up; 0 stays 0."""

    def implementation(*arrays: Any) -> Any:
        given = [_to_array(array) for array in arrays if array is not None]
        flat: list[Any] = [np.zeros(1, np.result_type(*map(to_plain, given)))]
        indices, start = [], 1
        for array in given:
            size = int(np.prod(shape_of(array), dtype=int))
            indices.append(np.arange(start, start + size).reshape(shape_of(array)))
            flat.append(reshape(array, (-1,)))
            start += size
        return getitem(concatenate(flat), scipy_linalg(name)(*indices))

    return implementation


SCIPY["linalg.toeplitz"] = lambda c, r=None: _arrange("toeplitz")(c, r)
SCIPY["linalg.hankel"] = lambda c, r=None: _arrange("hankel")(c, r)
SCIPY["linalg.circulant"] = _arrange("circulant")
SCIPY["linalg.block_diag"] = _arrange("block_diag")


@implements_scipy("linalg.companion")
def companion(a: Any) -> Any:
    """Return the companion matrix, whose eigenvalues are the roots of a polynomial."""
    below = np.eye(len(a) - 1, k=-1, dtype=dtype_of(a))
    return set_item(below, -a[1:] / a[0], 0)


@implements_scipy("linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve a system with a Toeplitz matrix, as a dense one."""
    column, row = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(_arrange("toeplitz")(column, row), b)


@implements_scipy("linalg.solve_circulant")
def solve_circulant(c: Any, b: Any) -> Any:
    """Solve a system with a circulant matrix, as a dense one."""
    return np.linalg.solve(_arrange("circulant")(c), b)


@implements_scipy("linalg.expm_frechet")
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Return the exponential of a matrix and its derivative in the direction E."""
    n = shape_of(A)[-1]
    upper, lower = np.concatenate([A, E], -1), np.concatenate([np.zeros((n, n)), A], -1)
    corner = getitem(matrices.expm(np.concatenate([upper, lower])), (slice(n), slice(n, None)))
    return (matrices.expm(A), corner) if compute_expm else corner


def _matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    column, row = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return matmul(_arrange("toeplitz")(column, row), x)


SCIPY["linalg.matmul_toeplitz"] = _matmul_toeplitz
_BASIS = "it is any basis of a space, and has no derivative; the projector on it has one: "
INSTEAD["linalg.null_space"] = _BASIS + "write np.eye(n) - np.linalg.pinv(A) @ A"
INSTEAD["linalg.orth"] = _BASIS + "write A @ np.linalg.pinv(A)"
