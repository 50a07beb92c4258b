"""From planned lines to what is run one after the other: loops, products, and calls of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.assemble import (
    PIECES,
    chosen_access,
    copying,
    cumulating,
    scattering,
)
from simpleautodiff.compiled.array.boxes import boxes
from simpleautodiff.compiled.array.classify import (
    CUMSUM,
    GATHER,
    IN_LOOPS,
    INPUT,
    JOIN,
    LAPACK,
    LAYERS,
    MATMUL,
    NUMPY,
    REDUCE,
    REDUCTIONS,
    SCATTER,
    VIEW,
)
from simpleautodiff.compiled.array.gather import Distances
from simpleautodiff.compiled.array.linalg.matrix_calls import Lapack
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.schedule import Plan, lean
from simpleautodiff.compiled.array.view_accesses import Shape, View, steps, whole
from simpleautodiff.compiled.recording.trace_program import Place, places
from simpleautodiff.compiled.scalar.lower_rows import kind_of, lower
from simpleautodiff.compiled.scalar.scalar_program import Flat
from simpleautodiff.compiled.scalar.share_reciprocals import share_reciprocals
from simpleautodiff.rules.array.shapes import keep_dims
from simpleautodiff.rules.row import TABLE


@dataclass(eq=False)
class Product:
    """A product of vectors or matrices, for BLAS."""

    number: int
    kind: str
    left: View
    right: View
    result: Shape


@dataclass(eq=False)
class Factor:
    """What LAPACK does with matrices that were copied to where the result will be."""

    number: int
    kind: str
    what: Lapack
    reads: list[View]


@dataclass(eq=False)
class Call:
    """A line that NumPy computes."""

    number: int


@dataclass(eq=False)
class Check:
    """A guard, as soon as its truth value and those of all before it are known."""

    number: int
    view: View
    expected: bool


@dataclass(eq=False)
class Bounds:
    """The smallest and the largest index of an axis, which have to fit its size."""

    low: int
    high: int
    size: int


Work = Loop | Product | Factor | Call | Check | Bounds


def build_work(plan: Plan, precise: bool) -> list[Work]:
    """Return what is to be done, in order."""
    stages: list[list[int]] = [[] for _ in range(max(plan.stage, default=-1) + 1)]
    for number, stage in enumerate(plan.stage):
        if plan.how[number] not in (VIEW, INPUT):
            stages[stage].append(number)
    checks = _checks(plan)
    work: list[Work] = list(checks.get(-1, []))
    for stage, numbers in enumerate(stages):
        loops: dict[Shape, list[int]] = {}
        for number in numbers:
            if plan.how[number] in IN_LOOPS:
                loops.setdefault(lean(plan.space(number)), []).append(number)
            else:
                work += _by_itself(plan, number)
        for shape, members in loops.items():
            work.append(_Fusion(plan, shape, members, precise).loop())
        work += checks.get(stage, [])
    return work


def _checks(plan: Plan) -> dict[int, list[Check | Bounds]]:
    """Return the guards by the stage at which they and all before them are known."""
    found: dict[int, list[Check | Bounds]] = {}
    stage = -1
    for number, guard in enumerate(plan.guards):
        if guard:
            stage = max(stage, plan.stage_of(guard[0]))
            check = Check(number, plan.views[guard[0]], guard[1])
            found.setdefault(stage, []).append(check)
    for low, high, size in plan.bounds:
        stage = max(plan.stage_of(low), plan.stage_of(high))
        bounds = Bounds(plan.views[low].root, plan.views[high].root, size)
        found.setdefault(stage, []).insert(0, bounds)
    return found


def _by_itself(plan: Plan, number: int) -> Iterator[Work]:
    line, how = plan.lines[number], plan.how[number]
    if how == NUMPY:
        yield Call(number)
    elif how == MATMUL:
        left, right = (plan.view(arg) for arg in line.args)
        yield Product(number, plan.kind(number) or "", left, right, line.shape)
    elif how == LAPACK:
        if line.what.is_in_place:
            to = line.what.copied(number)
            yield copying(plan, to, line.args[0], f"copy for {line.what}")
        others = [plan.view(arg) for arg in line.args[line.what.is_in_place :]]
        yield Factor(number, plan.kind(number) or "", line.what, others)
    elif how == JOIN:
        for to, source in PIECES[line.name](plan, number):
            yield copying(plan, to, source, f"{line.name} {line.shape}")
    elif how == SCATTER:
        yield from scattering(plan, number)
    elif how == CUMSUM:
        yield from cumulating(plan, number)


class _Fusion:
    """One loop for all lines of one shape at one stage."""

    def __init__(self, plan: Plan, shape: Shape, members: list[int], precise: bool) -> None:
        self.plan, self.shape, self.members = plan, shape, members
        self.flat = Flat(precise)
        self.loads: list[Access] = []
        self.stores: list[tuple[int, Access]] = []
        self.folds: list[Fold] = []
        self.values: dict[int, int] = {}
        self._known: dict[Any, int] = {}

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
            kind = self.plan.kind(number) or ""
            line = self.plan.lines[number]
            to = self._access(whole(number, line.shape), line.shape, kind)
            self.stores.append((place, to))
        names = [self.plan.lines[number].name for number in self.members]
        says = f"{' '.join(names)} over {self.shape}"
        return Loop(self.shape, self.flat, self.loads, self.stores, self.folds, says)

    def _access(self, view: View, shape: Shape, kind: str) -> Access:
        strides = [s for n, s in zip(shape, view.within(shape), strict=True) if n != 1]
        return Access(view.root, kind, view.offset, tuple(strides))

    def _argument(self, number: int, arg: Any, shape: Shape, weak_kind: str) -> int:
        """Return the place of an argument in the body: computed, known, or loaded."""
        known = self.plan.known(arg) if type(arg) is not Place else None
        if known:
            return self.flat.const(known.number, weak_kind if known.weak else known.kind)
        if self.plan.joins(arg, number) and self.plan.views[arg].root in self.values:
            return self.values[self.plan.views[arg].root]
        view = self.plan.view(arg)
        kind = self.plan.kind(arg) if type(arg) is Place else kind_of(arg.dtype)
        return self._loaded(self._access(view, shape, kind or ""))

    def _loaded(self, access: Access) -> int:
        key = tuple([
            (part.slot, part.kind, part.offset, part.strides, part.box) for part in access.parts()
        ])  # fmt: skip
        if key not in self._known:
            self._known[key] = self.flat.input(access.kind)
            self.loads.append(access)
        return self._known[key]

    def _compute(self, number: int) -> int:
        line, kind = self.plan.lines[number], self.plan.kind(number) or ""
        if isinstance(line.what, Distances):
            return self._distances(number)
        if line.what is TABLE["astype"]:
            return self.flat.to(kind, self._argument(number, line.args[0], line.shape, kind))
        weak = self._weak_kind(line.args) if kind == "?" else kind
        args = [self._argument(number, arg, line.shape, weak) for arg in line.args]
        return lower(self.flat, line.what, kind, args)

    def _weak_kind(self, args: Any) -> str:
        """Return the kind that Python's numbers take in a comparison: that of the others."""
        kinds = [self.plan.kind(arg) for arg in args if type(arg) is Place]
        kinds += [kind_of(arg.dtype) for arg in args if isinstance(arg, (np.ndarray, np.generic))]
        if "d" in kinds or "f" in kinds:
            return "d" if "d" in kinds else "f"
        return "d" if any(type(arg) is float for arg in args) else "l"

    def _reduce(self, number: int) -> None:
        line, kind = self.plan.lines[number], self.plan.kind(number) or ""
        arg = line.args[0]
        shape = self.plan.lines[arg].shape
        place = self.flat.to(kind, self._argument(number, arg, shape, kind))
        if line.name == "sum_to":
            small = (1,) * (len(shape) - len(line.args[1])) + tuple(line.args[1])
        else:
            small = keep_dims(shape, line.args[1])
        to = self._access(View(number, small, 0, steps(small)), shape, kind)
        self.folds.append(Fold(REDUCTIONS[line.name], place, to))

    def _gather(self, number: int) -> int:
        line, kind = self.plan.lines[number], self.plan.kind(number) or ""
        x, chosen = line.args
        access = chosen_access(self.plan, self.plan.views[x], chosen, line.shape, kind)
        for part in access.parts():
            part.strides = tuple(
                [s for n, s in zip(line.shape, part.strides, strict=True) if n != 1]
            )
        return self._loaded(access)

    def _layers(self, number: int) -> int:
        """Load elements that lie in boxes; what is in none is zero."""
        line, kind = self.plan.lines[number], self.plan.kind(number) or ""
        under: Access | None = None
        for box, view in boxes(self.plan, line):
            steps_ = view.within(line.shape)
            moved = sum(first * step for (first, _), step in zip(box, steps_, strict=True))
            wide = View(view.root, line.shape, view.offset - moved, steps_)
            access = self._access(wide, line.shape, kind)
            access.box = tuple([b for n, b in zip(line.shape, box, strict=True) if n != 1])
            access.under = under
            under = access
        assert under is not None
        return self._loaded(under)

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


