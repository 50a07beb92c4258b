"""What runs a recorded program, and how it gets faster with the number of calls.

Flat programs (of single numbers and small arrays) begin on the tape machine, which starts at once.
Those that are called again are compiled quickly, and hot ones compiled well, in a thread of their
own while the calls go on. Programs on large arrays run through NumPy until their loops are
compiled; so do functions of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.array_program import ArrayProgram
from simpleautodiff.compiled.backends.interpreter.machine import (
    Machine,
    as_leaves,
    empty_leaves,
    is_ready,
)
from simpleautodiff.compiled.backends.llvm.entry_points import NativeCall, compiled
from simpleautodiff.compiled.backends.python.float_code import Script
from simpleautodiff.compiled.entered import Entered, Program, how_made, not_made
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.native.background import attempt, later
from simpleautodiff.compiled.recording.trace_program import Place, Recorded
from simpleautodiff.compiled.recording.vmap_program import rows_program
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.unroll_arrays import NotUnrolledError, unroll

TIERS = ("numpy", "tape", "cheap", "optimised")
CALLS_TO_COMPILE, CALLS_TO_OPTIMISE = 8, 64
LARGE = 5_000  # steps: compiling well takes longer than that gains
LARGEST = 400_000  # steps: straight code leaves the caches, and takes seconds to compile


class FlatProgram(Entered):
    """A program of single numbers, on the machine that its number of calls has earned."""

    def __init__(self, kernel: Kernel, tier: str | None) -> None:
        super().__init__(len(kernel.outputs))
        self.kernel = kernel
        self.fixed = tier
        self.tier = tier or "tape"
        self.code: engine.Code | None = None
        self.calls = 0
        self._native: NativeCall | None = None
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._tape: Any = None
        self._waits = False  # for the tape machine, which is compiled once in a process
        if tier == "numpy" or not engine.available():
            self.tier = self.fixed = "numpy"

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Run the program on what there is by now."""
        self.calls += 1
        if self.fixed is None and self.calls >= CALLS_TO_COMPILE:
            self._promote()
        if self._native is None:
            return self._on_tape()(*inputs)  # type: ignore[no-any-return]
        outputs = empty_leaves(self.kernel.outputs)
        status = self._native(as_leaves(inputs, self.kernel.inputs), outputs)
        return status, list(outputs)

    def prepare(self) -> None:
        """Have the code of a tier that was asked for made now."""
        if self.fixed in ("cheap", "optimised"):
            wanted = self.fixed
            attempt(lambda: self._compile(wanted), self.fail)

    def _on_tape(self) -> Any:
        if self._tape is None or (self._waits and is_ready()):
            self._waits = self.fixed is None and not is_ready()
            on_python = self._waits or self.tier == "numpy"
            self._tape = (Script if on_python else Machine)(self.kernel).run
        return self._tape

    def _promote(self) -> None:
        """Ask for better code, once for each tier."""
        size = len(self.kernel.flat)
        wanted = "optimised" if self.calls >= CALLS_TO_OPTIMISE and size <= LARGE else "cheap"
        if size <= LARGEST and wanted not in self._asked:
            self._asked.add(wanted)
            later(lambda: self._compile(wanted), self.fail)

    def fail(self, why: str) -> None:
        """Note that it could not be compiled: the tape goes on."""
        super().fail(why)
        if self._native is None and self.tier != "numpy":
            self.tier = "tape"

    def _compile(self, tier: str) -> None:
        with self._lock:
            last = tier == "optimised" or self.fixed is not None or len(self.kernel.flat) > LARGE
            form = self.form if last else None
            self.code = compiled(self.kernel, TIERS.index(tier) - 2, form)
            self._native, self.tier = NativeCall(self.code), tier
        if form is not None:
            self.enter(self.code)

    def describe(self) -> list[str]:
        """Say what it is made of and what was done to it."""
        flat = self.kernel.flat
        made = [f"{len(flat)} steps on single numbers, {flat.folded} known in advance"]
        return made + how_made(self.code) + not_made(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return str(self.kernel.flat)

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or would."""
        return [self.code or compiled(self.kernel, 1, None)]


class LargeProgram(Entered):
    """A program on arrays: through NumPy at first, then with its loops compiled."""

    def __init__(self, recorded: Recorded, precise: bool, tier: str | None) -> None:
        self._computed = [k for k, x in enumerate(recorded.outputs) if type(x) is Place]
        super().__init__(len(self._computed))
        self.recorded, self.precise = recorded, precise
        self.calls = 0
        self.tier = "numpy"
        self.program = ArrayProgram(recorded, precise, False)
        self.fixed = tier
        self._asked = tier is not None or not engine.available()

    def prepare(self) -> None:
        """Have the code of a tier that was asked for made now."""
        if self.fixed in ("cheap", "optimised") and engine.available():
            attempt(self.compile, self.fail)

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Run the program on what there is by now."""
        self.calls += 1
        if self.calls > 1 and not self._asked:
            self._asked = True
            later(self.compile, self.fail)
        status, outputs = self.program.run(list(inputs))
        return status, [] if status else [outputs[k] for k in self._computed]

    def compile(self) -> None:
        """Compile its loops."""
        self.program = ArrayProgram(self.recorded, self.precise, True, self.form)
        self.tier = "optimised"
        if self.program.has_entry and self.program.code:
            self.enter(self.program.code)

    def describe(self) -> list[str]:
        """Say what it is made of and what was done to it."""
        made = [*self.program.explain(), *how_made(self.program.code)]
        return made + not_made(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return written(self.recorded)

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or would."""
        if self.tier != "optimised":
            self.compile()
        return [self.program.code] if self.program.code else []


def make_program(recorded: Recorded, options: Any) -> Program:
    """Return what runs a recorded program: unrolled if it is small, in loops if not."""
    rows = rows_program(recorded)
    if rows is not None:
        return rows
    try:
        return FlatProgram(unroll(recorded, options.precise), options.tier)
    except NotUnrolledError:
        return LargeProgram(recorded, options.precise, options.tier)


def written(recorded: Recorded) -> str:
    """Write a program of rows, one line each."""
    names = [f"v{n}" for n in range(len(recorded.lines))]
    text = [f"v{n} = {line.name}({', '.join(map(_short, line.args))})"
            for n, line in enumerate(recorded.lines) if n >= recorded.inputs]  # fmt: skip
    given = ", ".join(names[: recorded.inputs])
    return "\n".join(
        [f"given {given}", *text, f"return {', '.join(map(_short, recorded.outputs))}"]
    )


def _short(arg: Any) -> str:
    if type(arg) is Place:
        return f"v{int(arg)}"
    if isinstance(arg, np.ndarray):
        return f"array{arg.shape}"
    if type(arg) is tuple:
        return f"({', '.join(map(_short, arg))})"
    return repr(arg)
