"""Exported programs compute what the program says: C files that a compiler took, NumPy modules."""

import ctypes

import numpy as np
import pytest

import exports
import flats
from simpleautodiff.compiled.backends.c import c_scalars as numbers_c
from simpleautodiff.compiled.backends.interpreter.machine import (
    InterpretedProgram,
    as_leaves,
    empty_leaves,
)
from simpleautodiff.compiled.backends.python import numpy_scalars as numbers_python
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

compiled, imported, needs_compiler = exports.compiled, exports.imported, exports.needs_compiler


def called(function, kernel, arguments):
    given, results = as_leaves(arguments, kernel.inputs), empty_leaves(kernel.outputs)
    return exports.called(function, given, results), results


def assert_the_same(one, answer, machine=None):
    """Compare with the machine, which calls the same C library."""
    status, results = (machine or InterpretedProgram(one.kernel)).run(*one.arguments)
    assert answer[0] == status
    for found, expected in zip(answer[1], results, strict=True):
        if not status:
            flats.assert_near(found, expected, 0, str(one.kernel.program))


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_every_operation_in_c(tmp_path, level):
    kernels = [flats.single(name, kind) for name, kind in flats.operations()]
    text = "\n".join(numbers_c.to_c(kernel, f"f{n}") for n, kernel in enumerate(kernels))
    library = compiled(tmp_path, [text], level)
    random = np.random.default_rng(0)
    for number, kernel in enumerate(kernels):
        machine = InterpretedProgram(kernel)
        for _ in range(60):
            point = [[random.choice(flats.SPECIAL[leaf.dtype])] for leaf in kernel.inputs]
            point = as_leaves(point, kernel.inputs)
            if kernel.program.steps[-1][0] in ("signbit", "copysign") and np.isnan(point[-1][0]):
                continue
            one = flats.Case(kernel, point)
            assert_the_same(one, called(library[f"f{number}"], kernel, point), machine)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("length", "on_stack"), [(250, 4096), (4, 4096), (4, 0)])
def test_random_programs_in_c(tmp_path, monkeypatch, length, on_stack):
    monkeypatch.setattr(numbers_c, "C_PART_STEPS", length)
    monkeypatch.setattr(numbers_c, "C_STACK_CELLS", on_stack)
    for exact in (True, False):
        programs = flats.some(80, exact=exact)
        texts = [numbers_c.to_c(one.kernel, f"f{n}") for n, one in enumerate(programs)]
        library = compiled(tmp_path, ["\n".join(texts)], "-O0")
        for number, one in enumerate(programs):
            answer = called(library[f"f{number}"], one.kernel, one.arguments)
            assert_the_same(one, answer)
            if exact:
                one.check(answer)


def two_outputs():
    """Return x y and x + y + 1/10 of a row of two, or guard 1 where x is not below y."""
    flat = ScalarProgram()
    x, y = flat.input(), flat.input()
    flat.guards = [(flat.make("eq", x, x), True), (flat.make("lt", x, y), True)]
    flat.outputs = [flat.mul(x, y), flat.add(flat.add(x, y), flat.const(0.1))]
    return Kernel(flat, (Leaf("d", 1), Leaf("d", 1)), (Leaf("d", 2),))


@needs_compiler
def test_rows_in_c(tmp_path):
    library = compiled(tmp_path, [numbers_c.to_c(two_outputs(), "f", rows=True)])
    x, y = np.array([1.0, 2.0, 3.0]), np.array([5.0])
    out = np.zeros((3, 2))
    size = ctypes.c_size_t
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, out)]
    steps = [size(1), size(0), size(2)]
    pairs = [each for pair in zip(pointers, steps, strict=True) for each in pair]
    assert library.f_rows(size(3), *pairs) == 0
    assert out.tolist() == [[x * 5, x + 5 + 0.1] for x in (1.0, 2.0, 3.0)]
    x[1] = 6.0
    assert library.f_rows(size(3), *pairs) == 2


@pytest.mark.slow
@needs_compiler
def test_a_long_program_in_c_is_compiled_in_parts(tmp_path):
    flat = ScalarProgram()
    x = flat.input()
    y = x
    for n in range(5_000):
        y = flat.make("fmod", flat.add(flat.mul(y, x), flat.const(n / 7)), flat.const(3.0))
    flat.outputs = [y]
    one = flats.Case(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)), [np.array([1.1])])
    text = numbers_c.to_c(one.kernel, "f")
    assert text.count("static int") == 60
    one.check(called(compiled(tmp_path, [text], "-O0").f, one.kernel, one.arguments))


# NumPy. -------------------------------------------------------------------------------------------


def answered(function, kernel, arguments):
    """Call an exported function as the machine is called."""
    pairs = zip(arguments, kernel.inputs, strict=True)
    try:
        results = function(*[array[0] if leaf.size == 1 else array for array, leaf in pairs])
    except ValueError as error:
        return 1 + int(str(error).split()[1]), [None] * len(kernel.outputs)
    results = [results] if len(kernel.outputs) == 1 else results
    return 0, [np.reshape(result, -1) for result in results]


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_random_programs_in_numpy(tmp_path, exact):
    for one in flats.some(150, exact=exact):
        function = imported(tmp_path, numbers_python.to_python(one.kernel, "f"))
        one.check(answered(function, one.kernel, one.arguments))


def row_of(result, leaf, row, rows=5):
    """Return the numbers of one row; what is the same for all rows has one column."""
    columns = rows if np.size(result) == leaf.size * rows else 1
    return np.broadcast_to(np.reshape(result, (leaf.size, columns)), (leaf.size, rows))[:, row]


@pytest.mark.slow
def test_random_programs_in_numpy_on_columns(tmp_path):
    for one in flats.some(100):
        kernel = one.kernel
        kernel.program.guards = []
        function = imported(tmp_path, numbers_python.to_python(kernel, "f"))
        columns = [
            np.stack([np.roll(array, row) for row in range(5)], axis=-1) for array in one.arguments
        ]
        pairs = zip(columns, kernel.inputs, strict=True)
        results = function(*[array[0] if leaf.size == 1 else array for array, leaf in pairs])
        results = [results] if len(kernel.outputs) == 1 else results
        for row in range(5):
            pairs = zip(results, kernel.outputs, strict=True)
            other = flats.Case(kernel, [column[:, row] for column in columns])
            other.check((0, [row_of(result, leaf, row) for result, leaf in pairs]))


def test_a_guard_that_fails_in_numpy_says_so(tmp_path):
    function = imported(tmp_path, numbers_python.to_python(two_outputs(), "f"))
    assert function(1.0, 5.0).tolist() == [5.0, 6.1]
    assert function([1.0, 2.0], 5.0).tolist() == [[5.0, 10.0], [6.1, 7.1]]
    with pytest.raises(ValueError, match="guard 1 failed: no path that was recorded fits"):
        function([1.0, 6.0], 5.0)


def test_functions_that_numpy_has_not_are_written_out(tmp_path):
    kernel = flats.single("erf", "f")
    function = imported(tmp_path, numbers_python.to_python(kernel, "f"))
    assert function(np.float32(0.5)).dtype == np.float32
    assert function([0.0, np.inf]).tolist() == [0.0, 1.0]
