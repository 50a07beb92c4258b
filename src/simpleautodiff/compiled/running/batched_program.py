"""Programs that are one batched function, of arrays as given, indexed or transposed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.compiled.running.batched_function import BatchedFunction
from simpleautodiff.compiled.running.runnable import EnteredProgram, describe_code, describe_failure
from simpleautodiff.compiled.scalar.kernel import COLUMNS, GATHERED, ROWS
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import transpose


class Gathered(NamedTuple):
    """Examples of an array, selected by their indices."""

    table: Any
    index: Any


class Turned(NamedTuple):
    """An array whose last axis counts the examples."""

    table: Any


class BatchedProgram(EnteredProgram):
    """A program that is one batched function, with given or gathered arguments."""

    def __init__(
        self,
        batched: BatchedFunction,
        args: Sequence[Any],
        which: Sequence[int],
        turned: set[int],
        size: int,
    ) -> None:
        super().__init__(len(which))
        # For each argument: its input number, a constant, `Gathered` or `Turned`.
        self.args = [arg.table if isinstance(arg, Turned) else arg for arg in args]
        self.which = which  # the results that are returned
        self.kernel = batched.kernel
        modes = [_mode(arg, mode) for arg, mode in zip(args, batched.modes, strict=True)]
        layouts = [COLUMNS if k in turned else ROWS for k in range(len(batched.shapes))]
        by_columns = COLUMNS in (*modes, *layouts)
        if (*modes, *layouts) != (*batched.modes, *batched.layouts):
            batched = batched.with_modes(modes, layouts, size if by_columns else 0)
        self.batched = batched

    @property
    def tier(self) -> str:
        """The tier that runs it."""
        return "numpy" if self.batched.code is None else "optimised"

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Compute all examples."""
        self._want_entry()
        results = self.batched(*[_find_argument(arg, inputs) for arg in self.args], out=out)
        self._enter()
        return 0, [results[k] for k in self.which]

    def prepare(self) -> None:
        """Compile the requested tier now."""
        if self.batched.tier:
            self._want_entry()
            self.batched.ask()
            self._enter()

    def _want_entry(self) -> None:
        """Set the form in which Python could call the code, before it is compiled."""
        form, self.form = self.form, None
        straight = all(type(arg) is Ref for arg in self.args) and self.batched.threads == 1
        if form is not None and straight and list(self.which) == [*range(len(self.which))]:
            self.batched.entered = form, tuple([int(arg) for arg in self.args])

    def _enter(self) -> None:
        if self.entry is None and self.batched.code is not None and self.batched.entered:
            self.enter(self.batched.code, self.batched.entered[0].known)

    def describe(self) -> list[str]:
        """Describe the program and how it was compiled."""
        flat = self.batched.kernel.program
        made = [f"{len(flat)} steps for each example, {flat.folded} known in advance"]
        return made + describe_code(self.batched.code) + describe_failure(self.batched.failure)

    def source(self) -> str:
        """Return the program of one example, one step a line."""
        return str(self.batched.kernel.program)

    def codes(self) -> list[Code]:
        """Return its machine code, compiled if necessary."""
        self.batched.compile()
        assert self.batched.code is not None
        return [self.batched.code]


def _find_argument(arg: Any, inputs: Sequence[Any]) -> Any:
    if type(arg) is Ref:
        return inputs[arg]
    if not isinstance(arg, Gathered):
        return arg
    table, index = _find_argument(arg.table, inputs), _find_argument(arg.index, inputs)
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


def batched_program(recorded: RecordedProgram) -> BatchedProgram | None:
    """Return a program that is essentially one batched function; None if it is not."""
    lines, inputs = recorded.lines, recorded.inputs
    found = [n for n, line in enumerate(lines) if isinstance(line.what, BatchedFunction)]
    if len(found) != 1 or recorded.guards:
        return None
    batched = lines[found[0]]
    args = [_argument(arg, lines, inputs) for arg in batched.args]
    which, turned, size = [], set(), 0
    for output in recorded.outputs:
        line = lines[output] if type(output) is Ref else None
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
        TARGET.takes_columns(batched.what.kernel, size)
    ):
        return None
    return BatchedProgram(batched.what, args, which, turned, size)


def _is_turn(line: Line, lines: list[Line], to_last: bool) -> bool:
    """Tell whether a line moves the first axis of an array to the end, or the last to the front."""
    if line.what is not transpose.primitive or type(line.args[0]) is not Ref:  # type: ignore[attr-defined]
        return False
    axes = list(range(len(line.shape)))
    return [*line.args[1]] == ([*axes[1:], 0] if to_last else [axes[-1], *axes[:-1]])


def _argument(arg: Any, lines: list[Line], inputs: int) -> Any:
    """Return an argument of a batched function: an input, a constant, or examples of those."""
    if type(arg) is not Ref or arg < inputs:
        return arg
    line = lines[arg]
    if _is_turn(line, lines, to_last=False) and line.args[0] < inputs:
        return Turned(line.args[0])
    if line.what is not getitem.primitive:  # type: ignore[attr-defined]
        return None
    table, index = line.args
    index = index[0] if type(index) is tuple and len(index) == 1 else index
    simple = all(type(x) is np.ndarray or (type(x) is Ref and x < inputs) for x in (table, index))
    if not simple:
        return None
    dtype, shape = (lines[index].dtype, lines[index].shape) if type(index) is Ref else (
        index.dtype, index.shape)  # fmt: skip
    of_examples = dtype is not None and dtype.kind in "iu" and len(shape) == 1 and shape[0] > 0
    return Gathered(table, index) if of_examples else None
