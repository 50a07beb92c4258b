"""From a schedule to its tasks, in the order in which they run: loops, BLAS, LAPACK, NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.array_operations import ARRAY_OPERATIONS
from simpleautodiff.compiled.array.assemble import chosen_access, copy_loop, scatter_loops
from simpleautodiff.compiled.array.boxes import Box
from simpleautodiff.compiled.array.classify import (
    ELEMENT,
    GATHER,
    IN_LOOPS,
    INPUT,
    LAPACK,
    LAYERS,
    MATMUL,
    NUMPY,
    REDUCE,
    SCATTER,
    VIEW,
)
from simpleautodiff.compiled.array.gather import Distances
from simpleautodiff.compiled.array.linalg.matrix_calls import LapackRoutine
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.schedule import Schedule, squeeze
from simpleautodiff.compiled.array.view_accesses import Shape, View, steps, whole
from simpleautodiff.compiled.recording.trace_program import Ref, places
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter, is_light, lower
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.share_reciprocals import share_reciprocals
from simpleautodiff.rules.array.shapes import keep_dims
from simpleautodiff.rules.row import TABLE

CHEAP = 8  # steps that are done again in a later loop, rather than keeping their result in memory
SMALLER = 4  # how many times smaller the arrays are that such a result is computed from


@dataclass(eq=False)
class BlasProduct:
    """A product of vectors or matrices, for BLAS."""

    number: int
    dtype: str
    left: View
    right: View
    result: Shape


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
    """A guard that is checked: once its bool, and those of all guards before it, are computed."""

    number: int
    view: View
    expected: bool


@dataclass(eq=False)
class BoundsCheck:
    """The smallest and the largest index of an axis, which have to fit its size."""

    low: int
    high: int
    size: int


Task = Loop | BlasProduct | LapackCall | NumpyCall | GuardCheck | BoundsCheck


def build_tasks(plan: Schedule, precise: bool) -> list[Task]:
    """Return what is to be done, in order."""
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
            work.append(_Fusion(plan, shape, members, precise).loop())
        work += checks.get(stage, [])
    return work


def _checks(plan: Schedule) -> dict[int, list[GuardCheck | BoundsCheck]]:
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


def _by_itself(plan: Schedule, number: int) -> Iterator[Task]:
    line, how = plan.lines[number], plan.how[number]
    if how == NUMPY:
        yield NumpyCall(number)
    elif how == MATMUL:
        left, right = (plan.view(arg) for arg in line.args)
        yield BlasProduct(number, plan.dtype_of(number) or "", left, right, line.shape)
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


class _Fusion:
    """One loop for all lines of one shape at one stage."""

    def __init__(self, plan: Schedule, shape: Shape, members: list[int], precise: bool) -> None:
        self.plan, self.shape, self.members = plan, shape, members
        self.flat = ScalarProgram(precise)
        self.loads: list[Access] = []
        self.stores: list[tuple[int, Access]] = []
        self.folds: list[Fold] = []
        self.values: dict[int, int] = {}
        self._known: dict[Any, int] = {}
        self._again: dict[int, int] = {}  # what an earlier loop has computed, too
        self._box: Box | None = None  # what is computed now fills this part of the loop alone

    def loop(self) -> Loop:
        """Return the loop; what is not needed in memory is stored all the same, until pruned."""
        for number in self.members:
            how = self.plan.how[number]
            if how == REDUCE:
                self._reduce(number)
            elif how == GATHER:
                self.values[number] = self._gather(number)
            elif how == LAYERS:
                self.values[number] = self._layers(number)
            else:
                self.values[number] = self._compute(number)
        for number, place in self.values.items():
            dtype = self.plan.dtype_of(number) or ""
            line = self.plan.lines[number]
            to = self._access(whole(number, line.shape), line.shape, dtype)
            self.stores.append((place, to))
        names = [self.plan.lines[number].name for number in self.members]
        says = f"{' '.join(names)} over {self.shape}"
        return Loop(self.shape, self.flat, self.loads, self.stores, self.folds, says)

    def _access(self, view: View, shape: Shape, dtype: str) -> Access:
        strides = [s for n, s in zip(shape, view.within(shape), strict=True) if n != 1]
        return Access(view.root, dtype, view.offset, tuple(strides))

    def _argument(self, number: int, arg: Any, shape: Shape, weak_kind: str) -> int:
        """Return the place of an argument in the body: computed, known, or loaded."""
        known = self.plan.known(arg) if type(arg) is not Ref else None
        if known:
            return self.flat.const(known.number, weak_kind if known.weak else known.dtype)
        root = self.plan.views[arg].root if self.plan.joins(arg, number) else None
        if root is not None and self._box and self._is_inside(root):
            return self._compute(root)
        if root in self.values and not self._box:
            return self.values[root]
        if root is not None and not self._box and self._costs_again(root) <= CHEAP:
            if root not in self._again:
                self._again[root] = self._compute(root)
            return self._again[root]
        view = self.plan.view(arg)
        dtype = self.plan.dtype_of(arg) if type(arg) is Ref else dtype_letter(arg.dtype)
        access = self._access(view, shape, dtype or "")
        return self._load(self._move(access, self._box) if self._box else access)

    def _costs_again(self, root: int) -> float:
        """Return how many steps it takes to compute a line once more, from smaller arrays alone.

        That is better than to keep it in memory, if it is little.
        """
        if root in self.values:
            return 0
        line = self.plan.lines[root]
        if self.plan.how[root] != ELEMENT or not is_light(line):
            return math.inf
        steps_ = 1.0
        for arg in line.args:
            if type(arg) is Ref and self.plan.joins(arg, root):
                steps_ += self._costs_again(self.plan.views[arg].root)
            elif type(arg) is Ref or (isinstance(arg, np.ndarray) and self.plan.known(arg) is None):
                size = self.plan.size(self.plan.view(arg).root)
                steps_ += math.inf if SMALLER * size > math.prod(line.shape) else 0
            if steps_ > CHEAP:
                return math.inf
        return steps_

    def _load(self, access: Access) -> int:
        key = tuple([
            (part.slot, part.dtype, part.offset, part.strides, part.box) for part in access.parts()
        ])  # fmt: skip
        if key not in self._known:
            self._known[key] = self.flat.input(access.dtype)
            self.loads.append(access)
        return self._known[key]

    def _compute(self, number: int) -> int:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        if isinstance(line.what, Distances):
            return self._distances(number)
        if line.what is TABLE["astype"]:
            return self.flat.to(dtype, self._argument(number, line.args[0], line.shape, dtype))
        weak = self._weak_kind(line.args) if dtype == "?" else dtype
        args = [self._argument(number, arg, line.shape, weak) for arg in line.args]
        return lower(self.flat, line.what, dtype, args)

    def _weak_kind(self, args: Any) -> str:
        """Return the dtype that Python's numbers take in a comparison: that of the others."""
        dtypes = [self.plan.dtype_of(arg) for arg in args if type(arg) is Ref]
        dtypes += [
            dtype_letter(arg.dtype) for arg in args if isinstance(arg, (np.ndarray, np.generic))
        ]
        if "d" in dtypes or "f" in dtypes:
            return "d" if "d" in dtypes else "f"
        return "d" if any(type(arg) is float for arg in args) else "l"

    def _reduce(self, number: int) -> None:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        arg = line.args[0]
        shape = self.plan.lines[arg].shape
        place = self.flat.to(dtype, self._argument(number, arg, shape, dtype))
        if line.name == "sum_to":
            small = (1,) * (len(shape) - len(line.args[1])) + tuple(line.args[1])
        else:
            small = keep_dims(shape, line.args[1])
        to = self._access(View(number, small, 0, steps(small)), shape, dtype)
        self.folds.append(Fold(ARRAY_OPERATIONS[line.name].fold, place, to))

    def _gather(self, number: int) -> int:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        x, chosen = line.args
        access = chosen_access(self.plan, self.plan.views[x], chosen, line.shape, dtype)
        for part in access.parts():
            part.strides = tuple(
                [s for n, s in zip(line.shape, part.strides, strict=True) if n != 1]
            )
        return self._load(access)

    def _layers(self, number: int) -> int:
        """Load elements that lie in boxes, or compute them there; what is in none is zero."""
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        value: int | None = None
        under: Access | None = None  # what the value is loaded from, if from nothing else
        for full, view in self.plan.layers[number]:
            box = tuple([b for n, b in zip(line.shape, full, strict=True) if n != 1])
            if view.root in self.values and self._is_whole(view, box):
                value, under = self.values[view.root], None
                continue
            if self._fills(view, box):
                value, under = self._choose(box, self._in_box(view.root, box), value, dtype), None
                continue
            steps_ = tuple([s for n, s in zip(line.shape, view.strides, strict=True) if n != 1])
            access = self._move(Access(view.root, dtype, view.offset, steps_), box)
            if value is None or under:
                access.under = under
                value, under = self._load(access), access
            else:
                value = self._choose(box, self._load(access), value, dtype)
        assert value is not None
        return value

    def _move(self, access: Access, box: Box) -> Access:
        """Return an access to elements that fill a box, by the indices of the loop."""
        filled = iter(access.strides)
        strides = (
            tuple([next(filled) if last - first > 1 else 0 for first, last in box])
            if len(access.strides) < len(box)
            else access.strides
        )
        moved = sum(first * step for (first, _), step in zip(box, strides, strict=True))
        return Access(access.slot, access.dtype, access.offset - moved, strides, box=box)

    def _choose(self, box: Box, inside: int, outside: int | None, dtype: str) -> int:
        """Take a number in a box, and another one outside of it."""
        if outside is None:
            outside = self.flat.zero(dtype)
        truth = self.plan.view_as(True, np.dtype(bool))
        is_inside = self._load(Access(truth.root, "?", 0, (0,) * len(box), box=box))
        return self.flat.make("select", is_inside, inside, outside)

    def _is_whole(self, view: View, box: Box) -> bool:
        """Tell whether a box is filled with a whole result, in its order."""
        sizes = tuple([last - first for first, last in box])
        return view.is_whole and squeeze(self.plan.lines[view.root].shape) == squeeze(sizes)

    def _fills(self, view: View, box: Box) -> bool:
        """Tell whether to compute what fills a box here: nothing else needs it, and it is large.

        Then it is not kept in memory, and what it is computed from must not be more than that.
        """
        if not self._is_inside(view.root) or not self._is_whole(view, box):
            return False
        large = 2 * math.prod([last - first for first, last in box]) >= math.prod(self.shape)
        return large and len(set(self._kept_for(view.root))) <= 1

    def _kept_for(self, number: int) -> Iterator[int]:
        """Yield what has to be in memory for a line to be computed once more."""
        for arg in places(self.plan.lines[number].args):
            if self.plan.joins(arg, number):
                root = self.plan.views[arg].root
                yield from self._kept_for(root) if self._is_inside(root) else [root]

    def _is_inside(self, root: int) -> bool:
        return root in self.plan.read_once and self.plan.how[root] == ELEMENT

    def _in_box(self, root: int, box: Box) -> int:
        self._box = box
        try:
            return self._compute(root)
        finally:
            self._box = None

    def _distances(self, number: int) -> int:
        """Compute how far on chosen elements are, counting from the end what is negative."""
        line, flat = self.plan.lines[number], self.flat
        total, what = flat.const(0, "l"), line.what
        for arg, n, step in zip(line.args, what.sizes, what.strides, strict=False):
            arg = np.asarray(arg) if isinstance(arg, list) else arg
            index = flat.to("l", self._argument(number, arg, line.shape, "l"))
            low = flat.make("lt", index, flat.const(0, "l"))
            index = flat.make("select", low, flat.add(index, flat.const(n, "l")), index)
            total = flat.add(total, flat.mul(index, flat.const(step, "l")))
        return total


