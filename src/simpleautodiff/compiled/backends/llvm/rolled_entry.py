"""The entry from Python into a rolled program: copy arguments into its block, and results out."""

from __future__ import annotations

import math
from typing import Any

from simpleautodiff.compiled.array.view_accesses import find_strides, have_same_strides
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

RUN, TABLES = "run", "tables"
# The table: the first word, the end of the words, the first bytes of a block, and the
# code of the bodies.
FIRST_WORD, LAST_WORD, KNOWN, CODE = range(4)
_COPY = "llvm.memcpy.p0.p0.i64"


def can_enter(layout: RolledLayout) -> bool:
    """Tell whether nothing is left to NumPy."""
    return len(layout.steps) == 1


def build_entry(layout: RolledLayout, form: CallForm, lanes: int, run: engine.Code) -> engine.Code:
    """Compile the entry, and tell it where its words are, and the code of the bodies.

    An entry has the sizes of all arrays built in, the bodies have not: so it is a module of its
    own, and another number of steps uses the same bodies. It is compiled quickly: each instruction
    runs once, unless elements have to be moved one by one.
    """
    ir = entry_module(layout, form, lanes)
    moves = [
        place for place in layout.outputs if type(place) is tuple and not _is_contiguous(place)
    ]
    code = engine.build(
        ir, level=1 if moves else 0, names=[TABLES, KEPT, *entry_names(ENTRY)], key=ir
    )
    words, known = layout.words, layout.known
    first = words.ctypes.data
    addresses = [first, first + words.nbytes, known.ctypes.data, run.address(RUN)]
    engine.place_addresses(code, TABLES, addresses, (words, known, run))
    free_block_with(code)
    return code


def entry_module(layout: RolledLayout, form: CallForm, lanes: int) -> str:
    """Write the entry, and the function of argument and result addresses that it calls."""
    module = Module(precise=False)
    module.declare(f"void @{_COPY}(ptr, ptr, i64, i1)")
    builder, begins = Builder(), Builder("b")
    _copy(begins, "%fresh", begins.get(f"@{TABLES}", KNOWN, "ptr"), len(layout.known))
    own = size = layout.size
    if layout.words_change:  # then they are in the block, after all else
        size += layout.words.nbytes
        words = begins.get(f"@{TABLES}", FIRST_WORD, "ptr")
        _copy(begins, begins.address("%fresh", own), words, layout.words.nbytes)
    block, give_back = take_block(module, builder, size, begins.lines)
    for k, (offset, dtype, shape, _) in enumerate(layout.inputs):
        of_input = math.prod(shape) * dtype.itemsize
        _copy(builder, builder.address(block, offset), builder.get("%in", k, "ptr"), of_input)
    if layout.words_change:
        start, stop = builder.address(block, own), builder.address(block, size)
    else:
        start, stop = [builder.get(f"@{TABLES}", k, "ptr") for k in (FIRST_WORD, LAST_WORD)]
    run = builder.get(f"@{TABLES}", CODE, "ptr")
    status = builder.new(f"call i32 {run}(ptr {block}, ptr {start}, ptr {stop})")
    for k, place in enumerate([place for place in layout.outputs if type(place) is tuple]):
        _write_out(module, builder, block, k, place, lanes)
    builder.lines += give_back
    head = f"internal i32 @{BODY}(ptr %in, ptr %out) {ATTRIBUTES}"
    module.functions += [
        f"@{TABLES} = global [4 x ptr] zeroinitializer",
        builder.text(head, f"ret i32 {status}"),
        declarations(arrays=True),
        arrays_entry(ENTRY, BODY, form.inputs, form.outputs, form.structure,
                     guarded=True, unlocked=True, out=form.out),
    ]  # fmt: skip
    return module.text()


def _copy(builder: Builder, to: str, by: str, size: int) -> None:
    builder.line(f"call void @{_COPY}(ptr {to}, ptr {by}, i64 {size}, i1 false)")


def _write_out(
    module: Module, builder: Builder, block: str, number: int, place: Any, lanes: int
) -> None:
    """Copy a result out of the block, perhaps with gaps, into an array of its own."""
    offset, dtype, shape, strides = place
    if _is_contiguous(place):
        to, by = builder.get("%out", number, "ptr"), builder.address(block, offset)
        _copy(builder, to, by, math.prod(shape) * dtype.itemsize)
        return
    steps = tuple([step // dtype.itemsize for step in strides])
    name, slots = write_loop(module, move_loop(shape, steps, dtype), lanes)
    places = {0: builder.get("%out", number, "ptr"), 1: builder.address(block, offset)}
    args = ", ".join([f"ptr {places[slot]}" for slot in slots])
    builder.line(f"call void @{name}({args})")


def _is_contiguous(place: Any) -> bool:
    """Tell whether the elements of a result are next to one another, in order."""
    _, dtype, shape, strides = place
    return have_same_strides(
        shape, strides, tuple([dtype.itemsize * n for n in find_strides(shape)])
    )
