"""Turn a schedule into tasks, in the order in which they run: loops, BLAS, LAPACK, NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from simpleautodiff.compiled.array.array_operations import ARRAY_OPERATIONS
from simpleautodiff.compiled.array.assemble import copy_loop, scatter_loops
from simpleautodiff.compiled.array.classify import (
    IN_LOOPS,
    INPUT,
    LAPACK,
    MATMUL,
    NUMPY,
    SCATTER,
    VIEW,
)
from simpleautodiff.compiled.array.factors import MOST_MULTIPLICATIONS
from simpleautodiff.compiled.array.fuse import Fusion
from simpleautodiff.compiled.array.linalg.matrix_calls import LapackRoutine
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.view_accesses import Shape, View, squeeze
from simpleautodiff.compiled.recording.trace_program import find_refs
from simpleautodiff.compiled.scalar.share_reciprocals import share_reciprocals


@dataclass(eq=False)
class MatrixProduct:
    """A product of vectors or matrices, or a stack of them, by BLAS or in registers."""

    number: int
    dtype: str
    left: View
    right: View
    result: Shape
    exact: bool = False  # every bit is to be NumPy's
    adds: bool = False  # to what stands in the result

    @property
    def is_in_registers(self) -> bool:
        """Whether blocks of the result are summed up in registers, without BLAS.

        BLAS copies both factors into an order of its own before it multiplies. That pays for large
        matrices, which it also shares among threads.
        """
        if self.exact or min(len(self.left.shape), len(self.right.shape)) < 2:
            return False
        (rows, inner), columns = self.left.shape[-2:], self.right.shape[-1]
        is_row_by_row = columns > 1 and self.right.strides[-1] == 1
        return is_row_by_row and rows * inner * columns <= MOST_MULTIPLICATIONS


@dataclass(eq=False)
class LapackCall:
    """A call of LAPACK, which overwrites matrices that were copied to the buffer of the result."""

    number: int
    dtype: str
    what: LapackRoutine
    reads: list[View]


@dataclass(eq=False)
class NumpyCall:
    """A line that NumPy computes."""

    number: int


@dataclass(eq=False)
class GuardCheck:
    """The check of a guard: made once its bool, and those of all guards before it, are computed."""

    number: int
    view: View
    expected: bool


@dataclass(eq=False)
class BoundsCheck:
    """The smallest and the largest index along an axis, which have to fit its size."""

    low: int
    high: int
    size: int


class StripTask(NamedTuple):
    """A loop or a product on some rows, and how many bytes each buffer goes on with a strip."""

    task: Loop | MatrixProduct
    advances: dict[Any, int]


@dataclass(eq=False)
class Strips:
    """Tasks that go through some rows in turns: `rows` at a time, `count` times, then the rest."""

    rows: int
    count: int
    tasks: list[StripTask]
    rest: list[StripTask]
    shared: bool = False  # whether threads share them: none needs another


Task = Loop | MatrixProduct | LapackCall | NumpyCall | GuardCheck | BoundsCheck | Strips


def build_tasks(plan: LoopSchedule, precise: bool) -> list[Task]:
    """Return the tasks, in order."""
    stages: list[list[int]] = [[] for _ in range(max(plan.stage, default=-1) + 1)]
    for number, stage in enumerate(plan.stage):
        if plan.how[number] not in (VIEW, INPUT):
            stages[stage].append(number)
    checks = _checks(plan)
    work: list[Task] = list(checks.get(-1, []))
    for stage, numbers in enumerate(stages):
        loops: dict[Shape, list[int]] = {}
        for number in numbers:
            if plan.how[number] in IN_LOOPS:
                loops.setdefault(squeeze(plan.space(number)), []).append(number)
            else:
                work += _by_itself(plan, number)
        for shape, members in loops.items():
            work.append(Fusion(plan, shape, members, precise).loop())
        work += checks.get(stage, [])
    return work


def _checks(plan: LoopSchedule) -> dict[int, list[GuardCheck | BoundsCheck]]:
    """Return the guards by the stage at which they and all before them are known."""
    found: dict[int, list[GuardCheck | BoundsCheck]] = {}
    stage = -1
    for number, guard in enumerate(plan.guards):
        if guard:
            stage = max(stage, plan.stage_of(guard[0]))
            check = GuardCheck(number, plan.views[guard[0]], guard[1])
            found.setdefault(stage, []).append(check)
    for low, high, size in plan.bounds:
        stage = max(plan.stage_of(low), plan.stage_of(high))
        bounds = BoundsCheck(plan.views[low].root, plan.views[high].root, size)
        found.setdefault(stage, []).insert(0, bounds)
    return found


def _by_itself(plan: LoopSchedule, number: int) -> Iterator[Task]:
    line, how = plan.lines[number], plan.how[number]
    if how == NUMPY:
        yield NumpyCall(number)
    elif how == MATMUL:
        left, right = (plan.view(arg) for arg in line.args)
        dtype = plan.dtype_of(number) or ""
        yield MatrixProduct(number, dtype, left, right, line.shape, plan.exact)
    elif how == LAPACK:
        if line.what.is_in_place:
            to = line.what.place_of_copy(number)
            yield copy_loop(plan, to, line.args[0], f"copy for {line.what}")
        others = [plan.view(arg) for arg in line.args[line.what.is_in_place :]]
        yield LapackCall(number, plan.dtype_of(number) or "", line.what, others)
    elif how == SCATTER:
        yield from scatter_loops(plan, number)
    else:
        loops = ARRAY_OPERATIONS[line.name].loops
        assert loops is not None
        yield from loops(plan, number)


def prune(work: list[Task], plan: LoopSchedule) -> list[Task]:
    """Return the tasks without results that nothing reads, and with simpler loop bodies."""
    read = {plan.views[place].root for place in find_refs(plan.outputs)}
    kept: list[Task] = []
    for piece in reversed(work):
        if isinstance(piece, Loop):
            piece.stores = [(place, to) for place, to in piece.stores if to.slot in read]
            piece.folds = [fold for fold in piece.folds if fold.to.slot in read]
            if not piece.stores and not piece.folds:
                continue
            _simplify(piece)
        elif isinstance(piece, MatrixProduct) and piece.number not in read:
            continue
        read |= set(read_by(plan, piece))
        kept.append(piece)
    return kept[::-1]


def written_by(piece: Task) -> list[int]:
    """Return the buffers that a piece of work writes."""
    if isinstance(piece, Loop):
        return [to.slot for _, to in piece.stores] + [fold.to.slot for fold in piece.folds]
    if isinstance(piece, Strips):
        return [root for strip in piece.tasks for root in written_by(strip.task)]
    return [] if isinstance(piece, GuardCheck | BoundsCheck) else [piece.number]


def read_by(plan: LoopSchedule, piece: Task) -> Iterator[int]:
    """Yield the buffers that a task reads."""
    if isinstance(piece, Loop):
        yield from [part.slot for access in piece.accesses() for part in access.parts()
                    if access in piece.loads or part is not access]  # fmt: skip
    elif isinstance(piece, MatrixProduct):
        yield from (piece.left.root, piece.right.root)
    elif isinstance(piece, LapackCall):
        yield from (piece.number, *[view.root for view in piece.reads])
    elif isinstance(piece, Strips):
        for strip in piece.tasks:
            yield from read_by(plan, strip.task)
    elif isinstance(piece, GuardCheck):
        yield piece.view.root
    elif isinstance(piece, BoundsCheck):
        yield from (piece.low, piece.high)
    else:
        line = plan.lines[piece.number]
        yield from [plan.views[place].root for place in find_refs((line.args, line.kwargs))]


def _simplify(loop: Loop) -> None:
    """Share reciprocals, and drop loads that nothing needs."""
    flat = loop.body
    flat.outputs = [place for place, _ in loop.stores] + [fold.place for fold in loop.folds]
    flat = share_reciprocals(flat).prune()
    count = len(loop.stores)
    loop.stores = [(p, to) for p, (_, to) in zip(flat.outputs[:count], loop.stores, strict=True)]
    for place, fold in zip(flat.outputs[count:], loop.folds, strict=True):
        fold.place = place
    used = {arg for step in flat.steps if step[0] not in ("input", "const") for arg in step[1:]}
    used |= set(flat.outputs)
    loop.loads = [x for k, x in enumerate(loop.loads) if flat.inputs[k] in used]
    kept_inputs = [place for place in flat.inputs if place in used]
    for k, place in enumerate(kept_inputs):
        flat.steps[place] = ("input", k)
    flat.inputs = kept_inputs
    loop.body = flat