def prune(work: list[Task], plan: Schedule) -> list[Task]:
    """Return the work without what nobody reads, with simpler bodies of loops."""
    read = {plan.views[place].root for place in places(plan.outputs)}
    kept: list[Task] = []
    for piece in reversed(work):
        if isinstance(piece, Loop):
            piece.stores = [(place, to) for place, to in piece.stores if to.slot in read]
            piece.folds = [fold for fold in piece.folds if fold.to.slot in read]
            if not piece.stores and not piece.folds:
                continue
            _simplify(piece)
        elif isinstance(piece, BlasProduct) and piece.number not in read:
            continue
        read |= set(read_by(plan, piece))
        kept.append(piece)
    return kept[::-1]


def read_by(plan: Schedule, piece: Task) -> Iterator[int]:
    """Yield the buffers that a piece of work reads."""
    if isinstance(piece, Loop):
        yield from [part.slot for access in piece.accesses() for part in access.parts()
                    if access in piece.loads or part is not access]  # fmt: skip
    elif isinstance(piece, BlasProduct):
        yield from (piece.left.root, piece.right.root)
    elif isinstance(piece, LapackCall):
        yield from (piece.number, *[view.root for view in piece.reads])
    elif isinstance(piece, GuardCheck):
        yield piece.view.root
    elif isinstance(piece, BoundsCheck):
        yield from (piece.low, piece.high)
    else:
        line = plan.lines[piece.number]
        yield from [plan.views[place].root for place in places((line.args, line.kwargs))]


def _simplify(loop: Loop) -> None:
    """Let reciprocals be shared, and drop loads that nothing needs."""
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
