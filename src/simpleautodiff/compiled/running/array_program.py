"""Programs on arrays: fused loops and calls of BLAS as machine code, NumPy for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import (
    BoundsCheck,
    GuardCheck,
    LapackCall,
    MatrixProduct,
    Strips,
    Task,
    build_tasks,
    prune,
)
from simpleautodiff.compiled.array.join_neighbours import join_neighbours
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.share_loops import share_loops
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.array.split_complex import split_complex
from simpleautodiff.compiled.array.strips import cut_into_strips
from simpleautodiff.compiled.array.why_numpy import explain_numpy
from simpleautodiff.compiled.backends.interface import CallForm
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref
from simpleautodiff.compiled.running.array_runner import REUSED_BYTES, ArrayRunner


class ArrayProgram:
    """A recorded program on arrays of fixed shapes, ready to run.

    Parameters
    ----------
    recorded
        The program.
    precise
        Omit optimisations that could change a result in its last bits, and call the C library for
        mathematical functions.
    native
        Compile what can be compiled; otherwise, or without llvmlite, NumPy runs it line by line.
    threads
        How many threads share loops over large arrays.
    form
        What Python passes and gets, for an entry called `ENTRY` in `code`, to be used by
        `CallSlot.point_to((program.code, ENTRY))`.

    Attributes
    ----------
    has_entry : bool
        Whether that entry exists: if NumPy is not needed, all inputs and results are floats, and no
        result is so large that its memory should be reused.
    code : Code or None
        The machine code.
    ir : str
        The LLVM text.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.ones(3))
    ...     y, z = np.sum(x * x), 2 * x
    >>> ArrayProgram(level.finish([y, z], 1)).run([np.array([1.0, 2.0, 3.0])])
    (0, [np.float64(14.0), array([2., 4., 6.])])
    """

    def __init__(
        self,
        recorded: RecordedProgram,
        precise: bool = False,
        native: bool = True,
        form: CallForm | None = None,
        threads: int = 1,
    ) -> None:
        self.program = clean(recorded, precise)
        self.code: Code | None = None
        self.ir = ""
        self.has_entry = False
        self._runner: ArrayRunner | Replay = Replay(self.program)
        self._direct: Callable[..., Any] | None = None
        if native and TARGET.is_available():
            self._compile(precise, form, threads)

    def _compile(self, precise: bool, form: CallForm | None, threads: int) -> None:
        program = self.program if precise else split_complex(self.program)
        self.plan = LoopSchedule(program, exact=precise)
        work = prune(build_tasks(self.plan, precise), self.plan)
        work = work if precise or threads > 1 else join_neighbours(work, self.plan)
        work = work if precise else cut_into_strips(work, self.plan)
        self.work = work if threads == 1 else share_loops(work, self.plan, threads, precise)
        self.memory = BufferLayout(self.plan, self.work)
        made = TARGET.compile_array(self.work, self.memory, precise, form, self._is_small())
        self.code, self.ir, self.has_entry = made.code, made.ir, made.has_entry
        runner = self._runner = ArrayRunner(self.memory, made, Replay(self.program))
        self._direct = made.call_directly(lambda *inputs: list(runner.run(list(inputs))))

    def _computed_outputs(self) -> list[Ref]:
        return [place for place in self.plan.outputs if type(place) is Ref]

    def _is_small(self) -> bool:
        """Tell whether no result is so large that its memory should be reused."""
        sizes = [
            self.plan.size(self.plan.views[place].root) * 8 for place in self._computed_outputs()
        ]
        return len(sizes) == len(self.plan.outputs) and max(sizes, default=0) < REUSED_BYTES

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed.

        No result shares memory with an input or with another result.
        """
        if self._direct:
            results = self._direct(*inputs)
            return (0, list(results)) if type(results) is tuple else tuple(results)
        return self._runner.run(inputs)

    def codes(self) -> list[Code]:
        """Return its machine code."""
        return [] if self.code is None else [self.code]

    def explain(self) -> list[str]:
        """Describe which lines were fused into which loop, what BLAS and NumPy do, and memory."""
        if isinstance(self._runner, Replay):
            return [f"NumPy: {line.name} {line.shape}" for line in self.program.lines if line.what]
        said = [_describe(self.plan, piece) for piece in self.work]
        count = len(self.memory.offsets)
        return [*said, f"memory: {self.memory.size} bytes for {count} results on the way"]


def _describe(plan: LoopSchedule, piece: Task) -> str:
    if isinstance(piece, Loop):
        return f"loop: {piece.says}, {len(piece.loads)} read, {len(piece.stores)} written"
    if isinstance(piece, MatrixProduct):
        where = "in registers" if piece.is_in_registers else "BLAS"
        return f"{where}: matmul {piece.left.shape} {piece.right.shape}"
    if isinstance(piece, LapackCall):
        return f"LAPACK: {piece.what}"
    if isinstance(piece, Strips):
        inside = "; ".join([_describe(plan, strip.task) for strip in piece.tasks])
        how = "in each of several threads" if piece.shared else "at a time"
        return f"{piece.rows} rows {how}: {inside}"
    if isinstance(piece, GuardCheck):
        return f"guard {piece.number}: {piece.expected}"
    if isinstance(piece, BoundsCheck):
        return f"bounds of an index: {piece.size}"
    return explain_numpy(plan, piece.number)
