"""The tape machine in LLVM's language: a loop around one block for each opcode.

Jumps from each block to the next one, by their addresses or as calls, were as fast as the loop (to
a tenth either way) and took twice to four times as long to compile.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simpleautodiff.compiled.backends.interpreter.bytecode import (
    OPCODES,
    OPERATION_OPCODES,
    shape,
)
from simpleautodiff.compiled.backends.llvm.instructions import fill
from simpleautodiff.compiled.scalar.operations import BOOL, FLOAT32, INT64, OPERATIONS


class _Body(NamedTuple):
    """What an opcode does to %x, %y and %z to make %r, and of which types these are."""

    reads: str
    makes: str
    text: str


def _compute(reads: str, makes: str, text: str) -> _Body:
    return _Body(reads, makes, f"%r = {text}")


def _operation(name: str, dtype: str) -> _Body:
    """Return what an operation does, by its row; bools are integers in their cells."""
    row = OPERATIONS[name]
    code = row.code(dtype)
    assert code is not None
    type_ = "i64" if dtype in (INT64, BOOL) else "double"
    names = ("%x", "%y", "%z")[: row.arity]
    if not code.llvm:
        args = ", ".join([f"{type_} {name}" for name in names])
        return _compute(type_, type_, f"call {type_} @{row.in_c_library}({args})")
    text = fill(code.llvm, INT64 if dtype == BOOL else dtype, 1, precise=True)
    text = text.format("%r", *names)
    is_truth = _COMPARES.search(text) if dtype == BOOL else row.gives == BOOL
    return _Body(type_, "i1" if is_truth else type_, text)


_COMPARES = re.compile(r"%r = [fi]cmp ")
_BODIES: dict[str, _Body] = {
    **{
        opcode: _operation(*opcode.split("."))
        for opcode in dict.fromkeys(OPERATION_OPCODES.values())
        if not opcode.endswith(FLOAT32)
    },
    "copy": _compute("i64", "i64", "add i64 %x, 0"),
    "round": _compute("double", "float", "fptrunc double %x to float"),
    "int_to_double": _compute("i64", "double", "sitofp i64 %x to double"),
    "int_to_float": _compute("i64", "float", "sitofp i64 %x to float"),
    "double_to_int": _compute("double", "i64", "call i64 @llvm.fptosi.sat.i64.f64(double %x)"),
    "muladd": _Body("double", "double", "%p = fmul double %x, %y\n  %r = fadd double %p, %z"),
    "select": _Body(
        "i64", "i64", "%take = icmp ne i64 %x, 0\n  %r = select i1 %take, i64 %y, i64 %z"
    ),
}
_STORED = {"d": "double", "f": "float", "?": "i8", "l": "i64"}
_WIDER = {  # types that become wider in a cell
    "float": ("double", "fpext float %r to double"),
    "i1": ("i64", "zext i1 %r to i64"),
    "i8": ("i64", "zext i8 %r to i64"),
}
_OWN_NAME = re.compile(r"%(?!code\b|work\b|loop\b|failed\b)(\w+)")


def text() -> str:
    """Return the machine in LLVM's language."""
    declared = [
        f"declare double @{row.in_c_library}({', '.join(['double'] * row.arity)})"
        for row in OPERATIONS.values()
        if row.real and (not row.real.llvm or row.name == "fmod")  # LLVM calls it for `frem`
    ]
    blocks = [_block(number, name) for number, name in enumerate(OPCODES)]
    return "\n".join([*declared, *_opening(), *blocks, "}"])


def _opening() -> list[str]:
    """Begin the function: a loop that goes to the block of the next opcode."""
    going_on = [number for number, name in enumerate(OPCODES) if name != "halt"]
    codes = ", ".join(f"[%ahead.{number}, %b{number}]" for number in going_on)
    opcodes = ", ".join(f"[%opcode.{number}, %b{number}]" for number in going_on)
    blocks = " ".join(f"i32 {number}, label %b{number}" for number in range(len(OPCODES)))
    return [
        "define i32 @run(ptr %start, i64 %count, ptr %work) {",
        "begin:\n  %first = load i32, ptr %start\n  br label %loop",
        f"loop:\n  %code = phi ptr [%start, %begin], {codes}",
        f"  %opcode = phi i32 [%first, %begin], {opcodes}",
        f"  switch i32 %opcode, label %never [{blocks}]",
        "never:\n  unreachable",
        f"failed:\n  ret i32 %status.{OPCODES.index('guard')}",
    ]


