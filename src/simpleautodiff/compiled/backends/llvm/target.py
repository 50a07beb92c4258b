"""The target that LLVM compiles for: the processor of this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import Task
from simpleautodiff.compiled.backends.interface import ENTRY, BatchCall, CallForm
from simpleautodiff.compiled.backends.llvm.array_module import NativeArray, lanes
from simpleautodiff.compiled.backends.llvm.python_entry import entry_names
from simpleautodiff.compiled.backends.llvm.rolled_module import NativeRolled
from simpleautodiff.compiled.backends.llvm.scalar_entry import (
    BATCH,
    CALL,
    batch_entry,
    scalar_module,
)
from simpleautodiff.compiled.backends.llvm.vmap_function import (
    takes_columns,
    width_of,
    write_batch_module,
)
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.native.threads import batch_call, run_threads
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.scalar.kernel import COLUMNS, SAME, Kernel

_PART = 16  # examples: parts for threads begin at multiples of this


class LLVMTarget:
    """Compiles for the processor of this machine, with LLVM (see `interface.Target`)."""

    def is_available(self) -> bool:
        """Tell whether llvmlite is installed; if not, say once how to get it."""
        return engine.available()

    def compile_scalar(self, kernel: Kernel, level: int, form: CallForm | None) -> NativeScalar:
        """Compile a scalar program; the code is kept on disk for other processes."""
        names = [CALL, *(entry_names(ENTRY) if form else [])]
        key = repr((kernel.key(), form and form.key))
        return NativeScalar(
            engine.build(
                lambda: scalar_module(kernel, level, form), level=level, names=names, key=key
            )
        )

    def takes_columns(self, kernel: Kernel, size: int) -> bool:
        """Tell whether a batch of that many examples may be given column by column."""
        return takes_columns(kernel, size)

    def compile_batch(self, batch: BatchCall) -> NativeBatch:
        """Compile a scalar program for the vectors of this machine."""
        width = width_of(batch.kernel)
        names = [BATCH, *(entry_names(ENTRY) if batch.form else [])]
        form = batch.form and batch.form.key
        key = repr((batch.kernel.key(), batch._replace(form=form)[1:], width))
        return NativeBatch(
            engine.build(lambda: _batch_module(batch, width), level=2, names=names, key=key)
        )

    def compile_array(
        self,
        work: list[Task],
        memory: BufferLayout,
        precise: bool,
        form: CallForm | None,
        entries: bool,
    ) -> NativeArray:
        """Compile loops, and calls of BLAS and LAPACK."""
        return NativeArray(work, memory, precise, form, entries, lanes())

    def compile_rolled(self, layout: RolledLayout, precise: bool) -> NativeRolled:
        """Compile bodies, and the function that calls them."""
        return NativeRolled(layout, precise, lanes())


def _batch_module(batch: BatchCall, width: int) -> str:
    text = write_batch_module(batch.kernel, batch.modes, width, BATCH, size=batch.size)
    if batch.form is None:
        return text
    sizes = [
        batch.form.leaves[place].shape[-1 if mode == COLUMNS else 0]  # type: ignore[union-attr]
        for place, mode in zip(batch.arguments, batch.modes, strict=False)
        if mode != SAME
    ]
    entry = batch_entry(batch.kernel, batch.form, batch.arguments, max(sizes, default=0))
    return f"{text}\n{entry}"


_call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class NativeScalar:
    """Machine code as a function of contiguous arrays."""

    def __init__(self, code: engine.Code) -> None:
        self.code = code  # has to live as long as its functions
        self._function = _call(code.address(CALL))

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        """Run the code on arrays; return its status."""
        tables = [
            (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
            for arrays in (inputs, outputs)
        ]
        return int(self._function(*tables))


class NativeBatch:
    """Machine code as a function of all examples of a batch."""

    def __init__(self, code: engine.Code) -> None:
        self.code = code
        self._run: Callable[[int, int, int], None] = batch_call(code.address(BATCH))

    def __call__(self, examples: int, table: int, threads: int) -> None:
        """Run the code on that many examples, in several threads if asked."""
        run_threads(self._run, examples, table, threads, _PART)
