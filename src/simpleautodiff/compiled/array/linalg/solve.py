"""Linear systems, inverses and determinants as lines of LAPACK.

Systems with the same matrix, or with its transpose, share the factors: the reverse sweep solves
with those that the function itself needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.factors import for_blas
from simpleautodiff.compiled.array.linalg.matrix_calls import (
    LapackRoutine,
    add_routine,
    dtype_of,
    find_shared,
    part_of,
    row_line,
    shape_of,
    spread,
    swap,
    swap_if_matrix,
)
from simpleautodiff.compiled.array.view_accesses import Shape, find_matrix_layout, matrix_of
from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.values.functions import optional

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def _factor(plan: LoopSchedule, a: Any, dtype: Any, must: bool = True) -> tuple[Any, bool]:
    """Return the line of L, U and row exchanges, and whether they are those of aᵀ."""
    *stack, n, _ = shape_of(plan, a)

    def make() -> Any:
        known = None if type(a) is Ref else _known_lu(a)
        if known is not None:
            return known
        what = LapackRoutine("lu", tuple(stack), n, n, behind=n)
        what.must = False
        return add_routine(plan, what, (swap_if_matrix(plan, a),), dtype)

    lu, turned = find_shared(plan, "lu", a, make)
    if type(lu) is Ref:
        plan.lines[lu].what.must |= must
    return lu, turned


def _known_lu(a: Any) -> Any:
    """Return L, U and row exchanges of constant matrices, as LAPACK's; None if one is singular."""
    lapack = optional("scipy.linalg.lapack", "factors of a constant matrix")
    factor = lapack.dgetrf if a.dtype.char == "d" else lapack.sgetrf
    n = a.shape[-1]
    packed = np.zeros((*a.shape[:-2], n + 1, n), a.dtype)
    for place in np.ndindex(a.shape[:-2]):
        lu, exchanged, info = factor(a[place])
        if info:
            return None
        packed[place][:n] = lu.T
        packed[place][n].view(np.int32)[:n] = exchanged + 1
    return packed


def _solve_factored(plan: LoopSchedule, a: Any, b: Any, stack: Shape, dtype: Any) -> Ref:
    """Return a⁻¹ b, for all matrices of a stack; a known triangle needs no factors."""
    a = _for_all(plan, a, stack)
    lower = plan.triangles.get(plan.view(a))
    if lower is not None:
        return _substitute(plan, a, b, stack, dtype, lower)
    lu, turned = _factor(plan, a, dtype)
    n, k = shape_of(plan, b)[-2:]
    what = LapackRoutine("lu_solve", stack, k, n, option="T" if turned else "N")
    solved = add_routine(plan, what, (swap_if_matrix(plan, b), lu), dtype)
    return swap(plan, part_of(plan, solved, 0, (k, n)))


def _for_all(plan: LoopSchedule, a: Any, stack: Shape) -> Any:
    """Return one matrix, or one for each index of a stack."""
    own = shape_of(plan, a)
    fits = math.prod(own[:-2]) == 1 or own[:-2] == stack
    return a if fits else spread(plan, a, (*stack, *own[-2:]))


def solve(plan: LoopSchedule, line: Line, a: Any, b: Any) -> Ref:
    """Return a⁻¹ b."""
    return _solve_factored(plan, a, b, line.shape[:-2], line.dtype)


