"""Rows: decompositions of matrices: U, s, V; Q, R; eigenvalues and eigenvectors.

A decomposition returns its factors packed into one array, one below the other, so that it is
computed once. Where singular values or eigenvalues are equal, their vectors are not unique, and
derivatives are limits: see `repeated_values`.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import MatrixError, cite_line
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import (
    EQUAL_EIGENVALUES,
    conjugate_transpose,
    has_equal,
    inv,
    solve,
)
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.repeated_values import (
    divide_by_gaps,
    divide_by_sums,
    divide_by_values,
)
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.complex_parts import conj, imag, real
from simpleautodiff.values.functions import is_complex


def find_examples(x: Any) -> np.ndarray | None:
    """Return the plain array of x, or that of all examples of a batch; None if there is none."""
    plain = to_plain(x)
    while hasattr(plain, "level") and hasattr(plain, "value"):
        plain = to_plain(plain.value)
    return plain if isinstance(plain, np.ndarray) else None


def refuse_matrix(x: Any, message: str) -> NoReturn:
    """Raise an error for a matrix, or have `vmap` find the example of a batch for which it is."""
    error = MatrixError(f"{message}{cite_line()}")
    level: Any = getattr(to_plain(x), "level", None)
    raise level.part_at(error) if hasattr(level, "part_at") else error


def _take_block(packed: Any, start: int, stop: int) -> Any:
    """Return one factor of a decomposition whose factors are packed into one array."""
    return getitem(packed, (..., slice(start, stop), slice(None)))


def _take_diagonal(x: Any) -> Any:
    """Return the diagonal as a 1 × n matrix."""
    return sum_over(x * np.eye(shape_of(x)[-1], dtype=real_dtype(x)), -2, True)


def _make_diagonal(values: Any) -> Any:
    """Return the diagonal matrix of the values in a 1 × n matrix."""
    return values * np.eye(shape_of(values)[-1], dtype=real_dtype(values))


def _project_out(basis: Any, x: Any) -> Any:
    """Return the part of the columns of x that is orthogonal to those of the basis."""
    return x - matmul(basis, matmul(conjugate_transpose(basis), x))


# Singular values. ---------------------------------------------------------------------------------


def _svd_value(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    values = s[..., None, :].astype(u.dtype)
    return np.concatenate([u, values, np.conj(np.swapaxes(vh, -1, -2))], -2)


def split_svd(packed: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return U, the singular values as a 1 × k matrix, and V."""
    m, n = shape_of(a)[-2:]
    return (
        _take_block(packed, 0, m),
        _take_block(packed, m, m + 1),
        _take_block(packed, m + 1, m + 1 + n),
    )


def _turn_by(x: Any, s: Any) -> Any:
    """Return the rate at which singular vectors turn: (x + xᴴ) / ((sᵢ + sⱼ)(sⱼ - sᵢ))."""
    return divide_by_sums(divide_by_gaps(x + conjugate_transpose(x), s), s)


def _turn_back(bar: Any, s: Any) -> Any:
    turned = divide_by_sums(divide_by_gaps(bar, s), s)
    return turned + conjugate_transpose(turned)


def _diagonal_part(x: Any) -> Any:
    return _make_diagonal(_take_diagonal(x))


def _svd_push(dot: Any, packed: Any, a: Any) -> Any:
    u, s, v = split_svd(packed, a)
    s, (m, n), k = real(s), shape_of(a)[-2:], shape_of(packed)[-1]
    inner = matmul(matmul(conjugate_transpose(u), dot), v)
    turn_u, turn_v = _turn_by(inner * s, s), _turn_by(inner * swap(s), s)
    if is_complex(to_plain(packed)):
        turn_u = turn_u + divide_by_values(
            _diagonal_part(inner - conjugate_transpose(inner)) / 2, s
        )
    du, dv = matmul(u, turn_u), matmul(v, turn_v)
    if m > k:
        du = du + divide_by_values(_project_out(u, matmul(dot, v)), s)
    if n > k:
        dv = dv + divide_by_values(_project_out(v, matmul(conjugate_transpose(dot), u)), s)
    return concatenate([du, real(_take_diagonal(inner)), dv], -2)


def _svd_pull(bar: Any, packed: Any, a: Any) -> Any:
    u, s, v = split_svd(packed, a)
    bar_u, bar_s, bar_v = split_svd(bar, a)
    s, (m, n), k = real(s), shape_of(a)[-2:], shape_of(packed)[-1]
    left, right = matmul(swap(u), bar_u), matmul(swap(v), bar_v)
    inner = _turn_back(left, s) * s + _turn_back(right, s) * swap(s)
    inner = inner + _make_diagonal(real(bar_s))
    if is_complex(to_plain(packed)):
        rotation = divide_by_values(_diagonal_part(left), s)
        inner = inner + (rotation - conjugate_transpose(rotation)) / 2
    pulled = matmul(matmul(conj(u), inner), swap(v))
    if m > k:
        rest = _project_out(conj(u), divide_by_values(bar_u, s))
        pulled = pulled + matmul(rest, swap(v))
    if n > k:
        rest = _project_out(conj(v), divide_by_values(bar_v, s))
        pulled = pulled + matmul(conj(u), conjugate_transpose(rest))
    return pulled


