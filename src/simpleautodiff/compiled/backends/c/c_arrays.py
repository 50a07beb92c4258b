"""An array program as a C file: plain loops over arrays of fixed shapes, for every C compiler."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import (
    BoundsCheck,
    GuardCheck,
    MatrixProduct,
    NumpyCall,
    Task,
    build_tasks,
    prune,
)
from simpleautodiff.compiled.array.classify import INPUT
from simpleautodiff.compiled.array.loops import Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.backends.c import c_scalars as numbers_c
from simpleautodiff.compiled.backends.c.c_calls import call_lines, can_call, pack_loop
from simpleautodiff.compiled.backends.c.c_file import CFile, Parameter
from simpleautodiff.compiled.backends.c.c_loops import product_loop, write_loop
from simpleautodiff.compiled.backends.c.c_steps import TYPES, function_in_c
from simpleautodiff.compiled.backends.interface import BAD_INDEX, NO_MEMORY
from simpleautodiff.compiled.backends.known_values import result_line
from simpleautodiff.compiled.backends.rewriting import rewrite_lines
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.compiled.scalar.kernel import SAME, BatchedKernel
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter
from simpleautodiff.errors import ArgumentError


def to_c(recorded: RecordedProgram, name: str, precise: bool = False) -> str:
    """Return a recorded program as one C file that needs nothing but the C library.

    Parameters
    ----------
    recorded : RecordedProgram
        The program. Lines that only NumPy can compute are refused by name.
    name : str
        The name of the function: one pointer per argument and per result. It returns 0, or 1 + the
        number of the first guard that failed, or less than 0 if there is no memory, an index does
        not fit, or a matrix is singular: then the results are not valid.
    precise : bool
        Leave out simplifications that could change a result in its last bits.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     y = np.sum(2 + np.sin(level.input(np.zeros(300))))
    >>> text = to_c(level.finish([y], 1), "f")
    >>> print(text[text.index("static void"):text.index("#ifdef F_")])
    static void f_loop0(const double *restrict a0, double *restrict a1)
    {
        ptrdiff_t i0;
        double total0;
        total0 = 0.0;
        for (i0 = 0; i0 < 300; i0++) {
            const double v0 = a0[i0];
            const double v1 = sin(v0);
            const double v3 = v1 + 2.0;
            total0 = total0 + v3;
        }
        a1[0] = total0;
    }
    <BLANKLINE>
    int f(const double *restrict in0, double *restrict out0)
    {
        f_loop0(in0, out0);
        return 0;
    }
    <BLANKLINE>
    <BLANKLINE>
    """
    file = file_of(recorded, name)
    write_program(file, recorded, name, precise)
    return file.text()


def file_of(program: RecordedProgram, name: str, arguments: Sequence[str] = ()) -> CFile:
    """Return an empty file for a function with the arguments and results of a program."""
    lines = program.lines
    names = arguments or [f"in{n}" for n in range(program.inputs)]
    inputs = [_parameter(own, line) for own, line in zip(names, lines, strict=False)]
    outputs = [_parameter(f"out{n}", result_line(lines, output))
               for n, output in enumerate(program.outputs)]  # fmt: skip
    return CFile(name, inputs, outputs)


def _parameter(name: str, line: Line) -> Parameter:
    kind = dtype_letter(line.dtype)
    if kind is None:
        raise ArgumentError(
            f"{name} is of {line.dtype}, which cannot be exported to C; it takes float64, float32, "
            "int64 and bool"
        )
    return Parameter(name, kind, line.shape)


def write_program(
    file: CFile, program: RecordedProgram, name: str, precise: bool = False, kind: str = "int"
) -> None:
    """Write the function of a program; `kind` stands before its name."""
    _CProgramWriter(file, clean(program, precise), name, precise).write(kind)


class _CProgramWriter:
    """Writes one program."""

    def __init__(self, file: CFile, program: RecordedProgram, name: str, precise: bool) -> None:
        self.file, self.name = file, name
        self.plan = plan = LoopSchedule(rewrite_lines(program), alone=True)
        self.work = prune(build_tasks(plan, precise), plan)
        self.memory = BufferLayout(plan, self.work)
        self.size = self.memory.size
        inputs = [number for number, how in enumerate(plan.how) if how == INPUT]
        self.buffers: dict[Any, str] = {
            number: one.name for number, one in zip(inputs, file.inputs, strict=True)
        }
        for output, one in zip(plan.outputs, file.outputs, strict=True):
            if type(output) is Ref:
                self.buffers[plan.views[output].root] = one.name

    def write(self, kind: str) -> None:
        """Write the function."""
        self._check()
        lines = [line for piece in self.work for line in self.write_task(piece)]
        for output, one in zip(self.plan.outputs, self.file.outputs, strict=True):
            if type(output) is not Ref and one.size:
                name = self.file.constant(np.asarray(output), one.dtype)
                lines.append(f"memcpy({one.name}, {name}, sizeof {name});")
        needs_status = any(line.startswith("status = ") for line in lines)
        lines = [*["int status;"] * needs_status, *self._drop_unused(lines), *lines, "return 0;"]
        if self.size:
            self._with_block(kind, lines)
        else:
            self.file.functions.append(function_in_c(self.file.head(self.name, kind), lines))

    def _check(self) -> None:
        """Refuse what only NumPy can compute."""
        numbers = [piece.number for piece in self.work if isinstance(piece, NumpyCall)]
        names = sorted({self.plan.lines[n].name for n in numbers if not self._is_written(n)})
        if names:
            raise ArgumentError(
                f"only NumPy can compute {', '.join(names)}, so that this program cannot be "
                "exported to C; to_python() writes it, or export the parts before and after it"
            )

    def _is_written(self, number: int) -> bool:
        """Tell whether C code can compute a line that is elsewhere left to NumPy."""
        line = self.plan.lines[number]
        if line.what is operator.getitem and type(line.args[0]) is Ref:
            return self._is_written(line.args[0])
        return isinstance(line.what, BatchedKernel) or can_call(self.plan, line)

    def _drop_unused(self, lines: list[str]) -> list[str]:
        words = set(re.findall(r"\w+", "\n".join(lines)))
        known = [*["block"] * bool(self.size), *self.file.names()]
        return [f"(void){name};" for name in known if name not in words]

    def _with_block(self, kind: str, lines: list[str]) -> None:
        """Write two functions: one allocates work memory, the other computes."""
        steps = f"{self.name}_steps"
        args = ", ".join(["block", *self.file.names()])
        outer = [
            "int status;",
            f"unsigned char *block = (unsigned char *)malloc({self.size});",
            f"if (!block) return {NO_MEMORY};",
            f"status = {steps}({args});",
            "free(block);",
            "return status;",
        ]
        inner = self.file.head(steps, "static int", ["unsigned char *block"])
        self.file.functions.append(function_in_c(inner, lines))
        self.file.functions.append(function_in_c(self.file.head(self.name, kind), outer))

    # Memory. --------------------------------------------------------------------------------------

    def address(self, slot: Any) -> str:
        """Write the address of a buffer."""
        root = self.memory.shared.get(slot, slot)
        if root in self.buffers:
            return self.buffers[root]
        if root < 0:
            return self.file.constant(self.plan.constants[-1 - root], self.plan.dtype_of_root(root))
        kind = TYPES[self.plan.dtype_of_root(root)]
        return f"({kind} *)(block + {self.memory.offsets[root]})"

    def take_buffer(self, slot: Any, kind: str, count: int) -> str:
        """Allocate memory for a buffer that has none."""
        if slot not in self.buffers:
            self.buffers[slot] = f"({TYPES[kind]} *)(block + {self.size})"
            self.size += -(-8 * count // 64) * 64
        return self.buffers[slot]

    # Tasks. ---------------------------------------------------------------------------------------

    def write_task(self, piece: Task) -> list[str]:
        """Write a task."""
        if isinstance(piece, MatrixProduct):
            piece = product_loop(piece.dtype, piece.number, piece.left, piece.right)
        if isinstance(piece, Loop):
            return [write_loop(self.file, piece, self.address)]
        if isinstance(piece, NumpyCall):
            line = self.plan.lines[piece.number]
            if isinstance(line.what, BatchedKernel):
                return self._of_rows(piece.number, line)
            return [] if line.what is operator.getitem else call_lines(self, piece.number)
        if isinstance(piece, GuardCheck):
            truth = f"({self.address(piece.view.root)})[{piece.view.offset}]"
            return [f"if ({'!' * piece.expected}{truth}) return {piece.number + 1};"]
        assert isinstance(piece, BoundsCheck)  # a schedule of loops alone has no LAPACK
        return self._check_bounds(piece)

    def _check_bounds(self, piece: BoundsCheck) -> list[str]:
        low, high = (f"({self.address(slot)})[0]" for slot in (piece.low, piece.high))
        return [f"if ({low} < {-piece.size} || {high} >= {piece.size}) return {BAD_INDEX};"]

    def _of_rows(self, number: int, line: Line) -> list[str]:
        """Write a batched function, and its call for all examples."""
        rows: BatchedKernel = line.what
        kernel, name = rows.kernel, f"{self.name}_of_row{number}"
        own = numbers_c.file_of(kernel, name)
        numbers_c.write_kernel(own, kernel, name, "static int")
        numbers_c.write_rows(own, name, "static int")
        self.file.functions += own.functions
        lines: list[str] = []
        args: list[str] = []
        count = 0
        for arg, mode, leaf in zip(line.args, rows.modes, kernel.inputs, strict=True):
            view = self.plan.view(arg if type(arg) is Ref else np.asarray(arg))
            slot = f"argument {len(args)} of {number}"
            args.append(f"{self.take_buffer(slot, leaf.dtype, math.prod(view.shape))}, "
                        f"{0 if mode == SAME else leaf.size}")  # fmt: skip
            lines += self.write_task(pack_loop(self.plan, view, slot, leaf.dtype))
            count = count if mode == SAME else view.shape[0]
        results = {self.plan.lines[n].args[1]: n for n, known in enumerate(self.plan.lines)
                   if known.what is operator.getitem and known.args[0] == number}  # fmt: skip
        for k, leaf in enumerate(kernel.outputs):
            to = results.get(k, f"result {k} of {number}")
            args.append(f"{self.take_buffer(to, leaf.dtype, count * leaf.size)}, {leaf.size}")
        return [*lines, f"if ({name}_rows({', '.join([str(count), *args])})) return {NO_MEMORY};"]
