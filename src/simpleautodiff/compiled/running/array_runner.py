"""Run the segments of an array program from Python, reusing the memory of large results."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import NumpyCall
from simpleautodiff.compiled.array.classify import INPUT, NUMPY
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.array.simplify import compute
from simpleautodiff.compiled.array.view_accesses import View
from simpleautodiff.compiled.backends.interface import CompiledArray
from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.errors import ArgumentError

REUSED_BYTES = 1 << 25  # results of this size are kept, as the system would reclaim their memory


class ArrayRunner:
    """Runs segments in turn: machine code on a table of addresses, and NumPy.

    Parameters
    ----------
    memory
        The layout of the memory.
    compiled
        The compiled segments, and lines that NumPy computes.
    replay
        Runs the program if compiled code stops because an index is out of bounds.
    """

    def __init__(self, memory: BufferLayout, compiled: CompiledArray, replay: Replay) -> None:
        self.memory, self.plan, self.replay = memory, memory.plan, replay
        self.compiled = compiled  # has to live as long as its segments
        self._blocks: list[Any] = []
        self._inputs = [
            (number, memory.table[number], line)
            for number, line in enumerate(self.plan.lines)
            if self.plan.how[number] == INPUT
        ]
        made = [place for place in self.plan.outputs if type(place) is Ref]
        made = [place for place in made if self.plan.how[self.plan.views[place].root] != NUMPY]
        self._outputs = [(self.plan.views[place].root, Results(self.plan, place)) for place in made]

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed."""
        table = (ctypes.c_void_p * (1 + len(self.memory.table)))()
        block = self._take_block()
        table[0] = -(-address(block) // 64) * 64
        values: dict[int, Any] = {}
        for k, constant in enumerate(self.plan.constants):
            table[self.memory.table[-1 - k]] = address(constant)
        for number, place, line in self._inputs:
            values[number] = value = fit_input(inputs[number], line)
            table[place] = address(value)
        for root, results in self._outputs:
            values[root] = array = results.take()
            table[self.memory.table[root]] = address(array)
        status = self._run_steps(table, block, values)
        outputs = [] if status else [self._result(x, block, values) for x in self.plan.outputs]
        if status <= 0:
            for root, results in self._outputs:
                results.keep(values[root])
        self._blocks.append(block)
        if status < 0:  # an index out of bounds: NumPy raises, or an earlier guard fails
            return self.replay.run(inputs)
        return status, outputs

    def _take_block(self) -> Any:
        try:
            return self._blocks.pop()
        except IndexError:
            return np.empty(self.memory.size + 64, np.uint8)

    def _run_steps(self, table: Any, block: Any, values: dict[int, Any]) -> int:
        for step in self.compiled.segments:
            if isinstance(step, NumpyCall):
                self._call(step.number, table, block, values)
            else:
                status = step(table)
                if status:
                    return status
        return 0

    def _call(self, number: int, table: Any, block: Any, values: dict[int, Any]) -> None:
        """Let NumPy compute a line, and put the result where machine code finds it.

        What shares memory with an argument is copied: that memory is used again, or the caller's.
        """
        line, given = self.plan.lines[number], _Values(self, block, values)
        with np.errstate(all="ignore"):
            value = compute(line, given)
        if line.dtype is not None:
            value = np.asarray(value, line.dtype, order="C")
            if any([np.may_share_memory(value, x) for x in given.taken]):
                value = value.copy()
            table[self.memory.table[number]] = address(value)
        values[number] = value

    def value(self, place: int, block: Any, values: dict[int, Any]) -> Any:
        """Return the result of a line as a NumPy value."""
        view, line = self.plan.views[place], self.plan.lines[place]
        root = self.memory.shared.get(view.root, view.root)
        if line.dtype is None:
            return values[root]
        if root < 0:
            base = self.plan.constants[-1 - root]
        else:
            base = values[root] if root in values else self._in_block(root, block)
        return _look_through(np.asarray(base), view)

    def _in_block(self, root: int, block: Any) -> Any:
        dtype: Any = self.plan.lines[root].dtype
        begin = -address(block) % 64 + self.memory.offsets[root]
        return block[begin : begin + self.plan.size(root) * dtype.itemsize].view(dtype)

    def _result(self, output: Any, block: Any, values: dict[int, Any]) -> Any:
        if type(output) is not Ref:
            return output.copy() if isinstance(output, np.ndarray) else output
        root = self.plan.views[output].root
        if self.plan.how[root] != NUMPY:
            value = values[root]
            return value if value.shape else value[()]
        value = self.value(output, block, values)
        shared = isinstance(value, np.ndarray) and value.base is not None
        return value.copy() if shared else value


class _Values:
    """The results of lines by index, as NumPy values."""

    def __init__(self, of: ArrayRunner, block: Any, values: dict[int, Any]) -> None:
        self.of, self.block, self.values = of, block, values
        self.taken: list[Any] = []  # those that were asked for

    def __getitem__(self, place: int) -> Any:
        value = self.of.value(place, self.block, self.values)
        self.taken.append(value)
        return value


def fit_input(value: Any, line: Line) -> Any:
    """Return an input as compiled code reads it: of the right dtype and shape, contiguous."""
    if np.shape(value) != line.shape:
        raise ArgumentError(f"an argument has shape {np.shape(value)}; recorded was {line.shape}")
    is_array = type(value) is np.ndarray and value.dtype == line.dtype
    if is_array and value.flags.c_contiguous and value.flags.aligned:
        return value
    return np.require(value, line.dtype, ["C", "A"])


def address(array: Any) -> int:
    """Return the address of the first element of an array."""
    return int(array.__array_interface__["data"][0])


def _look_through(base: Any, view: View) -> Any:
    """Return the elements of an array that a `View` describes; a single one as a NumPy scalar."""
    if view.shape == ():
        return base.reshape(-1)[view.offset]
    if base.shape == view.shape and view.is_whole:
        return base
    start, size = base.reshape(-1)[view.offset :], base.itemsize
    strides = [size * step for step in view.strides]
    return np.lib.stride_tricks.as_strided(start, view.shape, strides, writeable=False)


class Results:
    """Arrays for one output: new ones, or large ones that nothing refers to any more.

    The memory of a large new array has to be cleared page by page, which takes as long as a short
    loop over it. So the last two are remembered, and reused when only this object refers to them.
    """

    def __init__(self, plan: Any, place: int) -> None:
        line = plan.lines[place]
        self.shape, self.dtype = line.shape, line.dtype
        large = int(np.prod(self.shape)) * self.dtype.itemsize >= REUSED_BYTES
        self._again = large and getattr(sys, "_is_gil_enabled", lambda: True)()
        self._made: list[Any] = []

    def take(self) -> Any:
        """Return an array that nothing else refers to."""
        for _ in range(len(self._made) if self._again else 0):
            try:
                array = self._made.pop(0)
            except IndexError:
                break
            if sys.getrefcount(array) <= _ALONE and self._is_as_made(array):
                return array
            self._made.append(array)
        return np.empty(self.shape, self.dtype)

    def _is_as_made(self, array: Any) -> bool:
        alike = array.shape == self.shape and array.dtype == self.dtype
        return bool(alike and array.flags.c_contiguous and array.flags.writeable)

    def keep(self, array: Any) -> None:
        """Remember an array that is returned to the caller."""
        if self._again:
            self._made.append(array)
            del self._made[:-2]


def _count_of_one() -> int:
    """Return the reference count of an object that only one variable refers to."""
    made = [np.empty(0)]
    array = made.pop(0)
    return sys.getrefcount(array)


_ALONE = _count_of_one()
