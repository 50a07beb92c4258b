"""What the words of a rolled program call: bodies of numbers, of arrays, moves, and whole loops.

The arguments of a body are addresses in the block. A loop whose steps are on single numbers is a
body itself: its numbers stay in registers from step to step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import NumpyCall, Task, build_tasks, prune
from simpleautodiff.compiled.array.join_neighbours import join_neighbours
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.array.split_complex import split_complex
from simpleautodiff.compiled.array.view_accesses import Shape, find_strides, have_same_strides
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref
from simpleautodiff.compiled.rolled.limits import ROLLING
from simpleautodiff.compiled.rolled.move_loops import make_move
from simpleautodiff.compiled.rolled.rolled_program import NotRolledError
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.unroll_arrays import unroll_if_small

if TYPE_CHECKING:
    from simpleautodiff.compiled.rolled.layout import RolledLayout


class Address(int):
    """An address in the block.

    Attributes
    ----------
    root : int
        Where the memory of the whole result begins.
    steps : dict
        By how many bytes it advances with every step of some loops.
    """

    root: int
    steps: dict[int, int]

    @classmethod
    def of(cls, at: int, root: int, steps: dict[int, int]) -> Address:
        """Return an address in the memory of a result."""
        address = cls(at)
        address.root, address.steps = root, steps
        return address

    def plus(self, offset: int) -> Address:
        """Return the address that many bytes later."""
        return Address.of(self + offset, self.root, self.steps)


class Operand(NamedTuple):
    """An argument or a result of a body: how many bytes, and whether they are written."""

    size: int
    is_written: bool


class ScalarBody(NamedTuple):
    """A body on single numbers: it takes the addresses of its arguments and results."""

    kernel: Kernel

    def words(
        self, given: Sequence[int], results: Sequence[int], layout: RolledLayout
    ) -> list[int]:
        """Return the words of a call."""
        return [*given, *results]

    def constants(self) -> list[Any]:
        """Return the arrays that it needs at every call."""
        return []

    @property
    def operands(self) -> list[Operand]:
        """What its words are the addresses of."""
        inputs = [Operand(_count_bytes(leaf), False) for leaf in self.kernel.inputs]
        return inputs + [Operand(_count_bytes(leaf), True) for leaf in self.kernel.outputs]

    @property
    def steps(self) -> int:
        """How many steps one call takes."""
        return len(self.kernel.program)

    @property
    def scratch(self) -> int:
        """The bytes of work memory it needs."""
        return 0


def _count_bytes(leaf: Leaf) -> int:
    return leaf.size * np.dtype(SCALAR_TYPES[leaf.dtype]).itemsize


class ArrayBody(NamedTuple):
    """A body of loops on arrays: it takes a table of addresses, that of work memory first."""

    tasks: list[Task]
    memory: BufferLayout

    def words(
        self, given: Sequence[int], results: Sequence[int], layout: RolledLayout
    ) -> list[int]:
        """Return the words of a call."""
        plan, table = self.memory.plan, [0] * (1 + len(self.memory.table))
        table[0] = layout.scratch
        for k, constant in enumerate(plan.constants):
            table[self.memory.table[-1 - k]] = layout.constant(constant)
        for number, at in enumerate(given):
            table[self.memory.table[number]] = at
        for output, at in zip(plan.outputs, results, strict=True):
            table[self.memory.table[plan.views[output].root]] = at
        return table

    def constants(self) -> list[Any]:
        """Return the arrays that it needs at every call."""
        return self.memory.plan.constants

    @property
    def scratch(self) -> int:
        """The bytes of work memory it needs."""
        return self.memory.size


class MoveBody(NamedTuple):
    """A loop that moves elements: it takes the addresses of both."""

    loop: Loop
    operands: list[Operand]
    is_copy: bool  # whether it copies contiguous elements in their order
    steps: int = 1
    scratch: int = 0


def make_move_body(adds: bool, shape: Shape, to: Shape, by: Shape, dtype: Any) -> MoveBody:
    """Return the body that moves elements, or adds them."""
    sizes = [
        dtype.itemsize
        * (1 + sum([(n - 1) * abs(step) for n, step in zip(shape, way, strict=True)]))
        for way in (to, by)
    ]
    packed = [have_same_strides(shape, way, find_strides(shape)) for way in (to, by)]
    operands = [Operand(sizes[0], True), Operand(sizes[1], False)]
    return MoveBody(make_move(adds, shape, to, by, dtype), operands, all(packed) and not adds)


def make_body(program: RecordedProgram, precise: bool) -> ScalarBody | ArrayBody:
    """Return a body in the form to compile: unrolled if it is small, otherwise in loops."""
    elements = sum([math.prod(line.shape) for line in program.lines])
    few = elements <= max(ROLLING.scalar, ROLLING.each * len(program.lines))
    program = program if precise else split_complex(program)
    kernel = unroll_if_small(program, precise, may_refuse=True) if few else None
    if kernel is not None and len(kernel.program) <= ROLLING.flat:
        return ScalarBody(kernel)
    plan = LoopSchedule(clean(program, precise), exact=precise)
    tasks = prune(build_tasks(plan, precise), plan)
    tasks = tasks if precise else join_neighbours(tasks, plan)
    if any(isinstance(task, NumpyCall) for task in tasks):
        names = [plan.lines[task.number].name for task in tasks if isinstance(task, NumpyCall)]
        raise NotRolledError(f"{names[0]} is computed by NumPy")
    if not tasks or not all(type(output) is Ref for output in plan.outputs):
        raise NotRolledError("a result is known before the call")
    return ArrayBody(tasks, BufferLayout(plan, tasks))
