"""A loop over the elements of arrays as a C function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.array.loops import Access, Fold, Loop, fill_loop
from simpleautodiff.compiled.backends.c.c_file import CFile
from simpleautodiff.compiled.backends.c.c_steps import TYPES, constant_in_c, step_in_c
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

MOST_PARAMETERS = 60  # parameters of a function; the standard guarantees only 127
C_SUM_BLOCK = 1024  # elements that are added up before the sum is added to the total


def write_loop(file: CFile, loop: Loop, address: Callable[[Any], str]) -> str:
    """Write a loop as a function of its buffers, whose addresses are given; return its call.

    Buffers that share memory are one parameter, so that no two parameters overlap.
    """
    loop.join_axes()
    writer = _CLoopWriter(loop, address)
    for fold in loop.folds:
        if fold.in_memory and not fold.begun:
            bases = {fold.to.slot: writer.bases[address(fold.to.slot)]}
            writer.lines.append(write_loop(file, fill_loop(loop, fold), bases.__getitem__))
    writer.nest(0)
    pointers = writer.pointers()
    far = (
        [where for where in pointers if "(block" in where]
        if len(pointers) > MOST_PARAMETERS
        else []
    )
    near = [where for where in pointers if where not in far]
    parameters = [*["unsigned char *block"] * bool(far), *[pointers[where] for where in near]]
    own = [f"{pointers[where]} = {where};" for where in far]
    name = file.loop(", ".join(parameters), [*own, *writer.declarations(), *writer.lines])
    return f"{name}({', '.join([*['block'] * bool(far), *near])});"


class _CLoopWriter:
    """Writes the function of one loop."""

    def __init__(self, loop: Loop, address: Callable[[Any], str]) -> None:
        self.loop, self.flat, self.address = loop, loop.body, address
        self.axes = loop.shape or (1,)
        self.flat.outputs = [p for p, _ in loop.stores] + [fold.place for fold in loop.folds]
        self.registers = [(k, fold) for k, fold in enumerate(loop.folds) if fold.in_registers]
        self.lines: list[str] = []
        self.depth = 0
        self.bases: dict[str, str] = {}  # names of buffers here, by their addresses
        self.dtypes: dict[str, str] = {}
        for access in loop.accesses():
            where = address(access.slot)
            self.bases.setdefault(where, f"a{len(self.bases)}")
            self.dtypes[where] = access.dtype

    @property
    def in_segments(self) -> bool:
        """Whether sums are added up in segments, so that their errors grow slowly."""
        return bool(self.registers) and self.axes[-1] > C_SUM_BLOCK

    def pointers(self) -> dict[str, str]:
        """Declare the buffers by their addresses; those that are only read are const."""
        stored = [to for _, to in self.loop.stores] + [fold.to for fold in self.loop.folds]
        written = {self.address(to.slot) for to in stored}
        return {
            at: f"{'const ' * (at not in written)}{TYPES[self.dtypes[at]]} *restrict {base}"
            for at, base in self.bases.items()
        }

    def declarations(self) -> list[str]:
        """Declare the variables."""
        counters = [f"i{axis}" for axis in range(len(self.loop.shape))]
        counters += ["first", "last"] * self.in_segments
        lines = [f"ptrdiff_t {', '.join(counters)};"] * bool(counters)
        for number, fold in self.registers:
            names = [f"total{number}", *[f"sum{number}"] * self.in_segments]
            lines.append(f"{TYPES[fold.to.dtype]} {', '.join(names)};")
        return lines

    def write(self, line: str) -> None:
        """Write a line, indented by the depth of its loop."""
        self.lines.append("    " * self.depth + line)

    # Nested loops. -------------------------------------------------------------------------------

    def nest(self, axis: int) -> None:
        """Write the loops from an axis on."""
        here = [pair for pair in self.registers if self._level(pair[1]) == axis]
        for number, fold in here:
            self.write(f"total{number} = {_write_first(fold)};")
        if axis == len(self.axes) - 1:
            self._write_row(axis)
        else:
            self._open(f"i{axis}", "0", str(self.axes[axis]))
            self.nest(axis + 1)
            self._close()
        for number, fold in here:
            to, total = self._read(fold.to), f"total{number}"
            self.write(f"{to} = {_together(fold, to, total) if fold.in_memory else total};")

    def _level(self, fold: Fold) -> int:
        return min(fold.level, len(self.axes) - 1)

    def _open(self, counter: str, first: str, last: str) -> None:
        self.write(f"for ({counter} = {first}; {counter} < {last}; {counter}++) {{")
        self.depth += 1

    def _close(self) -> None:
        self.depth -= 1
        self.write("}")

    def _write_row(self, axis: int) -> None:
        """Write the innermost loop, along the last axis."""
        size = self.axes[axis]
        if not self.loop.shape:
            self._body("total")
            return
        if not self.in_segments:
            self._open(f"i{axis}", "0", str(size))
            self._body("total")
            self._close()
            return
        self.write(f"for (first = 0; first < {size}; first += {C_SUM_BLOCK}) {{")
        self.depth += 1
        self.write(f"last = first + {C_SUM_BLOCK} < {size} ? first + {C_SUM_BLOCK} : {size};")
        for number, fold in self.registers:
            self.write(f"sum{number} = {_write_first(fold)};")
        self._open(f"i{axis}", "first", "last")
        self._body("sum")
        self._close()
        for number, fold in self.registers:
            total = f"total{number}"
            self.write(f"{total} = {_together(fold, total, f'sum{number}')};")
        self._close()

    # One element. ---------------------------------------------------------------------------------

    def _body(self, accumulator: str) -> None:
        flat = self.flat
        for place in flat.live():
            operation, *args = flat.steps[place]
            if operation == "const":
                continue
            if operation == "input":
                text = self._read(self.loop.loads[args[0]])
            else:
                names = [self._name(arg) for arg in args]
                text = step_in_c(operation, flat.dtypes[args[-1]], names)
            self.write(f"const {TYPES[flat.dtypes[place]]} v{place} = {text};")
        for place, to in self.loop.stores:
            self.write(f"{self._read(to)} = {self._name(place)};")
        for number, fold in enumerate(self.loop.folds):
            total = f"{accumulator}{number}" if fold.in_registers else self._read(fold.to)
            self.write(f"{total} = {_together(fold, total, self._name(fold.place))};")

    def _name(self, place: int) -> str:
        if self.flat.steps[place][0] != "const":
            return f"v{place}"
        return constant_in_c(self.flat.number(place).item(), self.flat.dtypes[place])

    def _read(self, access: Access) -> str:
        """Write the element of a buffer that an access reads here."""
        element = f"{self.bases[self.address(access.slot)]}[{self._index(access)}]"
        inside = [
            f"i{axis} >= {first} && i{axis} < {last}"
            for axis, (first, last) in enumerate(access.box)
            if (first, last) != (0, self.axes[axis])
        ]
        if not inside:
            return element
        other = self._read(access.under) if access.under else constant_in_c(0, access.dtype)
        return f"({' && '.join(inside)} ? {element} : {other})"

    def _index(self, access: Access) -> str:
        terms = [str(access.offset)] * (access.offset != 0)
        for axis, step in enumerate(access.strides):
            if step:
                terms.append(f"i{axis}" if step == 1 else f"{step} * i{axis}")
        if access.places:
            terms.append(self._read(access.places))
        return " + ".join(terms) or "0"


def _write_first(fold: Fold) -> str:
    """Write the initial number of a sum or an extreme."""
    kind, is_max = fold.to.dtype, fold.operation == "maximum"
    if fold.operation == "add":
        return constant_in_c(0, kind)
    if kind == "?":
        return constant_in_c(not is_max, kind)
    if kind == "l":
        return constant_in_c(-(2**63) if is_max else 2**63 - 1, kind)
    return constant_in_c(-math.inf if is_max else math.inf, kind)


def _together(fold: Fold, x: str, y: str) -> str:
    return step_in_c(fold.operation, fold.to.dtype, [x, y])


def product_loop(kind: str, number: int, left: Any, right: Any) -> Loop:
    """Return the loop that multiplies two views of vectors or matrices."""
    flat = ScalarProgram()
    product = flat.mul(flat.input(kind), flat.input(kind))
    ranks = len(left.shape), len(right.shape)
    inner = left.shape[-1]
    rows, columns = left.shape[:-1], right.shape[1:]
    zeros = (0,) * len(columns)
    steps = [(*left.strides, *zeros), ((0,) * len(rows) + right.strides)]
    loads = [
        Access(view.root, kind, view.offset, strides)
        for view, strides in zip((left, right), steps, strict=True)
    ]
    to = (*[math.prod(columns)] * len(rows), 0, *[1] * len(columns))
    fold = Fold("add", product, Access(number, kind, 0, to))
    says = f"matmul of ranks {ranks}"
    return Loop((*rows, inner, *columns), flat, loads, [], [fold], says)
