"""Rows: functions of matrices, triangular systems, and the factors L, D and U."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import DomainError, cite_line
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.linear_systems import SYMMETRIC_MATRIX, align_batches, inv
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import optional


def scipy_linalg(name: str) -> Any:
    """Return a function of scipy.linalg, which is imported when it is first needed."""
    return getattr(optional("scipy.linalg", f"{name} of an array"), name)


def lower_part(x: Any, diagonal: int = 0) -> Any:
    """Return the elements on and below a diagonal; the rest is 0."""
    rows, columns = shape_of(x)[-2:]
    return where(np.tri(rows, columns, diagonal, bool), x, 0.0)


def upper_part(x: Any, diagonal: int = 0) -> Any:
    """Return the elements on and above a diagonal; the rest is 0."""
    rows, columns = shape_of(x)[-2:]
    return where(np.tri(rows, columns, diagonal - 1, bool), 0.0, x)


# Functions of matrices. ---------------------------------------------------------------------------


def _matrix_function_row(name: str) -> Wrapping:
    """Enter a function f of square matrices.

    The upper right block of f([[A, E], [0, A]]) is the derivative of f at A along E. So the
    derivative is f itself, of a larger matrix, and can be differentiated again.
    """

    def value(a: Any) -> Any:
        result = scipy_linalg(name)(a.astype(np.promote_types(a.dtype, np.float64)))
        if np.iscomplexobj(result) and not np.iscomplexobj(a):
            raise DomainError(f"{name} of this matrix is not real{cite_line()}")
        return np.asarray(result, a.dtype)

    def along(a: Any, e: Any) -> Any:
        n = shape_of(a)[-1]
        zero = np.zeros(shape_of(a), np.result_type(to_plain(a)))
        upper, lower = concatenate([a, e], -1), concatenate([zero, a], -1)
        return getitem(wrapping(concatenate([upper, lower], -2)), (..., slice(n), slice(n, None)))

    wrapping = row(
        name,
        lambda _v, a: Linear(lambda dot: along(a, dot), lambda bar: along(swap(a), bar)),
        value=value,
        numpy=(),
        text=f"{name}({{0}})",
        latex=rf"\operatorname{{{{{name}}}}}({{0}})",
        arrays=True,
        reason="the upper right block of f([[A, E], [0, A]]) is the derivative of f at A along E",
    )
    return wrapping


expm = _matrix_function_row("expm")
logm = _matrix_function_row("logm")
sinm = _matrix_function_row("sinm")
cosm = _matrix_function_row("cosm")
sinhm = _matrix_function_row("sinhm")
coshm = _matrix_function_row("coshm")

# Triangular systems. ------------------------------------------------------------------------------


def _solve_triangular(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    solve = scipy_linalg("solve_triangular")
    if a.ndim == b.ndim == 2:
        return solve(a, b, lower=lower, unit_diagonal=unit)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, stack + x.shape[-2:]) for x in (a, b))
    result = np.empty(b.shape, np.result_type(a, b))
    for index in np.ndindex(stack):
        result[index] = solve(a[index], b[index], lower=lower, unit_diagonal=unit)
    return result


def _triangular_batch(
    size: int, which: tuple[bool, ...], a: Any, b: Any, lower: bool, unit: bool
) -> Any:
    """Solve a stack of systems, with the axis of the batch in front."""
    return solve_triangular(*align_batches(which, a, b), lower, unit)


def _take_triangle(x: Any, lower: bool, unit: bool) -> Any:
    """Return the part of a matrix that a triangular system reads; the rest is 0."""
    return lower_part(x, -int(unit)) if lower else upper_part(x, int(unit))


def _triangular_rule(v: Any, a: Any, b: Any, lower: bool, unit: bool) -> Linear:
    def push(dot: Any) -> Any:
        return -solve_triangular(a, matmul(_take_triangle(dot, lower, unit), v), lower, unit)

    def pull(bar: Any) -> Any:
        back = solve_triangular(swap(a), bar, not lower, unit)
        return -_take_triangle(matmul(back, swap(v)), lower, unit)

    return Linear(push, pull)


solve_triangular: Wrapping = row(
    "solve_triangular",
    _triangular_rule,
    lambda _v, a, _b, lower, unit: Linear(
        lambda dot: solve_triangular(a, dot, lower, unit),
        lambda bar: solve_triangular(swap(a), bar, not lower, unit),
    ),
    ZERO,
    ZERO,
    value=_solve_triangular,
    numpy=(),
    text="solve_triangular({0}, {1}, lower={2}, unit_diagonal={3})",
    latex="{0}^{{-1}} {1}",
    arrays=True,
    reason="from A V = B follows A dV = dB - dA V, where only the triangle of dA is read",
    settings=(2, 3),
    batch=_triangular_batch,
)

# L and U in one matrix. ---------------------------------------------------------------------------


def unit_lower(v: Any) -> Any:
    """Return L from the matrix that stores L and U."""
    return lower_part(v, -1) + np.eye(shape_of(v)[-1], dtype=to_plain(v).dtype)


def _lu_rule(v: Any, a: Any, order: Any) -> Linear:
    lower, upper = unit_lower(v), upper_part(v)

    def push(dot: Any) -> Any:
        middle = matmul(matmul(inv(lower), getitem(dot, order)), inv(upper))
        return matmul(lower, lower_part(middle, -1)) + matmul(upper_part(middle), upper)

    def pull(bar: Any) -> Any:
        middle = lower_part(matmul(swap(lower), lower_part(bar, -1)), -1)
        middle = middle + upper_part(matmul(upper_part(bar), swap(upper)))
        pulled = matmul(matmul(swap(inv(lower)), middle), swap(inv(upper)))
        return getitem(pulled, np.argsort(order))

    return Linear(push, pull)


lu: Wrapping = row(
    "lu",
    _lu_rule,
    ZERO,
    value=lambda a, order: scipy_linalg("lu_factor")(a)[0],
    numpy=(),
    text="lu({0}, {1})",
    latex=r"\operatorname{{lu}}({0}, {1})",
    arrays=True,
    reason="with M = L⁻¹ dA U⁻¹: dL is L times the lower part of M, dU the upper part of M times U",
    settings=(1,),
)

# L and D, one below the other. --------------------------------------------------------------------


def _ldl_value(a: Any, order: Any, blocks: Any) -> Any:
    lower, diagonal, _ = scipy_linalg("ldl")(a)
    return np.concatenate([lower[order], diagonal])


def _ldl_rule(v: Any, a: Any, order: Any, blocks: Any) -> Linear:
    n = shape_of(a)[-1]
    lower, diagonal = getitem(v, slice(n)), getitem(v, slice(n, None))
    below = np.tril(~blocks)
    back, over = inv(lower), inv(diagonal)

    def push(dot: Any) -> Any:
        middle = matmul(matmul(back, getitem(dot, np.ix_(order, order))), swap(back))
        turned = where(below, matmul(middle, over), 0.0)
        return concatenate([matmul(lower, turned), where(blocks, middle, 0.0)])

    def pull(bar: Any) -> Any:
        bar_lower, bar_diagonal = getitem(bar, slice(n)), getitem(bar, slice(n, None))
        turned = matmul(where(below, matmul(swap(lower), bar_lower), 0.0), swap(over))
        middle = turned + where(blocks, bar_diagonal, 0.0)
        pulled = matmul(matmul(swap(back), middle), back)
        first = np.argsort(order)
        return getitem(pulled, np.ix_(first, first))

    return Linear(push, pull)


ldl: Wrapping = row(
    "ldl",
    _ldl_rule,
    ZERO,
    ZERO,
    value=_ldl_value,
    numpy=(),
    text="ldl({0}, {1}, {2})",
    latex=r"\operatorname{{ldl}}({0}, {1}, {2})",
    arrays=True,
    reason="with M = L⁻¹ dA L⁻ᵀ: dD are its blocks on the diagonal, dL is L times M D⁻¹ below them",
    domain=SYMMETRIC_MATRIX,
    settings=(1, 2),
)

# Square roots. ------------------------------------------------------------------------------------


class NotRealError(DomainError):
    """A real matrix has a complex root."""


def _sqrtm_value(a: Any, may_be_complex: bool) -> Any:
    """Compute the principal root; that of a real matrix may be complex only if this is allowed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Matrix is singular")  # the rule checks it
        result = scipy_linalg("sqrtm")(a.astype(np.promote_types(a.dtype, np.float64)))
    if may_be_complex:
        return np.asarray(result, np.promote_types(a.dtype, np.complex64))
    if np.iscomplexobj(result) and not np.iscomplexobj(a):
        raise NotRealError(f"sqrtm of this matrix is not real{cite_line()}")
    return np.asarray(result, a.dtype)


