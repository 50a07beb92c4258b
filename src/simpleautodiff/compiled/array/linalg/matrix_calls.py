"""LAPACK routines on matrices in memory, and the lines around them.

LAPACK stores matrices column by column, as BLAS does, and overwrites its arguments: a line of
LAPACK begins with a copy, transposed if necessary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.view_accesses import Shape, View, find_strides
from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


class LapackRoutine:
    """A routine of LAPACK that is applied to each matrix of a stack, in place.

    Parameters
    ----------
    name
        What it computes (see `lapack`).
    stack
        How many matrices there are, along each axis.
    rows, columns
        The size of a matrix in memory, row by row.
    behind
        How many elements follow each matrix, for further results.
    work
        How many elements of work memory follow all of them.
    option
        An option of the routine: whether a matrix is transposed, triangular or the like.

    Attributes
    ----------
    must : bool
        Whether NumPy refuses a matrix that has no inverse.
    is_in_place : bool
        Whether it begins with a copy of the first argument.
    """

    def __init__(
        self,
        name: str,
        stack: Shape,
        rows: int,
        columns: int,
        behind: int = 0,
        work: int = 0,
        option: str = "",
    ) -> None:
        self.name, self.stack, self.rows, self.columns = name, stack, rows, columns
        self.each = rows * columns + behind
        self.work, self.option = work, option
        self.must = True
        self.is_in_place = name != "det_sign"

    @property
    def count(self) -> int:
        """The number of matrices."""
        return math.prod(self.stack)

    @property
    def size(self) -> int:
        """The number of elements that it takes in all."""
        return self.count * self.each + self.work

    def place_of_copy(self, number: int) -> View:
        """Return the argument that holds the matrices to be overwritten."""
        far = [self.each * step for step in find_strides(self.stack)]
        shape = (*self.stack, self.rows, self.columns)
        return View(number, shape, 0, (*far, self.columns, 1))

    def __str__(self) -> str:
        sizes = "x".join(map(str, (*self.stack, self.rows, self.columns)))
        return f"{self.name} {sizes}"


def in_dtype(plan: LoopSchedule, x: Any, dtype: Any) -> Any:
    """Return an argument in the dtype of the result; None if that dtype is not compiled."""
    if isinstance(x, np.ndarray):
        return x if x.dtype == dtype else x.astype(dtype)
    if type(x) is not Ref or plan.dtype_of(x) is None:
        return None
    if plan.lines[x].dtype == dtype:
        return x
    return plan.append(Line(TABLE["astype"], (x, dtype), {}, plan.lines[x].shape, dtype))


def shape_of(plan: LoopSchedule, x: Any) -> Shape:
    """Return the shape of a line or of a constant."""
    shape: Shape = plan.lines[x].shape if type(x) is Ref else x.shape
    return shape


def dtype_of(plan: LoopSchedule, x: Any) -> Any:
    """Return the dtype of a line or of a constant."""
    return plan.lines[x].dtype if type(x) is Ref else np.asarray(x).dtype


def row_line(plan: LoopSchedule, name: str, args: tuple[Any, ...], shape: Shape, like: Any) -> Ref:
    """Add a line of a row, with the dtype of an existing line."""
    return plan.append(Line(TABLE[name], args, {}, shape, plan.lines[like].dtype))


def swap(plan: LoopSchedule, x: Ref) -> Ref:
    """Add the transposes of matrices."""
    shape, rank = shape_of(plan, x), len(shape_of(plan, x))
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return row_line(plan, "transpose", (x, axes), _swap_last(shape), x)


def swap_if_matrix(plan: LoopSchedule, x: Any) -> Any:
    """Return the transposes of matrices, which may be constant."""
    return swap(plan, x) if type(x) is Ref else np.swapaxes(x, -1, -2)


def spread(plan: LoopSchedule, x: Any, shape: Shape) -> Any:
    """Broadcast matrices over a stack."""
    if type(x) is Ref:
        return row_line(plan, "broadcast_to", (x, shape), shape, x)
    return np.broadcast_to(x, shape)


def part_of(plan: LoopSchedule, x: Ref, start: int, shape: Shape) -> Ref:
    """Return some elements of each block that LAPACK has filled, in a shape."""
    what = plan.lines[x].what
    if what.work:
        used = what.count * what.each
        x = row_line(plan, "getitem", (x, (slice(0, used),)), (used,), x)
    x = row_line(plan, "reshape", (x, (*what.stack, what.each)), (*what.stack, what.each), x)
    size = math.prod(shape)
    index = (..., slice(start, start + size))
    x = row_line(plan, "getitem", (x, index), (*what.stack, size), x)
    return row_line(plan, "reshape", (x, (*what.stack, *shape)), (*what.stack, *shape), x)


def add_routine(plan: LoopSchedule, what: LapackRoutine, args: tuple[Any, ...], dtype: Any) -> Ref:
    """Add a line of LAPACK, with all that it writes."""
    return plan.append(Line(what, args, {}, (what.size,), dtype))


def find_shared(plan: LoopSchedule, name: str, a: Any, make: Callable[[], Any]) -> tuple[Any, bool]:
    """Return what was computed from a matrix or from its transpose, and which of the two."""
    view = plan.view(a)
    turned = view._replace(shape=_swap_last(view.shape), strides=_swap_last(view.strides))
    for key, is_turned in ((view, False), (turned, True)):
        if (name, key) in plan.factors:
            return plan.factors[name, key], is_turned
    plan.factors[name, view] = made = make()
    return made, False


def _swap_last(sizes: Shape) -> Shape:
    return (*sizes[:-2], sizes[-1], sizes[-2])
