"""Programs on arrays: fused loops and calls of BLAS as machine code, NumPy for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.compiled.array.buffers import Memory
from simpleautodiff.compiled.array.build_loops import (
    Bounds,
    Check,
    Factor,
    Product,
    Work,
    build_work,
    prune,
)
from simpleautodiff.compiled.array.classify import INPUT
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.array.run import LARGE, Runner, prepare_body
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.array.schedule import Plan
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.backends.llvm.entry_points import ENTRY, Form
from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.python_entry import (
    Array,
    Number,
    arrays_entry,
    declarations,
    entry_names,
)
from simpleautodiff.compiled.backends.llvm.segments import (
    BODY,
    CONSTANTS,
    KEPT,
    write_body,
    write_segments,
)
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.native.callable import Slot, quick
from simpleautodiff.compiled.native.object_offsets import is_known
from simpleautodiff.compiled.recording.trace_program import Place, Recorded

_OWN = "own"  # the entry that `run` uses
_UNLOCKED = 1 << 14  # elements from which on other threads of Python run meanwhile


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
    form
        What Python passes and what it gets, for an entry called `ENTRY` in `code`: it can be
        pointed to, `Slot.point_to((program.code, ENTRY))`.

    Attributes
    ----------
    has_entry : bool
        Whether there is that entry: if NumPy is not needed, all inputs and results are floats, and
        no result is so large that its memory is better used again.
    code : Code or None
        The machine code.
    ir : str
        The same as LLVM's text.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.ones(3))
    ...     y = np.sum(x * x)
    >>> ArrayProgram(level.finish([y, 2 * x], 1)).run([np.array([1.0, 2.0, 3.0])])
    (0, [np.float64(14.0), array([2., 4., 6.])])
    """

    def __init__(
        self,
        recorded: Recorded,
        precise: bool = False,
        native: bool = True,
        form: Form | None = None,
    ) -> None:
        self.program = clean(recorded, precise)
        self.code: engine.Code | None = None
        self.ir = ""
        self.has_entry = False
        self._runner: Runner | Replay = Replay(self.program)
        self._quick: _Quick | None = None
        if native and engine.available():
            self._compile(precise, form)

    def _compile(self, precise: bool, form: Form | None) -> None:
        self.plan = Plan(self.program, exact=precise)
        self.work = prune(build_work(self.plan, precise), self.plan)
        self.memory = Memory(self.plan, self.work)
        module = Module(precise)
        segments = write_segments(module, self.work, self.memory, lanes())
        names = [segment for segment in segments if isinstance(segment, str)]
        whole = len(segments) == len(names) == 1
        own = []
        if whole:
            write_body(module, self.memory, names[0])
            own = self._entries(module, form)
            names += [BODY, CONSTANTS, KEPT]
        self.ir = module.text()
        if names:
            exported = [*names, *[part for name in own for part in entry_names(name)]]
            self.code = engine.build(self.ir, level=1, names=exported, key=self.ir)
        runner = self._runner = Runner(self.memory, segments, self.code, Replay(self.program))
        if whole and self.code:
            prepare_body(self.memory, self.code)
        if _OWN in own and self.code:
            self._quick = _Quick(lambda *inputs: list(runner.run(list(inputs))))
            self._quick.point_to((self.code, _OWN))
        self.has_entry = ENTRY in own

    def _entries(self, module: Module, form: Form | None) -> list[str]:
        """Write the entries from Python, if all inputs and results are floats and not too large."""
        lines = self.plan.lines
        inputs = [_passed(lines[n]) for n, how in enumerate(self.plan.how) if how == INPUT]
        outputs = [_passed(lines[place]) for place in self._computed()]
        if None in inputs or None in outputs or not is_known() or not self._is_small():
            return []
        made = [Number("float64") if x == Number() else x for x in outputs]
        own = Form(tuple(inputs), tuple(made), tuple(range(len(outputs))))  # type: ignore[arg-type]
        written = {_OWN: own} | ({ENTRY: form} if form and _fits(form, own) else {})
        unlocked = any(np.prod(line.shape) >= _UNLOCKED for line in lines)
        module.functions.append(declarations(arrays=True))
        for name, (taken, given, structure, out) in written.items():
            module.functions.append(
                arrays_entry(name, BODY, taken, given, structure,
                             guarded=True, unlocked=unlocked, out=out)
            )  # fmt: skip
        return list(written)

    def _computed(self) -> list[Place]:
        return [place for place in self.plan.outputs if type(place) is Place]

    def _is_small(self) -> bool:
        """Tell whether no result is so large that its memory is worth to be used again."""
        sizes = [self.plan.size(self.plan.views[place].root) * 8 for place in self._computed()]
        return len(sizes) == len(self.plan.outputs) and max(sizes, default=0) < LARGE

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed.

        No result shares memory with an input or with another one.
        """
        if self._quick:
            results = self._quick(*inputs)
            return (0, list(results)) if type(results) is tuple else tuple(results)
        return self._runner.run(inputs)

    def codes(self) -> list[engine.Code]:
        """Return the machine code that it runs."""
        return [] if self.code is None else [self.code]

    def explain(self) -> list[str]:
        """Say what was fused into which loop, what BLAS and NumPy do, and what memory it takes."""
        if isinstance(self._runner, Replay):
            return [f"NumPy: {line.name} {line.shape}" for line in self.program.lines if line.what]
        said = [_said(self.plan, piece) for piece in self.work]
        count = len(self.memory.offsets)
        return [*said, f"memory: {self.memory.size} bytes for {count} results on the way"]


@quick
class _Quick(Slot):
    """The way from Python straight into a program."""


def _fits(form: Form, own: Form) -> bool:
    """Tell whether what Python passes is what the program takes, up to the kinds of floats."""
    pairs = [(form.inputs, own.inputs), (form.outputs, own.outputs)]
    return all(
        len(these) == len(those) and all(_alike(x, y) for x, y in zip(these, those, strict=True))
        for these, those in pairs
    )


def _alike(one: Number | Array, other: Number | Array) -> bool:
    if isinstance(one, Array) or isinstance(other, Array):
        return one == other
    return (one.kind == "float32") == (other.kind == "float32")


def _passed(line: Any) -> Number | Array | None:
    """Return how an input or a result is passed, or None if it cannot be passed directly."""
    if line.dtype is None or line.dtype.char not in "df":
        return None
    if line.shape:
        return Array(line.dtype.name, line.shape)
    return Number("float" if line.dtype.char == "d" else "float32")


def _said(plan: Plan, piece: Work) -> str:
    if isinstance(piece, Loop):
        return f"loop: {piece.says}, {len(piece.loads)} read, {len(piece.stores)} written"
    if isinstance(piece, Product):
        return f"BLAS: matmul {piece.left.shape} {piece.right.shape}"
    if isinstance(piece, Factor):
        return f"LAPACK: {piece.what}"
    if isinstance(piece, Check):
        return f"guard {piece.number}: {piece.expected}"
    if isinstance(piece, Bounds):
        return f"bounds of an index: {piece.size}"
    return f"NumPy: {plan.lines[piece.number].name} {plan.lines[piece.number].shape}"


def lanes() -> int:
    """Return how many numbers of 8 bytes a vector of this machine holds."""
    features = engine.host()[1]
    return 8 if "+avx512f" in features else 4 if "+avx2" in features else 2
