"""The tasks of an array program as functions: a segment for each run of tasks without NumPy.

A task that threads share is a segment of its own, which does some of its parts.

A segment takes a table of addresses: first that of the work block, then those of constants, inputs,
outputs and NumPy's results. If there is a single segment, `body` takes the addresses of inputs and
outputs, and has its own block: on the stack, or one that is kept for the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import (
    BoundsCheck,
    GuardCheck,
    LapackCall,
    MatrixProduct,
    NumpyCall,
    Strips,
    StripTask,
    Task,
)
from simpleautodiff.compiled.array.classify import INPUT
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.backends.interface import BAD_INDEX, NO_MEMORY
from simpleautodiff.compiled.backends.llvm.blas import write_product
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.lapack import write_factor
from simpleautodiff.compiled.backends.llvm.loop_function import write_loop
from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.scalar_function import STACK_BYTES
from simpleautodiff.compiled.recording.trace_program import Ref

BODY, CONSTANTS, KEPT = "body", "constants", "kept"


class SharedSegment(NamedTuple):
    """The function `void (i64 start, i64 stop, ptr table)` that does some parts of a task."""

    name: str
    parts: int


Segment = str | SharedSegment | NumpyCall


def write_segments(
    module: Module, work: list[Task], memory: BufferLayout, lanes: int, prefix: str = ""
) -> list[Segment]:
    """Write all functions; return their names and the lines that NumPy computes, in order."""
    segments: list[Segment] = []
    segment = _Segment(module, memory, lanes, prefix)
    for piece in work:
        if isinstance(piece, NumpyCall) or (isinstance(piece, Strips) and piece.shared):
            segment.close(segments)
            segment = _Segment(module, memory, lanes, prefix)
            if isinstance(piece, NumpyCall):
                segments.append(piece)
            else:
                segment.share(piece, segments)
                segment = _Segment(module, memory, lanes, prefix)
        elif isinstance(piece, GuardCheck):
            segment.check(piece)
        elif isinstance(piece, BoundsCheck):
            segment.check_bounds(piece)
        else:
            segment.call(piece)
    segment.close(segments)
    return segments


class _Segment(Builder):
    """The function of one segment: calls of loops, BLAS and LAPACK, and checks between them."""

    def __init__(self, module: Module, memory: BufferLayout, lanes: int, prefix: str) -> None:
        super().__init__()
        self.module, self.memory, self.lanes, self.called = module, memory, lanes, prefix

    def close(self, segments: list[Segment]) -> None:
        """Write the function, if it contains anything."""
        if self.lines:
            name = f"{self.called}segment{len(segments)}"
            self.module.functions.append(
                self.text(f"i32 @{name}(ptr %table) nounwind", "ret i32 0")
            )
            segments.append(name)

    def buffer(self, root: int) -> str:
        """Write the address of a result: in the block, or in the table."""
        offset = self.memory.offset(root)
        if offset is not None:
            return self.address(self.load("ptr", "%table"), offset)
        return self.get("%table", self.memory.row(root), "ptr")

    def call(self, piece: Loop | MatrixProduct | LapackCall | Strips) -> None:
        """Write the call of a function of buffers."""
        if isinstance(piece, LapackCall):
            name, slots = write_factor(self.module, piece)
            args = ", ".join([f"ptr {self.buffer(slot)}" for slot in slots])
            status = self.new(f"call i32 @{name}({args})")
            self.return_unless(self.new(f"icmp eq i32 {status}, 0"), status)
        elif isinstance(piece, Strips):
            with self.counted(piece.count) as strip:
                self._go_on(piece.tasks, strip)
            self._go_on(piece.rest, str(piece.count))
        else:
            self._go_on([StripTask(piece, {})], "0")

    def share(self, piece: Strips, segments: list[Segment]) -> None:
        """Write the function that does a range of parts of a task; the last one does the rest."""
        name, rest, done = f"{self.called}segment{len(segments)}", self.fresh(), self.fresh()
        most = self.new(f"call i64 @llvm.smin.i64(i64 %stop, i64 {piece.count})")
        has_whole, whole = self.new(f"icmp slt i64 %start, {most}"), self.fresh()
        self.branch(has_whole, whole, rest)
        self.label(whole)
        with self.counted(most, "%start") as part:
            self._go_on(piece.tasks, part)
        self.jump(rest)
        self.label(rest)
        self.go_on_if(self.new(f"icmp sgt i64 %stop, {piece.count}"), done)
        self._go_on(piece.rest, str(piece.count))
        self.jump(done)
        self.label(done)
        head = f"void @{name}(i64 %start, i64 %stop, ptr %table) nounwind"
        self.module.functions.append(self.text(head, "ret void"))
        segments.append(SharedSegment(name, piece.count + bool(piece.rest)))

    def _go_on(self, tasks: list[StripTask], strip: str) -> None:
        """Write calls of loops and products, on the rows of a strip."""
        for piece, advances in tasks:
            name, slots = (
                write_loop(self.module, piece, self.lanes)
                if isinstance(piece, Loop)
                else write_product(self.module, piece, self.lanes)
            )
            args = ", ".join([f"ptr {self._at(slot, advances.get(slot), strip)}" for slot in slots])
            self.line(f"call void @{name}({args})")

    def _at(self, slot: int, advance: int | None, strip: str) -> str:
        """Write code that computes the address of a strip; without an advance, of the buffer."""
        base = self.buffer(slot)
        return self.address(base, self.new(f"mul i64 {strip}, {advance}")) if advance else base

    def return_unless(self, condition: str, status: str | int, expected: bool = True) -> None:
        """Write a return of a status where a condition does not hold."""
        good, bad = self.fresh(), self.fresh()
        self.branch(condition, *((good, bad) if expected else (bad, good)))
        self.label(bad)
        self.line(f"ret i32 {status}")
        self.label(good)

    def check(self, check: GuardCheck) -> None:
        """Write a return where a guard does not hold."""
        byte = self.load("i8", self.address(self.buffer(check.view.root), check.view.offset))
        truth = self.new(f"icmp ne i8 {byte}, 0")
        self.return_unless(truth, check.number + 1, check.expected)

    def check_bounds(self, bounds: BoundsCheck) -> None:
        """Write a return where an index is out of bounds: what was computed with it is wrong."""
        low, high = self.buffer(bounds.low), self.buffer(bounds.high)
        least, most = self.load("i64", low), self.load("i64", high)
        above = self.new(f"icmp sge i64 {least}, {-bounds.size}")
        below = self.new(f"icmp slt i64 {most}, {bounds.size}")
        self.return_unless(self.new(f"and i1 {above}, {below}"), BAD_INDEX)


def write_body(module: Module, memory: BufferLayout, segment: str) -> None:
    """Write `i32 body(ptr in, ptr out)`: tables of the addresses of all inputs and outputs."""
    plan, builder = memory.plan, Builder()
    builder.line(f"%table = alloca [{1 + len(memory.table)} x ptr]")
    small = memory.size <= STACK_BYTES
    take = take_from_stack if small else take_block
    block, give_back = take(module, builder, memory.size)
    builder.store("ptr", block, "%table")
    moves = [(f"@{CONSTANTS}", -1 - root, root) for root in memory.table if root < 0]
    moves += [("%in", n, n) for n, how in enumerate(plan.how) if how == INPUT]
    outputs = [place for place in plan.outputs if type(place) is Ref]
    moves += [("%out", k, plan.views[place].root) for k, place in enumerate(outputs)]
    for table, k, root in moves:
        builder.put("%table", memory.table[root], "ptr", builder.get(table, k, "ptr"))
    status = builder.new(f"call i32 @{segment}(ptr %table)")
    builder.lines += give_back
    count = max(1, len(plan.constants))
    module.functions += [
        f"@{CONSTANTS} = global [{count} x ptr] zeroinitializer",
        *([f"@{KEPT} = global ptr null"] if small else []),
        builder.text(f"i32 @{BODY}(ptr %in, ptr %out) nounwind", f"ret i32 {status}"),
    ]


def take_from_stack(module: Module, builder: Builder, size: int) -> tuple[str, list[str]]:
    """Write code that allocates a small work block on the stack, where it need not be freed."""
    return builder.new(f"alloca [{max(size, 1)} x i8], align 64"), []


def take_block(
    module: Module, builder: Builder, size: int, begins: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Write code that allocates a large work block; return its address, and lines that free it.

    One block is kept for the next call; a call that runs at the same time allocates its own.
    `begins` are lines that initialise a new block, in which its address is `%fresh`.
    """
    module.declare("ptr @malloc(i64)")
    module.declare("void @free(ptr)")
    module.functions.append(f"@{KEPT} = global ptr null")
    builder.lines += [
        "  %own = alloca ptr",
        f"  %found = atomicrmw xchg ptr @{KEPT}, ptr null seq_cst",
        "  store ptr %found, ptr %own",
        "  %none = icmp eq ptr %found, null",
        "  br i1 %none, label %new, label %there",
        "new:",
        f"  %made = call ptr @malloc(i64 {size + 64})",
        "  store ptr %made, ptr %own",
        "  %nothing = icmp eq ptr %made, null",
        "  br i1 %nothing, label %without, label %begun",
        "without:",
        f"  ret i32 {NO_MEMORY}",
        "begun:",
        "  %first = getelementptr i8, ptr %made, i64 63",
        "  %fresh = call ptr @llvm.ptrmask.p0.i64(ptr %first, i64 -64)",
        *begins,
        "  br label %there",
        "there:",
        "  %whole = load ptr, ptr %own",
        "  %beyond = getelementptr i8, ptr %whole, i64 63",
        "  %block = call ptr @llvm.ptrmask.p0.i64(ptr %beyond, i64 -64)",
    ]
    return "%block", [
        f"  %other = atomicrmw xchg ptr @{KEPT}, ptr %whole seq_cst",
        "  call void @free(ptr %other)",
    ]
