"""Many rows of a long program: each part takes its numbers from memory and puts them there.

For every block of rows the inputs are turned into a work array, a vector for each number; the parts
of the program are called one after the other; and the outputs are turned back from there.
"""

from __future__ import annotations

from simpleautodiff.jit.chunks import plan
from simpleautodiff.jit.emit import Part, work_array
from simpleautodiff.jit.frame import SAME, Frame
from simpleautodiff.jit.instructions import BYTES
from simpleautodiff.jit.kernel import Kernel
from simpleautodiff.jit.lanes import blocks
from simpleautodiff.jit.module import Module


def write_passing(module: Module, kernel: Kernel, frame: Frame, name: str, chunk: int) -> None:
    """Write the parts of a program, and what is done for every block of rows.

    Parameters
    ----------
    module
        Takes the functions of the parts.
    kernel
        What is computed.
    frame
        Takes what is done before the loop, in it, and after it.
    name
        How the names of the parts begin.
    chunk
        How many steps a part has at most.
    """
    parts = plan(kernel.flat, chunk)
    Part(module, kernel, parts, frame.width).write_all(name)
    areas, size = _areas(frame, 8 * parts.length * frame.width)
    frame.after, work = work_array(module, size, none="call void @llvm.trap()\n  unreachable")
    frame.before += [*work, f"  %areas = alloca ptr, i64 {len(areas)}"]
    for j, area in enumerate(areas):
        frame.before += [
            f"  %area{j} = getelementptr i8, ptr %work, i64 {area}",
            f"  %area{j}.p = getelementptr ptr, ptr %areas, i64 {j}",
            f"  store ptr %area{j}, ptr %area{j}.p",
        ]
    for j in range(len(kernel.inputs)):
        _move(frame, j, into=True)
    for k in range(len(parts.chunks)):
        frame.body.append(f"  call i32 @{name}.{k}(ptr %areas, ptr %work)")
    for j in range(len(kernel.inputs), len(areas)):
        _move(frame, j, into=False)


def _areas(frame: Frame, after: int) -> tuple[list[int], int]:
    """Return where the vectors of each leaf begin in the work array, and how long that is."""
    areas = []
    for leaf in frame.leaves:
        areas.append(after)
        after += -(-leaf.size * frame.width * BYTES[leaf.kind] // 64) * 64
    return areas, after


def _move(frame: Frame, j: int, into: bool) -> None:
    """Move a leaf between its rows and its area: a loop over blocks of columns of one size."""
    leaf, width = frame.leaves[j], frame.width
    found = blocks(leaf.size, width)
    largest = [block for block in found if block[1] == found[0][1]]
    rows = [f"%base{j}"] * width if frame.modes[j] == SAME else frame.starts(j)
    for n, group in enumerate([largest, *[[block] for block in found[len(largest) :]]]):
        if group:
            _columns(frame, rows, j, f"{j}.{n}", group, into)


def _columns(
    frame: Frame, rows: list[str], j: int, label: str, group: list[tuple[int, int]], into: bool
) -> None:
    """Move blocks of columns, all of one size, in a loop."""
    lanes, new, kind = frame.lanes, frame.lanes.new, frame.leaves[j].kind
    size, (last, _) = group[0][1], group[-1]
    frame.body.append(f"  br label %from{label}\nfrom{label}:\n  br label %columns{label}")
    frame.body.append(f"columns{label}:")
    frame.body.append(
        f"  %c{label} = phi i64 [ {group[0][0]}, %from{label} ], [ %d{label}, %columns{label} ]"
    )
    at = new(f"call i64 @llvm.smin.i64(i64 %c{label}, i64 {last})")
    offset = new(f"mul i64 {at}, {BYTES[kind]}")
    in_area = new(f"mul i64 {offset}, {frame.width}")
    area = new(f"getelementptr i8, ptr %area{j}, i64 {in_area}")
    rows = [new(f"getelementptr i8, ptr {row}, i64 {offset}") for row in rows]
    vectors = [
        new(f"getelementptr i8, ptr {area}, i64 {k * BYTES[kind] * frame.width}")
        for k in range(size)
    ]
    if into:
        for pointer, column in zip(vectors, lanes.load(rows, kind, 0, size), strict=True):
            lanes.store_packed(column, pointer, kind)
    else:
        lanes.store([lanes.packed(pointer, kind) for pointer in vectors], rows, kind, 0)
    frame.body.append(f"  %d{label} = add i64 %c{label}, {size}")
    frame.body.append(f"  %e{label} = icmp sle i64 %c{label}, {last - 1}")
    frame.body.append(f"  br i1 %e{label}, label %columns{label}, label %moved{label}")
    frame.body.append(f"moved{label}:")
