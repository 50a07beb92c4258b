"""An array program as machine code: its segments, and its entries from Python."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import NumpyCall, Task
from simpleautodiff.compiled.array.classify import INPUT
from simpleautodiff.compiled.backends.interface import ENTRY, Array, CallForm, Number
from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.python_entry import (
    arrays_entry,
    declarations,
    entry_names,
)
from simpleautodiff.compiled.backends.llvm.segments import (
    BODY,
    CONSTANTS,
    KEPT,
    SharedSegment,
    write_body,
    write_segments,
)
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.native.callable import CallSlot, quick
from simpleautodiff.compiled.native.object_offsets import is_known
from simpleautodiff.compiled.native.threads import batch_call, run_threads
from simpleautodiff.compiled.recording.trace_program import Ref

_OWN = "own"  # the entry that `call_directly` uses
_PASSED = ("float64", "float32", "int64", "bool")  # dtypes of arrays that are taken as they are
_UNLOCKED = 1 << 14  # elements from which on Python's lock is released


def lanes() -> int:
    """Return how many numbers of 8 bytes a vector register of this machine holds."""
    features = engine.host()[1]
    return 8 if "+avx512f" in features else 4 if "+avx2" in features else 2


class NativeArray:
    """The code of an array program (see `interface.CompiledArray`)."""

    def __init__(
        self,
        work: list[Task],
        memory: BufferLayout,
        precise: bool,
        form: CallForm | None,
        entries: bool,
        lanes: int,
    ) -> None:
        module = Module(precise)
        found = write_segments(module, work, memory, lanes)
        names = [s if isinstance(s, str) else s.name for s in found if not isinstance(s, NumpyCall)]
        whole = len(found) == 1 and isinstance(found[0], str)
        written: list[str] = []
        if whole:
            write_body(module, memory, names[0])
            written = _write_entries(module, memory, form) if entries else []
            names += [BODY, CONSTANTS, KEPT]
        self.ir = module.text()
        self.code: engine.Code | None = None
        if names:
            exported = [*names, *[part for name in written for part in entry_names(name)]]
            self.code = engine.build(self.ir, level=1, names=exported, key=self.ir)
        if whole and self.code:
            _prepare_body(memory, self.code)
        self.segments = [s if isinstance(s, NumpyCall) else self._function(s) for s in found]
        self.has_entry = ENTRY in written
        self._is_direct = _OWN in written

    def _function(self, segment: str | SharedSegment) -> Callable[[Any], int]:
        """Return a segment as a function of the table of addresses, which returns its status."""
        assert self.code
        if isinstance(segment, str):
            return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.code.address(segment))
        kernel, parts = batch_call(self.code.address(segment.name)), segment.parts

        def share(table: Any) -> int:
            run_threads(kernel, parts, ctypes.addressof(table), parts)
            return 0

        return share

    def call_directly(self, slow: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a function of the inputs that runs everything, or calls `slow` for others."""
        if not self._is_direct or self.code is None:
            return None
        direct = _Direct(slow)
        direct.point_to((self.code, _OWN))
        return direct


@quick
class _Direct(CallSlot):
    """A direct entry from Python into an array program."""


def _write_entries(module: Module, memory: BufferLayout, form: CallForm | None) -> list[str]:
    """Write the entries from Python, if all inputs and results are floats."""
    plan = memory.plan
    computed = [place for place in plan.outputs if type(place) is Ref]
    inputs = [_find_passing(plan.lines[n]) for n, how in enumerate(plan.how) if how == INPUT]
    outputs = [_find_passing(plan.lines[place]) for place in computed]
    if None in inputs or not all(map(_is_float, outputs)) or not is_known():
        return []
    made = [Number("float64") if x == Number() else x for x in outputs]
    own = CallForm(tuple(inputs), tuple(made), tuple(range(len(outputs))))  # type: ignore[arg-type]
    written = {_OWN: own} | ({ENTRY: form} if form and _fits(form, own) else {})
    unlocked = any(np.prod(line.shape) >= _UNLOCKED for line in plan.lines)
    module.functions.append(declarations(arrays=True))
    for name, (taken, given, structure, out, _) in written.items():
        module.functions.append(
            arrays_entry(name, BODY, taken, given, structure,
                         guarded=True, unlocked=unlocked, out=out)
        )  # fmt: skip
    return list(written)


def _fits(form: CallForm, own: CallForm) -> bool:
    """Tell whether Python passes what the program takes, up to the float dtypes."""
    pairs = [(form.leaves, own.leaves), ([*form.outputs], [*own.outputs])]
    return all(
        len(these) == len(those) and all(_alike(x, y) for x, y in zip(these, those, strict=True))
        for these, those in pairs
    )


def _alike(one: Number | Array, other: Number | Array) -> bool:
    if isinstance(one, Array) or isinstance(other, Array):
        return one == other
    return (one.dtype == "float32") == (other.dtype == "float32")


def _find_passing(line: Any) -> Number | Array | None:
    """Return how an input or a result is passed, or None if it cannot be passed directly."""
    if line.dtype is None or line.dtype.name not in _PASSED:
        return None
    if line.shape:
        return Array(line.dtype.name, line.shape)
    if line.dtype.kind != "f":
        return None
    return Number("float" if line.dtype.char == "d" else "float32")


def _is_float(part: Number | Array | None) -> bool:
    return part is not None and part.dtype.startswith("float")


def _prepare_body(memory: BufferLayout, code: engine.Code) -> None:
    """Tell `body` the addresses of its constants, which live as long as the code."""
    constants = memory.plan.constants
    addresses = [int(constant.__array_interface__["data"][0]) for constant in constants]
    engine.place_addresses(code, CONSTANTS, addresses, constants)
    free_block_with(code)


def free_block_with(code: engine.Code) -> None:
    """Let the block that waits for the next call go with the code."""
    weakref.finalize(code, _free, code.address(KEPT)).atexit = False


def _free(kept: int) -> None:
    """Free the block that is kept for the next call, before the code is freed."""
    block = ctypes.c_void_p.from_address(kept)
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(block.value)
    block.value = None
