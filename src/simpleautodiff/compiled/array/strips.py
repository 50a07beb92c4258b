"""Strips: consecutive tasks process a few rows of their arrays at a time, in turns.

Where a product reads a large matrix that a later one reads again, or a loop writes a large array
that the next task reads, all of that would come from memory twice. If no task needs a row before
another task has reached the same row, they can take turns: as many rows as stay in the cache by the
first task, then by the second, and so on. Sums over the rows continue from strip to strip.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from simpleautodiff.compiled.array.build_loops import (
    MatrixProduct,
    Strips,
    StripTask,
    Task,
    read_by,
    written_by,
)
from simpleautodiff.compiled.array.loops import Access, Loop, fill_loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.view_accesses import Shape, View
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

LARGE = 1 << 19  # bytes of an array that leaves the cache before it is read again
STRIP = 1 << 18  # bytes of all rows of a strip
_BYTES = {"d": 8, "f": 4, "?": 1, "l": 8}


def cut_into_strips(work: list[Task], plan: LoopSchedule) -> list[Task]:
    """Return the tasks; runs of them that gain from taking turns are cut into strips of rows."""
    done: list[Task] = []
    while work:
        first, *rest = work
        run = _begin(first, plan)
        before, after = _gather(run, rest) if run else ([], rest)
        strips = run.finish() if run else []
        done += [*before, *strips] if strips else [first]
        work = after if strips else rest
    return done


def _gather(run: _Run, work: list[Task]) -> tuple[list[Task], list[Task]]:
    """Add tasks to a run; return those that have to come before it, and after it."""
    before: list[Task] = []
    after: list[Task] = []
    needed: set[int] = set()  # read by tasks that come after the run
    made: set[int] = set()
    for k, task in enumerate(work):
        if not isinstance(task, Loop | MatrixProduct):
            return before, [*after, *work[k:]]
        reads, writes = {*read_by(run.plan, task)}, {*written_by(task)}
        is_free = not (reads | writes) & made and not writes & needed
        if is_free and run.take(task):
            continue
        if is_free and run.is_apart_from(task):
            before.append(task)
        else:
            after.append(task)
            needed |= reads
            made |= writes
    return before, after


def _begin(task: Task, plan: LoopSchedule) -> _Run | None:
    """Begin a run with a task on many rows of a large array."""
    for rows in _row_counts(task):
        run = _Run(rows, plan)
        if rows > 1 and run.take(task) and run.find_large():
            return run
    return None


def _row_counts(task: Task) -> Iterator[int]:
    if isinstance(task, Loop) and task.shape:
        yield task.shape[0]
    elif isinstance(task, MatrixProduct):
        yield from {task.left.shape[0], task.right.shape[0]}


@dataclass(eq=False)
class _Run:
    """Consecutive tasks that can take turns, each with how far its buffers advance per row."""

    rows: int
    plan: LoopSchedule
    tasks: list[StripTask] = field(default_factory=list)
    before: list[Task] = field(default_factory=list)  # tasks that initialise sums
    written: set[int] = field(default_factory=set)  # buffers that are written row by row
    summed: set[int] = field(default_factory=set)
    touched: set[int] = field(default_factory=set)

    def take(self, task: Task) -> bool:
        """Add a task to the run, if it can take part."""
        if not isinstance(task, Loop | MatrixProduct) or not self.written >= self._find_shared(
            task
        ):
            return False
        if isinstance(task, Loop):
            taken = self._loop(task)
        else:
            taken = self._by_rows(task) or self._sum_of_rows(task)
        if taken is None:
            return False
        self.tasks.append(taken)
        self.touched |= {*read_by(self.plan, task), *written_by(task)}
        return True

    def _find_shared(self, task: Task) -> set[int]:
        """Return the buffers that a task writes and other tasks of this run have touched."""
        return self.touched & {*written_by(task)}

    def is_apart_from(self, task: Task) -> bool:
        """Tell whether a task neither reads what this run computes nor writes what it touches."""
        needs = (self.written | self.summed) & {*read_by(self.plan, task)}
        return not needs and not self._find_shared(task)

    # Tasks. ---------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> StripTask | None:
        accesses = loop.accesses()
        plain = not any([access.places or access.box or access.under for access in accesses])
        if (
            loop.shape[:1] != (self.rows,)
            or not plain
            or loop.alone
            or loop.fixed
            or loop.neighbours
        ):
            return None
        sums = [fold for fold in loop.folds if not fold.to.strides[0]]
        found = [(access.slot, access.strides[0]) for access in accesses]
        ends = [fold.to.slot for fold in sums]
        rowwise = [to for _, to in loop.stores] + [f.to for f in loop.folds if f not in sums]
        made = {to.slot for to in rowwise}
        inside = [access for access in accesses if access.slot in self.written | made]
        if not self._agree(found, ends) or not all([self._has_rows(loop, x) for x in inside]):
            return None
        self.before += [fill_loop(loop, fold) for fold in sums]
        self.written |= made
        self.summed |= {*ends}
        kept = deepcopy(loop)
        for fold in kept.folds:
            fold.begun = fold.begun or not fold.to.strides[0]
        return StripTask(kept, self._advances(accesses))

    def _has_rows(self, loop: Loop, access: Access) -> bool:
        return self._is_row_by_row(access.slot, loop.shape, access.offset, access.strides)

    def _by_rows(self, product: MatrixProduct) -> StripTask | None:
        """Handle rows times a matrix or a vector, which are rows of the result."""
        left, right, rows = product.left, product.right, self.rows
        if len(left.shape) != 2 or left.shape[0] != rows or len(right.shape) > 2:
            return None
        found = [(left.root, left.strides[0]), (right.root, 0)]
        if not self._agree(found, []) or not self._view_has_rows(left):
            return None
        self.written.add(product.number)
        step = self.plan.size(product.number) // rows
        size = _BYTES[product.dtype]
        return StripTask(product, {left.root: left.strides[0] * size, product.number: step * size})

    def _sum_of_rows(self, product: MatrixProduct) -> StripTask | None:
        """Handle the product of a transposed matrix and a matrix: a sum over their rows."""
        left, right = product.left, product.right
        if len(right.shape) != 2 or len(left.shape) > 2:
            return None
        if left.shape[-1] != self.rows or right.shape[0] != self.rows:
            return None
        turned = left._replace(shape=left.shape[::-1], strides=left.strides[::-1])
        found = [(left.root, left.strides[-1]), (right.root, right.strides[0])]
        inside = self._view_has_rows(turned) and self._view_has_rows(right)
        if (
            not self._agree(found, [product.number])
            or not inside
            or 0 in (found[0][1], found[1][1])
        ):
            return None
        self.before.append(_zeros(self.plan, product))
        self.summed.add(product.number)
        size = _BYTES[product.dtype]
        advances = {root: step * size for root, step in found}
        return StripTask(replace(product, adds=True), advances)

    # What has to hold. ----------------------------------------------------------------------------

    def _agree(self, found: list[tuple[Any, int]], ends: list[int]) -> bool:
        """Tell whether each buffer has one advance, and is finished before it is read whole."""
        ways: dict[Any, set[int]] = {}
        for slot, step in found:
            ways.setdefault(slot, set()).add(step)
        read_integers = {slot for slot, steps in ways.items() if 0 in steps and slot not in ends}
        touched = {slot for slot, _ in found if slot not in ends} & self.summed
        single = all([len(steps) == 1 for steps in ways.values()])
        return single and not touched and not read_integers & self.written

    def _view_has_rows(self, view: View) -> bool:
        return view.root not in self.written or self._is_row_by_row(
            view.root, view.shape, view.offset, view.strides
        )

    def _is_row_by_row(self, root: int, shape: Shape, offset: int, strides: Shape) -> bool:
        """Tell whether row i of a view lies within row i of the buffer, which this run writes."""
        size = self.plan.size(root)
        far = sum([(n - 1) * step for n, step in zip(shape[1:], strides[1:], strict=True)])
        fits = offset + far < size // self.rows and min([offset, *strides]) >= 0
        return size % self.rows == 0 and strides[0] == size // self.rows and fits

    def _advances(self, accesses: list[Access]) -> dict[Any, int]:
        return {x.slot: x.strides[0] * _BYTES[x.dtype] for x in accesses if x.strides[0]}

    # The end. -------------------------------------------------------------------------------------

    def find_large(self) -> list[Any]:
        """Return the arrays with rows that do not stay in the cache."""
        return [root for root, step in self._all_advances().items() if step * self.rows >= LARGE]

    def _all_advances(self) -> dict[Any, int]:
        return {root: step for task in self.tasks for root, step in task.advances.items()}

    def finish(self) -> list[Task]:
        """Return the tasks in strips if that pays; otherwise nothing."""
        often = [root for root in self.find_large()
                 if sum([root in task.advances for task in self.tasks]) > 1]  # fmt: skip
        rows = max(8, STRIP // max(1, sum(self._all_advances().values())))
        if not often or 2 * rows > self.rows:
            return []
        whole, rest = divmod(self.rows, rows)
        parts = [[_cut(task, n, rows) for task in self.tasks] for n in (rows, rest)]
        return [*self.before, Strips(rows, whole, parts[0], parts[1] if rest else [])]


def _zeros(plan: LoopSchedule, product: MatrixProduct) -> Loop:
    """Return the loop that fills the result of a product with zeros."""
    program = ScalarProgram()
    place = program.const(0.0, product.dtype)
    to = Access(product.number, product.dtype, 0, (1,))
    return Loop((plan.size(product.number),), program, stores=[(place, to)], says="zeros")


def _cut(strip: StripTask, few: int, rows: int) -> StripTask:
    """Return a task for a few of all rows, in strips of `rows`."""
    task, advances = strip.task, {root: step * rows for root, step in strip.advances.items()}
    if isinstance(task, Loop):
        return StripTask(task.take_first(few), advances)
    left, right, result = task.left, task.right, task.result
    if task.adds:
        left = left._replace(shape=(*left.shape[:-1], few))
        right = right._replace(shape=(few, *right.shape[1:]))
    else:
        left, result = left._replace(shape=(few, *left.shape[1:])), (few, *result[1:])
    return StripTask(replace(task, left=left, right=right, result=result), advances)
