"""A scalar program as a C file, for any C compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from simpleautodiff.compiled.backends.c.c_file import CFile, Parameter
from simpleautodiff.compiled.backends.c.c_steps import (
    TYPES,
    constant_in_c,
    function_in_c,
    step_in_c,
)
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.operations import BOOL, FLOAT32, FLOAT64
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.split import Part, SplitProgram, split_program

C_PART_STEPS = 250  # steps per function: compile time grows faster than the length
C_STACK_CELLS = 4096  # cells on the stack; more are allocated


def to_c(kernel: Kernel, name: str, rows: bool = False) -> str:
    r"""Return a kernel as one C file that needs nothing but the C library.

    Parameters
    ----------
    kernel : Kernel
        The scalar program.
    name : str
        The name of the function: one pointer per leaf, arguments and then results. It returns 0,
        or 1 + the number of the first guard that failed: then the results are not valid.
    rows : bool
        Add a function `<name>_rows` that does so for a batch.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> flat.outputs = [flat.mul(flat.make("sin", x), flat.const(0.1))]
    >>> text = to_c(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)), "f")
    >>> print(text[text.index("int f(const double *restrict"):text.index("#ifdef F_")])
    int f(const double *restrict in0, double *restrict out0)
    {
        const double v1 = sin(in0[0]);
        const double v3 = v1 * 0.1;
        out0[0] = v3;
        return 0;
    }
    <BLANKLINE>
    <BLANKLINE>
    """
    file = file_of(kernel, name)
    write_kernel(file, kernel, name)
    if not rows:
        return file.text()
    write_rows(file, name)
    return file.text(about_rows(name))


def file_of(kernel: Kernel, name: str, arguments: Sequence[str] = ()) -> CFile:
    """Return an empty file for the function of a kernel."""
    names = arguments or [f"in{n}" for n in range(len(kernel.inputs))]
    inputs = [Parameter(own, leaf.dtype, (leaf.size,) * (leaf.size != 1))
              for own, leaf in zip(names, kernel.inputs, strict=True)]  # fmt: skip
    outputs = [Parameter(f"out{n}", leaf.dtype, (leaf.size,) * (leaf.size != 1))
               for n, leaf in enumerate(kernel.outputs)]  # fmt: skip
    return CFile(name, inputs, outputs)


def write_kernel(file: CFile, kernel: Kernel, name: str, kind: str = "int") -> None:
    """Write the function of a kernel, or functions; `kind` stands before its name."""
    parts = split_program(kernel, C_PART_STEPS)
    if len(parts.parts) == 1:
        body = _part(file, kernel, parts, parts.parts[0], "")
        file.functions.append(function_in_c(file.head(name, kind), _mark_unused(file, body)))
    else:
        file.functions += _in_parts(file, kernel, name, parts, kind)


def about_rows(name: str) -> list[str]:
    """Describe the function that computes a batch."""
    return [
        f"{name}_rows does so for `count` rows; a row of an argument or a result is `..._step`",
        "elements after the one before it (0: the same for all). It stops at a row that fails.",
    ]


def _mark_unused(file: CFile, lines: list[str]) -> list[str]:
    """Mark parameters as used, to avoid compiler warnings."""
    words = set(re.findall(r"\w+", "\n".join(lines)))
    return [*[f"(void){name};" for name in file.names() if name not in words], *lines]


# Long programs: functions that pass numbers in a work array. -----------------------


def _in_parts(file: CFile, kernel: Kernel, name: str, parts: SplitProgram, kind: str) -> list[str]:
    members = [f"    {pointer.replace('restrict ', '')};" for pointer in file.pointers()]
    union = f"union {name}_write_cell {{ double d; int64_t l; }};"
    leaves = [f"struct {name}_leaves {{", *members, f"    union {name}_write_cell *w;", "};"]
    pieces = ["\n".join([union, *leaves])]
    for number, part in enumerate(parts.parts):
        head = f"static int {name}_part{number}(const struct {name}_leaves *at)"
        body = _part(file, kernel, parts, part, "at->")
        pieces.append(function_in_c(head, ["(void)at;", *body]))
    return [*pieces, function_in_c(file.head(name, kind), _write_calls(file, name, parts))]


def _write_calls(file: CFile, name: str, parts: SplitProgram) -> list[str]:
    cell, large = f"union {name}_write_cell", parts.size > C_STACK_CELLS
    lines = [f"struct {name}_leaves at;", "int status = 0;"]
    if large:
        lines += [f"{cell} *w = ({cell} *)malloc({parts.size} * sizeof *w);"]
        lines += ["if (!w) return -1;"]
    else:
        lines.append(f"{cell} w[{max(parts.size, 1)}];")
    lines += [f"at.{leaf} = {leaf};" for leaf in (*file.names(), "w")]
    for number in range(len(parts.parts)):
        lines.append(f"if (!status) status = {name}_part{number}(&at);")
    return [*lines, *(["free(w);"] if large else []), "return status;"]


def write_rows(file: CFile, name: str, kind: str = "int") -> None:
    """Write the function that calls another for a batch."""
    pairs = [f"{pointer}, size_t {own}_step"
             for pointer, own in zip(file.pointers(), file.names(), strict=True)]  # fmt: skip
    args = ", ".join(f"{own} + row * {own}_step" for own in file.names())
    lines = [
        "size_t row;",
        "for (row = 0; row < count; row++) {",
        f"    const int status = {name}({args});",
        "    if (status) return status;",
        "}",
        "return 0;",
    ]
    head = f"{kind} {name}_rows({', '.join(['size_t count', *pairs])})"
    file.functions.append(function_in_c(head, lines))


# One step, in C. ----------------------------------------------------------------------------------


def _part(file: CFile, kernel: Kernel, parts: SplitProgram, part: Part, at: str) -> list[str]:
    flat, here = kernel.program, set(part.places)
    inputs = _write_elements(at, file.inputs)
    outputs = _write_elements(at, file.outputs)

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return inputs[args[0]]
        if operation == "const":
            return constant_in_c(flat.number(place).item(), flat.dtypes[place])
        return f"v{place}" if place in here else _write_cell(parts.slots[place], flat.dtypes[place])

    lines = [
        f"const {TYPES[flat.dtypes[place]]} v{place} = {_write_line(flat, place, name)};"
        for place in part.places
    ]
    for place in part.kept:
        member = "d" if flat.dtypes[place] in (FLOAT64, FLOAT32) else "l"
        lines.append(f"at->w[{parts.slots[place]}].{member} = v{place};")
    lines += [
        f"if ({'!' * expected}{name(place)}) return {status};"
        for status, place, expected in part.checks
    ]
    lines += [f"{outputs[number]} = {name(place)};" for number, place in part.stores]
    return [*lines, "return 0;"]


def _write_elements(at: str, leaves: Sequence[Parameter]) -> list[str]:
    return [f"{at}{leaf.name}[{i}]" for leaf in leaves for i in range(leaf.size)]


def _write_cell(slot: int, kind: str) -> str:
    conversion = {FLOAT32: "(float)", BOOL: "(unsigned char)"}.get(kind, "")
    return f"{conversion}at->w[{slot}].{'d' if kind in (FLOAT64, FLOAT32) else 'l'}"


def _write_line(flat: ScalarProgram, place: int, name: Callable[[int], str]) -> str:
    operation, *args = flat.steps[place]
    names = [name(arg) for arg in args]
    return step_in_c(operation, flat.dtypes[args[-1]], names)
