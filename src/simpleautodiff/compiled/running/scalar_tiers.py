"""Scalar programs: interpreted at once, and optimised when they are hot.

Those of few steps are optimised as soon as that is worth anything: Python runs them until then, as
compiling the interpreter would take longer than all the rest. Those of very many are compiled
quickly instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.backends.interface import CompiledScalar
from simpleautodiff.compiled.backends.targets import (
    FALLBACK,
    INTERPRETER,
    TARGET,
    interpreter_is_ready,
)
from simpleautodiff.compiled.native.background import attempt, later
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.running.runnable import (
    TIERS,
    EnteredProgram,
    describe_code,
    describe_failure,
)
from simpleautodiff.compiled.scalar.kernel import Kernel, as_leaves, empty_leaves
from simpleautodiff.compiled.scalar.scalar_program import LEFT_TO_NUMPY

CALLS_TO_COMPILE, CALLS_TO_OPTIMISE = 8, 64
FEW_STEPS = 100  # programs that are optimised in less time than the interpreter is compiled in
OPTIMISED_STEPS = 5_000  # for longer programs, optimising takes longer than it gains
COMPILED_STEPS = 400_000  # longer code does not fit the caches, and takes seconds to compile


class TieredScalarProgram(EnteredProgram):
    """A scalar program, run by the tier that its number of calls justifies."""

    def __init__(self, kernel: Kernel, tier: str | None) -> None:
        super().__init__(len(kernel.outputs))
        self.kernel = kernel
        self.fixed = tier
        self.tier = tier or "tape"
        self.code: Code | None = None
        self.calls = 0
        self._compiled: CompiledScalar | None = None
        self._asked = False
        self._tape: Any = None
        self._waits = False  # for the interpreter, which is compiled once per process
        self._is_small = tier is None and len(kernel.program) <= FEW_STEPS
        if tier == "numpy" or not TARGET.is_available():
            self.tier = self.fixed = "numpy"

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Run the program on the best tier so far."""
        self.calls += 1
        if self.fixed is None and self.calls >= CALLS_TO_COMPILE:
            self._promote()
        if self._compiled is None:
            status, outputs = self._on_tape()(*inputs)
        else:
            outputs = empty_leaves(self.kernel.outputs)
            status = self._compiled(as_leaves(inputs, self.kernel.inputs), outputs)
        if status == LEFT_TO_NUMPY:
            raise np.linalg.LinAlgError("there is no result for this matrix")
        return status, list(outputs)

    def prepare(self) -> None:
        """Compile the requested tier now."""
        if self.fixed in ("cheap", "optimised"):
            wanted = self.fixed
            attempt(lambda: self._compile(wanted), self.fail)

    def _on_tape(self) -> Any:
        if self._tape is None or (self._waits and interpreter_is_ready()):
            by_python = self._is_small or self.tier == "numpy"
            self._waits = self.fixed is None and not by_python and not interpreter_is_ready()
            on_python = by_python or self._waits
            self._tape = (FALLBACK if on_python else INTERPRETER)(self.kernel).run
        return self._tape

    def _promote(self) -> None:
        """Request better code, once."""
        size = len(self.kernel.program)
        is_long = size > OPTIMISED_STEPS
        if not (self._is_small or is_long) and self.calls < CALLS_TO_OPTIMISE:
            return  # until then, compiling quickly would take longer than it gains
        if size <= COMPILED_STEPS and not self._asked:
            self._asked = True
            later(lambda: self._compile("cheap" if is_long else "optimised"), self.fail)

    def fail(self, why: str) -> None:
        """Note that it could not be compiled; the interpreter goes on."""
        super().fail(why)
        if self._compiled is None and self.tier != "numpy":
            self.tier = "tape"

    def _compile(self, tier: str) -> None:
        last = (
            tier == "optimised"
            or self.fixed is not None
            or len(self.kernel.program) > OPTIMISED_STEPS
        )
        form = self.form if last else None
        self._compiled = TARGET.compile_scalar(self.kernel, TIERS.index(tier) - 2, form)
        self.code, self.tier = self._compiled.code, tier
        if form is not None:
            self.enter(self.code, form.known)

    def describe(self) -> list[str]:
        """Describe the program and how it was compiled."""
        flat = self.kernel.program
        made = [f"{len(flat)} steps on single numbers, {flat.folded} known in advance"]
        return made + describe_code(self.code) + describe_failure(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return str(self.kernel.program)

    def codes(self) -> list[Code]:
        """Return its machine code, compiled if necessary."""
        return [self.code or TARGET.compile_scalar(self.kernel, 1, None).code]