def _block(number: int, name: str) -> str:
    """Return the block of an opcode, in which names are its own."""
    lines = "\n  ".join([*_words(name), *_done(name)])
    return f"b{number}:\n  " + _OWN_NAME.sub(rf"%\1.{number}", lines)


def _words(name: str) -> list[str]:
    """Read the words after the opcode: %w0, ... are numbers, %c0, ... pointers to cells."""
    lines = []
    for number, letter in enumerate(shape(name)):
        lines += [
            f"%a{number} = getelementptr i32, ptr %code, i64 {number + 1}",
            f"%n{number} = load i32, ptr %a{number}",
            f"%w{number} = zext i32 %n{number} to i64",
        ]
        if letter != "i":
            lines.append(f"%c{number} = getelementptr i64, ptr %work, i64 %w{number}")
    return lines


def _done(name: str) -> list[str]:
    verb, _, kind = name.partition(".")
    if verb == "halt":
        return ["ret i32 0"]
    ahead = [
        f"%ahead = getelementptr i32, ptr %code, i64 {1 + len(shape(name))}",
        "%opcode = load i32, ptr %ahead",
    ]
    if verb == "guard":
        return [*ahead, _GUARD]
    return [*_step(name, verb, kind), *ahead, "br label %loop"]


def _step(name: str, verb: str, kind: str) -> list[str]:
    if verb == "const":
        return ["%r = load i64, ptr %a1, align 4", *_kept("i64")]
    if verb in ("load", "store"):
        return [*_element(kind), *(_loaded if verb == "load" else _stored)(kind)]
    return _computed(name)


_GUARD = """%truth = load i64, ptr %c0
  %wanted = and i64 %w1, 1
  %holds = icmp eq i64 %truth, %wanted
  %number = lshr i32 %n1, 1
  %status = add i32 %number, 1
  br i1 %holds, label %loop, label %failed"""


def _element(kind: str) -> list[str]:
    return [
        "%leaf = getelementptr i64, ptr %work, i64 %w1",
        "%base = load ptr, ptr %leaf",
        f"%e = getelementptr {_STORED[kind]}, ptr %base, i64 %w2",
    ]


def _loaded(kind: str) -> list[str]:
    return [f"%r = load {_STORED[kind]}, ptr %e", *_kept(_STORED[kind])]


def _stored(kind: str) -> list[str]:
    stored = _STORED[kind]
    cell = _WIDER.get(stored, (stored,))[0]
    lines = [f"%r = load {cell}, ptr %c0"]
    if stored != cell:
        lines.append(f"%s = {'fp' * (kind == 'f')}trunc {cell} %r to {stored}")
    return [*lines, f"store {stored} {'%r' if stored == cell else '%s'}, ptr %e"]


def _kept(made: str) -> list[str]:
    """Write %r to the first cell."""
    if made not in _WIDER:
        return [f"store {made} %r, ptr %c0"]
    cell, conversion = _WIDER[made]
    return [f"%wide = {conversion}", f"store {cell} %wide, ptr %c0"]


def _computed(name: str) -> list[str]:
    rounds = name not in _BODIES  # an operation on float32: that on float64, rounded
    body = _BODIES[name.removesuffix("f") + "d" if rounds else name]
    lines = [
        f"%{argument} = load {body.reads}, ptr %c{number}"
        for number, argument in enumerate("xyz"[: shape(name).count("r")], 1)
    ]
    lines.append(body.text.replace("%r =", "%exact =") if rounds else body.text)
    if rounds:
        lines.append("%r = fptrunc double %exact to float")
    return [*lines, *_kept("float" if rounds else body.makes)]
