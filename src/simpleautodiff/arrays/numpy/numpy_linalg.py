"""np.linalg: inverses, solutions, determinants, norms, powers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.numpy.contractions import cross, dot, outer, tensordot, trace
from simpleautodiff.arrays.numpy.factorizations import svdvals
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import FUNCTIONS, as_array, can_decide, implements, is_batch
from simpleautodiff.arrays.shaping import moveaxis, swapaxes
from simpleautodiff.arrays.ufuncs import vecdot
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ArgumentError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.decompositions import log_det
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.linear_systems import (
    det as det_row,
    det_sign,
    inv,
    is_singular,
    logabsdet,
    solve,
)
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import (
    keep_dims,
    max_over,
    min_over,
    reshape,
    shape_of,
    sum_over,
)
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.complex_parts import imag, real, squared_size
from simpleautodiff.rules.scalar.piecewise import sign
from simpleautodiff.values.functions import is_complex

FUNCTIONS[np.real] = lambda val: real(val)
FUNCTIONS[np.imag] = lambda val: imag(val)
FUNCTIONS[np.linalg.inv] = lambda a: inv(a)
FUNCTIONS[np.linalg.trace] = lambda x, offset=0: trace(x, offset, -2, -1)
FUNCTIONS[np.linalg.outer] = lambda x1, x2: outer(x1, x2)
FUNCTIONS[np.linalg.matmul] = lambda x1, x2: matmul(as_array(x1), as_array(x2))
FUNCTIONS[np.linalg.vecdot] = lambda x1, x2, axis=-1: vecdot(as_array(x1), as_array(x2), axis)
FUNCTIONS[np.linalg.tensordot] = lambda x1, x2, axes=2: tensordot(x1, x2, axes)
FUNCTIONS[np.linalg.diagonal] = lambda x, offset=0: np.diagonal(x, offset, -2, -1)
FUNCTIONS[np.linalg.matrix_transpose] = lambda x: swapaxes(x, -1, -2)


@implements(np.linalg.cross)
def cross_of_three(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Return the cross product of vectors of length 3."""
    lengths = [shape_of(as_array(x))[axis] for x in (x1, x2)]
    if lengths != [3, 3]:
        raise InputError(
            f"np.linalg.cross needs vectors of three numbers, not of {lengths[0]} and "
            f"{lengths[1]}; put a 0 behind two{cite_line()}"
        )
    return cross(x1, x2, axis=axis)


@implements(np.linalg.solve)
def solve_(a: Any, b: Any) -> Any:
    """Solve a linear system; a vector is one column."""
    a, b = as_array(a), as_array(b)
    if len(shape_of(b)) == 1:
        return getitem(solve(a, reshape(b, (-1, 1))), (..., 0))
    return solve(a, b)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Solve a linear system whose unknowns form an array."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        moved = axes_of(a, tuple(axes))
        a = np.transpose(a, (*[i for i in range(len(shape_of(a))) if i not in moved], *moved))
    unknown = shape_of(a)[len(shape_of(b)) :]
    size = int(np.prod(shape_of(b), dtype=int))
    return reshape(solve_(reshape(a, (size, -1)), reshape(b, (-1,))), unknown)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of an array as a map from its last axes to its first."""
    first, last = shape_of(a)[:ind], shape_of(a)[ind:]
    size = int(np.prod(last, dtype=int))
    return reshape(inv(reshape(a, (-1, size))), (*last, *first))


# Determinants. ------------------------------------------------------------------------------------


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Return the determinant, with correct derivatives where it is 0, too."""
    if not can_decide(a) and 1 <= shape_of(a)[-1] <= 3:
        return _det_by_minors(a)
    if to_plain(a) is a:
        return det_row(a)
    singular = is_singular(to_plain(a))
    if is_batch(a) and (not can_decide(a) or np.any(singular)):
        safe = where_row(singular[..., None, None], np.eye(shape_of(a)[-1], dtype=dtype_of(a)), a)
        return where_row(singular, _det_as_polynomial(a), det_row(safe))
    if is_batch(a) or not np.any(singular):
        return det_row(a)
    if len(shape_of(a)) == 2:
        return give_values(_det_of_singular(a), np.linalg.det, (a,), {})
    stacked = stack([det(part) for part in reshape(a, (-1, *shape_of(a)[-2:]))])
    return reshape(stacked, shape_of(a)[:-2])


