"""What runs a recorded program, and how it gets faster with the number of calls.

Flat programs (of single numbers and small arrays) begin on the tape machine, which starts at once.
Those that are called again are compiled quickly, and hot ones compiled well, in a thread of their
own while the calls go on. Programs on large arrays run through NumPy until their loops are
compiled; so do functions of rows.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from simpleautodiff.compiled.calling import engine
from simpleautodiff.compiled.calling.working import attempt, later
from simpleautodiff.compiled.interpreting.machine import Machine, as_leaves, empty_leaves, is_ready
from simpleautodiff.compiled.interpreting.script import Script
from simpleautodiff.compiled.large.arrays import ArrayProgram
from simpleautodiff.compiled.llvm.native import ENTRY, Form, NativeCall, compiled
from simpleautodiff.compiled.llvm.rows import takes_columns
from simpleautodiff.compiled.numbers.kernel import COLUMNS, GATHERED, ROWS, Kernel
from simpleautodiff.compiled.numbers.unroll import NotUnrolledError, unroll
from simpleautodiff.compiled.recorded import Line, Place, Recorded
from simpleautodiff.compiled.rowwise import Rows
from simpleautodiff.rules.indexing import getitem
from simpleautodiff.rules.shapes import transpose

TIERS = ("numpy", "tape", "cheap", "optimised")
CALLS_TO_COMPILE, CALLS_TO_OPTIMISE = 8, 64
LARGE = 5_000  # steps: compiling well takes longer than that gains
LARGEST = 400_000  # steps: straight code leaves the caches, and takes seconds to compile


class Program(Protocol):
    """A recorded program that can be run."""

    @property
    def tier(self) -> str:
        """What runs it."""

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed.

        A single result may be put into the array `out`, if that is as it should be.
        """

    def prepare(self) -> None:
        """Have the code of a tier that was asked for made now."""

    def describe(self) -> list[str]:
        """Say what it is made of and what was done to it."""

    def source(self) -> str:
        """Return the program, one step a line."""

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or will."""


class Entered:
    """A program that Python may come to call without more ado.

    `form` says how, once that is known; `on_entry` is called when there is code for it.
    """

    def __init__(self, results: int) -> None:
        self.results = results  # how many are computed
        self.form: Form | None = None
        self.failure = ""  # why it could not be compiled
        self.on_entry: Callable[[], None] = lambda: None
        self.entry: tuple[engine.Code, str] | None = None

    def fail(self, why: str) -> None:
        """Note that it could not be compiled: the calls go on without."""
        self.failure = why

    def enter(self, code: engine.Code) -> None:
        """Let Python call the entry of this code."""
        self.entry = code, ENTRY
        self.on_entry()


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
        return made + _how_made(self.code) + _not_made(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return str(self.kernel.flat)

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or would."""
        return [self.code or compiled(self.kernel, 1, None)]


def _how_made(code: engine.Code | None) -> list[str]:
    if code is None:
        return []
    how = "loaded from disk" if code.from_cache else "compiled"
    return [f"{how} in {1e3 * code.seconds:.1f} ms"]


def _not_made(failure: str) -> list[str]:
    return [f"could not be compiled: {failure}"] if failure else []


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
        made = [*self.program.explain(), *_how_made(self.program.code)]
        return made + _not_made(self.failure)

    def source(self) -> str:
        """Return the program, one step a line."""
        return written(self.recorded)

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or would."""
        if self.tier != "optimised":
            self.compile()
        return [self.program.code] if self.program.code else []


class Gathered(NamedTuple):
    """Rows of an array, chosen by their numbers."""

    table: Any
    index: Any


class Turned(NamedTuple):
    """An array whose last axis counts the rows."""

    table: Any


class RowsProgram(Entered):
    """A function of rows alone: its arguments are given, or gathered, and its results returned."""

    def __init__(
        self, rows: Rows, args: Sequence[Any], which: Sequence[int], turned: set[int], size: int
    ) -> None:
        super().__init__(len(which))
        # Of each argument its number among the inputs, a constant, `Gathered` or `Turned`.
        self.args = [arg.table if isinstance(arg, Turned) else arg for arg in args]
        self.which = which  # results that are returned
        self.kernel = rows.kernel
        modes = [_mode(arg, mode) for arg, mode in zip(args, rows.modes, strict=True)]
        layouts = [COLUMNS if k in turned else ROWS for k in range(len(rows.shapes))]
        by_columns = COLUMNS in (*modes, *layouts)
        if (*modes, *layouts) != (*rows.modes, *rows.layouts):
            rows = rows.given(modes, layouts, size if by_columns else 0)
        self.rows = rows

    @property
    def tier(self) -> str:
        """What runs it."""
        return "numpy" if self.rows.code is None else "optimised"

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Compute all rows."""
        self._want_entry()
        results = self.rows(*[_given(arg, inputs) for arg in self.args], out=out)
        self._enter()
        return 0, [results[k] for k in self.which]

    def prepare(self) -> None:
        """Have the code of a tier that was asked for made now."""
        if self.rows.tier:
            self._want_entry()
            self.rows.ask()
            self._enter()

    def _want_entry(self) -> None:
        """Say how Python could call the code, before it is made."""
        form, self.form = self.form, None
        straight = all(type(arg) is Place for arg in self.args) and self.rows.threads == 1
        if form is not None and straight and list(self.which) == [*range(len(self.which))]:
            self.rows.entered = form, tuple([int(arg) for arg in self.args])

    def _enter(self) -> None:
        if self.entry is None and self.rows.code is not None and self.rows.entered:
            self.enter(self.rows.code)

    def describe(self) -> list[str]:
        """Say what it is made of and what was done to it."""
        flat = self.rows.kernel.flat
        made = [f"{len(flat)} steps for each row, {flat.folded} known in advance"]
        return made + _how_made(self.rows.code) + _not_made(self.rows.failure)

    def source(self) -> str:
        """Return the program of one row, one step a line."""
        return str(self.rows.kernel.flat)

    def codes(self) -> list[engine.Code]:
        """Return the code that it runs, or would."""
        self.rows.compile()
        assert self.rows.code is not None
        return [self.rows.code]


