"""The entry from Python into a rolled program: copy arguments into its block, and results out."""

from __future__ import annotations

import math
from typing import Any

from simpleautodiff.compiled.backends.interface import ENTRY, CallForm
from simpleautodiff.compiled.backends.llvm.array_module import free_block_with
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.loop_function import write_loop
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.python_entry import (
    arrays_entry,
    declarations,
    entry_names,
)
from simpleautodiff.compiled.backends.llvm.segments import BODY, KEPT, take_block
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.rolled.move_loops import move_loop

RUN, TABLES = "run", "tables"  # the range of words, and the first bytes of a block
_COPY = "llvm.memcpy.p0.p0.i64"


def can_enter(layout: RolledLayout) -> bool:
    """Tell whether nothing is left to NumPy, and the words do not change."""
    return len(layout.steps) == 1 and not layout.words_change


def entry_exports() -> list[str]:
    """Return the names that the code has to export."""
    return [TABLES, KEPT, *entry_names(ENTRY)]


def write_entry(module: Module, layout: RolledLayout, form: CallForm, lanes: int) -> None:
    """Write the entry, and the function of argument and result addresses that it calls."""
    module.declare(f"void @{_COPY}(ptr, ptr, i64, i1)")
    builder = Builder()
    begins = Builder("b")
    _copy(begins, "%fresh", begins.get(f"@{TABLES}", 2, "ptr"), len(layout.known))
    block, give_back = take_block(module, builder, layout.size, begins.lines)
    for k, (offset, dtype, shape, _) in enumerate(layout.inputs):
        size = math.prod(shape) * dtype.itemsize
        _copy(builder, builder.address(block, offset), builder.get("%in", k, "ptr"), size)
    start, stop = builder.get(f"@{TABLES}", 0, "ptr"), builder.get(f"@{TABLES}", 1, "ptr")
    status = builder.new(f"call i32 @{RUN}(ptr {block}, ptr {start}, ptr {stop})")
    for k, place in enumerate([place for place in layout.outputs if type(place) is tuple]):
        _write_out(module, builder, block, k, place, lanes)
    builder.lines += give_back
    head = f"internal i32 @{BODY}(ptr %in, ptr %out) {ATTRIBUTES}"
    module.functions += [
        f"@{TABLES} = global [3 x ptr] zeroinitializer",
        builder.text(head, f"ret i32 {status}"),
        declarations(arrays=True),
        arrays_entry(ENTRY, BODY, form.inputs, form.outputs, form.structure,
                     guarded=True, unlocked=True, out=form.out),
    ]  # fmt: skip


def _copy(builder: Builder, to: str, by: str, size: int) -> None:
    builder.line(f"call void @{_COPY}(ptr {to}, ptr {by}, i64 {size}, i1 false)")


def _write_out(
    module: Module, builder: Builder, block: str, number: int, place: Any, lanes: int
) -> None:
    """Copy a result out of the block, perhaps with gaps, into an array of its own."""
    offset, dtype, shape, strides = place
    steps = tuple([step // dtype.itemsize for step in strides])
    name, slots = write_loop(module, move_loop(shape, steps, dtype), lanes)
    places = {0: builder.get("%out", number, "ptr"), 1: builder.address(block, offset)}
    args = ", ".join([f"ptr {places[slot]}" for slot in slots])
    builder.line(f"call void @{name}({args})")


def prepare_entry(layout: RolledLayout, code: engine.Code) -> None:
    """Tell the code the address of its words, and the first bytes of a block."""
    words, known = layout.words, layout.known
    first = words.ctypes.data
    addresses = [first, first + words.nbytes, known.ctypes.data]
    engine.place_addresses(code, TABLES, addresses, (words, known))
    free_block_with(code)
