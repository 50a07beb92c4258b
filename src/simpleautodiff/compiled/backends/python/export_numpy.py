"""Export a function as a Python module with NumPy: all recorded paths, or one batched program."""

from __future__ import annotations

from simpleautodiff.compiled.backends.export import Export
from simpleautodiff.compiled.backends.python.numpy_arrays import (
    ModuleSpace,
    opening_lines,
    rows_in_python,
    write_function,
)
from simpleautodiff.compiled.backends.python.numpy_scalars import function_in_python, module
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.compiled.scalar.unroll_arrays import unroll_if_small


def export_numpy(export: Export) -> str:
    """Return what was recorded as a Python module: all paths, or a batched function."""
    name, arguments = export.name, export.arguments
    if export.batched is not None:
        return module(name, rows_in_python(export.batched, name, arguments))
    programs = export.programs()
    space = ModuleSpace()
    one = len(programs) == 1
    names = [name if one else f"{name}_path{number}" for number in range(len(programs))]
    functions = [
        _write_path(space, program, own, export, is_path=not one)
        for program, own in zip(programs, names, strict=True)
    ]
    if not one:
        functions.append(_try_paths(space, programs, names, export))
    return module(name, space.text(functions), space.constant_lines())


def _write_path(
    space: ModuleSpace, program: RecordedProgram, name: str, export: Export, is_path: bool
) -> str:
    """Return one function; a program of single numbers is simplified first."""
    numbers = all(not line.shape for line in program.lines)
    kernel = unroll_if_small(program, export.precise) if numbers else None
    if kernel:
        return function_in_python(kernel, name, export.arguments, is_path)
    return write_function(space, program, name, export.arguments, is_path)


def _try_paths(
    space: ModuleSpace, programs: list[RecordedProgram], names: list[str], export: Export
) -> str:
    """Return the function that takes the path that fits."""
    args = ", ".join(export.arguments)
    lines = [
        *opening_lines(space, programs[0], export.arguments),
        f"path, (status, results) = 0, {names[0]}({args})",
    ]
    for number, guard, turn, where in export.branches():
        lines.append(f"if (path, status) == ({number}, {guard + 1}):  # {where}")
        lines.append(f"    path, (status, results) = {turn}, {names[turn]}({args})")
    lines += ["if status:", "    raise ValueError(OTHER_PATH)", "return results"]
    body = [f"    {line}".rstrip() for line in lines]
    return "\n".join([f"def {export.name}({args}):", *body])
