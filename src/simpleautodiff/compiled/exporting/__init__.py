"""Programs as source code to take away: C, and Python with NumPy."""

from __future__ import annotations

from simpleautodiff.compiled.exporting import arrays_c, arrays_python, numbers_c, numbers_python
from simpleautodiff.compiled.exporting.known import with_known
from simpleautodiff.compiled.numbers.kernel import Kernel
from simpleautodiff.compiled.numbers.unroll import NotUnrolledError, unroll
from simpleautodiff.compiled.recorded import Recorded


def in_c(recorded: Recorded, rows: Kernel | None, precise: bool, name: str) -> str:
    """Return a recorded program, or the program of one row, as a C file."""
    if rows is not None:
        return numbers_c.to_c(rows, name, rows=True)
    whole = with_known(recorded)
    kernel = _unrolled(whole, precise)
    return numbers_c.to_c(kernel, name) if kernel else arrays_c.to_c(whole, name, precise)


def in_python(recorded: Recorded, rows: Kernel | None, precise: bool, name: str) -> str:
    """Return a recorded program, or the program of one row, as a module of Python."""
    whole = with_known(recorded)
    kernel = rows or _unrolled(whole, precise)
    return (
        numbers_python.to_python(kernel, name) if kernel else arrays_python.to_python(whole, name)
    )


def _unrolled(recorded: Recorded, precise: bool) -> Kernel | None:
    try:
        return unroll(recorded, precise)
    except NotUnrolledError:
        return None
