"""Rows: inverses, linear systems, determinants, Cholesky factors and symmetric eigenproblems.

Each takes a matrix or a stack of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Domain, Kink
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.repeated_values import divide_by_gaps
from simpleautodiff.rules.array.shapes import pad_rank, reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.complex_parts import conj, real
from simpleautodiff.values.functions import Function, is_complex

SYMMETRIC_MATRIX = Domain(  # or, of complex numbers, Hermitian
    "a symmetric matrix",
    lambda a, *settings: np.allclose(a, np.conj(np.swapaxes(a, -1, -2)), 1e-12, 0.0),
)
inv: Wrapping = row(
    "inv",
    lambda v, _a: Linear(
        lambda dot: -matmul(matmul(v, dot), v),
        lambda bar: -matmul(matmul(swap(v), bar), swap(v)),
    ),
    value=np.linalg.inv,
    numpy=(),
    text="inv({0})",
    latex="{0}^{{-1}}",
    arrays=True,
    reason="from V A = 1 follows dV = -V dA V",
    batch=lambda size, which, a: inv(a),  # a batch of matrices is a stack of matrices
)


def align_batches(which: tuple[bool, ...], *matrices: Any) -> list[Any]:
    """Give batches of matrices the same rank, with the axis of the batch in front."""
    pairs = [*zip(matrices, which, strict=False)]
    rank = max(len(shape_of(x)) - is_batched for x, is_batched in pairs)
    return [pad_rank(x, rank) if is_batched else x for x, is_batched in pairs]


def _solve_pull_matrix(bar: Any, v: Any, a: Any) -> Any:
    w = solve(swap(a), bar)
    return -matmul(w, swap(v))


solve: Wrapping = row(
    "solve",
    lambda v, a, _b: Linear(
        lambda dot: -solve(a, matmul(dot, v)), lambda bar: _solve_pull_matrix(bar, v, a)
    ),
    lambda _v, a, _b: Linear(lambda dot: solve(a, dot), lambda bar: solve(swap(a), bar)),
    value=np.linalg.solve,
    numpy=(),
    text="solve({0}, {1})",
    latex="{0}^{{-1}} {1}",
    arrays=True,
    reason="from A V = B follows A dV = dB - dA V",
    batch=lambda size, which, a, b: solve(*align_batches(which, a, b)),
)


def _cofactors(v: Any, a: Any) -> Any:
    """Return det(A) inv(A)ᵀ, the derivative of the determinant."""
    return reshape(v, (*shape_of(v), 1, 1)) * swap(inv(a))


det: Wrapping = row(
    "det",
    lambda v, a: Linear(
        lambda dot: sum_over(_cofactors(v, a) * dot, (-2, -1), False),
        lambda bar: reshape(bar, (*shape_of(v), 1, 1)) * _cofactors(v, a),
    ),
    value=np.linalg.det,
    numpy=(),
    text="det({0})",
    latex=r"\det {0}",
    arrays=True,
    reason="d det(A) = det(A) tr(A⁻¹ dA)",
    batch=lambda size, which, a: det(a),
)


def _push_logabsdet(v: Any, a: Any, dot: Any) -> Any:
    """Return tr(A⁻¹ dA); nan for a singular matrix, for which the logarithm is -inf."""
    singular = to_plain(v) == -np.inf
    one = np.eye(shape_of(a)[-1], dtype=np.result_type(to_plain(a)))
    inverse = inv(where(singular[..., None, None], one, a))
    return where(singular, np.nan, real(sum_over(swap(inverse) * dot, (-2, -1), False)))


logabsdet: Wrapping = row(
    "logabsdet",
    lambda v, a: Linear(
        lambda dot: _push_logabsdet(v, a, dot),
        lambda bar: reshape(bar, (*shape_of(v), 1, 1)) * swap(inv(a)),
    ),
    value=lambda a: np.linalg.slogdet(a)[1],
    numpy=(),
    text="log|det({0})|",
    latex=r"\log|\det {0}|",
    arrays=True,
    reason="d log|det(A)| = tr(A⁻¹ dA)",
    batch=lambda size, which, a: logabsdet(a),
)
det_sign: Wrapping = row(
    "det_sign",
    ZERO,
    value=lambda a: np.linalg.slogdet(a)[0],
    numpy=(),
    text="sign(det({0}))",
    latex=r"\operatorname{{sign}} \det {0}",
    arrays=True,
    reason="the sign is constant wherever the determinant is not 0",
    batch=lambda size, which, a: det_sign(a),
)


def _is_singular(a: Any) -> Any:
    n = a.shape[-1]
    if not n:
        return np.zeros(a.shape[:-2], bool)
    finite = np.all(np.isfinite(a), axis=(-2, -1))  # of others the derivative is nan, as the value
    return finite & (np.linalg.matrix_rank(np.where(finite[..., None, None], a, 1.0)) < n)


is_singular: Wrapping = row(
    "is_singular",
    ZERO,
    value=_is_singular,
    numpy=(),
    text="is_singular({0})",
    latex=r"\operatorname{{rank}} {0} < n",
    arrays=True,
    reason="the rank of a matrix, up to rounding, is piecewise constant",
    batch=lambda size, which, a: is_singular(a),
)


def conjugate_transpose(x: Any) -> Any:
    """Return the conjugate transpose."""
    return conj(swap(x)) if is_complex(to_plain(x)) else swap(x)


def symmetrize(a: Any, half: str) -> Any:
    """Return the symmetric matrix with the lower (or upper) triangle of `a`."""
    if half.upper() not in ("L", "U"):
        raise ArgumentError(f"UPLO is 'L' or 'U', not {half!r}")
    n = shape_of(a)[-1]
    below = where(np.tri(n, n, -1, bool), a if half.upper() == "L" else conjugate_transpose(a), 0.0)
    diagonal = where(np.eye(n, dtype=bool), a, 0.0)
    return below + conjugate_transpose(below) + (real(diagonal) + 0 * diagonal)


def _lower(x: Any) -> Any:
    """Return the lower triangle, with half of the diagonal; the rest is 0."""
    n = shape_of(x)[-1]
    return x * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n)).astype(to_plain(x).dtype)


def _cholesky_push(dot: Any, v: Any) -> Any:
    turned = solve(v, conjugate_transpose(solve(v, (dot + conjugate_transpose(dot)) / 2)))
    return matmul(v, _lower(conjugate_transpose(turned)))


def _cholesky_pull(bar: Any, v: Any) -> Any:
    middle = solve(swap(v), _lower(matmul(swap(v), bar)))
    pulled = swap(solve(conjugate_transpose(v), swap(middle)))
    return (pulled + conjugate_transpose(pulled)) / 2


cholesky: Wrapping = row(
    "cholesky",
    lambda v, _a: Linear(lambda dot: _cholesky_push(dot, v), lambda bar: _cholesky_pull(bar, v)),
    value=np.linalg.cholesky,
    numpy=(),
    text="cholesky({0})",
    latex=r"\operatorname{{chol}} {0}",
    arrays=True,
    reason="from V Vᵀ = A follows dV = V Φ(V⁻¹ dA V⁻ᵀ), where Φ halves the diagonal",
    batch=lambda size, which, a: cholesky(a),
    domain=SYMMETRIC_MATRIX,
    holomorphic=False,
)


def has_equal(values: Any, *others: float) -> Any:
    """Tell whether two values along the last axis, or one of these and another, nearly coincide."""
    values = np.concatenate([values, *[np.full((*values.shape[:-1], 1), x) for x in others]], -1)
    size = np.max(np.abs(values), axis=-1, initial=0.0)[..., None, None]
    gaps = np.abs(values[..., :, None] - values[..., None, :])
    tight = gaps <= size * values.shape[-1] * np.finfo(values.dtype).eps
    return np.any(np.triu(tight, 1))


EQUAL_EIGENVALUES = Kink(
    "equal eigenvalues",
    lambda a: has_equal(np.linalg.eigvalsh(a)),
    "that of the limit, and nan if the vectors matter; each value has the vector NumPy gives it",
)


def _rotate(v: Any, dot: Any) -> Any:
    """Return Vᵀ dA V: the change of a symmetric matrix in the basis of the eigenvectors."""
    return matmul(matmul(conjugate_transpose(v), (dot + conjugate_transpose(dot)) / 2), v)


def _as_one_row(w: Any) -> Any:
    """Return vectors as 1 × n matrices."""
    return reshape(w, (*shape_of(w)[:-1], 1, shape_of(w)[-1]))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A function of NumPy or SciPy with its settings; `part` selects one of its results.

    Unlike a lambda it can be written as code.

    Examples
    --------
    >>> Decomposition(np.linalg.eigh, {"UPLO": "U"}, 0)(np.diag([1.0, 2.0]))
    array([1., 2.])
    """

    function: Function
    settings: dict[str, Any]
    part: int | None = None

    def __call__(self, a: Any) -> Any:
        """Decompose a matrix."""
        found = self.function(a, **self.settings)
        return found if self.part is None else found[self.part]