def _given(arg: Any, inputs: Sequence[Any]) -> Any:
    if type(arg) is Place:
        return inputs[arg]
    if not isinstance(arg, Gathered):
        return arg
    table, index = _given(arg.table, inputs), _given(arg.index, inputs)
    index = np.ascontiguousarray(index, np.int64)
    low, high = int(index.min()), int(index.max())
    if low < -len(table) or high >= len(table):
        raise IndexError(f"index {high if high >= len(table) else low} is out of bounds for "
                         f"{len(table)} rows")  # fmt: skip
    return table, np.where(index < 0, index + len(table), index) if low < 0 else index


def _mode(arg: Any, mode: str) -> str:
    if isinstance(arg, Turned):
        return COLUMNS
    return GATHERED if isinstance(arg, Gathered) else mode


def rows_program(recorded: Recorded) -> RowsProgram | None:
    """Return a program that is one function of rows and little else; None if it is not."""
    lines, inputs = recorded.lines, recorded.inputs
    found = [n for n, line in enumerate(lines) if isinstance(line.what, Rows)]
    if len(found) != 1 or recorded.guards:
        return None
    rows = lines[found[0]]
    args = [_argument(arg, lines, inputs) for arg in rows.args]
    which, turned, size = [], set(), 0
    for output in recorded.outputs:
        line = lines[output] if type(output) is Place else None
        by_columns = line is not None and _is_turn(line, lines, to_last=True)
        if line is not None and by_columns:
            line = lines[line.args[0]]
        if line is None or line.what is not operator.getitem or line.args[0] != found[0]:
            return None
        which.append(line.args[1])
        size = line.shape[0]
        turned |= {line.args[1]} if by_columns else set()
    if any(arg is None for arg in args) or len({*which}) < len(which):
        return None
    if (turned or any(isinstance(arg, Turned) for arg in args)) and not (
        takes_columns(rows.what.kernel, size)
    ):
        return None
    return RowsProgram(rows.what, args, which, turned, size)


def _is_turn(line: Line, lines: list[Line], to_last: bool) -> bool:
    """Tell whether a line moves the first axis of an array to the end, or the last to the front."""
    if line.what is not transpose.primitive or type(line.args[0]) is not Place:  # type: ignore[attr-defined]
        return False
    axes = list(range(len(line.shape)))
    return [*line.args[1]] == ([*axes[1:], 0] if to_last else [axes[-1], *axes[:-1]])


def _argument(arg: Any, lines: list[Line], inputs: int) -> Any:
    """Return an argument of a function of rows: an input, a constant, or rows made of those."""
    if type(arg) is not Place or arg < inputs:
        return arg
    line = lines[arg]
    if _is_turn(line, lines, to_last=False) and line.args[0] < inputs:
        return Turned(line.args[0])
    if line.what is not getitem.primitive:  # type: ignore[attr-defined]
        return None
    table, index = line.args
    index = index[0] if type(index) is tuple and len(index) == 1 else index
    simple = all(type(x) is np.ndarray or (type(x) is Place and x < inputs) for x in (table, index))
    if not simple:
        return None
    dtype, shape = (lines[index].dtype, lines[index].shape) if type(index) is Place else (
        index.dtype, index.shape)  # fmt: skip
    of_rows = dtype is not None and dtype.kind in "iu" and len(shape) == 1 and shape[0] > 0
    return Gathered(table, index) if of_rows else None


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