def _root_slope(v: Any, q: Any, a: Any) -> Any:
    """Solve V X + X V = Q for a root V of A; if A is singular, where Q leaves its kernel alone.

    In eigenvectors of V the equation is (λᵢ + λⱼ) Xᵢⱼ = Qᵢⱼ. If both eigenvalues are 0 there is no
    derivative, unless Qᵢⱼ is 0 as well.
    """
    missing = len(a) - np.linalg.matrix_rank(a)
    if not missing:
        return scipy_linalg("solve_sylvester")(v, v, q)
    numbers, vectors = np.linalg.eig(v)
    kernel = np.zeros(len(a), bool)
    kernel[np.argsort(np.abs(numbers))[:missing]] = True
    both, back = np.outer(kernel, kernel), np.linalg.inv(vectors)
    turned = back @ q @ vectors
    if np.any(np.abs(turned[both]) > 1e-7 * np.max(np.abs(turned))):
        raise DomainError(
            "sqrtm has no derivative here: the matrix is singular, and what is computed from its "
            f"root depends on directions in which the root has infinite slope{cite_line()}"
        )
    numbers = np.where(kernel, 0, numbers)
    sums = np.where(both, 1, numbers[:, None] + numbers)
    result = vectors @ np.where(both, 0, turned / sums) @ back
    return result if np.iscomplexobj(v) or np.iscomplexobj(q) else result.real


