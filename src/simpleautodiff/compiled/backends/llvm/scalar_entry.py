"""Entries into a scalar program: from tables of addresses, floats, arrays, a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simpleautodiff.compiled.backends.interface import ENTRY, CallForm
from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.python_entry import (
    arrays_entry,
    declarations,
    floats_entry,
)
from simpleautodiff.compiled.backends.llvm.scalar_function import write_body
from simpleautodiff.compiled.scalar.kernel import Kernel

INLINED_STEPS = 400  # steps up to which the body is inlined into every entry
LONG = 1 << 19  # steps of a batch from which on Python's lock is released
BODY, CALL, BATCH = "body", "call", "batch"


def scalar_module(kernel: Kernel, level: int, form: CallForm | None) -> str:
    """Write a scalar program with its entries as LLVM text."""
    module = Module(kernel.program.precise, own=level > 0)
    write_body(module, kernel, BODY)
    leaves = [*kernel.inputs, *kernel.outputs]
    inline = "alwaysinline " if len(kernel.program) <= INLINED_STEPS else ""
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
    """Write the entry with a table of input addresses, and one of output addresses."""
    return _way_in(name, inputs, leaves, lambda body, table, k: body.get(table, k, "ptr"))


def _from_numbers(name: str, inputs: int, leaves: int) -> str:
    """Write the entry with contiguous inputs, one number each, and contiguous outputs."""
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


def batch_entry(kernel: Kernel, form: CallForm, places: Sequence[int], size: int) -> str:
    """Write an entry for a batched function, whose code is called `BATCH`.

    Input k of the kernel is argument `places[k]`; there are `size` examples.
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
    builder.line(f"call void @{BATCH}(i64 0, i64 {size}, ptr %table)")
    call = builder.text(f"i32 @{CALL}(ptr %in, ptr %out) alwaysinline {ATTRIBUTES}", "ret i32 0")
    unlocked = size * len(kernel.program) > LONG
    entry = arrays_entry(ENTRY, CALL, form.inputs, form.outputs, form.structure,
                         guarded=True, unlocked=unlocked, out=form.out)  # fmt: skip
    return "\n".join([call, "", declarations(arrays=True), entry])
