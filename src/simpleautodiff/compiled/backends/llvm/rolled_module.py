"""A rolled program as LLVM text: a function for each body, and one that calls them in turn."""

from __future__ import annotations

import ctypes
from typing import Any

from simpleautodiff.compiled.backends.interface import CallForm
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.loop_function import write_loop
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.number_loop import Moves, write_number_loop
from simpleautodiff.compiled.backends.llvm.rolled_entry import RUN, build_entry, can_enter
from simpleautodiff.compiled.backends.llvm.scalar_function import write_body
from simpleautodiff.compiled.backends.llvm.segments import write_segments
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.rolled.bodies import ArrayBody, MoveBody, ScalarBody
from simpleautodiff.compiled.rolled.layout import LOOP, LOOP_WORDS, RolledLayout
from simpleautodiff.compiled.rolled.number_loops import LoopBody

REVERSE, MOVING, INSIDE = 8, 9, 10  # indices among the words of a loop
_HEAD = f"(ptr %block, ptr %words) {ATTRIBUTES}"


class NativeRolled:
    """The code of a rolled program.

    Calling it runs the program on a block: the result is 0, or 1 + the number of the first guard
    that failed, or the status of a LAPACK call that failed.
    """

    def __init__(self, layout: RolledLayout, precise: bool, lanes: int) -> None:
        self._layout, self._lanes = layout, lanes
        ir = rolled_module(layout, precise, lanes)
        self.code = engine.build(ir, level=1, names=[RUN], key=ir)
        kinds = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self.code.address(RUN))

    def make_entry(self, form: CallForm) -> engine.Code | None:
        """Compile an entry from Python into the bodies; None if lines are left to NumPy."""
        if not can_enter(self._layout):
            return None
        return build_entry(self._layout, form, self._lanes, self.code)

    def __call__(self, block: int, words: int, start: int, stop: int) -> int:
        """Process some words on a block; both are given by their addresses."""
        return int(self._run(block, words + 8 * start, words + 8 * stop))


def rolled_module(layout: RolledLayout, precise: bool, lanes: int) -> str:
    """Write all bodies, and the function that calls them as the words say."""
    module, bodies = Module(precise), layout.bodies
    moves = {
        k: write_loop(module, body.loop, lanes)
        for k, body in enumerate(bodies)
        if isinstance(body, MoveBody)
    }
    loops = [body for body in bodies if isinstance(body, LoopBody)]
    inner = {call.body for loop in loops for call in loop.calls} - {*moves}
    lengths = {}
    for k, body in enumerate(bodies):
        if isinstance(body, ScalarBody):
            write_body(module, body.kernel, f"kernel{k}", inlined=k in inner)
        elif isinstance(body, LoopBody):
            write_number_loop(module, f"kernel{k}", body, bodies, moves, k in inner)
        if k not in inner:
            lengths[k] = _write_call(module, k, body, lanes, moves)
    module.functions.append(_write_run(lengths, layout.words_change))
    if layout.words_change:
        module.functions += [_write_loop(), _write_advance()]
    return module.text()


def _write_call(module: Module, number: int, body: Any, lanes: int, moves: Moves) -> int:
    """Write the call of a body by its words; return how many there are."""
    builder = Builder()
    if isinstance(body, ArrayBody):
        count = 1 + len(body.memory.table)
        [segment] = write_segments(module, body.tasks, body.memory, lanes, f"body{number}.")
        table = builder.alloca(f"[{count} x ptr]")
        for k in range(count):
            builder.put(table, k, "ptr", _address(builder, k))
        status = builder.new(f"call i32 @{segment}(ptr {table})")
    elif isinstance(body, MoveBody):
        count, status = 2, "0"
        name, slots = moves[number]
        args = ", ".join([f"ptr {_address(builder, slot)}" for slot in slots])
        builder.line(f"call void @{name}({args})")
    else:
        count = len(body.operands)
        args = ", ".join([f"ptr {_address(builder, k)}" for k in range(count)])
        status = builder.new(f"call i32 @kernel{number}({args})")
    module.functions.append(builder.text(f"internal i32 @call{number}{_HEAD}", f"ret i32 {status}"))
    return 2 + count


def _address(builder: Builder, k: int) -> str:
    return builder.address("%block", builder.get("%words", 2 + k, "i64"))


def _write_run(lengths: dict[int, int], has_loops: bool) -> str:
    """Write the function that processes the words: a loop around a call of each body."""
    builder = Builder()
    cases = [*map(str, lengths), *(["loop"] if has_loops else [])]
    came = ", ".join([f"[%ahead{k}, %good{k}]" for k in cases])
    targets = " ".join([f"i64 {LOOP if k == 'loop' else k}, label %body{k}" for k in cases])
    builder.jump("again")
    builder.label("again")
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
    for k in cases:
        builder.label(f"body{k}")
        length = str(lengths[int(k)]) if k != "loop" else _loop_length(builder)
        name = "repeat" if k == "loop" else f"call{k}"
        builder.line(f"%status{k} = call i32 @{name}(ptr %block, ptr %at)")
        builder.line(f"%ahead{k} = getelementptr i64, ptr %at, i64 {length}")
        builder.line(f"%is_good{k} = icmp eq i32 %status{k}, 0")
        builder.branch(f"%is_good{k}", f"good{k}", "bad")
        builder.label(f"good{k}")
        builder.jump("again")
    builder.label("bad")
    failed = ", ".join([f"[%status{k}, %body{k}]" for k in cases])
    builder.line(f"%status = phi i32 {failed}")
    before = builder.new(f"trunc i64 {builder.get('%at', 1, 'i64')} to i32")
    guard = builder.new(f"add i32 %status, {before}")
    is_guard = builder.new("icmp sgt i32 %status, 0")
    builder.line(f"%answer = select i1 {is_guard}, i32 {guard}, i32 %status")
    head = f"i32 @{RUN}(ptr %block, ptr %words, ptr %stop) {ATTRIBUTES}"
    return builder.text(head, "ret i32 %answer").replace("{\n", "{\nbegin:\n", 1)


