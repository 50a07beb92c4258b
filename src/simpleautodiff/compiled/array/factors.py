"""The factors of a product of matrices, in forms that can be multiplied: copies where necessary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from simpleautodiff.compiled.array.view_accesses import apart, find_matrix_layout, matrix_of
from simpleautodiff.compiled.recording.trace_program import Ref

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

MOST_MULTIPLICATIONS = 1 << 22  # of two matrices that are multiplied in registers, without BLAS
MANY_ROWS = 48  # of a left factor, for which a right factor is copied row by row
MORE_ROWS = 512  # the same where only strips of the product are small enough for registers
MOST_COPIED = 1 << 17  # elements of that copy


def lay_factors(plan: LoopSchedule, left: Any, right: Any) -> tuple[Any, Any]:
    """Return two factors in forms that BLAS takes, or that are multiplied in registers."""
    left, right = for_blas(plan, left), for_blas(plan, right)
    return left, (plan.copy(right) if _pays_by_rows(plan, left, right) else right)


def for_blas(plan: LoopSchedule, arg: Any) -> Any:
    """Return a factor in a form that BLAS takes."""
    if type(arg) is not Ref:
        return arg
    view = plan.views[arg]
    if plan.alone or (len(view.shape) < 3 and find_matrix_layout(view)):
        return arg
    fits = len(view.shape) > 2 and find_matrix_layout(matrix_of(view)) and apart(view) is not None
    return arg if fits else plan.copy(arg)


def _pays_by_rows(plan: LoopSchedule, left: Any, right: Any) -> bool:
    """Tell whether to copy a right factor whose rows are not contiguous, for registers."""
    if type(right) is not Ref or plan.alone or plan.exact:
        return False
    one, other = plan.view(left), plan.view(right)
    if min(len(one.shape), len(other.shape)) < 2 or other.shape[-1] == 1:
        return False
    rows, size = one.shape[-2], math.prod(other.shape[-2:])
    enough = MANY_ROWS if rows * size <= MOST_MULTIPLICATIONS else MORE_ROWS
    return other.strides[-1] != 1 and size <= MOST_COPIED and rows >= enough
