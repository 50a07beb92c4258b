"""The work of an array program as a module: one function for each stretch without NumPy.

A segment takes a table of addresses: first that of the block to work in, then those of constants,
inputs, outputs and what NumPy computed. If there is a single segment, `body` takes the addresses of
inputs and outputs, and has its own block: on the stack, or one that is kept for the next call.
"""

from __future__ import annotations

from simpleautodiff.compiled.array.buffers import Memory
from simpleautodiff.compiled.array.build_loops import Bounds, Call, Check, Factor, Product, Work
from simpleautodiff.compiled.array.classify import INPUT
from simpleautodiff.compiled.array.linalg.blas import write_product
from simpleautodiff.compiled.array.linalg.lapack import write_factor
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.backends.llvm.loop_function import write_loop
from simpleautodiff.compiled.backends.llvm.shared_code import Shared
from simpleautodiff.compiled.recording.trace_program import Place

BODY, CONSTANTS, KEPT = "body", "constants", "kept"
NO_MEMORY, BAD_INDEX = -1, -2
_STACK = 1 << 15  # bytes of work that are taken from the stack


def write_segments(
    module: Shared, work: list[Work], memory: Memory, lanes: int
) -> list[str | Call]:
    """Write all functions; return their names and the lines that NumPy computes, in order."""
    segments: list[str | Call] = []
    lines: list[str] = []
    for number, piece in enumerate(work):
        if isinstance(piece, Call):
            _close(module, lines, segments)
            segments.append(piece)
            lines = []
        elif isinstance(piece, Check):
            lines += _checked(piece, memory)
        elif isinstance(piece, Bounds):
            lines += _bounded(piece, memory, f"bounds{number}")
        else:
            lines += _called(module, piece, number, memory, lanes)
    _close(module, lines, segments)
    return segments


def _close(module: Shared, lines: list[str], segments: list[str | Call]) -> None:
    if lines:
        name = f"segment{len(segments)}"
        head = f"define i32 @{name}(ptr %table) nounwind {{"
        module.functions.append("\n".join([head, *lines, "  ret i32 0", "}"]))
        segments.append(name)


def _called(
    module: Shared, piece: Loop | Product | Factor, number: int, memory: Memory, lanes: int
) -> list[str]:
    if isinstance(piece, Loop):
        name, slots = write_loop(module, piece, lanes)
    elif isinstance(piece, Factor):
        name, slots = write_factor(module, piece)
    else:
        name, slots = write_product(module, piece)
    lines = []
    for k, slot in enumerate(slots):
        lines += memory.address(slot, f"%a{number}.{k}")
    args = ", ".join([f"ptr %a{number}.{k}" for k in range(len(slots))])
    if isinstance(piece, Factor):
        return [*lines, *_tried(f"@{name}({args})", f"%tried{number}")]
    return [*lines, f"  call void @{name}({args})"]


def _tried(call: str, name: str) -> list[str]:
    """Write a call of what may fail."""
    return [
        f"  {name} = call i32 {call}",
        f"  {name}.is = icmp eq i32 {name}, 0",
        f"  br i1 {name}.is, label {name}.good, label {name}.bad",
        f"{name[1:]}.bad:",
        f"  ret i32 {name}",
        f"{name[1:]}.good:",
    ]


def _checked(check: Check, memory: Memory) -> list[str]:
    name = f"guard{check.number}"
    ways = [f"label %{name}.good", f"label %{name}.bad"]
    good, bad = ways if check.expected else ways[::-1]
    return [
        *memory.address(check.view.root, f"%{name}"),
        f"  %{name}.p = getelementptr i8, ptr %{name}, i64 {check.view.offset}",
        f"  %{name}.byte = load i8, ptr %{name}.p",
        f"  %{name}.is = icmp ne i8 %{name}.byte, 0",
        f"  br i1 %{name}.is, {good}, {bad}",
        f"{name}.bad:",
        f"  ret i32 {check.number + 1}",
        f"{name}.good:",
    ]