# Loops. -------------------------------------------------------------------------------------------


def _loop_length(builder: Builder) -> str:
    """Return the number of words of a loop."""
    moving = builder.get("%at", MOVING, "i64")
    twice = builder.new(f"shl i64 {moving}, 1")
    inside = builder.new(f"add i64 {twice}, {builder.get('%at', INSIDE, 'i64')}")
    return builder.new(f"add i64 {inside}, {LOOP_WORDS}")


def _write_loop() -> str:
    """Write the function that repeats the words of a loop; a guard that fails ends it.

    At its end, words that advance have their first values again.
    """
    builder = Builder()

    def place(k: int) -> str:
        return builder.address("%block", builder.get("%at", k, "i64"))

    limit = builder.load("i64", place(2))
    good, more, count = place(4), place(5), place(6)
    following = builder.get("%at", 7, "i64")
    is_reverse = builder.new(f"icmp ne i64 {builder.get('%at', REVERSE, 'i64')}, 0")
    moving, length = builder.get("%at", MOVING, "i64"), builder.get("%at", INSIDE, "i64")
    table = builder.address("%at", LOOP_WORDS, "i64")
    inside = builder.address(table, builder.new(f"shl i64 {moving}, 1"), "i64")
    stop = builder.address(inside, length, "i64")
    builder.store("i8", "1", good)
    builder.store("i8", builder.load("i8", place(3)), more)
    last = builder.new(f"sub i64 {limit}, 1")
    first = builder.new(f"select i1 {is_reverse}, i64 {last}, i64 0")
    step = builder.new(f"select i1 {is_reverse}, i64 -1, i64 1")
    advance = f"call void @advance(ptr {inside}, ptr {table}, i64 {moving}, i64"
    builder.line(f"{advance} {first})")
    builder.jump("again")
    builder.label("again")
    builder.line("%taken = phi i64 [0, %begin], [%taken.next, %onward]")
    is_more = builder.new(f"icmp slt i64 %taken, {limit}")
    goes = builder.new(f"icmp ne i8 {builder.load('i8', more)}, 0")
    builder.branch(builder.new(f"and i1 {is_more}, {goes}"), "one", "end")
    builder.label("one")
    status = builder.new(f"call i32 @{RUN}(ptr %block, ptr {inside}, ptr {stop})")
    builder.branch(builder.new(f"icmp eq i32 {status}, 0"), "good", "bad")
    builder.label("bad")
    builder.store("i8", "0", good)
    failed = builder.new(f"icmp slt i32 {status}, 0")
    builder.line(f"%answer.bad = select i1 {failed}, i32 {status}, i32 0")
    builder.jump("end")
    builder.label("good")
    builder.line(f"{advance} {step})")
    builder.line("%taken.next = add i64 %taken, 1")
    builder.branch(builder.new(f"icmp sge i64 {following}, 0"), "ask", "onward")
    builder.label("ask")
    builder.store("i8", builder.load("i8", builder.address("%block", following)), more)
    builder.jump("onward")
    builder.label("onward")
    builder.jump("again")
    builder.label("end")
    builder.line("%answer = phi i32 [0, %again], [%answer.bad, %bad]")
    gone = builder.new(f"mul i64 %taken, {step}")
    row = builder.new(f"add i64 {first}, {gone}")
    builder.line(f"{advance} {builder.new(f'sub i64 0, {row}')})")
    builder.store("i64", "%taken", count)
    text = builder.text(
        f"internal i32 @repeat(ptr %block, ptr %at) {ATTRIBUTES}", "ret i32 %answer"
    )
    return text.replace("{\n", "{\nbegin:\n", 1)


def _write_advance() -> str:
    """Write the function that advances words by some steps, or back."""
    builder = Builder()
    builder.branch(builder.new("icmp sgt i64 %moving, 0"), "some", "none")
    builder.label("some")
    with builder.counted("%moving", name="k") as k:
        twice = builder.new(f"shl i64 {k}, 1")
        which = builder.get("%table", twice, "i64")
        far = builder.get("%table", builder.new(f"add i64 {twice}, 1"), "i64")
        word = builder.get("%inside", which, "i64")
        moved = builder.new(f"add i64 {word}, {builder.new(f'mul i64 {far}, %rows')}")
        builder.put("%inside", which, "i64", moved)
    builder.jump("none")
    builder.label("none")
    head = "internal void @advance(ptr %inside, ptr %table, i64 %moving, i64 %rows)"
    return builder.text(f"{head} {ATTRIBUTES}", "ret void")
