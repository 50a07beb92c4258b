"""An array program as a C file: plain loops over arrays of fixed shapes, for every C compiler."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import numpy as np

from simpleautodiff.compiled.exporting.known import result_line
from simpleautodiff.compiled.exporting.loops_c import Functions, product_loop, write_loop
from simpleautodiff.compiled.exporting.numbers_c import (
    TYPES,
    constant_in_c,
    function_in_c,
    functions_in_c,
)
from simpleautodiff.compiled.large.building import (
    Bounds,
    Call,
    Check,
    Product,
    Work,
    build_work,
    prune,
)
from simpleautodiff.compiled.large.cleaning import clean
from simpleautodiff.compiled.large.deciding import INPUT
from simpleautodiff.compiled.large.loops import Access, Loop
from simpleautodiff.compiled.large.memory import Memory
from simpleautodiff.compiled.large.planning import Plan
from simpleautodiff.compiled.large.segments import BAD_INDEX, NO_MEMORY
from simpleautodiff.compiled.large.views import View, steps
from simpleautodiff.compiled.numbers.flat import Flat
from simpleautodiff.compiled.numbers.kernel import SAME
from simpleautodiff.compiled.numbers.lowering import kind_of
from simpleautodiff.compiled.recorded import Line, Place, Recorded
from simpleautodiff.compiled.rowwise import Rows
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.row import TABLE

_WIDTH = 6  # constants in a line
_INCLUDED = ("math", "stddef", "stdint", "stdlib", "string")


def to_c(recorded: Recorded, name: str, precise: bool = False) -> str:
    """Return a recorded program as one C file that needs nothing but the C library.

    Parameters
    ----------
    recorded : Recorded
        What to write. Lines that only NumPy can compute (sorting, factorisations) are refused.
    name : str
        The name of the function: one pointer per argument and per result. It returns 0, or 1 + the
        number of the first guard that failed, or less than 0 if there is no memory or if an index
        does not fit: then the results are not to be used.
    precise : bool
        Leave out simplifications that could change a result in its last bits.

    Examples
    --------
    >>> from simpleautodiff.compiled.symbols import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     y = np.sum(2 + np.sin(level.input(np.zeros(300))))
    >>> text = to_c(level.finish([y], 1), "f")
    >>> print(text[text.index("static void"):])
    static void f_loop0(const double *a0, double *a1)
    {
        ptrdiff_t i0;
        double total0;
        total0 = 0x0.0p+0;
        for (i0 = 0; i0 < 300; i0++) {
            const double v0 = a0[i0];
            const double v1 = sin(v0);
            const double v3 = v1 + 0x1.0000000000000p+1;
            total0 = total0 + v3;
        }
        a1[0] = total0;
    }
    <BLANKLINE>
    int f(const double *in0, double *out0)
    {
        f_loop0(in0, out0);
        return 0;
    }
    """
    return _Writer(clean(recorded), name, precise).text()


class _Writer:
    """Writes one program."""

    def __init__(self, program: Recorded, name: str, precise: bool) -> None:
        self.name = name
        self.plan = plan = Plan(_with_extremes(program), alone=True)
        self.work = prune(build_work(plan, precise), plan)
        self.memory = Memory(plan, self.work)
        self.size = self.memory.size
        self.functions = Functions(name)
        self.constants: dict[tuple[str, str], str] = {}  # names, by kinds and elements
        inputs = [number for number, how in enumerate(plan.how) if how == INPUT]
        self.buffers: dict[Any, str] = {number: f"in{k}" for k, number in enumerate(inputs)}
        self.leaves = [(f"in{k}", plan.lines[number]) for k, number in enumerate(inputs)]
        for k, output in enumerate(plan.outputs):
            if type(output) is Place:
                self.buffers[plan.views[output].root] = f"out{k}"
            self.leaves.append((f"out{k}", result_line(plan.lines, output)))
        for leaf, line in self.leaves:
            if kind_of(line.dtype) is None:
                raise ArgumentError(f"{leaf} is of {line.dtype}, which cannot be exported to C")

    def text(self) -> str:
        """Return the file."""
        self._check()
        lines = [line for piece in self.work for line in self._done(piece)]
        lines += [line for k, output in enumerate(self.plan.outputs) if type(output) is not Place
                  for line in self._copied(k, output)]  # fmt: skip
        lines = [*self._unused(lines), *lines, "return 0;"]
        pointers = ", ".join(self._pointers())
        head = f"int {self.name}({pointers or 'void'})"
        functions = [function_in_c(head, lines)] if not self.size else self._with_block(head, lines)
        constants = [f"static const {TYPES[kind]} {name}{text}"
                     for (kind, text), name in self.constants.items()]  # fmt: skip
        texts = [self._opening(), *constants, *self.functions.texts, *functions]
        return "\n\n".join(texts) + "\n"

    def _check(self) -> None:
        """Refuse what only NumPy can compute."""
        numbers = [piece.number for piece in self.work if isinstance(piece, Call)]
        names = sorted({self.plan.lines[n].name for n in numbers if not self._is_of_rows(n)})
        if names:
            raise ArgumentError(
                f"only NumPy can compute {', '.join(names)}, so that this program cannot be "
                "exported to C; to_python() writes it, or export the parts before and after it"
            )

    def _opening(self) -> str:
        about = [f" *   {name}: {TYPES[kind_of(line.dtype) or '']}, shape {line.shape}"
                 for name, line in self.leaves]  # fmt: skip
        return "\n".join([
            f"/* {self.name}: an array program, written by simpleautodiff. Arrays lie row by row:",
            *about,
            " * Returns 0, or 1 + the number of the first guard that failed: then the arguments",
            " * lead along another path than the one that was recorded; or -1 if there is no",
            " * memory, -2 if an index does not fit. Then the results are not to be used.",
            " * Results must not overlap arguments. It may run in several threads at a time.",
            f" * Compile: cc -std=c99 -O2 -c {self.name}.c, and link with -lm.",
            " */",
            *[f"#include <{header}.h>" for header in _INCLUDED],
        ])  # fmt: skip

    def _pointers(self) -> list[str]:
        return [
            f"{'const ' * name.startswith('in')}{TYPES[kind_of(line.dtype) or '']} *{name}"
            for name, line in self.leaves
        ]

    def _unused(self, lines: list[str]) -> list[str]:
        words = set(re.findall(r"\w+", "\n".join(lines)))
        return [f"(void){name};" for name, _ in self.leaves if name not in words]

    def _with_block(self, head: str, lines: list[str]) -> list[str]:
        """Return the function in two: one takes memory to work in, the other does the work."""
        steps = f"{self.name}_steps"
        parameters = ", ".join(["unsigned char *block", *self._pointers()])
        args = ", ".join(["block", *[name for name, _ in self.leaves]])
        outer = [
            "int status;",
            f"unsigned char *block = malloc({self.size});",
            f"if (!block) return {NO_MEMORY};",
            f"status = {steps}({args});",
            "free(block);",
            "return status;",
        ]
        return [
            function_in_c(f"static int {steps}({parameters})", lines),
            function_in_c(head, outer),
        ]

    def _is_of_rows(self, number: int) -> bool:
        """Tell whether a line is a function of rows, or one of its results."""
        line = self.plan.lines[number]
        if line.what is operator.getitem and type(line.args[0]) is Place:
            return self._is_of_rows(line.args[0])
        return isinstance(line.what, Rows)

    # Memory. --------------------------------------------------------------------------------------

    def _address(self, slot: Any) -> str:
        """Write where a buffer begins."""
        root = self.memory.shared.get(slot, slot)
        if root in self.buffers:
            return self.buffers[root]
        if root < 0:
            return self._constant(self.plan.constants[-1 - root])
        kind = TYPES[self.plan.kind_of_root(root)]
        return f"({kind} *)(block + {self.memory.offsets[root]})"

    def _taken(self, slot: Any, kind: str, count: int) -> str:
        """Take memory for a buffer that has none."""
        if slot not in self.buffers:
            self.buffers[slot] = f"({TYPES[kind]} *)(block + {self.size})"
            self.size += -(-8 * count // 64) * 64
        return self.buffers[slot]

    def _constant(self, array: Any) -> str:
        """Return the name of a constant array; equal ones are written once."""
        kind = kind_of(array.dtype) or ""
        numbers = [constant_in_c(number, kind) for number in array.ravel().tolist()]
        rows = [", ".join(numbers[k : k + _WIDTH]) for k in range(0, len(numbers), _WIDTH)]
        inside = ",\n    ".join(rows)
        text = f"[{array.size}] = {{\n    {inside}\n}};"
        return self.constants.setdefault((kind, text), f"{self.name}_c{len(self.constants)}")

    def _copied(self, number: int, value: Any) -> list[str]:
        """Write a result that is the same at every call."""
        name = self._constant(np.asarray(value))
        return [f"memcpy(out{number}, {name}, sizeof {name});"]

    # What is done. --------------------------------------------------------------------------------

    def _done(self, piece: Work) -> list[str]:
        if isinstance(piece, Product):
            piece = product_loop(piece.kind, piece.number, piece.left, piece.right)
        if isinstance(piece, Loop):
            name, slots = write_loop(self.functions, piece)
            return [f"{name}({', '.join([self._address(slot) for slot in slots])});"]
        if isinstance(piece, Call):
            line = self.plan.lines[piece.number]
            return self._of_rows(piece.number, line) if isinstance(line.what, Rows) else []
        if isinstance(piece, Check):
            truth = f"({self._address(piece.view.root)})[{piece.view.offset}]"
            return [f"if ({'!' * piece.expected}{truth}) return {piece.number + 1};"]
        assert isinstance(piece, Bounds)  # LAPACK is not asked where all is done in loops
        return self._bounded(piece)

    def _bounded(self, piece: Bounds) -> list[str]:
        low, high = (f"({self._address(slot)})[0]" for slot in (piece.low, piece.high))
        return [f"if ({low} < {-piece.size} || {high} >= {piece.size}) return {BAD_INDEX};"]

    def _of_rows(self, number: int, line: Line) -> list[str]:
        """Write a function of rows, and its call for all of them."""
        rows: Rows = line.what
        kernel, name = rows.kernel, f"{self.name}_of_row{number}"
        self.functions.texts += functions_in_c(kernel, name, True, "static int")
        lines: list[str] = []
        args: list[str] = []
        count = 0
        for arg, mode, leaf in zip(line.args, rows.modes, kernel.inputs, strict=True):
            view = self.plan.view(arg if type(arg) is Place else np.asarray(arg))
            slot = f"argument {len(args)} of {number}"
            args.append(f"{self._taken(slot, leaf.kind, math.prod(view.shape))}, "
                        f"{0 if mode == SAME else leaf.size}")  # fmt: skip
            lines += self._done(_copying(self.plan, view, slot, leaf.kind))
            count = count if mode == SAME else view.shape[0]
        results = {self.plan.lines[n].args[1]: n for n, known in enumerate(self.plan.lines)
                   if known.what is operator.getitem and known.args[0] == number}  # fmt: skip
        for k, leaf in enumerate(kernel.outputs):
            to = results.get(k, f"result {k} of {number}")
            args.append(f"{self._taken(to, leaf.kind, count * leaf.size)}, {leaf.size}")
        return [*lines, f"if ({name}_rows({', '.join([str(count), *args])})) return {NO_MEMORY};"]


def _copying(plan: Plan, view: View, to: str, kind: str) -> Loop:
    """Return the loop that puts the elements of a view side by side."""
    own = plan.kind_of_root(view.root)
    flat = Flat()
    place = flat.to(kind, flat.input(own))
    loads = [Access(view.root, own, view.offset, view.strides)]
    return Loop(view.shape, flat, loads, [(place, Access(to, kind, 0, steps(view.shape)))])


def _with_extremes(program: Recorded) -> Recorded:
    """Return the program with `np.all` as the smallest truth, `np.any` as the largest."""
    rows = {np.all: TABLE["min"], np.any: TABLE["max"]}
    lines = [
        line._replace(what=rows[line.what], args=(*line.args, None, False))
        if line.what in rows and len(line.args) == 1 and not line.kwargs
        else line
        for line in program.lines
    ]
    return program._replace(lines=lines)
