"""A flat program as machine code: its body, and the ways in from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.python_entry import (
    Array,
    Number,
    Structure,
    arrays_entry,
    declarations,
    entry_names,
    floats_entry,
)
from simpleautodiff.compiled.backends.llvm.scalar_function import write_body
from simpleautodiff.compiled.native.compile import Code, build
from simpleautodiff.compiled.scalar.kernel import Kernel

INLINED = 400  # steps of a body that is written into every way in, rather than called
LONG = 1 << 19  # steps of all rows from which on other threads of Python run meanwhile
BODY, CALL, ENTRY, ROWS_CODE = "body", "call", "entry", "rows"


class Form(NamedTuple):
    """What Python passes and what it gets: one entry for each argument, a structure of results."""

    inputs: tuple[Number | Array, ...]
    outputs: tuple[Number | Array, ...]
    structure: Structure
    out: bool = False  # whether a result that is one array may be put into one that is given

    @property
    def floats(self) -> bool:
        """Whether all are Python's own floats."""
        return all(part == Number() for part in (*self.inputs, *self.outputs))


def compiled(kernel: Kernel, level: int, form: Form | None) -> Code:
    """Compile a flat program; the code is kept on disk for other processes."""
    names = [CALL, *(entry_names(ENTRY) if form else [])]
    key = repr((kernel.key(), form))
    return build(lambda: text(kernel, level, form), level=level, names=names, key=key)


def text(kernel: Kernel, level: int, form: Form | None) -> str:
    """Write a flat program with its ways in, in LLVM's language."""
    module = Module(kernel.flat.precise, own=level > 0)
    write_body(module, kernel, BODY)
    leaves = [*kernel.inputs, *kernel.outputs]
    inline = "alwaysinline " if len(kernel.flat) <= INLINED else ""
    written = module.text().replace(f"define i32 @{BODY}(", f"define internal i32 @{BODY}(")
    if inline:
        written = written.replace(ATTRIBUTES, f"alwaysinline {ATTRIBUTES}", 1)
    parts = [written, _from_tables(CALL, len(kernel.inputs), len(leaves))]
    if form is not None:
        parts.append(declarations(arrays=not form.floats))
        if form.floats:
            parts.append(_from_numbers("numbers", len(kernel.inputs), len(leaves)))
            parts.append(
                floats_entry(
                    ENTRY,
                    "numbers",
                    len(form.inputs),
                    len(form.outputs),
                    form.structure,
                    guarded=True,
                )
            )
        else:
            parts.append(arrays_entry(ENTRY, CALL, form.inputs, form.outputs, form.structure,
                                      guarded=True, out=form.out))  # fmt: skip
    return "\n".join(parts)


def _from_tables(name: str, inputs: int, leaves: int) -> str:
    """Write the way in with a table of the addresses of the inputs, and one of the outputs."""
    return _way_in(name, inputs, leaves, lambda body, table, k: body.get(table, k, "ptr"))


def _from_numbers(name: str, inputs: int, leaves: int) -> str:
    """Write the way in with the inputs side by side, one number each, and so the outputs."""
    return _way_in(name, inputs, leaves, lambda body, table, k: body.address(table, k, "double"))


def _way_in(name: str, inputs: int, leaves: int, find: Callable[[Builder, str, int], str]) -> str:
    builder = Builder()
    found = [
        find(builder, *(("%in", k) if k < inputs else ("%out", k - inputs))) for k in range(leaves)
    ]
    passed = ", ".join([f"ptr {leaf}" for leaf in found])
    status = builder.new(f"call i32 @{BODY}({passed})")
    head = f"i32 @{name}(ptr %in, ptr %out) {ATTRIBUTES}"
    return builder.text(head, f"ret i32 {status}") + "\n"


def rows_entry(kernel: Kernel, form: Form, places: Sequence[int], size: int) -> str:
    """Write an entry for a function of rows, whose code is `ROWS_CODE`.

    Input k of the kernel is argument `places[k]`; there are `size` rows.
    """
    leaves = [*kernel.inputs, *kernel.outputs]
    builder = Builder()
    builder.line(f"%table = alloca [{3 * len(leaves)} x i64]")
    for k, leaf in enumerate(leaves):
        is_input = k < len(kernel.inputs)
        table, at = ("%in", places[k]) if is_input else ("%out", k - len(kernel.inputs))
        base = builder.load("i64", builder.address(table, at, "ptr"))
        for n, word in enumerate((base, str(leaf.size), "0")):
            builder.put("%table", 3 * k + n, "i64", word)
    builder.line(f"call void @{ROWS_CODE}(i64 0, i64 {size}, ptr %table)")
    call = builder.text(f"i32 @{CALL}(ptr %in, ptr %out) alwaysinline {ATTRIBUTES}", "ret i32 0")
    unlocked = size * len(kernel.flat) > LONG
    entry = arrays_entry(ENTRY, CALL, form.inputs, form.outputs, form.structure,
                         guarded=True, unlocked=unlocked, out=form.out)  # fmt: skip
    return "\n".join([call, "", declarations(arrays=True), entry])


_call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class NativeCall:
    """Compiled code as a function of arrays side by side in memory."""

    def __init__(self, code: Code) -> None:
        self.code = code  # which has to live as long as its functions
        self._function = _call(code.address(CALL))

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        """Run the code on arrays; return its status."""
        tables = [
            (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
            for arrays in (inputs, outputs)
        ]
        return int(self._function(*tables))
