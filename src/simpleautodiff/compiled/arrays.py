"""Programs on arrays: fused loops and calls of BLAS as machine code, NumPy for the rest."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.compiled import engine
from simpleautodiff.compiled.blas import write_product
from simpleautodiff.compiled.building import Call, Check, Product, Work, build_work, prune
from simpleautodiff.compiled.cleaning import clean, compute
from simpleautodiff.compiled.loops import Loop
from simpleautodiff.compiled.looptext import write_loop
from simpleautodiff.compiled.memory import Block, Memory
from simpleautodiff.compiled.module import Module
from simpleautodiff.compiled.planning import INPUT, NUMPY, Plan
from simpleautodiff.compiled.replay import Replay, as_numpy
from simpleautodiff.compiled.symbols import Place, Recorded
from simpleautodiff.compiled.views import View

_LARGE = 1 << 14  # elements from which on other threads may run Python meanwhile


class ArrayProgram:
    """A recorded program on arrays of fixed shapes, ready to run.

    Parameters
    ----------
    recorded
        The program.
    precise
        Leave out what could change a result in its last bits, and call the C library for
        mathematical functions.
    native
        Compile what can be compiled; without, or without llvmlite, NumPy runs it line by line.

    Examples
    --------
    >>> from simpleautodiff.compiled.symbols import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.ones(3))
    ...     y = np.sum(x * x)
    >>> ArrayProgram(level.finish([y, 2 * x], 1)).run([np.array([1.0, 2.0, 3.0])])
    (0, [np.float64(14.0), array([2., 4., 6.])])
    """

    def __init__(self, recorded: Recorded, precise: bool = False, native: bool = True) -> None:
        self.program = clean(recorded)
        self.native = native and engine.available()
        self.ir = ""
        self._replay = Replay(self.program)
        self._compiled = _Compiled(self.program, precise) if self.native else None
        if self._compiled:
            self.ir = self._compiled.ir

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed.

        No result shares memory with an input or with another one.
        """
        return self._compiled.run(inputs) if self._compiled else self._replay.run(inputs)

    def codes(self) -> list[engine.Code]:
        """Return the machine code that it runs."""
        code = self._compiled.code if self._compiled else None
        return [] if code is None else [code]

    def explain(self) -> list[str]:
        """Say what was fused into which loop, what BLAS and NumPy do, and what memory it takes."""
        if self._compiled:
            return self._compiled.explain()
        return [f"NumPy: {line.name} {line.shape}" for line in self.program.lines if line.what]


