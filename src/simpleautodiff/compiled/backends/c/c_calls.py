"""Lines that are elsewhere left to NumPy, as calls of C functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from simpleautodiff.compiled.array.loops import Access, Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.view_accesses import View, find_strides
from simpleautodiff.compiled.backends.c.c_factorizations import use
from simpleautodiff.compiled.backends.c.c_file import CFile
from simpleautodiff.compiled.backends.c.c_special import SPECIAL
from simpleautodiff.compiled.recording.trace_program import Line, Ref, find_refs
from simpleautodiff.compiled.scalar.lower_rows import LOWERED_ROWS, dtype_letter
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.core.primitive import Primitive

Shape = tuple[int, ...]
_LIBRARY = {"gamma": "tgamma", "lgamma": "lgamma"}  # rows that are functions of the C library
_OF_WHOLE = {"add", "sub", "mul", "neg", "abs", "square", "maximum", "minimum", "clip"}


class ProgramWriter(Protocol):
    """Writes a program as C code."""

    plan: LoopSchedule
    file: CFile

    def take_buffer(self, slot: Any, kind: str, count: int) -> str:
        """Allocate memory for a buffer that has none; return its address."""

    def write_task(self, piece: Any) -> list[str]:
        """Write a task."""

    def address(self, slot: Any) -> str:
        """Write the address of a buffer."""


def can_call(plan: LoopSchedule, line: Line) -> bool:
    """Tell whether C can compute a line."""
    kinds = [plan.dtype_of(place) for place in find_refs((line.args, line.kwargs))]
    if None in kinds or dtype_letter(line.dtype) is None:
        return False
    return not math.prod(line.shape) or _writer_of(line) is not None


def call_lines(writer: ProgramWriter, number: int) -> list[str]:
    """Write a line that `can_call` accepts."""
    line = writer.plan.lines[number]
    write = _writer_of(line)
    if not math.prod(line.shape):
        writer.take_buffer(number, dtype_letter(line.dtype) or "", 1)
        return []
    assert write is not None
    return write(_Call(writer, number, line))


class _Call:
    """One line: its contiguous arguments, its result, and work memory."""

    def __init__(self, writer: ProgramWriter, number: int, line: Line) -> None:
        self.writer, self.number, self.line = writer, number, line
        self.file, self.plan = writer.file, writer.plan
        self.lines: list[str] = []
        self._slots = 0

    def dtype_of(self, arg: Any) -> str:
        """Return the dtype of an argument."""
        return (
            self.plan.dtype_of(arg) if type(arg) is Ref else dtype_letter(np.asarray(arg).dtype)
        ) or ""

    def shape(self, arg: Any) -> Shape:
        """Return the shape of an argument."""
        return self.plan.lines[arg].shape if type(arg) is Ref else np.shape(arg)

    def view(self, arg: Any) -> View:
        """Return the view of the elements of an argument."""
        return self.plan.view(arg if type(arg) is Ref else np.asarray(arg))

    def argument_address(self, arg: Any, kind: str, shape: Shape | None = None) -> str:
        """Return the address of an argument, copied if it is not contiguous."""
        view = self.view(arg)
        shape = view.shape if shape is None else shape
        if view.is_whole and view.shape == shape and self.dtype_of(arg) == kind:
            return self.writer.address(view.root)
        wide = View(view.root, shape, view.offset, view.within(shape))
        slot = self._slot()
        to = self.writer.take_buffer(slot, kind, math.prod(shape))
        self.lines += self.writer.write_task(pack_loop(self.plan, wide, slot, kind))
        return to

    def result(self) -> str:
        """Return the address of the result."""
        size = math.prod(self.line.shape)
        return self.writer.take_buffer(self.number, dtype_letter(self.line.dtype) or "", size)

    def part(self, k: int, kind: str, count: int) -> str:
        """Return the address of one of several results; NULL if nothing reads it."""
        for number, line in enumerate(self.plan.lines):
            if line.what is operator.getitem and line.args == (self.number, k):
                return self.writer.take_buffer(number, kind, count)
        return "NULL"

    def work(self, kind: str, count: int) -> str:
        """Return the address of work memory."""
        return self.writer.take_buffer(self._slot(), kind, count)

    def _slot(self) -> str:
        self._slots += 1
        return f"{self._slots} of {self.number}"

    def call(self, name: str, kind: str, *args: Any, may_fail: bool = False) -> list[str]:
        """Return all lines, the last of which calls a function."""
        called = f"{use(self.file, name, kind)}({', '.join(map(str, args))})"
        if not may_fail:
            return [*self.lines, f"{called};"]
        return [*self.lines, f"status = {called};", "if (status) return status;"]


def pack_loop(plan: LoopSchedule, view: View, to: Any, kind: str) -> Loop:
    """Return the loop that copies the elements of a view into contiguous memory."""
    own = plan.dtype_of_root(view.root)
    flat = ScalarProgram()
    place = flat.to(kind, flat.input(own))
    loads = [Access(view.root, own, view.offset, view.strides)]
    return Loop(view.shape, flat, loads, [(place, Access(to, kind, 0, find_strides(view.shape)))])


# Along one axis. ----------------------------------------------------------------------------------


def _axes(shape: Shape, axis: int | None) -> Shape:
    """Return how many elements are before, along and behind an axis."""
    if axis is None:
        return 1, math.prod(shape), 1
    axis %= max(1, len(shape))
    return math.prod(shape[:axis]), shape[axis] if shape else 1, math.prod(shape[axis + 1 :])


def _argsort(call: _Call) -> list[str]:
    given = call.line.named_arguments()
    x = given["a"]
    axes, kind = _axes(call.shape(x), given["axis"]), call.dtype_of(x)
    source, order = call.argument_address(x, kind), call.result()
    return call.call("argsort", kind, source, order, call.work("l", 2 * axes[1]), *axes)


def _extreme_place(call: _Call) -> list[str]:
    given = call.line.named_arguments()
    x = given["a"]
    kind = call.dtype_of(x)
    axes = _axes(call.shape(x), given["axis"])
    return call.call(call.line.name, kind, call.argument_address(x, kind), call.result(), *axes)


def _searchsorted(call: _Call) -> list[str]:
    given = call.line.named_arguments()
    bounds, x = given["a"], given["v"]
    kinds = {call.dtype_of(bounds), call.dtype_of(x)}
    kind = kinds.pop() if len(kinds) == 1 else "d"
    args = (
        call.argument_address(bounds, kind),
        call.shape(bounds)[0],
        call.argument_address(x, kind),
    )
    count = math.prod(call.line.shape)
    return call.call(f"search_{given['side']}", kind, *args, call.result(), count)


# Matrices. ----------------------------------------------------------------------------------------


def _stack(call: _Call, *matrices: Any) -> tuple[int, list[str]]:
    """Return how many matrices a stack has, and the addresses of its arguments."""
    kind = dtype_letter(call.line.dtype) or ""
    ahead = np.broadcast_shapes(*[call.shape(matrix)[:-2] for matrix in matrices])
    found = [call.argument_address(x, kind, (*ahead, *call.shape(x)[-2:])) for x in matrices]
    return math.prod(ahead), found


def _solve(call: _Call) -> list[str]:
    a, *rest = call.line.args
    kind, n = dtype_letter(call.line.dtype) or "", call.shape(a)[-1]
    count, (matrix, *right) = _stack(call, a, *rest)
    work = call.result(), call.work(kind, n * n), call.work("l", n)
    m = call.line.shape[-1]
    args = matrix, *(right or ["NULL"]), *work, count, n, m
    return call.call("solve", kind, *args, may_fail=True)


def _determinant(call: _Call) -> list[str]:
    a = call.line.args[0]
    kind, n = call.dtype_of(a), call.shape(a)[-1]
    count, (matrix,) = _stack(call, a)
    results = ["NULL"] * 3
    if call.line.name == "slogdet":
        results[1:] = [call.part(k, kind, count) for k in (0, 1)]
    else:
        results[("det", "det_sign", "logabsdet").index(call.line.name)] = call.result()
    work = call.work(kind, n * n), call.work("l", n)
    return call.call("determinant", kind, matrix, *results, *work, count, n)


def _is_singular(call: _Call) -> list[str]:
    a = call.line.args[0]
    kind, (*ahead, n, _) = call.dtype_of(a), call.shape(a)
    work = call.work(kind, (2 * n + 1) * n), *[call.work(kind, size) for size in (n * n, n * n, n)]
    args = call.argument_address(a, kind), call.result(), *work, math.prod(ahead), n
    return call.call("singular", kind, *args)


def _cholesky(call: _Call) -> list[str]:
    count, (matrix,) = _stack(call, call.line.args[0])
    kind, n = dtype_letter(call.line.dtype) or "", call.line.shape[-1]
    return call.call("cholesky", kind, matrix, call.result(), count, n, may_fail=True)


def _triangular(call: _Call) -> list[str]:
    a, b, lower, unit = call.line.args
    count, (matrix, right) = _stack(call, a, b)
    kind, (n, m) = dtype_letter(call.line.dtype) or "", call.line.shape[-2:]
    args = matrix, right, call.result(), count, n, m, int(lower), int(unit)
    return call.call("triangular", kind, *args, may_fail=True)


def _eigh(call: _Call) -> list[str]:
    count, (matrix,) = _stack(call, call.line.args[0])
    kind, n = dtype_letter(call.line.dtype) or "", call.line.shape[-1]
    wanted = [call.result(), "NULL"] if call.line.name == "eigenvalues" else ["NULL", call.result()]
    work = call.work(kind, n * n), call.work(kind, n * n)
    return call.call("eigh", kind, matrix, *wanted, *work, count, n)


def _svd(call: _Call) -> list[str]:
    count, (matrix,) = _stack(call, call.line.args[0])
    kind, (m, n) = dtype_letter(call.line.dtype) or "", call.shape(call.line.args[0])[-2:]
    k = min(m, n)
    work = call.work(kind, m * n), call.work(kind, k * k), call.work(kind, k)
    return call.call("svd", kind, matrix, call.result(), *work, count, m, n)


def _qr(call: _Call) -> list[str]:
    count, (matrix,) = _stack(call, call.line.args[0])
    kind, (m, n) = dtype_letter(call.line.dtype) or "", call.shape(call.line.args[0])[-2:]
    work = call.work(kind, m * n), call.work(kind, min(m, n))
    return call.call("qr", kind, matrix, call.result(), *work, count, m, n)


# Element by element. ------------------------------------------------------------------------------


def _elementwise(call: _Call) -> list[str]:
    """Write a loop over a function of single numbers."""
    line, flat, loads = call.line, ScalarProgram(), []
    kind = dtype_letter(line.dtype) or ""
    args = []
    for arg in line.args:
        if isinstance(arg, (int, float)) and type(arg) is not Ref:
            args.append(flat.const(arg, kind))
            continue
        view = call.view(arg)
        own = call.plan.dtype_of_root(view.root)
        loads.append(Access(view.root, own, view.offset, view.within(line.shape)))
        args.append(flat.to(kind, flat.input(own)))
    if kind == "l":
        place = LOWERED_ROWS[line.name](flat, kind, *args)
    else:
        name = _LIBRARY.get(line.name) or use(call.file, line.name, "d")
        place = len(flat.steps)
        flat.steps.append((name, *args))
        flat.dtypes.append(kind)
    call.result()
    stores = [(place, Access(call.number, kind, 0, find_strides(line.shape)))]
    return call.writer.write_task(Loop(line.shape, flat, loads, stores))


_CALLS: dict[str, Callable[[_Call], list[str]]] = {
    **dict.fromkeys(("argsort", "argpartition"), _argsort),
    **dict.fromkeys(("argmax", "argmin"), _extreme_place),
    "searchsorted": _searchsorted,
    **dict.fromkeys(("solve", "inv"), _solve),
    **dict.fromkeys(("det", "det_sign", "logabsdet", "slogdet"), _determinant),
    "is_singular": _is_singular,
    "cholesky": _cholesky,
    "solve_triangular": _triangular,
    **dict.fromkeys(("eigenvalues", "eigenvectors"), _eigh),
    "svd": _svd,
    "qr": _qr,
}


def _writer_of(line: Line) -> Callable[[_Call], list[str]] | None:
    """Return the function that writes a line, or None."""
    if isinstance(line.what, Primitive) and not line.what.arrays:
        if dtype_letter(line.dtype) == "l":
            return _elementwise if line.name in _OF_WHOLE else None
        return _elementwise if line.name in SPECIAL or line.name in _LIBRARY else None
    return _CALLS.get(line.name)