def _det_by_minors(a: Any) -> Any:
    """Return the determinant of up to 3 rows by minors, which is faster for many matrices.

    It has derivatives of every order; with 3 rows it may lose digits, so its value is replaced.
    """
    if shape_of(a)[-1] == 1:
        return getitem(a, (..., 0, 0))
    first, second, *third = [getitem(a, (..., k, slice(None))) for k in range(shape_of(a)[-1])]
    if not third:
        return first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    products = sum_over(first * cross(second, third[0]), -1, False)
    return products + (
        _det_by_elimination(to_plain(first), to_plain(second), to_plain(third[0]))
        - to_plain(products)
    )


def _det_by_elimination(x: Any, y: Any, z: Any) -> Any:
    """Return the determinant of 3 plain rows by one step of elimination."""
    turn = 1.0
    (x, y), turn = _put_larger_first(x, y, turn)
    (x, z), turn = _put_larger_first(x, z, turn)
    pivot = x[..., :1]
    below = np.where(pivot == 0, 1, pivot)
    y, z = y - y[..., :1] / below * x, z - z[..., :1] / below * x
    return turn * pivot[..., 0] * (y[..., 1] * z[..., 2] - y[..., 2] * z[..., 1])


def _put_larger_first(x: Any, y: Any, turn: Any) -> tuple[tuple[Any, Any], Any]:
    """Exchange two rows where the second has the larger first element."""
    other = np.abs(y[..., :1]) > np.abs(x[..., :1])
    return (np.where(other, y, x), np.where(other, x, y)), np.where(other[..., 0], -turn, turn)


def _det_of_singular(a: Any) -> Any:
    """Split off the invertible part; the determinant of the small rest is a polynomial.

    In the bases of the singular vectors, which are taken as constants, A is B. The first of its
    blocks is invertible: det B = det B₁₁ det(B₂₂ - B₂₁ B₁₁⁻¹ B₁₂).
    """
    u, s, vh = np.linalg.svd(to_plain(a))
    r = int(np.sum(s > len(s) * np.finfo(s.dtype).eps * s[0])) if s[0] > 0 else 0
    b = matmul(matmul(u.conj().T, a), vh.conj().T)
    rest = b[r:, r:]
    if r:
        rest = rest - matmul(b[r:, :r], solve(b[:r, :r], b[:r, r:]))
    turned = np.linalg.det(u) * np.linalg.det(vh)
    return turned * (det_row(b[:r, :r]) if r else 1.0) * _det_as_polynomial(rest)


def _det_as_polynomial(a: Any) -> Any:
    """Return the determinant by sums and products alone (Faddeev-LeVerrier)."""
    n = shape_of(a)[-1]
    one = np.eye(n, dtype=dtype_of(a))
    product: Any = one
    coefficient: Any = 1.0
    for k in range(1, n + 1):
        product = matmul(a, product)
        coefficient = trace(product, 0, -2, -1) / -k
        product = product + reshape(coefficient, (*shape_of(coefficient), 1, 1)) * one
    return coefficient if n % 2 == 0 else -coefficient


class SlogdetResult(NamedTuple):
    """What np.linalg.slogdet returns, for nodes."""

    sign: Any
    logabsdet: Any


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """Return the sign, plain for a real matrix, and the logarithm of the absolute determinant."""
    if not is_complex(to_plain(a)):
        return SlogdetResult(det_sign(to_plain(a)), logabsdet(a))
    logarithm = log_det(a)
    return SlogdetResult(np.exp(1j * imag(logarithm)), real(logarithm))