class _Compiled:
    """A program as segments: machine code, and calls of NumPy between them."""

    def __init__(self, program: Recorded, precise: bool) -> None:
        self.plan = Plan(program)
        self.work = build_work(self.plan, precise)
        prune(self.work, self.plan)
        self.memory = Memory(self.plan, self.work)
        self.module = Module(precise)
        self.segments: list[str | Call] = self._write()
        self.ir = self.module.text()
        names = [segment for segment in self.segments if isinstance(segment, str)]
        self.code = engine.build(self.ir, level=1, names=names) if names else None
        self.steps = [s if isinstance(s, Call) else self._function(s) for s in self.segments]
        self._inputs = self._taken()
        self._outputs = self._given()

    # Machine code. --------------------------------------------------------------------------------

    def _write(self) -> list[str | Call]:
        segments: list[str | Call] = []
        lines: list[str] = []
        for number, piece in enumerate(self.work):
            if isinstance(piece, Call):
                self._close(lines, segments)
                segments.append(piece)
                lines = []
            else:
                lines += self._written(number, piece)
        self._close(lines, segments)
        return segments

    def _close(self, lines: list[str], segments: list[str | Call]) -> None:
        if lines:
            name = f"segment{len(segments)}"
            head = f"define i32 @{name}(ptr %table) nounwind {{"
            self.module.functions.append("\n".join([head, *lines, "  ret i32 0", "}"]))
            segments.append(name)

    def _written(self, number: int, piece: Work) -> list[str]:
        if isinstance(piece, Check):
            return self._checked(piece)
        name = f"work{number}"
        if isinstance(piece, Loop):
            write_loop(self.module, piece, name, lanes(), self.memory.address)
        elif isinstance(piece, Product):
            write_product(self.module, piece, name, self.memory.address)
        return [f"  call void @{name}(ptr %table)"]

    def _checked(self, check: Check) -> list[str]:
        name = f"guard{check.number}"
        good, bad = f"label %{name}.good", f"label %{name}.bad"
        return [
            *self.memory.address(check.view.root, f"%{name}"),
            f"  %{name}.p = getelementptr i8, ptr %{name}, i64 {check.view.offset}",
            f"  %{name}.byte = load i8, ptr %{name}.p",
            f"  %{name}.is = icmp ne i8 %{name}.byte, 0",
            f"  br i1 %{name}.is, {good if check.expected else bad}, "
            f"{bad if check.expected else good}",
            f"{name}.bad:",
            f"  ret i32 {check.number + 1}",
            f"{name}.good:",
        ]

    def _function(self, name: str) -> Callable[[int], int]:
        assert self.code
        large = any(np.prod(line.shape) >= _LARGE for line in self.plan.lines)
        make = ctypes.CFUNCTYPE if large else ctypes.PYFUNCTYPE
        return make(ctypes.c_int32, ctypes.c_void_p)(self.code.address(name))

    # Calls. ---------------------------------------------------------------------------------------

    def _taken(self) -> list[tuple[int, int | None, Any]]:
        """Return of each input its number, its place in the table, and its kind of number."""
        return [
            (number, self.memory.objects.get(number), line.dtype)
            for number, line in enumerate(self.plan.lines)
            if self.plan.how[number] == INPUT
        ]

    def _given(self) -> list[tuple[int, Any, Any]]:
        """Return of each result that is computed here its place in the table, shape and kind."""
        found = []
        for output in self.plan.outputs:
            if type(output) is Place and self.plan.lines[output].shape != ():
                root, line = self.plan.views[output].root, self.plan.lines[output]
                if self.plan.how[root] != NUMPY:
                    found.append((root, line.shape, line.dtype))
        return found

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Run the segments one after the other."""
        block = self.memory.take()
        values: dict[int, Any] = {}
        table = block.table
        for number, index, dtype in self._inputs:
            value = inputs[number]
            if index is None:
                block.array(number)[()] = value
                values[number] = as_numpy(value)
                continue
            if not (type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous
                    and value.flags.aligned):  # fmt: skip
                value = np.require(value, dtype, ["C", "A"])
            values[number] = value
            table[index] = id(value)
        for root, shape, dtype in self._outputs:
            values[root] = array = np.empty(shape, dtype)
            table[self.memory.objects[root]] = id(array)
        status = self._run_steps(block, values)
        results = [] if status else [self._result(x, block, values) for x in self.plan.outputs]
        self.memory.give_back(block)
        return status, results

    def _run_steps(self, block: Block, values: dict[int, Any]) -> int:
        for step in self.steps:
            if isinstance(step, Call):
                self._call(step.number, block, values)
            else:
                status = step(block.at)
                if status:
                    return status
        return 0

    def _call(self, number: int, block: Block, values: dict[int, Any]) -> None:
        """Let NumPy compute a line, and put the result where machine code finds it."""
        line = self.plan.lines[number]
        with np.errstate(all="ignore"):
            value = compute(line, _Values(self, block, values))
        if line.dtype is not None:
            value = np.asarray(value, line.dtype, order="C")
            block.table[self.memory.objects[number]] = id(value)
        values[number] = value

    def value(self, place: int, block: Block, values: dict[int, Any]) -> Any:
        """Return the result of a line as NumPy takes it."""
        view, line = self.plan.views[place], self.plan.lines[place]
        root = self.memory.shared.get(view.root, view.root)
        if root < 0:
            base = self.plan.constants[-1 - root]
        elif root in values:
            base = values[root]
        else:
            base = block.array(root)
        if line.dtype is None:
            return base
        return _seen(np.asarray(base), view)

    def _result(self, output: Any, block: Block, values: dict[int, Any]) -> Any:
        if type(output) is not Place:
            return output.copy() if isinstance(output, np.ndarray) else output
        value = self.value(output, block, values)
        root = self.plan.views[output].root
        if not isinstance(value, np.ndarray) or self.plan.how[root] != NUMPY:
            return value
        return value.copy() if value.base is not None else value

    def explain(self) -> list[str]:
        """Say what is done, in order."""
        said = [_said(self.plan, piece) for piece in self.work]
        arrays = len(self.memory.offsets)
        return [*said, f"memory: {self.memory.size} bytes for {arrays} results on the way"]


class _Values:
    """The results of lines, by their numbers, as NumPy takes them."""

    def __init__(self, of: _Compiled, block: Block, values: dict[int, Any]) -> None:
        self.of, self.block, self.values = of, block, values

    def __getitem__(self, place: int) -> Any:
        return self.of.value(place, self.block, self.values)


def _seen(base: Any, view: View) -> Any:
    """Return the view of an array; a single element as NumPy's number."""
    if view.shape == ():
        return base.reshape(-1)[view.offset]
    if base.shape == view.shape and view.is_whole:
        return base
    size = base.itemsize
    start = base.reshape(-1)[view.offset :]
    return np.lib.stride_tricks.as_strided(
        start, view.shape, [size * s for s in view.strides], writeable=False
    )


def _said(plan: Plan, piece: Work) -> str:
    if isinstance(piece, Loop):
        return f"loop: {piece.says}, {len(piece.loads)} read, {len(piece.stores)} written"
    if isinstance(piece, Product):
        return f"BLAS: matmul {piece.left.shape} {piece.right.shape}"
    if isinstance(piece, Check):
        return f"guard {piece.number}: {piece.expected}"
    return f"NumPy: {plan.lines[piece.number].name} {plan.lines[piece.number].shape}"


def lanes() -> int:
    """Return how many numbers of 8 bytes a vector of this machine holds."""
    features = engine.host()[1]
    return 8 if "+avx512f" in features else 4 if "+avx2" in features else 2