def inv(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Solve for the unit matrix, as NumPy does."""
    one = np.eye(line.shape[-1], dtype=line.dtype)
    made, turned = find_shared(
        plan, "inv", a, lambda: _solve_factored(plan, a, one, line.shape[:-2], line.dtype)
    )
    return swap(plan, made) if turned else made


def solve_triangular(plan: LoopSchedule, line: Line, a: Any, b: Any) -> Ref | None:
    """Solve with one triangle; nan and inf, which SciPy refuses, are checked before."""
    lower, unit = line.args[2:]
    stack = line.shape[:-2]
    if any(type(x) is not Ref and not np.isfinite(x).all() for x in (a, b)):
        return None
    a = for_blas(plan, _for_all(plan, a, stack))
    largest = [_find_largest(plan, x) for x in (a, b) if type(x) is Ref]
    return _substitute(plan, a, b, stack, line.dtype, lower, unit, largest)


def _substitute(
    plan: LoopSchedule,
    a: Any,
    b: Any,
    stack: Shape,
    dtype: Any,
    lower: bool,
    unit: bool = False,
    largest: Sequence[Ref] = (),
) -> Ref:
    """Return a⁻¹ b for triangles, after a check that some numbers are finite."""
    a = for_blas(plan, a)
    known = find_matrix_layout(matrix_of(plan.view(a)))
    assert known is not None  # otherwise it would have been copied
    by_columns, _ = known
    option = "LN" if lower and by_columns else "UT" if lower else "UN" if by_columns else "LT"
    n, k = shape_of(plan, b)[-2:]
    what = LapackRoutine("solve_triangular", stack, k, n, option=option + ("U" if unit else "N"))
    solved = add_routine(plan, what, (swap_if_matrix(plan, b), a, *largest), dtype)
    return swap(plan, part_of(plan, solved, 0, (k, n)))


def _find_largest(plan: LoopSchedule, x: Ref) -> Ref:
    """Return the largest absolute value; it is not finite if an element is not."""

    def make() -> Ref:
        size = row_line(plan, "abs", (x,), shape_of(plan, x), x)
        return row_line(plan, "max", (size, None, False), (), x)

    found: Ref = find_shared(plan, "largest", x, make)[0]
    return found


# Determinants. ------------------------------------------------------------------------------------


def logabsdet(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Add up the logarithms of the diagonal of U."""
    n, stack = shape_of(plan, a)[-1], line.shape
    lu, _ = _factor(plan, a, line.dtype, must=False)
    whole = row_line(plan, "reshape", (lu, (*stack, n * (n + 1))), (*stack, n * (n + 1)), lu)
    index = (..., slice(None, None, n + 1))
    diagonal = row_line(plan, "getitem", (whole, index), (*stack, n), lu)
    size = row_line(plan, "abs", (diagonal,), (*stack, n), lu)
    logarithm = row_line(plan, "log", (size,), (*stack, n), lu)
    return row_line(plan, "sum", (logarithm, (len(stack),), False), stack, lu)


def sign(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Count the row exchanges, and the negative elements on the diagonal of U."""
    lu, _ = _factor(plan, a, line.dtype, must=False)
    signs = add_routine(plan, LapackRoutine("det_sign", line.shape, 1, 1), (lu,), line.dtype)
    return row_line(plan, "reshape", (signs, line.shape), line.shape, lu)


def det(plan: LoopSchedule, line: Line, a: Any) -> Ref:
    """Return the sign times the exponential of the logarithm, as NumPy does."""
    side, logarithm = sign(plan, line, a), logabsdet(plan, line, a)
    size = row_line(plan, "exp", (logarithm,), line.shape, logarithm)
    return row_line(plan, "mul", (side, size), line.shape, size)


def is_singular(plan: LoopSchedule, line: Line, a: Any) -> Ref | None:
    """Return False where the factors show that not all digits are lost; leave the rest to NumPy.

    NumPy compares the smallest and the largest singular value, which take much longer to find.
    """
    n, stack, dtype = shape_of(plan, a)[-1], line.shape, dtype_of(plan, a)
    lu, turned = _factor(plan, a, dtype, must=False)
    if type(lu) is not Ref:
        return None
    rank = len(stack)
    sizes = row_line(plan, "abs", (a,), shape_of(plan, a), lu)
    sums = row_line(plan, "sum", (sizes, (rank + turned,), False), (*stack, n), lu)
    norm = row_line(plan, "max", (sums, (rank,), False), stack, lu)
    single = row_line(plan, "reshape", (norm, (*stack, 1, 1)), (*stack, 1, 1), lu)
    what = LapackRoutine("regular", stack, 1, 1, work=5 * n + 1)
    checked = part_of(plan, add_routine(plan, what, (single, lu), dtype), 0, (1, 1))
    checked = row_line(plan, "reshape", (checked, stack), stack, lu)
    return plan.append(Line(np.less, (checked, 0.0), {}, stack, np.dtype(bool)))
