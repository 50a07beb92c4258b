"""A rolled program as LLVM text: a function for each body, and one that calls them in turn."""

from __future__ import annotations

import ctypes
from typing import Any

from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.backends.interface import CallForm
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.loop_function import write_loop
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.rolled_entry import (
    RUN,
    can_enter,
    entry_exports,
    prepare_entry,
    write_entry,
)
from simpleautodiff.compiled.backends.llvm.scalar_function import write_body
from simpleautodiff.compiled.backends.llvm.segments import write_segments
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.rolled.layout import ArrayBody, MoveBody, RolledLayout, ScalarBody

_HEAD = f"(ptr %block, ptr %words) {ATTRIBUTES}"


class NativeRolled:
    """The code of a rolled program.

    Calling it runs the program on a block: the result is 0, or 1 + the number of the first guard
    that failed, or the status of a LAPACK call that failed.
    """

    def __init__(
        self, layout: RolledLayout, precise: bool, form: CallForm | None, lanes: int
    ) -> None:
        self.words = layout.words
        self.has_entry = form is not None and can_enter(layout)
        entered = form if self.has_entry else None
        names = [RUN, *(entry_exports() if entered else [])]
        ir = rolled_module(layout, precise, lanes, entered)
        self.code = engine.build(ir, level=1, names=names, key=ir)
        if entered:
            prepare_entry(layout, self.code)
        kinds = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self.code.address(RUN))
        self._words = self.words.ctypes.data

    def __call__(self, block: int, start: int, stop: int) -> int:
        """Run some of the calls that the words describe, on a block given by its address."""
        return int(self._run(block, self._words + 8 * start, self._words + 8 * stop))


def rolled_module(
    layout: RolledLayout, precise: bool, lanes: int, form: CallForm | None = None
) -> str:
    """Write all bodies, and the function that calls them as the words say."""
    module = Module(precise)
    lengths = [_write(module, k, body, lanes) for k, body in enumerate(layout.bodies)]
    module.functions.append(_write_run(lengths))
    if form is not None:
        write_entry(module, layout, form, lanes)
    return module.text()


def _write(module: Module, number: int, body: Any, lanes: int) -> int:
    """Write one body; return the number of words of a call."""
    builder = Builder()
    if isinstance(body, ScalarBody):
        write_body(module, body.kernel, f"kernel{number}")
        count = len(body.kernel.inputs) + len(body.kernel.outputs)
        args = ", ".join([f"ptr {_address(builder, k)}" for k in range(count)])
        status = builder.new(f"call i32 @kernel{number}({args})")
    elif isinstance(body, ArrayBody):
        count = 1 + len(body.memory.table)
        [segment] = write_segments(module, body.tasks, body.memory, lanes, f"body{number}.")
        table = builder.alloca(f"[{count} x ptr]")
        for k in range(count):
            builder.put(table, k, "ptr", _address(builder, k))
        status = builder.new(f"call i32 @{segment}(ptr {table})")
    else:
        assert isinstance(body, MoveBody)
        count, status = _write_move(module, builder, body.loop, lanes), "0"
    module.functions.append(builder.text(f"internal i32 @call{number}{_HEAD}", f"ret i32 {status}"))
    return 2 + count


def _address(builder: Builder, k: int) -> str:
    return builder.address("%block", builder.get("%words", 2 + k, "i64"))


def _write_move(module: Module, builder: Builder, loop: Loop, lanes: int) -> int:
    name, slots = write_loop(module, loop, lanes)
    args = ", ".join([f"ptr {_address(builder, slot)}" for slot in slots])
    builder.line(f"call void @{name}({args})")
    return 2


def _write_run(lengths: list[int]) -> str:
    """Write the function that processes the words: a loop around a call of each body."""
    builder = Builder()
    ahead = [f"%ahead{k}" for k in range(len(lengths))]
    came = ", ".join([f"[{name}, %good{k}]" for k, name in enumerate(ahead)])
    targets = " ".join([f"i64 {k}, label %body{k}" for k in range(len(lengths))])
    builder.jump("loop")
    builder.label("loop")
    builder.line(f"%at = phi ptr [%words, %begin], {came}")
    builder.line("%is_end = icmp eq ptr %at, %stop")
    builder.branch("%is_end", "end", "next")
    builder.label("end")
    builder.line("ret i32 0")
    builder.label("next")
    builder.line("%which = load i64, ptr %at")
    builder.line(f"switch i64 %which, label %never [{targets}]")
    builder.label("never")
    builder.line("unreachable")
    for k, length in enumerate(lengths):
        builder.label(f"body{k}")
        builder.line(f"%status{k} = call i32 @call{k}(ptr %block, ptr %at)")
        builder.line(f"%ahead{k} = getelementptr i64, ptr %at, i64 {length}")
        builder.line(f"%is_good{k} = icmp eq i32 %status{k}, 0")
        builder.branch(f"%is_good{k}", f"good{k}", "bad")
        builder.label(f"good{k}")
        builder.jump("loop")
    builder.label("bad")
    failed = ", ".join([f"[%status{k}, %body{k}]" for k in range(len(lengths))])
    builder.line(f"%status = phi i32 {failed}")
    before = builder.new(f"trunc i64 {builder.get('%at', 1, 'i64')} to i32")
    guard = builder.new(f"add i32 %status, {before}")
    is_guard = builder.new("icmp sgt i32 %status, 0")
    builder.line(f"%answer = select i1 {is_guard}, i32 {guard}, i32 %status")
    head = f"i32 @{RUN}(ptr %block, ptr %words, ptr %stop) {ATTRIBUTES}"
    return builder.text(head, "ret i32 %answer").replace("{\n", "{\nbegin:\n", 1)