root_slope: Wrapping = row(
    "root_slope",
    lambda x, v, _q, a: Linear(
        lambda dot: -root_slope(v, _add_both_products(dot, x), a),
        lambda bar: -_add_both_products(root_slope(swap(v), bar, swap(a)), swap(x)),
    ),
    lambda _x, v, _q, a: Linear(
        lambda dot: root_slope(v, dot, a), lambda bar: root_slope(swap(v), bar, swap(a))
    ),
    ZERO,
    value=_root_slope,
    numpy=(),
    text="root_slope({0}, {1}, {2})",
    latex=r"\operatorname{{root\_slope}}({0}, {1}, {2})",
    arrays=True,
    reason="from V X + X V = Q follows V dX + dX V = dQ - dV X - X dV",
)


def _add_both_products(x: Any, y: Any) -> Any:
    return matmul(x, y) + matmul(y, x)


principal_root = row(
    "sqrtm",
    lambda v, a, _wide: Linear(
        lambda dot: root_slope(v, dot, a), lambda bar: root_slope(swap(v), bar, swap(a))
    ),
    ZERO,
    value=_sqrtm_value,
    numpy=(),
    text="sqrtm({0})",
    latex=r"\operatorname{{sqrtm}}({0})",
    arrays=True,
    settings=(1,),
    reason="from V V = A follows V dV + dV V = dA",
    kinks=(
        Kink(
            "less than full rank",
            lambda a, _wide: np.linalg.matrix_rank(a) < len(a),
            "infinite in the kernel, where it is refused",
        ),
    ),
)


def sqrtm(a: Any) -> Any:
    """Return the principal root of a matrix; it is complex if no real one exists."""
    try:
        return principal_root(a, False)
    except NotRealError:
        return principal_root(a, True)