class SymmetricRows(NamedTuple):
    """The rows of eigenvalues and eigenvectors computed by one function of NumPy or SciPy."""

    eigenvalues: Wrapping
    eigenvectors: Wrapping
    decompose: Decomposition


def make_symmetric_rows(
    decompose: Decomposition, find_values: Decomposition | None = None, listed: bool = False
) -> SymmetricRows:
    """Make the rows of the eigenvalues and eigenvectors that `decompose` returns.

    Functions differ in the signs of vectors and in the last digits. If `find_values` is given, it
    computes the eigenvalues.
    """

    def pull_values(bar: Any, a: Any) -> Any:
        v = eigenvectors(a)
        return matmul(conj(v) * _as_one_row(bar), swap(v))

    def push_values(dot: Any, a: Any) -> Any:
        one = np.eye(shape_of(a)[-1], dtype=to_plain(a).dtype)
        return real(sum_over(_rotate(eigenvectors(a), dot) * one, -1, False))

    def pull_vectors(bar: Any, v: Any, a: Any) -> Any:
        middle = divide_by_gaps(matmul(swap(v), bar), _as_one_row(eigenvalues(a)))
        pulled = matmul(matmul(conj(v), middle), swap(v))
        return (pulled + conjugate_transpose(pulled)) / 2

    def push_vectors(dot: Any, v: Any, a: Any) -> Any:
        return matmul(v, divide_by_gaps(_rotate(v, dot), _as_one_row(eigenvalues(a))))

    eigenvalues: Wrapping = row(
        "eigenvalues",
        lambda _w, a: Linear(lambda dot: push_values(dot, a), lambda bar: pull_values(bar, a)),
        value=find_values or replace(decompose, part=0),
        numpy=(),
        text="eigenvalues({0})",
        latex=r"\lambda({0})",
        arrays=True,
        reason="the change of an eigenvalue is vᵀ dA v, where v is its eigenvector",
        batch=lambda size, which, a: eigenvalues(a),
        domain=SYMMETRIC_MATRIX,
        holomorphic=False,
        kinks=[EQUAL_EIGENVALUES],
        listed=listed,
    )
    eigenvectors: Wrapping = row(
        "eigenvectors",
        lambda v, a: Linear(
            lambda dot: push_vectors(dot, v, a), lambda bar: pull_vectors(bar, v, a)
        ),
        value=replace(decompose, part=1),
        numpy=(),
        text="eigenvectors({0})",
        latex=r"V({0})",
        arrays=True,
        reason="dvⱼ has the component vᵢᵀ dA vⱼ / (wⱼ - wᵢ) along vᵢ; where wᵢ = wⱼ, in the limit",
        batch=lambda size, which, a: eigenvectors(a),
        domain=SYMMETRIC_MATRIX,
        holomorphic=False,
        kinks=[EQUAL_EIGENVALUES],
        listed=listed,
    )
    return SymmetricRows(eigenvalues, eigenvectors, decompose)


SYMMETRIC = make_symmetric_rows(Decomposition(np.linalg.eigh, {}), listed=True)
eigenvalues, eigenvectors = SYMMETRIC.eigenvalues, SYMMETRIC.eigenvectors
