"""The table of scalar operations: a row is all that a new operation takes, in every backend."""

import subprocess
import sys

import pytest

from exports import COMPILER
from simpleautodiff.compiled.scalar.operations import DTYPES, OPERATIONS

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

PROGRAM = """
import ctypes, pathlib, subprocess, sys
import numpy as np
from simpleautodiff.compiled.scalar import operations
from simpleautodiff.compiled.scalar.operations import OpText, Operation, call

def difference(x, y):
    return np.where(x > y, x - y, np.where(np.isnan(x + y), np.nan, 0.0))[()]

new = (
    # of the C library, by its name there; Python writes it by its own means
    Operation("fdim", 2, difference, numpy_code="np.maximum({1} - {2}, 0)",
              real=OpText("", "{1} - {2} if {1} > {2} else 0.0", call("fdim", 2))),
    # an instruction, for two dtypes
    Operation("between", 3, lambda x, low, high: (low < x) & (x < high), "?",
              real=OpText("{0}.a = fcmp olt TYPE {2}, {1}\\n  {0}.b = fcmp olt TYPE {1}, {3}\\n"
                        "  {0} = and TRUTH {0}.a, {0}.b",
                        "{2} < {1} < {3}", "{2} < {1} && {1} < {3}"),
              integer=OpText("{0}.a = icmp slt TYPE {2}, {1}\\n  {0}.b = icmp slt TYPE {1}, {3}\\n"
                           "  {0} = and TRUTH {0}.a, {0}.b",
                           "{2} < {1} < {3}", "{2} < {1} && {1} < {3}"),
              numpy_code="({2} < {1}) & ({1} < {3})"),
)
operations.OPERATION_TABLE += new
operations.OPERATIONS.update({row.name: row for row in new})

from simpleautodiff.compiled.backends.c.c_scalars import to_c
from simpleautodiff.compiled.backends.interpreter.machine import InterpretedProgram
from simpleautodiff.compiled.backends.llvm.target import LLVMTarget
from simpleautodiff.compiled.backends.llvm.vmap_function import write_batch_module
from simpleautodiff.compiled.backends.python.float_code import PythonProgram
from simpleautodiff.compiled.backends.python.numpy_scalars import to_python
from simpleautodiff.compiled.native.compile import build
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

POINTS = {"d": [2.5, 1.25, 7.0], "f": [1.25, 2.5, 0.5], "l": [3, 1, 9]}
for row, dtypes in zip(new, ("df", "dfl")):
    for dtype in dtypes:
        flat = ScalarProgram()
        places = [flat.input(dtype) for _ in range(row.arity)]
        flat.outputs = [flat.make(row.name, *places)]
        gives = dtype if row.gives == "same" else row.gives
        kernel = Kernel(flat, (Leaf(dtype, 1),) * row.arity, (Leaf(gives, 1),))
        for order in (1, -1):
            given = np.array(POINTS[dtype][: row.arity][::order], SCALAR_TYPES[dtype])
            with np.errstate(all="ignore"):
                wanted = SCALAR_TYPES[gives](row.numpy(*given))
            assert flat.run(list(given)) == [wanted]
            for machine in (InterpretedProgram, PythonProgram):
                assert machine(kernel).run(*given)[1][0] == [wanted], machine
            for level in (0, 1, 2):
                out = np.zeros(1, SCALAR_TYPES[gives])
                code = LLVMTarget().compile_scalar(kernel, level, None)
                assert code([np.array([x]) for x in given], [out]) == 0
                assert out == [wanted], level
            space = {}
            exec(to_python(kernel, "f"), space)
            assert space["f"](*given) == wanted
            columns = [np.full(20, x) for x in given]
            assert np.all(space["f"](*columns) == wanted)
            if sys.argv[1]:
                folder = pathlib.Path(sys.argv[2])
                (folder / "f.c").write_text(to_c(kernel, "f"))
                library = folder / f"{row.name}{dtype}{order}.so"
                command = [sys.argv[1], "-shared", "-fPIC", "-o", library, folder / "f.c", "-lm"]
                subprocess.run(command, check=True)
                leaves = [np.array([x]) for x in given] + [np.zeros(1, SCALAR_TYPES[gives])]
                pointers = [ctypes.c_void_p(x.ctypes.data) for x in leaves]
                assert ctypes.CDLL(library).f(*pointers) == 0
                assert leaves[-1] == [wanted]
        batch = write_batch_module(kernel, ["rows"] * row.arity, 4)
        assert build(batch, level=1, names=["rows"]).address("rows")
print("all backends")
"""


def test_a_new_operation_is_a_row(tmp_path):
    """Nothing but the table knows the new operations: every backend makes its code of the rows."""
    command = [sys.executable, "-c", PROGRAM, COMPILER or "", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "all backends", found.stderr


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_every_row_is_written_in_every_language(row):
    codes = [code for code in map(row.code, DTYPES) if code]
    assert codes
    for code in codes:
        assert code.python
        assert code.c
        for k in range(1, row.arity + 1):
            assert all(
                f"{{{k}}}" in text for text in (code.python, code.c, code.llvm or f"{{{k}}}")
            )
