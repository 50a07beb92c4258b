"""Loops over large arrays that threads share: each computes a range of indices along one axis.

What a loop reduces along that axis, each thread reduces into a place of its own; a short loop then
combines these. Parts for threads are strips of a single task that do not need each other.
"""

from __future__ import annotations

import math
from dataclasses import replace

from simpleautodiff.compiled.array.build_loops import Strips, StripTask, Task
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.view_accesses import Shape, find_strides
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

WORTHWHILE = 1 << 18  # operations from which several threads take less time than one
ALIGNED = 64  # parts of a row of elements begin at multiples: no two threads write one cache line
_BYTES = {"d": 8, "f": 4, "?": 1, "l": 8}


def share_loops(
    work: list[Task], plan: LoopSchedule, threads: int, precise: bool = False
) -> list[Task]:
    """Return the tasks, with long loops cut into a part for each thread.

    With `precise`, loops with reductions are left whole: the order of a sum decides its last bits.
    """
    done: list[Task] = []
    for task in work:
        done += _share(task, plan, threads, precise) if isinstance(task, Loop) else [task]
    return done


def _share(loop: Loop, plan: LoopSchedule, threads: int, precise: bool) -> list[Task]:
    """Return the tasks of a loop in parts; the loop itself if it is short, or cannot be cut."""
    operations = math.prod(loop.shape) * max(1, len(loop.body))
    if loop.alone or operations < WORTHWHILE or (precise and loop.folds):
        return [loop]
    loop.join_axes()
    last = len(loop.shape) - 1
    long = [a for a, n in enumerate(loop.shape) if n >= threads * (ALIGNED if a == last else 1)]
    axis = next((axis for axis in long if _can_cut(loop, axis)), None)
    if axis is None:
        return [loop]
    rows = -(-loop.shape[axis] // threads)
    rows = -(-rows // ALIGNED) * ALIGNED if axis == last else rows
    count, left = divmod(loop.shape[axis], rows)
    reduced = [_Reduction(fold, loop, axis, plan, count + (left > 0)) for fold in loop.folds]
    advances = {x.slot: x.strides[axis] * rows * _BYTES[x.dtype] for x in loop.accesses()}
    for reduction in reduced:
        advances |= reduction.advance
    part = replace(loop, folds=[reduction.of_part for reduction in reduced])
    whole, rest = (StripTask(part.take_first(n, axis), advances) for n in (rows, left))
    shared = Strips(rows, count, [whole], [rest] if left else [], shared=True)
    return [shared, *[reduction.combining for reduction in reduced if reduction.combining]]


def _can_cut(loop: Loop, axis: int) -> bool:
    """Tell whether parts along an axis are independent.

    Each writes elements of its own, and each buffer advances in one way.
    """
    accesses = loop.accesses()
    written = [*[to for _, to in loop.stores], *[fold.to for fold in loop.folds]]
    steps_of: dict[int, set[int]] = {}
    for access in accesses:
        steps_of.setdefault(access.slot, set()).add(access.strides[axis])
    return (
        all([len(found) == 1 for found in steps_of.values()])
        and all([to.strides[axis] for _, to in loop.stores])
        and not any([to.places for to in written])
        and not any([access.box or access.under for access in accesses])
    )


class _Reduction:
    """A reduction of a loop that is cut along an axis: in each part, and over all parts.

    Attributes
    ----------
    of_part : Fold
        The reduction of a part: into a buffer with room for those of all parts, if it is along
        the axis.
    advance : dict
        By how many bytes a part advances in that buffer.
    combining : Loop or None
        The loop that combines the parts.
    """

    def __init__(self, fold: Fold, loop: Loop, axis: int, plan: LoopSchedule, parts: int) -> None:
        self.of_part, self.combining = fold, None
        self.advance: dict[int, int] = {}
        if fold.to.strides[axis]:
            return
        to = fold.to
        kept = [a for a, step in enumerate(to.strides) if step]
        shape = tuple([loop.shape[a] for a in kept])
        root = plan.add_buffer((parts, *shape), plan.lines[to.slot].dtype)
        of_kept = dict(zip(kept, find_strides(shape), strict=True))
        strides = tuple([of_kept.get(a, 0) for a in range(len(loop.shape))])
        self.of_part = Fold(fold.operation, fold.place, Access(root, to.dtype, 0, strides))
        self.advance = {root: math.prod(shape) * _BYTES[to.dtype]}
        self.combining = _combine(root, (parts, *shape), fold, [to.strides[a] for a in kept])


def _combine(root: int, shape: Shape, fold: Fold, strides: list[int]) -> Loop:
    """Return the loop that reduces the parts, along the first axis of their buffer."""
    program = ScalarProgram()
    place = program.input(fold.to.dtype)
    load = Access(root, fold.to.dtype, 0, find_strides(shape))
    to = replace(fold.to, strides=(0, *strides))
    folds = [Fold(fold.operation, place, to, fold.begun)]
    return Loop(shape, program, [load], folds=folds, says=f"{fold.operation} of the parts")