svd: Wrapping = row(
    "svd",
    lambda v, a: Linear(lambda dot: _svd_push(dot, v, a), lambda bar: _svd_pull(bar, v, a)),
    value=_svd_value,
    numpy=(),
    text="svd({0})",
    latex=r"\operatorname{{svd}} {0}",
    arrays=True,
    holomorphic=False,
    reason="the change of a singular value is uᵀ dA v; singular vectors rotate into each other",
    batch=lambda size, which, a: svd(a),
    kinks=[
        Kink(
            "equal singular values, or 0",
            lambda a: has_equal(np.linalg.svd(a)[1], 0.0),
            EQUAL_EIGENVALUES.choice,
        )
    ],
)


# Q and R. -----------------------------------------------------------------------------------------


def _qr_value(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    return np.concatenate([q, np.swapaxes(r, -1, -2)], -2)


def split_qr(packed: Any, a: Any) -> tuple[Any, Any]:
    """Return Q and R."""
    m, n = shape_of(a)[-2:]
    return _take_block(packed, 0, m), swap(_take_block(packed, m, m + n))


def _take_below(x: Any) -> Any:
    """Set all elements to 0 that are not below the diagonal."""
    n = shape_of(x)[-1]
    return where(np.tri(n, n, -1, bool), x, 0.0)


def _make_skew(x: Any) -> Any:
    """Return the skew matrix whose lower half is that of x; its diagonal is imaginary."""
    low = _take_below(x)
    skew = low - conjugate_transpose(low)
    return skew + _make_diagonal(1j * imag(_take_diagonal(x))) if is_complex(to_plain(x)) else skew


def _pull_skew(g: Any) -> Any:
    pulled = _take_below(g - conjugate_transpose(g))
    return (
        pulled + _make_diagonal(1j * imag(_take_diagonal(g))) if is_complex(to_plain(g)) else pulled
    )


def _solve_right(x: Any, r: Any) -> Any:
    """Return x R⁻¹."""
    return swap(solve(swap(r), swap(x)))


def _has_low_rank(r: Any, count: int, rows: int) -> Any:
    """Tell whether one of the first elements on the diagonal of R is 0, but for rounding."""
    size = max(rows, shape_of(r)[-1]) * float(np.finfo(r.dtype).eps)
    least = np.max(np.abs(r), (-2, -1)) * size
    return np.min(np.abs(np.diagonal(r, 0, -2, -1))[..., :count], -1) <= least


def _make_regular(r: Any, a: Any) -> Any:
    """Return R to divide by; refuse it where its rank is too low for Q to have a derivative.

    In a program that is recorded it is nan there.

    The last column of a square Q is what the others leave, so that the last element of R does not
    matter, and is replaced by 1.
    """
    m, n = shape_of(a)[-2:]
    square = m == n and not is_complex(to_plain(r))
    count = n - 1 if square else n
    matrices = find_examples(r) if m and count else np.empty(0)
    if matrices is not None and matrices.size and np.any(_has_low_rank(matrices, count, m)):
        reason = "Q of np.linalg.qr jumps where the rank changes, and has no derivative"
        refuse_matrix(r, f"the matrix does not have full rank: {reason}")
    if isinstance(to_plain(r), Traced) and matrices is None:  # a program has no errors
        r = where(_has_low_rank(to_plain(r), count, m)[..., None, None], math.nan, r)
    last = np.eye(n, dtype=bool) & (np.arange(n) == n - 1)
    return where(last, 1.0, r) if square else r


def _qr_push(dot: Any, packed: Any, a: Any) -> Any:
    q, r = split_qr(packed, a)
    x = _solve_right(dot, _make_regular(r, a))
    y = matmul(conjugate_transpose(q), x)
    skew = _make_skew(y)
    turned = matmul(q, skew)
    if shape_of(a)[-2] > shape_of(a)[-1]:
        turned = turned + x - matmul(q, y)
    return concatenate([turned, swap(matmul(conjugate_transpose(q), dot) - matmul(skew, r))], -2)


def _qr_pull(bar: Any, packed: Any, a: Any) -> Any:
    q, r = split_qr(packed, a)
    bar_q, bar_r = split_qr(bar, a)
    g = matmul(bar_r, swap(r)) - matmul(swap(q), bar_q)
    x = -matmul(conj(q), _pull_skew(g))
    if shape_of(a)[-2] > shape_of(a)[-1]:
        x = x + _project_out(conj(q), bar_q)
    return swap(solve(_make_regular(r, a), swap(x))) + matmul(conj(q), bar_r)


qr: Wrapping = row(
    "qr",
    lambda v, a: Linear(lambda dot: _qr_push(dot, v, a), lambda bar: _qr_pull(bar, v, a)),
    value=_qr_value,
    numpy=(),
    text="qr({0})",
    latex=r"\operatorname{{qr}} {0}",
    arrays=True,
    holomorphic=False,
    reason="Q R = A and Qᵀ Q = 1, so Qᵀ dQ is skew-symmetric and dR is upper triangular",
    batch=lambda size, which, a: qr(a),
)


# Eigenvalues of any matrix. -----------------------------------------------------------------------


def _eig_value(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return np.concatenate([w[..., None, :], v], -2)


def split_eig(packed: Any) -> tuple[Any, Any]:
    """Return the eigenvalues as a 1 × n matrix, and the eigenvectors as columns."""
    n = shape_of(packed)[-1]
    return _take_block(packed, 0, 1), _take_block(packed, 1, n + 1)


def _eig_push(dot: Any, packed: Any) -> Any:
    w, v = split_eig(packed)
    inner = solve(v, matmul(dot, v))
    rotated = matmul(v, divide_by_gaps(inner, w))
    return concatenate([_take_diagonal(inner), rotated], -2)


def _eig_pull(bar: Any, packed: Any) -> Any:
    w, v = split_eig(packed)
    bar_w, bar_v = split_eig(bar)
    inner = _make_diagonal(bar_w) + divide_by_gaps(matmul(swap(v), bar_v), w)
    return matmul(solve(swap(v), inner), swap(v))


eig: Wrapping = row(
    "eig",
    lambda v, _a: Linear(lambda dot: _eig_push(dot, v), lambda bar: _eig_pull(bar, v)),
    value=_eig_value,
    numpy=(),
    text="eig({0})",
    latex=r"\operatorname{{eig}} {0}",
    arrays=True,
    reason="with A V = V W, the diagonal of V⁻¹ dA V changes W, and the rest rotates the vectors",
    batch=lambda size, which, a: eig(a),
    kinks=[
        Kink(
            "equal eigenvalues", lambda a: has_equal(np.linalg.eigvals(a)), EQUAL_EIGENVALUES.choice
        ),
    ],
)


# Inverses in the sense of least squares. ----------------------------------------------------------


def _pinv_push(dot: Any, p: Any, a: Any) -> Any:
    back = conjugate_transpose(dot)
    tall = matmul(p, matmul(conjugate_transpose(p), _off_rows(back, a, p)))
    wide = matmul(matmul(_off_columns(back, p, a), conjugate_transpose(p)), p)
    return tall + wide - matmul(matmul(p, dot), p)


def _pinv_pull(bar: Any, p: Any, a: Any) -> Any:
    bar = swap(bar)
    first = matmul(_off_columns(bar, a, p), matmul(p, conjugate_transpose(p)))
    second = matmul(matmul(conjugate_transpose(p), p), _off_rows(bar, p, a))
    return conj(first + second) - swap(matmul(p, matmul(bar, p)))


def _off_columns(x: Any, a: Any, p: Any) -> Any:
    """Return (1 - a p) x; it is projected twice, as p magnifies the rounding of the first time."""
    for _ in range(2):
        x = x - matmul(a, matmul(p, x))
    return x


def _off_rows(x: Any, p: Any, a: Any) -> Any:
    """Return x (1 - p a); it is projected twice, too."""
    for _ in range(2):
        x = x - matmul(matmul(x, p), a)
    return x


pinv: Wrapping = row(
    "pinv",
    lambda v, a, _cut: Linear(lambda dot: _pinv_push(dot, v, a), lambda bar: _pinv_pull(bar, v, a)),
    ZERO,
    value=lambda a, cut: np.linalg.pinv(a, cut) if cut is not None else np.linalg.pinv(a),
    numpy=(),
    settings=(1,),
    text="pinv({0})",
    latex=r"{0}^+",
    arrays=True,
    holomorphic=False,
    reason="the rule of the inverse, and terms for the range and the kernel; the rank is constant",
    batch=lambda size, which, a, cut: pinv(a, cut),
    kinks=[
        Kink(
            "less than full rank",
            lambda a, cut: np.any(np.linalg.matrix_rank(a, rtol=cut) < min(shape_of(a)[-2:])),
            "as if the rank were constant",
        )
    ],
)


def _log_det_value(a: Any) -> Any:
    sign, size = np.linalg.slogdet(a)
    return size + 1j * np.angle(sign)


log_det: Wrapping = row(
    "log_det",
    lambda v, a: Linear(
        lambda dot: sum_over(swap(inv(a)) * dot, (-2, -1), False),
        lambda bar: reshape(bar, (*shape_of(v), 1, 1)) * swap(inv(a)),
    ),
    value=_log_det_value,
    numpy=(),
    text="log det({0})",
    latex=r"\log\det {0}",
    arrays=True,
    reason="d log det(A) = tr(A⁻¹ dA); its imaginary part is the angle of the determinant",
    batch=lambda size, which, a: log_det(a),
)
