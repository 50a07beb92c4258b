"""Put a program with loops together from calls of bodies, moves, and rows of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram
from simpleautodiff.compiled.rolled.counters import Selected
from simpleautodiff.compiled.rolled.rolled_program import Move, Row


class ProgramBuilder:
    """The lines, bodies and calls of a program with loops: those of all its steps together."""

    def __init__(self, precise: bool) -> None:
        self.precise = precise
        self.lines: list[Line] = []
        self.bodies: list[RecordedProgram] = []
        self.calls: list[Any] = []
        self.rows: dict[int, Row] = {}
        self.constants: dict[int, Any] = {}
        self.loops = 0
        self.counts: dict[int, int] = {}  # the numbers of steps of loops, where they are known

    def new(self, shape: tuple[int, ...], dtype: Any) -> int:
        """Return the number of a new result."""
        self.lines.append(Line(None, (), {}, shape, dtype))
        return len(self.lines) - 1

    def constant(self, value: Any, dtype: Any = None) -> int:
        """Return the number of a value that is the same at every call."""
        array = np.ascontiguousarray(value, dtype).reshape(np.shape(value))
        number = self.new(array.shape, array.dtype)
        self.constants[number] = array
        return number

    def row(self, of: int, loop: int, ahead: int = 0) -> int:
        """Return the number of the current row of an array in a loop, or of one ahead of it."""
        line = self.lines[of]
        size = math.prod(line.shape[1:])
        return self.part(of, ahead, line.shape[1:], {loop: size})

    def part(self, of: int, first: int, shape: tuple[int, ...], each: dict[int, int]) -> int:
        """Return the number of some rows of an array, from the row `first` on."""
        line = self.lines[of]
        number = self.new(shape, line.dtype)
        self.rows[number] = Row(of, first * math.prod(line.shape[1:]), each)
        return number

    def selected(self, of: int, selected: Selected) -> View:
        """Return the view of elements of an array that a counter selects."""
        number = self.new(selected.shape, self.lines[of].dtype)
        self.rows[number] = Row(of, *selected.at)
        return View(number, selected.shape, 0, selected.strides)

    def move(self, to: int, by: int) -> None:
        """Move elements."""
        self.calls.append(Move(False, self.view(to), self.view(by)))

    def view(self, number: int) -> View:
        """Return the view of all elements of a result."""
        return whole(number, self.lines[number].shape)
