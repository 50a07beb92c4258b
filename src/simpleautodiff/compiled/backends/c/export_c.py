"""Export a function as a C file: all its recorded paths, or one batched program."""

from __future__ import annotations

from simpleautodiff.compiled.backends.c import c_arrays as arrays_c, c_scalars as numbers_c
from simpleautodiff.compiled.backends.c.c_file import CFile, Parameter
from simpleautodiff.compiled.backends.export import Export
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.compiled.scalar.kernel import SAME, BatchedKernel
from simpleautodiff.compiled.scalar.unroll_arrays import unroll_if_small


def export_c(export: Export) -> str:
    """Return what was recorded as a C file: all paths, or functions of an example and a batch."""
    name = export.name
    if export.batched is not None:
        kernel = export.batched.kernel
        file = CFile(name, *_of_one_row(export, export.batched))
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
    file.try_paths(names, export.branches())
    return file.text()


def _of_one_row(export: Export, rows: BatchedKernel) -> tuple[list[Parameter], list[Parameter]]:
    """Return the arguments and the results of one example of a batched function."""
    lines = export.paths[0].recorded.lines
    inputs = [
        Parameter(own, leaf.dtype, line.shape if mode == SAME else line.shape[1:])
        for own, leaf, line, mode in zip(
            export.arguments, rows.kernel.inputs, lines, rows.modes, strict=False
        )
    ]
    outputs = [
        Parameter(f"out{n}", leaf.dtype, tuple(shape))
        for n, (leaf, shape) in enumerate(zip(rows.kernel.outputs, rows.shapes, strict=True))
    ]
    return inputs, outputs


def _write_c(file: CFile, program: RecordedProgram, name: str, precise: bool, kind: str) -> None:
    kernel = unroll_if_small(program, precise)
    if kernel:
        numbers_c.write_kernel(file, kernel, name, kind)
    else:
        arrays_c.write_program(file, program, name, precise, kind)
