"""Long programs for a batch: parts pass values to each other in memory.

For every block of examples the inputs are transposed into a work array, a vector for each number;
the parts of the program are called one after another; and the outputs are transposed back.
"""

from __future__ import annotations

from simpleautodiff.compiled.backends.llvm.instructions import BYTES
from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.scalar_function import (
    LLVM_PART_STEPS,
    PartBuilder,
    work_array,
)
from simpleautodiff.compiled.backends.llvm.transpose_lanes import cover_columns
from simpleautodiff.compiled.backends.llvm.vmap_loop import BatchLoop
from simpleautodiff.compiled.scalar.kernel import SAME, Kernel
from simpleautodiff.compiled.scalar.split import SplitProgram, split_program


def write_spilled(module: Module, kernel: Kernel, frame: BatchLoop, name: str, chunk: int) -> None:
    """Write the parts of a program, and the code for every block of examples.

    Parameters
    ----------
    module
        Collects the functions of the parts.
    kernel
        What is computed.
    frame
        Collects the code before the loop, in it, and after it.
    name
        How the names of the parts begin.
    chunk
        How many steps a part has at most.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> program, module = ScalarProgram(), Module()
    >>> program.outputs = [program.make("sqrt", program.make("abs", program.input()))]
    >>> kernel = Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),))
    >>> write_spilled(module, kernel, BatchLoop(kernel, ["rows"], 4), "rows", 1)
    >>> len(module.functions)
    2
    """
    parts = split_program(kernel, min(chunk, LLVM_PART_STEPS))
    PartBuilder(module, kernel, parts, frame.width).write_all(name)
    areas, size = _place_leaves(frame, 8 * parts.size * frame.width)
    frame.after, work = work_array(module, size, none="call void @llvm.trap()\n  unreachable")
    frame.before.lines += work
    frame.before.line(f"%areas = alloca ptr, i64 {len(areas)}")
    for j, area in enumerate(areas):
        frame.before.line(f"%area{j} = getelementptr i8, ptr %work, i64 {area}")
        frame.before.put("%areas", j, "ptr", f"%area{j}")
    for j, leaf in enumerate(kernel.inputs):
        for group in _group(
            [(start, size, 0) for start, size in cover_columns(leaf.size, frame.width)]
        ):
            _move_columns(frame, j, group, into=True)
    ready = _list_ready(kernel, parts, frame.width)
    for k in range(len(parts.parts)):
        frame.body.line(f"call i32 @{name}.{k}(ptr %areas, ptr %work)")
        for j, found in enumerate(ready, len(kernel.inputs)):
            for group in _group([block for block in found if block[2] == k]):
                _move_columns(frame, j, group, into=False)


def _list_ready(
    kernel: Kernel, parts: SplitProgram, width: int
) -> list[list[tuple[int, int, int]]]:
    """Return the blocks of each output leaf: start, size, and the part that completes them."""
    of = {place: k for k, part in enumerate(parts.parts) for place in part.places}
    last, outputs = len(parts.parts) - 1, iter(kernel.program.outputs)
    found = []
    for leaf in kernel.outputs:
        known = [of.get(next(outputs), last) for _ in range(leaf.size)]
        covered = cover_columns(leaf.size, width)
        found.append([(start, size, max(known[start : start + size])) for start, size in covered])
    return found


def _group(found: list[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """Divide blocks into groups of consecutive blocks of one size."""
    groups: list[list[tuple[int, int, int]]] = []
    for block in found:
        before = groups[-1][-1] if groups else (0, 0, 0)
        if block[1] == before[1] and block[0] <= before[0] + before[1]:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _place_leaves(frame: BatchLoop, after: int) -> tuple[list[int], int]:
    """Return the offset of the vectors of each leaf in the work array, and its total size."""
    areas = []
    for leaf in frame.leaves:
        areas.append(after)
        after += -(-leaf.size * frame.width * BYTES[leaf.dtype] // 64) * 64
    return areas, after


def _move_columns(frame: BatchLoop, j: int, group: list[tuple[int, int, int]], into: bool) -> None:
    """Write a loop that transposes columns of the examples into the work array, or back."""
    (first, size, _), (last, _, _) = group[0], group[-1]
    kind, body = frame.leaves[j].dtype, frame.body
    rows = [f"%base{j}"] * frame.width if frame.modes[j] == SAME else frame.starts(j)
    label = f"{j}.{first}"
    body.jump(f"from{label}")
    body.label(f"from{label}")
    body.jump(f"columns{label}")
    body.label(f"columns{label}")
    came = f"[ {first}, %from{label} ], [ %further{label}, %columns{label} ]"
    body.line(f"%column{label} = phi i64 {came}")
    at = body.new(f"call i64 @llvm.smin.i64(i64 %column{label}, i64 {last})")
    offset = body.new(f"mul i64 {at}, {BYTES[kind]}")
    area = body.address(f"%area{j}", body.new(f"mul i64 {offset}, {frame.width}"))
    parts = [body.address(row, offset) for row in rows]
    vectors = [body.address(area, k * BYTES[kind] * frame.width) for k in range(size)]
    if into:
        for pointer, column in zip(vectors, body.load_columns(parts, kind, 0, size), strict=True):
            body.store_packed(column, pointer, kind)
    else:
        body.store_columns([body.load_packed(pointer, kind) for pointer in vectors], parts, kind, 0)
    body.line(f"%further{label} = add i64 %column{label}, {size}")
    more = body.new(f"icmp slt i64 %column{label}, {last}")
    body.branch(more, f"columns{label}", f"moved{label}")
    body.label(f"moved{label}")
