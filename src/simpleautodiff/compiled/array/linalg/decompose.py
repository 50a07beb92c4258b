"""Factors of matrices, their eigenvalues and singular values as lines of LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.linalg.matrix_calls import (
    LapackRoutine,
    add_routine,
    part_of,
    row_line,
    shape_of,
    swap,
    swap_if_matrix,
)
from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.array.indexing import make_concatenate
from simpleautodiff.values.functions import optional

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def cholesky(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Compute the lower factor, which is LAPACK's upper one by columns; the rest is unchanged."""
    n = line.shape[-1]
    whole = add_routine(plan, LapackRoutine("cholesky", line.shape[:-2], n, n), (a,), line.dtype)
    factor = part_of(plan, whole, 0, (n, n))
    lower = (np.tri(n, dtype=bool), factor, 0.0)
    result = row_line(plan, "where", lower, line.shape, factor)
    plan.triangles[plan.view(result)] = True
    plan.triangles[plan.view(swap(plan, result))] = False
    return result


def _decompose_symmetric(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Return the line of eigenvectors, row by row, and the eigenvalues behind them."""
    *stack, n, _ = shape_of(plan, a)
    work = 1 + 6 * n + 2 * n * n + 3 + 5 * n
    what = LapackRoutine("eigh", tuple(stack), n, n, behind=n, work=work)
    view = plan.view(a)
    if ("eigh", view) not in plan.factors:
        plan.factors["eigh", view] = add_routine(plan, what, (swap_if_matrix(plan, a),), line.dtype)
    found: Ref = plan.factors["eigh", view]
    return found


def eigenvalues(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Return the eigenvalues of symmetric matrices."""
    n = line.shape[-1]
    return part_of(plan, _decompose_symmetric(plan, line, a), n * n, (n,))


def eigenvectors(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Return the eigenvectors of symmetric matrices."""
    n = line.shape[-1]
    return swap(plan, part_of(plan, _decompose_symmetric(plan, line, a), 0, (n, n)))


def _work_of_svd(m: int, n: int, dtype: Any, vectors: bool) -> int:
    """Ask LAPACK how much work memory it wants."""
    lapack = optional("scipy.linalg.lapack", "singular values in compiled code")
    ask = lapack.dgesdd_lwork if dtype.char == "d" else lapack.sgesdd_lwork
    return int(ask(m, n, compute_uv=vectors, full_matrices=False)[0])


def _decompose_singular(plan: LoopSchedule, a: Any, dtype: Any) -> tuple[Ref, Ref, Ref]:
    """Return Uᵀ, the singular values and V."""
    *stack, m, n = shape_of(plan, a)
    k = min(m, n)
    work = _work_of_svd(m, n, dtype, True) + 8 * k
    what = LapackRoutine("svd", tuple(stack), n, m, behind=k * (1 + m + n), work=work)
    made = add_routine(plan, what, (swap_if_matrix(plan, a),), dtype)
    shapes = ((k,), (k, m), (n, k))
    starts = (m * n, m * n + k, m * n + k + k * m)
    values, left, right = (part_of(plan, made, *x) for x in zip(starts, shapes, strict=True))
    return left, values, right


def svd(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Return U, the singular values and V, one below the other."""
    left, values, right = _decompose_singular(plan, a, line.dtype)
    stack, k = line.shape[:-2], line.shape[-1]
    middle = row_line(plan, "reshape", (values, (*stack, 1, k)), (*stack, 1, k), values)
    return _below_each_other(plan, line, swap(plan, left), middle, right)


def _below_each_other(plan: LoopSchedule, line: Line, *parts: Ref) -> Ref:
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + shape_of(plan, part)[-2])
    where = len(line.shape) - 2, tuple(ends)
    join = make_concatenate(len(parts)).primitive  # type: ignore[attr-defined]
    return plan.append(Line(join, (where, *parts), {}, line.shape, line.dtype))


def pinv(plan: LoopSchedule, line: Line, a: Any) -> Ref | None:
    """Divide by the singular values that are not too small, as NumPy does."""
    cut = 1e-15 if line.args[1] is None else line.args[1]
    if type(cut) is not float:
        return None
    left, values, right = _decompose_singular(plan, a, line.dtype)
    stack, k = line.shape[:-2], shape_of(plan, values)[-1]
    first = row_line(plan, "getitem", (values, (..., slice(0, 1))), (*stack, 1), values)
    bound = row_line(plan, "mul", (first, cut), (*stack, 1), values)
    shape = (*stack, k)
    large = plan.append(Line(np.greater, (values, bound), {}, shape, np.dtype(bool)))
    inverse = row_line(plan, "div", (1.0, values), shape, values)
    kept = row_line(plan, "where", (large, inverse, 0.0), shape, values)
    column = row_line(plan, "reshape", (kept, (*shape, 1)), (*shape, 1), values)
    scaled = row_line(plan, "mul", (column, left), shape_of(plan, left), values)
    return row_line(plan, "matmul", (right, scaled), line.shape, values)


def qr(plan: LoopSchedule, line: Line, a: Any) -> Ref | None:
    """Return Q and the transpose of R, one below the other; Q comes from LAPACK's reflectors."""
    *stack, m, n = shape_of(plan, a)
    if m < n:
        return None
    work = _WIDTH * n
    what = LapackRoutine("qr", tuple(stack), n, m, behind=n, work=work)
    made = add_routine(plan, what, (swap_if_matrix(plan, a),), line.dtype)
    columns = part_of(plan, made, 0, (n, m))
    square = (*stack, n, n)
    upper = row_line(plan, "getitem", (columns, (..., slice(0, n))), square, made)
    upper = row_line(plan, "where", (np.tri(n, dtype=bool), upper, 0.0), square, made)
    what = LapackRoutine("qr_columns", tuple(stack), n, m, work=work)
    q = part_of(plan, add_routine(plan, what, (columns, made), line.dtype), 0, (n, m))
    return _below_each_other(plan, line, swap(plan, q), upper)


_WIDTH = 64  # columns that LAPACK processes together, at most
