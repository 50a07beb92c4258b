"""The interpreter of scalar programs: compiled once, it runs all programs without a compiler.

It is called as `i32 run(ptr code, i64 count, ptr work)`, from here or from compiled code; the
address is `machine().address("run")`.
"""

from __future__ import annotations

import ctypes
import threading
import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.backends.interpreter.bytecode import to_bytecode
from simpleautodiff.compiled.backends.interpreter.loop import text
from simpleautodiff.compiled.native.background import later, one_at_a_time
from simpleautodiff.compiled.native.compile import Code, build
from simpleautodiff.compiled.scalar.kernel import Kernel, as_leaves, empty_leaves

_made: list[Code] = []  # the interpreter, once it is compiled; it is never freed
_asked = threading.Event()


def is_ready() -> bool:
    """Tell whether the interpreter is compiled; if not, start compiling it in the background."""
    if not _made and not _asked.is_set():
        _asked.set()
        later(machine, _complain)
    return bool(_made)


def _complain(why: str) -> None:
    warnings.warn(f"the tape machine could not be made: {why}", RuntimeWarning, stacklevel=2)


def machine() -> Code:
    """Return the interpreter, compiled once for all programs.

    Examples
    --------
    >>> machine().address("run") > 0
    True
    """
    with one_at_a_time():
        if not _made:
            _made.append(build(text(), level=1, names=["run"], key=text()))
    return _made[0]


@cache
def _run() -> Any:
    kinds = ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(machine().address("run"))


class InterpretedProgram:
    """A kernel on the interpreter.

    The buffers of the results must not overlap those of the arguments: results are written while
    arguments are still read.

    Attributes
    ----------
    code : ndarray of int32
        The bytecode; its address is the first argument of the interpreter.
    count : int
        The number of steps, its second argument.
    cells : int
        How many cells of eight bytes the work array needs, which is the third argument. The first
        ones are the addresses of the leaves, inputs and then outputs.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> flat = ScalarProgram()
    >>> x, y = flat.input(), flat.input()
    >>> flat.outputs = [flat.add(flat.mul(x, y), y)]
    >>> InterpretedProgram(Kernel(flat, (Leaf("d", 2),), (Leaf("d", 1),))).run([3.0, 4.0])
    (0, [array([16.])])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.inputs, self.outputs = kernel.inputs, kernel.outputs
        self.code, self.count, self.cells = to_bytecode(kernel)

    def run(self, *inputs: Any) -> tuple[int, list[NDArray[Any]]]:
        """Return 0, or 1 + the number of the first guard that failed, and one array per output."""
        given = as_leaves(inputs, self.inputs)
        results = empty_leaves(self.outputs)
        work = np.empty(self.cells, np.int64)
        work[: len(given) + len(results)] = [leaf.ctypes.data for leaf in (*given, *results)]
        status = _run()(self.code.ctypes.data, self.count, work.ctypes.data)
        return status, results
