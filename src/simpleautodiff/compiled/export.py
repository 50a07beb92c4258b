"""Programs as source code to take away: C, and Python with NumPy."""

from __future__ import annotations

from simpleautodiff.compiled.backends.c import c_arrays as arrays_c, c_scalars as numbers_c
from simpleautodiff.compiled.backends.c.c_file import File, Parameter
from simpleautodiff.compiled.backends.export_paths import Export
from simpleautodiff.compiled.backends.python.numpy_arrays import (
    Space,
    opening_lines,
    rows_in_python,
    write_function,
)
from simpleautodiff.compiled.backends.python.numpy_scalars import function_in_python, module
from simpleautodiff.compiled.recording.trace_program import Recorded
from simpleautodiff.compiled.recording.vmap_body import Rows
from simpleautodiff.compiled.scalar.kernel import SAME, Kernel
from simpleautodiff.compiled.scalar.unroll_arrays import NotUnrolledError, unroll


def in_c(export: Export) -> str:
    """Return what was recorded as a C file: all ways, or functions of one row and of many."""
    name = export.name
    if export.rows is not None:
        kernel = export.rows.kernel
        file = File(name, *_of_one_row(export, export.rows))
        numbers_c.write_kernel(file, kernel, name)
        numbers_c.write_rows(file, name)
        return file.text(numbers_c.about_rows(name))
    programs = export.programs()
    file = arrays_c.file_of(programs[0], name, export.arguments)
    if len(programs) == 1:
        _write_c(file, programs[0], name, export.precise, "int")
        return file.text()
    names = [f"{name}_path{number}" for number in range(len(programs))]
    for program, own in zip(programs, names, strict=True):
        _write_c(file, program, own, export.precise, "static int")
    file.try_ways(names, export.turns())
    return file.text()


def _of_one_row(export: Export, rows: Rows) -> tuple[list[Parameter], list[Parameter]]:
    """Return the arguments and the results of a function of rows, for one of them."""
    lines = export.ways[0].recorded.lines
    inputs = [
        Parameter(own, leaf.kind, line.shape if mode == SAME else line.shape[1:])
        for own, leaf, line, mode in zip(
            export.arguments, rows.kernel.inputs, lines, rows.modes, strict=False
        )
    ]
    outputs = [
        Parameter(f"out{n}", leaf.kind, tuple(shape))
        for n, (leaf, shape) in enumerate(zip(rows.kernel.outputs, rows.shapes, strict=True))
    ]
    return inputs, outputs


def _write_c(file: File, program: Recorded, name: str, precise: bool, kind: str) -> None:
    kernel = _unrolled(program, precise)
    if kernel:
        numbers_c.write_kernel(file, kernel, name, kind)
    else:
        arrays_c.write_program(file, program, name, precise, kind)


def in_python(export: Export) -> str:
    """Return what was recorded as a module of Python: all ways, or a function of rows."""
    name, arguments = export.name, export.arguments
    if export.rows is not None:
        return module(name, rows_in_python(export.rows, name, arguments))
    programs = export.programs()
    space = Space()
    one = len(programs) == 1
    names = [name if one else f"{name}_path{number}" for number in range(len(programs))]
    functions = [
        _written_python(space, program, own, export, is_way=not one)
        for program, own in zip(programs, names, strict=True)
    ]
    if not one:
        functions.append(_try_ways(space, programs, names, export))
    return module(name, space.text(functions), space.assigned())


def _written_python(
    space: Space, program: Recorded, name: str, export: Export, is_way: bool
) -> str:
    """Return one function: programs of single numbers without what is known or double."""
    numbers = all(not line.shape for line in program.lines)
    kernel = _unrolled(program, export.precise) if numbers else None
    if kernel:
        return function_in_python(kernel, name, export.arguments, is_way)
    return write_function(space, program, name, export.arguments, is_way)


def _try_ways(space: Space, programs: list[Recorded], names: list[str], export: Export) -> str:
    """Return the function that follows the way that fits."""
    args = ", ".join(export.arguments)
    lines = [
        *opening_lines(space, programs[0], export.arguments),
        f"path, (status, results) = 0, {names[0]}({args})",
    ]
    for number, guard, turn, where in export.turns():
        lines.append(f"if (path, status) == ({number}, {guard + 1}):  # {where}")
        lines.append(f"    path, (status, results) = {turn}, {names[turn]}({args})")
    lines += ["if status:", "    raise ValueError(OTHER_WAY)", "return results"]
    body = [f"    {line}".rstrip() for line in lines]
    return "\n".join([f"def {export.name}({args}):", *body])


def _unrolled(recorded: Recorded, precise: bool) -> Kernel | None:
    try:
        return unroll(recorded, precise)
    except NotUnrolledError:
        return None
