"""Array programs: through NumPy at first, then with their loops compiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.view_accesses import is_view
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.native.background import attempt
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref
from simpleautodiff.compiled.running.array_program import ArrayProgram
from simpleautodiff.compiled.running.runnable import EnteredProgram, describe_code, describe_failure

LARGE_LINES = 400_000  # elements for each line: NumPy takes longer for its calls than the compiler


class TieredArrayProgram(EnteredProgram):
    """A program on arrays: run by NumPy at first, then with compiled loops.

    One whose arrays are large is compiled before it runs.
    """

    def __init__(
        self, recorded: RecordedProgram, precise: bool, tier: str | None, threads: int = 1
    ) -> None:
        self._computed = [k for k, x in enumerate(recorded.outputs) if type(x) is Ref]
        super().__init__(len(self._computed))
        self.recorded, self.precise, self.threads = recorded, precise, threads
        self.calls = 0
        self.tier = "numpy"
        self.program = ArrayProgram(recorded, precise, False)
        self.fixed = tier
        self._asked = tier is not None or not TARGET.is_available()

    def prepare(self) -> None:
        """Compile the requested tier now."""
        if self.fixed in ("cheap", "optimised") and TARGET.is_available():
            attempt(self.compile, self.fail)

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Run the program on the best tier so far."""
        self.calls += 1
        if not self._asked and _has_large_arrays(self.recorded):
            self._asked = True
            attempt(self.compile, self.fail)
        elif self.calls > 1 and not self._asked:
            self._asked = True
            self.compile_later(self.compile)
        self.let_compile()
        if self.tier == "numpy":
            status, outputs = self.run_meanwhile(lambda: self.program.run(list(inputs)))
        else:
            status, outputs = self.program.run(list(inputs))
        return status, [] if status else [outputs[k] for k in self._computed]

    def compile(self) -> None:
        """Compile its loops."""
        self.program = ArrayProgram(self.recorded, self.precise, True, self.form, self.threads)
        self.tier = "optimised"
        if self.program.has_entry and self.program.code:
            self.enter(self.program.code, self.form.known if self.form else ())

    def describe(self) -> list[str]:
        """Describe the program and how it was compiled."""
        made = [*self.program.explain(), *describe_code(self.program.code)]
        return made + describe_failure(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return format_program(self.recorded)

    def codes(self) -> list[Code]:
        """Return its machine code, compiled if necessary."""
        if self.tier != "optimised":
            self.compile()
        return [self.program.code] if self.program.code else []


def _has_large_arrays(recorded: RecordedProgram) -> bool:
    """Tell whether the lines of a program compute so many elements that NumPy takes long."""
    made = [line for line in recorded.lines if line.what is not None and not is_view(line.name)]
    return sum([math.prod(line.shape) for line in made]) > LARGE_LINES * len(made)


def format_program(recorded: RecordedProgram) -> str:
    """Write a program of rows, one line each."""
    names = [f"v{n}" for n in range(len(recorded.lines))]
    text = [f"v{n} = {line.name}({', '.join(map(_short, line.args))})"
            for n, line in enumerate(recorded.lines) if n >= recorded.inputs]  # fmt: skip
    given = ", ".join(names[: recorded.inputs])
    return "\n".join(
        [f"given {given}", *text, f"return {', '.join(map(_short, recorded.outputs))}"]
    )


def _short(arg: Any) -> str:
    if type(arg) is Ref:
        return f"v{int(arg)}"
    if isinstance(arg, np.ndarray):
        return f"array{arg.shape}"
    if type(arg) is tuple:
        return f"({', '.join(map(_short, arg))})"
    return repr(arg)
