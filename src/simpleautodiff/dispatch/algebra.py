"""Linear algebra: inverses, solutions, determinants, norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.dispatch.products import cross, outer, tensordot, trace
from simpleautodiff.dispatch.shaping import diagonal, ravel, swapaxes
from simpleautodiff.dispatch.sums import axes_of
from simpleautodiff.dispatch.table import FUNCTIONS, answers
from simpleautodiff.errors import RuleError
from simpleautodiff.rules.complexes import conj, imag, real, squared_size
from simpleautodiff.rules.contract import matmul
from simpleautodiff.rules.indexing import getitem
from simpleautodiff.rules.linalg import (
    cholesky,
    det,
    eigenvalues,
    eigenvectors,
    inv,
    logabsdet,
    solve,
)
from simpleautodiff.rules.piecewise import where as where_row
from simpleautodiff.rules.shapes import max_over, min_over, reshape, shape_of, sum_over
from simpleautodiff.traced import plain

FUNCTIONS[np.real] = lambda val: real(val)
FUNCTIONS[np.imag] = lambda val: imag(val)
FUNCTIONS[np.linalg.inv] = lambda a: inv(a)
FUNCTIONS[np.linalg.det] = lambda a: det(a)
FUNCTIONS[np.linalg.cholesky] = lambda a: cholesky(a)
FUNCTIONS[np.linalg.trace] = lambda x, /, *, offset=0: trace(x, offset)


FUNCTIONS[np.linalg.outer] = lambda x1, x2, /: outer(x1, x2)
FUNCTIONS[np.linalg.matmul] = lambda x1, x2, /: matmul(x1, x2)
FUNCTIONS[np.linalg.cross] = lambda x1, x2, /: cross(x1, x2)
FUNCTIONS[np.linalg.tensordot] = lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes)
FUNCTIONS[np.linalg.diagonal] = lambda x, /, *, offset=0: diagonal(x, offset, -2, -1)
FUNCTIONS[np.linalg.matrix_transpose] = lambda x, /: swapaxes(x, -1, -2)
FUNCTIONS[np.linalg.vecdot] = lambda x1, x2, /, *, axis=-1: sum_over(conj(x1) * x2, axis, False)
FUNCTIONS[np.linalg.vector_norm] = lambda x, /, *, axis=None, keepdims=False, ord=2: norm(
    x if axis is not None or ord == 2 else ravel(x), None if ord == 2 else ord, axis, keepdims
)


@answers(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """Return the argument of complex numbers."""
    turned = np.arctan2(imag(z), real(z))
    return turned * (180 / np.pi) if deg else turned


@answers(np.linalg.eigh)
def eigh(a: Any) -> Any:
    """Return the eigenvalues and eigenvectors of a symmetric matrix; its lower half is read."""
    symmetric = _from_lower(a)
    return EighResult(eigenvalues(symmetric), eigenvectors(symmetric))


@answers(np.linalg.eigvalsh)
def eigvalsh(a: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix; its lower half is read."""
    return eigenvalues(_from_lower(a))


def _from_lower(a: Any) -> Any:
    """Return the symmetric matrix whose lower half is that of `a`."""
    n = shape_of(a)[-1]
    below = where_row(np.tri(n, n, -1, bool), a, 0.0)
    return below + conj(swapaxes(below, -1, -2)) + where_row(np.eye(n, dtype=bool), a, 0.0)


class EighResult(NamedTuple):
    """What np.linalg.eigh returns, for nodes."""

    eigenvalues: Any
    eigenvectors: Any


@answers(np.linalg.pinv)
def pinv(a: Any) -> Any:
    """Return the inverse of a matrix of full rank, in the sense of least squares."""
    tall = shape_of(a)[-2] >= shape_of(a)[-1]
    flipped = conj(swapaxes(a, -1, -2))
    square = matmul(flipped, a) if tall else matmul(a, flipped)
    return matmul(inv(square), flipped) if tall else matmul(flipped, inv(square))


@answers(np.linalg.solve)
def solve_(a: Any, b: Any) -> Any:
    """Solve a linear system; a vector is one column."""
    if len(shape_of(b)) == 1:
        return getitem(solve(a, reshape(b, (-1, 1))), (..., 0))
    return solve(a, b)


@answers(np.linalg.slogdet)
def slogdet(a: Any) -> tuple[Any, Any]:
    """Return the sign, a plain number, and the logarithm of the size of the determinant."""
    return np.linalg.slogdet(plain(a))[0], logabsdet(a)


@answers(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a norm of vectors, or the Frobenius norm of a matrix; at 0 its derivative is 0."""
    vector = len(axes_of(x, axis)) == 1
    if ord in (None, "fro") or (ord == 2 and vector):
        return _length(x, axis, keepdims)
    if not vector:
        raise RuleError(f"np.linalg.norm of a node has no rule for matrices with ord={ord!r}")
    size = np.abs(x)
    if ord == np.inf:
        return max_over(size, axis, keepdims)
    if ord == -np.inf:
        return min_over(size, axis, keepdims)
    if ord == 0:
        raise RuleError("the norm of order 0 counts elements; it has no derivative")
    total = sum_over(size**ord, axis, keepdims)
    zero = plain(total) == 0
    return where_row(zero, 0.0, where_row(zero, 1.0, total) ** (1 / ord))


def _length(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the root of the sum of squares, scaled so that nothing overflows."""
    size = np.abs(plain(x))
    largest = np.max(size) if np.size(size) else 0.0
    scale = np.where((largest > 0) & (largest < np.inf), largest, 1.0)[()]
    square = sum_over(squared_size(x / scale), axis, keepdims)
    zero = plain(square) == 0
    return where_row(zero, 0.0, np.sqrt(where_row(zero, 1.0, square))) * scale


@answers(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """Multiply a matrix with itself."""
    if n < 0:
        return matrix_power(inv(a), -n)
    result: Any = np.eye(shape_of(a)[-1])
    while n:
        result = matmul(result, a) if n % 2 else result
        a, n = matmul(a, a), n // 2
    return result


@answers(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """Multiply several matrices."""
    result = arrays[0]
    for array in arrays[1:]:
        result = matmul(result, array)
    return result