# Norms. -------------------------------------------------------------------------------------------


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a norm of vectors or of matrices; at 0 its derivative is 0."""
    axes = axes_of(x, axis)
    if axis is not None and len(axes) > 2:
        raise InputError(f"np.linalg.norm takes one axis or two, not {axis}{cite_line()}")
    if isinstance(ord, Traced) and len(axes) != 1:
        raise RuleError(
            "the order of a norm of matrices is a plain number; node.value is one" + cite_line()
        )
    if isinstance(ord, Traced):
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if ord is None or (ord in (2, "f", "fro") and len(axes) == (1 if ord == 2 else 2)):
        return _length(x, axis, keepdims) if axis is not None or keepdims else _length_of_all(x)
    if len(axes) == 1:
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise ArgumentError("a norm of a given order is that of vectors or of matrices: pass axis")
    return _matrix_norm(x, ord, axes, keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return a norm of vectors, which may lie along several axes."""
    if isinstance(ord, Traced):
        return _root_of_powers(np.abs(x) ** ord, axis, keepdims, ord)
    if ord == 2:
        return _length(x, axis, keepdims)
    size = np.abs(x)
    if ord == np.inf:
        return max_over(size, axis, keepdims)
    if ord == -np.inf:
        return min_over(size, axis, keepdims)
    if isinstance(ord, str):
        raise RuleError(f"there is no norm of vectors of order {ord!r}")
    if ord == 0:  # a count, which jumps where an element is 0; NumPy counts nan, too
        nan = np.isnan(to_plain(size))
        return sum_over(sign(where_row(nan, 1.0, size)), axis, keepdims)
    if ord == 1:
        return sum_over(size, axis, keepdims)
    return _root_of_powers(size**ord, axis, keepdims, ord)


def _root_of_powers(powers: Any, axis: Any, keepdims: bool, ord: Any) -> Any:
    """Return a norm of finite order from the powers of sizes; where it is 0, so is its slope."""
    total = sum_over(powers, axis, keepdims)
    zero = to_plain(total) == np.where(to_plain(ord) > 0, 0.0, np.inf)
    return where_row(zero, 0.0, where_row(zero, 1.0, total) ** (1 / ord))


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return a norm of matrices, which lie along the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    reduce = {1: max_over, 2: max_over, np.inf: max_over, "nuc": sum_over}.get(ord, min_over)
    matrices = moveaxis(x, axes, (-2, -1))
    if ord in (2, -2, "nuc"):
        values = svdvals(matrices)
        values = where_row(to_plain(values) == 0, 0.0, values)  # at 0 the derivative is 0
    elif ord in (1, -1, np.inf, -np.inf):
        values = sum_over(np.abs(matrices), -2 if abs(ord) == 1 else -1, False)
    else:
        raise RuleError(f"np.linalg.norm of a node has no rule for matrices with ord={ord!r}")
    result = reduce(values, -1, False)
    return reshape(result, keep_dims(shape_of(x), axes)) if keepdims else result


def _length(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the root of the sum of squares."""
    return np.sqrt(sum_over(squared_size(x), axis, keepdims))


def _length_of_all(x: Any) -> Any:
    """Return the root of the sum of all squares, added up by BLAS as NumPy does."""
    flat = x if len(shape_of(x)) == 1 else reshape(x, (-1,))
    parts = (real(flat), imag(flat)) if is_complex(to_plain(x)) else (flat,)
    return np.sqrt(sum(matmul(part, part) for part in parts))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number."""
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = getitem(s, (..., 0)), getitem(s, (..., -1))
        return last / first if p == -2 else first / last
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


# Products. ----------------------------------------------------------------------------------------


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """Return an integer power of a matrix."""
    if operator.index(n) < 0:
        return matrix_power(inv(a), -n)
    if not n:
        return np.broadcast_to(np.eye(shape_of(a)[-1], dtype=dtype_of(a)), shape_of(a)).copy()
    result: Any = None
    while n:
        if n % 2:
            result = a if result is None else matmul(result, a)
        a, n = (matmul(a, a) if n > 1 else a), n // 2
    return result


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """Multiply several matrices; the first and the last may be vectors."""
    if len(arrays) < 2:
        raise InputError(f"np.linalg.multi_dot needs two arrays at least{cite_line()}")
    result = as_array(arrays[0])
    for array in arrays[1:]:
        result = dot(result, array)
    return result