def prune(work: list[Work], plan: Plan) -> list[Work]:
    """Return the work without stores that nobody reads, with simpler bodies of loops."""
    read = {plan.views[place].root for place in places(plan.outputs)}
    kept: list[Work] = []
    for piece in reversed(work):
        if isinstance(piece, Loop):
            piece.stores = [(place, to) for place, to in piece.stores if to.slot in read]
            piece.folds = [fold for fold in piece.folds if fold.to.slot in read]
            if not piece.stores and not piece.folds:
                continue
            _simplify(piece)
        read |= set(read_by(plan, piece))
        kept.append(piece)
    return kept[::-1]


def read_by(plan: Plan, piece: Work) -> Iterator[int]:
    """Yield the buffers that a piece of work reads."""
    if isinstance(piece, Loop):
        yield from [part.slot for access in piece.accesses() for part in access.parts()
                    if access in piece.loads or part is not access]  # fmt: skip
    elif isinstance(piece, Product):
        yield from (piece.left.root, piece.right.root)
    elif isinstance(piece, Factor):
        yield from (piece.number, *[view.root for view in piece.reads])
    elif isinstance(piece, Check):
        yield piece.view.root
    elif isinstance(piece, Bounds):
        yield from (piece.low, piece.high)
    else:
        line = plan.lines[piece.number]
        yield from [plan.views[place].root for place in places((line.args, line.kwargs))]


def _simplify(loop: Loop) -> None:
    """Let reciprocals be shared, and drop loads that nothing needs."""
    flat = loop.flat
    flat.outputs = [place for place, _ in loop.stores] + [fold.place for fold in loop.folds]
    flat = share_reciprocals(flat).pruned()
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
    loop.flat = flat
