"""Rolled programs: run by NumPy at first, then as calls of compiled bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.array.simplify import compute
from simpleautodiff.compiled.backends.interface import CompiledRolled
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.native.background import attempt, later
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.rolled.rolled_program import LineCall, LoopBegin, RolledProgram
from simpleautodiff.compiled.running.array_runner import address, fit_input
from simpleautodiff.compiled.running.array_tiers import format_program
from simpleautodiff.compiled.running.runnable import EnteredProgram, describe_code, describe_failure

AT_ONCE = 50_000  # lines: running more with NumPy takes longer than compiling the bodies
CALLS_TO_ENTER = 64  # calls until code that serves any number of rows gets an entry for this one


class TieredRolledProgram(EnteredProgram):
    """A program that repeats: bodies are compiled once, and called as often as they occur."""

    def __init__(
        self,
        recorded: RecordedProgram,
        rolled: RolledProgram,
        layout: RolledLayout,
        precise: bool,
        tier: Any,
    ) -> None:
        super().__init__(sum([type(place) is Ref for place in recorded.outputs]))
        self.recorded, self.rolled, self.layout, self.precise = recorded, rolled, layout, precise
        self.fixed = tier
        self.tier = "numpy"
        self._compiled: CompiledRolled | None = None
        self._blocks: list[_Block] = []
        self._asked = tier is not None
        self.calls = 0

    @cached_property
    def _replay(self) -> Replay:
        """The program as NumPy runs it, for calls before there is code."""
        return Replay(self.recorded)

    def prepare(self) -> None:
        """Compile the requested tier now."""
        if self.fixed is not None:
            attempt(self.compile, self.fail)

    def compile(self) -> None:
        """Compile its bodies; without an entry, they serve loops of any number of rows."""
        self._compiled = TARGET.compile_rolled(self.layout, self.precise)
        self.tier = "optimised"
        if not self.rolled.rows or self.fixed is not None:
            self._compile_entry()

    def _compile_entry(self) -> None:
        """Let Python call the bodies directly, if they are compiled and nothing is NumPy's."""
        if self._compiled is not None and self.form is not None:
            entry = self._compiled.make_entry(self.form)
            if entry is not None:
                self.enter(entry, self.form.known)

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Run the program on the best tier so far."""
        if not self._asked:
            self._asked = True
            at_once = self.layout.has_loops or len(self.rolled.recorded.lines) > AT_ONCE
            if at_once:
                attempt(self.compile, self.fail)
            else:
                self.compile_later(self.compile)
        self.calls += 1
        if self.calls == CALLS_TO_ENTER and self.entry is None and self.fixed is None:
            later(self._compile_entry, self.fail)
        self.let_compile()
        if self._compiled is None:
            return self.run_meanwhile(lambda: self._run_numpy(inputs))
        try:
            block = self._blocks.pop()
        except IndexError:
            block = _Block(self.layout)
        for place, value, line in zip(
            block.inputs, inputs, self.rolled.recorded.lines, strict=False
        ):
            place[...] = fit_input(value, line)
        status = self._run_steps(self._compiled, block)
        outputs = [] if status else [place.copy()[()] for place in block.outputs]
        self._blocks.append(block)
        return self._run_numpy(inputs) if status < 0 else (status, outputs)

    def _run_steps(self, compiled: CompiledRolled, block: _Block) -> int:
        for step in self.layout.steps:
            if isinstance(step, LineCall):
                with np.errstate(all="ignore"):
                    value = compute(self.rolled.recorded.lines[step.number], block)
                block[step.number][...] = value
            elif step[0] < step[1] and (status := compiled(block.address, block.words, *step)):
                return status
        return 0

    def _run_numpy(self, inputs: Sequence[Any]) -> tuple[int, list[Any]]:
        status, outputs = self._replay.run(list(inputs))
        places = zip(self.recorded.outputs, outputs, strict=False)
        return status, [value for place, value in places if type(place) is Ref]

    def describe(self) -> list[str]:
        """Describe the program and how it was compiled."""
        bodies = [len(body.lines) - body.inputs for body in self.rolled.bodies]
        said = [self._describe_calls(), f"bodies of {', '.join(map(str, bodies))} rows"]
        numbers = [call.number for call in self.rolled.calls if isinstance(call, LineCall)]
        names = Counter([self.rolled.recorded.lines[number].name for number in numbers])
        said += [f"NumPy: {name}, {count} times" for name, count in names.items()]
        memory = f"memory: {self.layout.size} bytes"
        code = describe_code(self._compiled.code if self._compiled else None)
        return [*said, memory, *code, *describe_failure(self.failure)]

    def _describe_calls(self) -> str:
        bodies = len(self.rolled.bodies)
        loops = sum([isinstance(call, LoopBegin) for call in self.rolled.calls])
        if loops:
            return f"{loops} loop{'s' * (loops > 1)}, recorded by one step each: {bodies} bodies"
        rows = sum([len(line.args) > 0 for line in self.rolled.recorded.lines])
        calls = [call for call in self.rolled.calls if not isinstance(call, LineCall)]
        return f"{rows} rows rolled up: {len(calls)} calls of {bodies} bodies"

    def source(self) -> str:
        """Return the bodies, one step a line."""
        parts = [format_program(body) for body in self.rolled.bodies]
        return "\n\n".join([f"body {k}:\n{part}" for k, part in enumerate(parts)])

    def codes(self) -> list[Code]:
        """Return its machine code, compiled if necessary."""
        if self._compiled is None:
            self.compile()
        assert self._compiled is not None
        return [self._compiled.code]


class _Block:
    """Memory for one run of a program, with arguments and results as arrays in it."""

    def __init__(self, layout: RolledLayout) -> None:
        self.memory = np.empty(layout.size + 64, np.uint8)
        begin = -address(self.memory) % 64
        self.address = address(self.memory) + begin
        whole = self.memory[begin:]
        whole[: len(layout.known)] = layout.known
        self.layout, self._whole = layout, whole
        self._words = layout.words.copy() if layout.words_change else layout.words
        self.words = address(self._words)
        self._known: dict[int, Any] = {}
        self.inputs = [self._array(*lies) for lies in layout.inputs]
        self.outputs = [self._array(*lies) for lies in layout.outputs if type(lies) is tuple]

    def _array(self, offset: int, dtype: Any, shape: Any, strides: Any) -> Any:
        return np.ndarray(shape, dtype, self._whole.data, offset, strides)

    def __getitem__(self, number: int) -> Any:
        """Return the result of a line, in place."""
        if number not in self._known:
            view = self.layout.rolled.view(number)
            self._known[number] = self._array(*self.layout.lies(view))
        return self._known[number]
