"""The interpreter as LLVM text: a loop with one block for each opcode.

Jumps from each block directly to the next one, by address or as calls, were as fast as the loop
(within a tenth) and took two to four times as long to compile.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simpleautodiff.compiled.backends.interpreter.bytecode import (
    OPCODES,
    OPERATION_OPCODES,
    describe_words,
)
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import fill
from simpleautodiff.compiled.scalar.operations import BOOL, FLOAT32, FLOAT64, INT64, OPERATIONS


class _Compute(NamedTuple):
    """What an opcode computes: the type of its arguments, of its result, and the instructions.

    In these, `{0}` is the name of the result, and `{1}`, `{2}`, `{3}` are the arguments.
    """

    reads: str
    makes: str
    text: str


def _operation(name: str, dtype: str) -> _Compute:
    """Return what an operation computes, from its row; bools are integers in their cells."""
    row = OPERATIONS[name]
    code = row.code(dtype)
    assert code is not None
    type_ = "i64" if dtype in (INT64, BOOL) else "double"
    if not code.llvm:
        args = ", ".join([f"{type_} {{{k}}}" for k in range(1, row.arity + 1)])
        return _Compute(type_, type_, f"{{0}} = call {type_} @{row.in_c_library}({args})")
    text = fill(code.llvm, INT64 if dtype == BOOL else dtype, 1, precise=True)
    is_truth = _COMPARES.search(text) if dtype == BOOL else row.gives == BOOL
    return _Compute(type_, "i1" if is_truth else type_, text)


_COMPARES = re.compile(r"\{0\} = [fi]cmp ")
_COMPUTE: dict[str, _Compute] = {
    **{
        opcode: _operation(*opcode.split("."))
        for opcode in dict.fromkeys(OPERATION_OPCODES.values())
        if not opcode.endswith(FLOAT32)
    },
    "copy": _Compute("i64", "i64", "{0} = add i64 {1}, 0"),
    "round": _Compute("double", "float", "{0} = fptrunc double {1} to float"),
    "int_to_double": _Compute("i64", "double", "{0} = sitofp i64 {1} to double"),
    "int_to_float": _Compute("i64", "float", "{0} = sitofp i64 {1} to float"),
    "double_to_int": _Compute(
        "double", "i64", "{0} = call i64 @llvm.fptosi.sat.i64.f64(double {1})"
    ),
    "muladd": _Compute(
        "double", "double", "{0}.p = fmul double {1}, {2}\n  {0} = fadd double {0}.p, {3}"
    ),
    "select": _Compute(
        "i64", "i64", "{0}.c = icmp ne i64 {1}, 0\n  {0} = select i1 {0}.c, i64 {2}, i64 {3}"
    ),
}
_STORED = {"d": "double", "f": "float", "?": "i8", "l": "i64"}
_WIDER = {  # types that are widened in a cell
    "float": ("double", "fpext"),
    "i1": ("i64", "zext"),
    "i8": ("i64", "zext"),
}


def text() -> str:
    """Return the interpreter as LLVM text."""
    declared = [
        f"declare double @{row.in_c_library}({', '.join(['double'] * row.arity)})"
        for row in OPERATIONS.values()
        if row.real and (not row.real.llvm or row.name == "fmod")  # LLVM calls fmod for `frem`
    ]
    blocks = [_OpcodeBlock(number, name) for number, name in enumerate(OPCODES)]
    lines = [line for block in blocks for line in block.lines]
    return "\n".join([*declared, *_opening(blocks), *lines, "}"])


def _opening(blocks: list[_OpcodeBlock]) -> list[str]:
    """Begin the function: a loop that jumps to the block of the next opcode."""
    going_on = [block for block in blocks if block.ahead]
    codes = ", ".join([f"[{block.ahead}, %{block.name}]" for block in going_on])
    opcodes = ", ".join([f"[{block.opcode}, %{block.name}]" for block in going_on])
    targets = " ".join([f"i32 {k}, label %{block.name}" for k, block in enumerate(blocks)])
    return [
        "define i32 @run(ptr %start, i64 %count, ptr %work) {",
        "begin:\n  %first = load i32, ptr %start\n  br label %loop",
        f"loop:\n  %code = phi ptr [%start, %begin], {codes}",
        f"  %opcode = phi i32 [%first, %begin], {opcodes}",
        f"  switch i32 %opcode, label %never [{targets}]",
        "never:\n  unreachable",
        f"failed:\n  ret i32 {blocks[OPCODES.index('guard')].status}",
    ]


class _OpcodeBlock(Builder):
    """The block of one opcode: it reads its words, computes, and jumps to the next opcode."""

    def __init__(self, number: int, opcode: str) -> None:
        super().__init__(f"b{number}.")
        self.name = f"b{number}"
        self.ahead = self.opcode = self.status = ""
        self.label(self.name)
        verb, _, dtype = opcode.partition(".")
        if verb == "halt":
            self.line("ret i32 0")
            return
        self._read_words(describe_words(opcode))
        if verb == "const":
            self._keep(self.new(f"load i64, ptr {self.pointers[1]}, align 4"), "i64")
        elif verb == "load":
            self._keep(self.load(_STORED[dtype], self._element(dtype)), _STORED[dtype])
        elif verb == "store":
            self._store(dtype)
        elif verb != "guard":
            self._compute(opcode)
        self.ahead = self.address("%code", 1 + len(describe_words(opcode)), "i32")
        self.opcode = self.load("i32", self.ahead)
        if verb == "guard":
            self._guard()
        else:
            self.jump("loop")

    def _read_words(self, letters: str) -> None:
        """Read the words after the opcode: integers, or the contents of cells."""
        self.pointers, self.words, self.cells = list[str](), list[str](), list[str]()
        for number, letter in enumerate(letters):
            self.pointers.append(self.address("%code", number + 1, "i32"))
            word = self.load("i32", self.pointers[-1])
            self.words.append(self.new(f"zext i32 {word} to i64"))
            cell = "" if letter == "i" else self.address("%work", self.words[-1], "i64")
            self.cells.append(cell)

    def _keep(self, value: str, type_: str) -> None:
        """Write a value to the first cell, in the type of cells."""
        cell, widen = _WIDER.get(type_, (type_, ""))
        wide = self.new(f"{widen} {type_} {value} to {cell}") if widen else value
        self.store(cell, wide, self.cells[0])

    def _element(self, dtype: str) -> str:
        """Find the element of a leaf that the second and the third word name."""
        return self.address(self.get("%work", self.words[1], "ptr"), self.words[2], _STORED[dtype])

    def _store(self, dtype: str) -> None:
        stored, element = _STORED[dtype], self._element(dtype)
        cell = _WIDER.get(stored, (stored,))[0]
        value = self.load(cell, self.cells[0])
        if stored != cell:
            value = self.new(f"{'fp' * (dtype == FLOAT32)}trunc {cell} {value} to {stored}")
        self.store(stored, value, element)

    def _compute(self, opcode: str) -> None:
        rounds = opcode not in _COMPUTE  # an operation on float32 is that on float64, rounded
        compute = _COMPUTE[opcode.removesuffix(FLOAT32) + FLOAT64 if rounds else opcode]
        args = [self.load(compute.reads, cell) for cell in self.cells[1:]]
        result = f"%{self.fresh()}"
        self.line(compute.text.format(result, *args))
        if rounds:
            self._keep(self.new(f"fptrunc double {result} to float"), "float")
        else:
            self._keep(result, compute.makes)

    def _guard(self) -> None:
        truth = self.load("i64", self.cells[0])
        wanted = self.new(f"and i64 {self.words[1]}, 1")
        holds = self.new(f"icmp eq i64 {truth}, {wanted}")
        self.status = self.new(f"ashr i32 {self.new(f'trunc i64 {self.words[1]} to i32')}, 1")
        self.branch(holds, "loop", "failed")
