"""A loop over the elements of arrays as LLVM text: explicit vectors along the last axis.

The last axis is cut into vectors; the remainder is computed with the other lanes masked. A sum is
accumulated in every lane of several accumulators; after a few thousand elements these are added to
a total, so that its error grows slowly, as with pairwise summation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any

from simpleautodiff.compiled.array.join_neighbours import AFTER, BEFORE
from simpleautodiff.compiled.array.loops import Access, Fold, Loop, copy_elements, fill_loop
from simpleautodiff.compiled.array.vector_axis import MATHEMATICS, arrange_axes, pack
from simpleautodiff.compiled.backends.llvm.instructions import (
    BYTES,
    ELEMENT,
    STORED,
    constant,
    instruction,
    vector,
)
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.neighbour_steps import NeighbourSteps
from simpleautodiff.compiled.backends.llvm.scalar_function import StepNames, steps
from simpleautodiff.compiled.backends.llvm.vector_access import numbers_of_lanes
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

SUM_BLOCK = 4096  # elements that are added up before the sum is added to the total
SPLIT = 240  # steps of all copies, if the body is written for every piece of a row
HEAVY = 60  # steps from which the body is written once, always masked
LIGHT = 16  # steps up to which the body is repeated, to add while loading
COPIES = 4
BRANCHING = frozenset(("sin", "cos", "tan"))  # functions with a slow path for some numbers
_GIVEN = ("input", "const")


def write_loop(module: Module, loop: Loop, lanes: int) -> tuple[str, list[Any]]:
    """Write a loop as a function of the addresses of its buffers, unless an equal one exists.

    Parameters
    ----------
    module
        Where it is written.
    loop
        The loop.
    lanes
        How many numbers of 8 bytes a vector of this machine holds.

    Returns
    -------
    name, slots
        The name of the function, and the buffers whose addresses it takes.
    """
    lanes = 1 if loop.alone else lanes
    loop.join_axes()
    loop = arrange_axes(loop, lanes)
    loop.join_axes()
    packed = pack(loop) if lanes > 1 else []
    writer = _LoopBuilder(module, loop, lanes)
    for source, copy in packed:
        writer.copy_first(source, copy)
    for fold in loop.folds:
        if fold.in_memory and not fold.begun:
            name, _ = write_loop(module, fill_loop(loop, fold), lanes)
            writer.line(f"call void @{name}(ptr {writer.bases[fold.to.slot]})")
    writer.write()
    taken = ", ".join([f"ptr {base}" for base in writer.bases.values()])
    opening, *rest = writer.body("ret void")
    text = "\n".join([f"({taken}) {ATTRIBUTES} {opening}", *rest])
    return module.function("loop", text), list(writer.bases)


def _branches_first(flat: ScalarProgram, live: list[int]) -> list[int]:
    """Return steps in an order in which few values are live at functions that may branch."""
    early: set[int] = set()
    for place in reversed(live):
        operation, *args = flat.steps[place]
        if (operation in BRANCHING or place in early) and operation not in _GIVEN:
            early.update((place, *args))
    return [p for p in live if p in early] + [p for p in live if p not in early]


class _LoopBuilder(NeighbourSteps):
    """Writes the function of one loop."""

    def __init__(self, module: Module, loop: Loop, lanes: int) -> None:
        self.loop, self.flat, self.way = loop, loop.body, loop.neighbours
        self.axes = loop.shape or (1,)
        kinds = [access.dtype for access in loop.accesses()] + list(self.flat.dtypes)
        twice = lanes > 1 and all(BYTES[kind] < 8 for kind in kinds)  # one lane is scalar code
        most = 2 * lanes if twice else lanes
        super().__init__(module, min(most, 1 << (self.axes[-1] - 1).bit_length()))
        self.size = self.axes[-1]
        self.live = [p for p in self._order_steps() if self.flat.steps[p][0] not in _GIVEN]
        self.registers = [(k, f) for k, f in enumerate(loop.folds) if f.in_registers]
        self.weight = sum([self._weight(place) for place in self.live])
        light = self.registers and self.weight <= LIGHT and self.size >= COPIES * self.width
        self.copies = COPIES if light else 1
        self.same: dict[int, str] = {}  # loads that are constant along the row
        self.blocks = 0
        self.bases: dict[Any, str] = {}
        self._numbers = count()
        self._find_buffers()

    def copy_first(self, source: Access, copy: Access) -> None:
        """Write the code that copies elements to the stack before the loop."""
        name, slots = write_loop(self.module, copy_elements(self.loop, source, copy), self.width)
        kind, local = STORED[copy.dtype], self.bases.pop(copy.slot)
        kept = [n for n, step in zip(self.axes, copy.strides, strict=True) if step]
        self.line(f"{local} = alloca [{math.prod(kept)} x {kind}], align 64", first=True)
        where = {source.slot: self.base(source.slot), copy.slot: local}
        self.line(f"call void @{name}({', '.join([f'ptr {where[slot]}' for slot in slots])})")

    def base(self, slot: Any) -> str:
        """Return the name of the address of a buffer."""
        if slot not in self.bases:
            self.bases[slot] = f"%base{next(self._numbers)}"
        return self.bases[slot]

    def _order_steps(self) -> list[int]:
        flat = self.flat
        flat.outputs = [p for p, _ in self.loop.stores] + [fold.place for fold in self.loop.folds]
        return _branches_first(flat, flat.live())

    def _weight(self, place: int) -> int:
        """Return roughly how many instructions a step takes."""
        operation, *args = self.flat.steps[place]
        if operation in (BEFORE, AFTER):
            return 2
        kind = self.flat.dtypes[args[-1]]
        return 1 if instruction(operation, kind, self.width) else MATHEMATICS

    def _find_buffers(self) -> None:
        for number, access in enumerate(self.loop.accesses()):
            start = self.base(access.slot)
            self.rows[access] = start
            if access.offset:
                offset = access.offset * BYTES[access.dtype]
                self.rows[access] = f"%start{number}"
                find = f"%start{number} = getelementptr i8, ptr {start}, i64 {offset}"
                self.line(find, first=True)

    def write(self) -> None:
        """Write all loops, the outermost first."""
        for number, fold in self.registers:
            kind = self._kind(fold)
            self.line(f"%total{number} = alloca {kind}", first=True)
            for u in range(self.copies):
                self.line(f"%sum{number}.{u} = alloca {kind}", first=True)
        self._nest(0)

    def _kind(self, fold: Fold, width: int | None = None) -> str:
        return vector(ELEMENT[fold.to.dtype], width or self.width)

    # Nested loops. -------------------------------------------------------------------------------

    def _nest(self, axis: int) -> None:
        for number, fold in self.registers:
            if min(fold.level, len(self.axes) - 1) == axis:
                self._store_first(f"%total{number}", fold)
        if axis == len(self.axes) - 1:
            self._row()
        else:
            outer = dict(self.rows)
            with self.counted(self.axes[axis], name=f"axis{axis}") as i:
                self._move_to(axis, i)
                self._nest(axis + 1)
            self.rows = outer
        for number, fold in self.registers:
            if min(fold.level, len(self.axes) - 1) == axis:
                self._finish(number, fold)

    def _move_to(self, axis: int, i: str) -> None:
        """Compute the start of all accesses at an index along an axis."""
        known: dict[tuple[str, int], str] = {}
        for access, row in self.rows.items():
            bytes_ = access.strides[axis] * BYTES[access.dtype]
            if bytes_ and (row, bytes_) not in known:
                far = self.new(f"mul nsw i64 {i}, {bytes_}")
                known[row, bytes_] = self.new(f"getelementptr i8, ptr {row}, i64 {far}")
            if bytes_:
                self.rows[access] = known[row, bytes_]

    def _row(self) -> None:
        """Write the code along the last axis."""
        self._look_into_boxes()
        self.same = {
            k: self.load_elements(access, "0", "")
            for k, access in enumerate(self.loop.loads)
            if access.is_same
        }
        self._reset()
        self.begin_neighbours()
        spans = self._spans()
        if self.weight * len(spans) > SPLIT:
            self._span(0, self.size)
        else:
            self._in_usual_rows(lambda: self._each_span(spans))
        self._flush()

    def _spans(self) -> list[tuple[int, int, bool]]:
        """Cut the last axis into pieces; tell which are entirely inside or outside of each box.

        The others are single vectors, on an edge. Pieces begin where vectors do, so that accesses
        that are aligned in memory stay so.
        """
        ends = {end for access in self.rows if access.box for end in access.box[-1]}
        spans, done = [], 0
        for end in sorted({*ends, self.size} - {0}):
            edge = end if end == self.size else end - end % self.width
            if done < edge:
                spans.append((done, edge, True))
                done = edge
            if done < end:
                done = min(edge + self.width, self.size)
                spans.append((edge, done, False))
        return spans

    def _each_span(self, spans: list[tuple[int, int, bool]]) -> None:
        for start, stop, is_pure in reversed(spans) if self.way == AFTER else spans:
            self.span = (start, stop) if is_pure else None
            self._span(start, stop)
        self.span = None

    def _in_usual_rows(self, write: Callable[[], None]) -> None:
        """Write a second, simpler version for most rows: those that meet no edge."""
        found = dict(self.in_rows)
        asked = {x: in_row for x, in_row in found.items() if in_row != "true"}
        if not asked:
            write()
            return
        usual = "true"
        for access, in_row in asked.items():
            mostly = math.prod([
                (last - first) / n
                for (first, last), n in zip(access.box[:-1], self.axes, strict=False)
            ]) > 0.5  # fmt: skip
            self.in_rows[access] = "true" if mostly else "false"
            agrees = self.new(f"icmp eq i1 {in_row}, {self.in_rows[access]}")
            usual = self.new(f"and i1 {usual}, {agrees}")
        most, edge, done = self.fresh(), self.fresh(), self.fresh()
        self.branch(usual, most, edge)
        self.label(most)
        write()
        self.jump(done)
        self.label(edge)
        self.in_rows = found
        self._span(0, self.size)
        self.jump(done)
        self.label(done)

    def _span(self, start: int, stop: int) -> None:
        """Write the code from one index along the last axis to another."""
        width, left = self.width, (stop - start) % self.width
        if left and stop - start > width and self.weight > HEAVY:
            with self.counted(stop, start, width) as j:
                j = self.turn(j, start, stop - left + width, width)
                self._block(j, self._mask(j, stop))
            return
        stride = width * self.copies
        many = stop - (stop - start) % stride

        def write_rest() -> None:
            if stop - left > many:
                with self.counted(stop - left, many, width) as k:
                    self._block(k, "")
            if left:
                lanes = ", ".join([f"i1 {int(lane < left)}" for lane in range(width)])
                self._block(str(stop - left), f"<{lanes}>")

        parts = [lambda: self._vectors(start, many, stride), write_rest]
        for write in parts if self.way != AFTER else parts[::-1]:
            write()

    def _look_into_boxes(self) -> None:
        """Find out in which boxes this row is."""
        for access in self.rows:
            inside = "true"
            for axis, (first, last) in enumerate(access.box[:-1]):
                if (first, last) != (0, self.axes[axis]):
                    moved = self.new(f"sub i64 %axis{axis}, {first}")
                    within = self.new(f"icmp ult i64 {moved}, {last - first}")
                    inside = self.new(f"and i1 {inside}, {within}")
            self.in_rows[access] = inside

    def _vectors(self, start: int, stop: int, stride: int) -> None:
        """Write the loop over whole vectors; partial sums join the total after each segment."""
        if stop - start == stride:
            for copy in range(self.copies):
                self._block(str(start + copy * self.width), "", copy)
        elif stop - start > SUM_BLOCK and self.registers:
            with self.counted(stop, start, SUM_BLOCK) as first:
                far = self.new(f"add nuw nsw i64 {first}, {SUM_BLOCK}")
                end = self.new(f"call i64 @llvm.smin.i64(i64 {far}, i64 {stop})")
                self._inner(first, end, stride)
                self._flush()
                self._reset()
        elif stop > start:
            self._inner(start, stop, stride)

    def _inner(self, start: int | str, stop: int | str, stride: int) -> None:
        with self.counted(stop, start, stride) as j:
            j = self.turn(j, start, stop, stride)
            for copy in range(self.copies):
                at = self.new(f"add nuw nsw i64 {j}, {copy * self.width}") if copy else j
                self._block(at, "", copy)

    def _mask(self, j: str, stop: int) -> str:
        """Write the mask of the lanes before the end."""
        whole = vector("i64", self.width)
        first = self.splat(j, "i64")
        lanes = self.new(f"add {whole} {first}, {numbers_of_lanes(self.width)}")
        return self.new(f"icmp ult {whole} {lanes}, splat (i64 {stop})")

    # One vector. ----------------------------------------------------------------------------------

    def _block(self, j: str, mask: str, copy: int = 0) -> None:
        """Write the code for one vector of elements."""
        names = StepNames(lambda place: self._fetch(place, j, mask))
        self.blocks += 1
        prefix = f"%b{self.blocks}."
        for places, beside in self.parts():
            steps(self.module, self.flat, places, names, self.lines, self.width, prefix=prefix)
            if beside is not None:
                names[beside] = self.take_neighbour(beside, names, mask)
        for place, access in self.loop.stores:
            self.store_elements(names[place], access, j, mask)
        for number, fold in enumerate(self.loop.folds):
            self._fold(number, fold, names[fold.place], j, mask, copy)

    def _fetch(self, place: int, j: str, mask: str) -> str:
        operation, number = self.flat.steps[place][:2]
        if operation == "const":
            return constant(self.flat, place, self.width)
        return self.same[number] if number in self.same else self.load_elements(
            self.loop.loads[number], j, mask)  # fmt: skip

    # Sums and extremes. ---------------------------------------------------------------------------

    def _put_together(self, fold: Fold, x: str, y: str, width: int) -> str:
        name = f"%{self.fresh()}"
        template = self.module.template(fold.operation, fold.to.dtype, width)
        self.lines.append(template.format(name, x, y))
        return name

    def _store_first(self, where: str, fold: Fold) -> None:
        first = fold.first if self.width == 1 else f"splat ({ELEMENT[fold.to.dtype]} {fold.first})"
        self.store(self._kind(fold), first, where)

    def _reset(self) -> None:
        for number, fold in self.registers:
            for copy in range(self.copies):
                self._store_first(f"%sum{number}.{copy}", fold)

    def _flush(self) -> None:
        """Add the accumulators to the total."""
        for number, fold in self.registers:
            kind = self._kind(fold)
            sums = [self.load(kind, f"%sum{number}.{u}") for u in range(self.copies)]
            while len(sums) > 1:
                sums = [self._put_together(fold, sums[k], sums[k + 1], self.width)
                        for k in range(0, len(sums), 2)]  # fmt: skip
            total = self.load(kind, f"%total{number}")
            total = self._put_together(fold, total, sums[0], self.width)
            self.store(kind, total, f"%total{number}")

    def _fold(self, number: int, fold: Fold, name: str, j: str, mask: str, copy: int) -> None:
        """Combine a vector with the accumulated value."""
        kind = self._kind(fold)
        if not fold.in_registers:
            before = self.load_elements(fold.to, j, mask)
            self.store_elements(
                self._put_together(fold, before, name, self.width), fold.to, j, mask
            )
            return
        if mask:
            other = f"{kind} splat ({ELEMENT[fold.to.dtype]} {fold.first})"
            truth = vector("i1", self.width)
            name = self.new(f"select {truth} {mask}, {kind} {name}, {other}")
        before = self.load(kind, f"%sum{number}.{copy}")
        after = self._put_together(fold, before, name, self.width)
        self.store(kind, after, f"%sum{number}.{copy}")

    def _finish(self, number: int, fold: Fold) -> None:
        """Combine the lanes of the total, halves first, and store the result."""
        name = self.load(self._kind(fold), f"%total{number}")
        element, width = ELEMENT[fold.to.dtype], self.width
        while width > 1:
            low = self.half(name, element, width, range(width // 2))
            high = self.half(name, element, width, range(width // 2, width))
            width //= 2
            name = self._put_together(fold, low, high, width)
        row = self.rows[fold.to]
        if fold.in_memory:
            name = self._put_together(fold, self.load(element, row), name, 1)
        self.store(element, name, row)
