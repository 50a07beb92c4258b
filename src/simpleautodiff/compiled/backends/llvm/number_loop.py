"""A loop of single numbers as LLVM text: what is carried from step to step stays in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.rolled.bodies import MoveBody
from simpleautodiff.compiled.rolled.number_loops import InnerCall, LoopBody

Moves = Mapping[int, tuple[str, list[Any]]]  # the functions of moves, and the order of both places
_COPY = "llvm.memcpy.p0.p0.i64"


def write_number_loop(
    module: Module, name: str, loop: LoopBody, bodies: Sequence[Any], moves: Moves, inlined: bool
) -> None:
    """Write the function of a loop into a module.

    It takes the address of each operand, and returns 0, or the negative status of a call that
    failed. Results that are kept are copied to the stack, which LLVM turns into registers as all
    bodies are inlined, and back at the end.
    """
    module.declare(f"void @{_COPY}(ptr, ptr, i64, i1)")
    writer = _LoopWriter(loop, bodies, moves)
    writer.write()
    linkage, how = ("internal ", "alwaysinline ") if inlined else ("", "")
    taken = ", ".join([f"ptr %a{k}" for k in range(len(loop.operands))])
    status = writer.load("i32", writer.status)
    head = f"{linkage}i32 @{name}({taken}) {how}{ATTRIBUTES}"
    module.functions.append(writer.text(head, f"ret i32 {status}"))


class _LoopWriter(Builder):
    """The function of one loop."""

    def __init__(self, loop: LoopBody, bodies: Sequence[Any], moves: Moves) -> None:
        super().__init__()
        self.loop, self.bodies, self.moves = loop, bodies, moves
        self.places = [f"%a{k}" for k in range(len(loop.operands))]
        self.status, self.taken = self.alloca("i32"), self.alloca("i64")
        self.good, self.more = self.alloca("i8"), self.alloca("i8")

    def write(self) -> None:
        """Write the loop; a guard that fails ends it."""
        limit, go, *told = [f"%a{k}" for k in self.loop.head]
        count = self.load("i64", limit)
        self.store("i64", "0", self.taken)
        self.store("i8", self.load("i8", go), self.more)
        self.store("i8", "1", self.good)
        self.store("i32", "0", self.status)
        self._keep_results()
        self.jump("again")
        self.label("again")
        taken = self.load("i64", self.taken)
        is_more = self.new(f"icmp slt i64 {taken}, {count}")
        goes = self.new(f"icmp ne i8 {self.load('i8', self.more)}, 0")
        self.branch(self.new(f"and i1 {is_more}, {goes}"), "step", "end")
        self.label("step")
        self._write_step(taken, count)
        self.jump("again")
        self.label("bad")
        self.store("i8", "0", self.good)
        status = self.load("i32", self.status)
        self.store("i32", self.new(f"call i32 @llvm.smin.i32(i32 {status}, i32 0)"), self.status)
        self.jump("end")
        self.label("end")
        for (type_, cell), place in zip(
            (("i8", self.good), ("i8", self.more), ("i64", self.taken)), told, strict=True
        ):
            self.store(type_, self.load(type_, cell), place)
        for k, operand in enumerate(self.loop.operands):
            if operand.is_kept:
                self._copy(f"%a{k}", self.places[k], operand.size)

    def _keep_results(self) -> None:
        """Copy results that are carried from step to step to the stack."""
        for k, operand in enumerate(self.loop.operands):
            if operand.is_kept:
                self.places[k] = self.alloca(f"[{operand.size} x i8], align 8")
                self._copy(self.places[k], f"%a{k}", operand.size)

    def _copy(self, to: str, by: str, size: int) -> None:
        self.line(f"call void @{_COPY}(ptr {to}, ptr {by}, i64 {size}, i1 false)")

    def _write_step(self, taken: str, count: str) -> None:
        """Write the calls of one step, and count it."""
        row = taken
        if self.loop.reverse:
            row = self.new(f"sub i64 {self.new(f'sub i64 {count}, 1')}, {taken}")
        now = [
            self.address(place, self.new(f"mul i64 {row}, {operand.advance}"))
            if operand.advance
            else place
            for place, operand in zip(self.places, self.loop.operands, strict=True)
        ]
        for call in self.loop.calls:
            self._write_call(call, now)
        if self.loop.following is not None:
            self.store("i8", self.load("i8", now[self.loop.following]), self.more)
        self.store("i64", self.new(f"add i64 {taken}, 1"), self.taken)

    def _write_call(self, call: InnerCall, now: list[str]) -> None:
        body = self.bodies[call.body]
        given = [now[k] for k in call.given]
        if not isinstance(body, MoveBody):
            args = ", ".join([f"ptr {place}" for place in given])
            status = self.new(f"call i32 @kernel{call.body}({args})")
            self.store("i32", status, self.status)
            self.go_on_if(self.new(f"icmp eq i32 {status}, 0"), "bad")
        elif body.is_copy:
            to, by = given
            self._copy(to, by, body.operands[0].size)
        else:
            name, slots = self.moves[call.body]
            args = ", ".join([f"ptr {given[slot]}" for slot in slots])
            self.line(f"call void @{name}({args})")