def _bounded(bounds: Bounds, memory: Memory, name: str) -> list[str]:
    """Write what stops where an index does not fit: the line before it is not to be believed."""
    return [
        *memory.address(bounds.low, f"%{name}.low"),
        *memory.address(bounds.high, f"%{name}.high"),
        f"  %{name}.l = load i64, ptr %{name}.low",
        f"  %{name}.h = load i64, ptr %{name}.high",
        f"  %{name}.a = icmp sge i64 %{name}.l, {-bounds.size}",
        f"  %{name}.b = icmp slt i64 %{name}.h, {bounds.size}",
        f"  %{name}.is = and i1 %{name}.a, %{name}.b",
        f"  br i1 %{name}.is, label %{name}.good, label %{name}.bad",
        f"{name}.bad:",
        f"  ret i32 {BAD_INDEX}",
        f"{name}.good:",
    ]


def write_body(module: Shared, memory: Memory, segment: str) -> None:
    """Write `i32 body(ptr in, ptr out)`: tables of the addresses of all inputs and outputs."""
    plan = memory.plan
    lines = [f"  %table = alloca [{1 + len(memory.table)} x ptr]"]
    take, give = _block(module, memory.size)
    lines += [*take, "  store ptr %block, ptr %table"]
    moves = [(CONSTANTS, -1 - root, root) for root in memory.table if root < 0]
    moves += [("in", n, n) for n, how in enumerate(plan.how) if how == INPUT]
    outputs = [place for place in plan.outputs if type(place) is Place]
    moves += [("out", k, plan.views[place].root) for k, place in enumerate(outputs)]
    for number, (source, k, root) in enumerate(moves):
        table = f"@{CONSTANTS}" if source == CONSTANTS else f"%{source}"
        lines += [
            f"  %from{number} = getelementptr ptr, ptr {table}, i64 {k}",
            f"  %move{number} = load ptr, ptr %from{number}",
            f"  %to{number} = getelementptr ptr, ptr %table, i64 {memory.table[root]}",
            f"  store ptr %move{number}, ptr %to{number}",
        ]
    lines += [f"  %status = call i32 @{segment}(ptr %table)", *give, "  ret i32 %status", "}"]
    count = max(1, len(plan.constants))
    module.functions += [
        f"@{CONSTANTS} = global [{count} x ptr] zeroinitializer",
        f"@{KEPT} = global ptr null",
        "\n".join([f"define i32 @{BODY}(ptr %in, ptr %out) nounwind {{", *lines]),
    ]


def _block(module: Shared, size: int) -> tuple[list[str], list[str]]:
    """Write what takes a block to work in, and what gives it back.

    A large one is kept until the next call; who comes meanwhile gets another one.
    """
    if size <= _STACK:
        return [f"  %block = alloca [{max(size, 1)} x i8], align 64"], []
    module.declare("ptr @malloc(i64)")
    module.declare("void @free(ptr)")
    take = [
        "  %own = alloca ptr",
        f"  %found = atomicrmw xchg ptr @{KEPT}, ptr null seq_cst",
        "  store ptr %found, ptr %own",
        "  %none = icmp eq ptr %found, null",
        "  br i1 %none, label %new, label %there",
        "new:",
        f"  %made = call ptr @malloc(i64 {size + 64})",
        "  store ptr %made, ptr %own",
        "  %nothing = icmp eq ptr %made, null",
        "  br i1 %nothing, label %without, label %there",
        "without:",
        f"  ret i32 {NO_MEMORY}",
        "there:",
        "  %whole = load ptr, ptr %own",
        "  %beyond = getelementptr i8, ptr %whole, i64 63",
        "  %block = call ptr @llvm.ptrmask.p0.i64(ptr %beyond, i64 -64)",
    ]
    give = [
        f"  %other = atomicrmw xchg ptr @{KEPT}, ptr %whole seq_cst",
        "  call void @free(ptr %other)",
    ]
    return take, give
