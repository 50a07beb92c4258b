"""The interpreter computes what the program says: to the bit where there is one right result."""

import itertools
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

import flats
from simpleautodiff.compiled.backends.interpreter import bytecode as tape
from simpleautodiff.compiled.backends.interpreter.machine import InterpretedProgram
from simpleautodiff.compiled.backends.python.float_code import PythonProgram
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.errors import ArgumentError, ValueKindError


def ulps(name):
    return 0 if name in flats.EXACT else 4


def points(kernel, seed=0):
    """Return arguments for a kernel of one operation: special ones in all pairs, random ones."""
    random = np.random.default_rng(seed)
    kinds = [leaf.dtype for leaf in kernel.inputs]
    yield from itertools.product(*[flats.SPECIAL[kind] for kind in kinds])
    for _ in range(50):
        yield [
            {"d": random.normal, "f": random.normal}.get(kind, lambda: random.integers(0, 2))()
            for kind in kinds
        ]


def case(kernel, point):
    arguments = [
        np.array([number], SCALAR_TYPES[leaf.dtype])
        for number, leaf in zip(point, kernel.inputs, strict=True)
    ]
    return flats.Case(kernel, arguments)


@pytest.mark.parametrize("make", [InterpretedProgram, PythonProgram])
@pytest.mark.parametrize(("name", "kind"), flats.operations())
def test_every_operation_is_that_of_numpy(name, kind, make):
    kernel = flats.single(name, kind)
    machine = make(kernel)
    for point in points(kernel):
        if name in ("signbit", "copysign") and np.isnan(point[-1]):
            continue  # a nan has no sign that could be relied on
        if name == "power" and point[1] == 0.5 and point[0] in (0, -np.inf):
            continue  # where NumPy takes the square root, which is another number there
        one = case(kernel, point)
        one.check(machine.run(*one.arguments), ulps(name))


@pytest.mark.parametrize("number", [0.0, -3.0, 2.0**52, -(2.0**62)])
def test_whole_floats_become_whole_numbers(number):
    for kind in "df":
        one = case(flats.single("to_int64", kind), [number])
        one.check(InterpretedProgram(one.kernel).run(*one.arguments))
        one.check(PythonProgram(one.kernel).run(*one.arguments))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(flats.cases())
def test_random_programs_are_run_to_the_bit(one):
    one.check(InterpretedProgram(one.kernel).run(*one.arguments))
    one.check(PythonProgram(one.kernel).run(*one.arguments))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(flats.cases(exact=False, without=("hypot",)))  # which Python does its own way
def test_with_functions_of_the_c_library_too(one):
    compiled, script = InterpretedProgram(one.kernel).run(*one.arguments), PythonProgram(one.kernel)
    status, results = script.run(*one.arguments)
    assert status == compiled[0]
    for found, expected in zip(results, compiled[1], strict=True):
        if not status:
            flats.assert_near(found, expected, 0, str(one.kernel.program))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(flats.cases(most=60))
def test_random_programs_in_another_order_too(one):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tape, "SHORT", 0)
        patch.setattr(tape, "WINDOW", 8)
        machine = InterpretedProgram(one.kernel)
    one.check(machine.run(*one.arguments))


def long_program(steps, seed=0):
    """Return a kernel of ten numbers in and out, without functions of the C library."""
    random, flat = np.random.default_rng(seed), ScalarProgram()
    inputs = [flat.input() for _ in range(10)]
    places = list(inputs)
    names = random.choice(["add", "sub", "mul", "maximum", "minimum"], steps)
    for name, (x, y) in zip(names, random.integers(0, 10, (steps, 2)), strict=True):
        made = flat.add(flat.make(name, places[-x - 1], places[-y - 1]), inputs[y])
        places.append(flat.make("fmod", made, flat.const(2.0)))
    flat.outputs = places[-10:]
    return Kernel(flat, (Leaf("d", 10),), (Leaf("d", 10),))


@pytest.mark.parametrize("steps", [100, 10_000])
def test_a_long_program_needs_few_cells(steps):
    kernel = long_program(steps)
    machine = InterpretedProgram(kernel)
    one = flats.Case(kernel, [np.linspace(0, 2, 10)])
    one.check(machine.run(*one.arguments))
    one.check(PythonProgram(kernel).run(*one.arguments))
    assert machine.cells < 100 + steps // 50


def test_the_first_guard_that_fails_is_told_in_the_order_of_the_guards():
    flat = ScalarProgram()
    x, y = flat.input(), flat.input()
    late = flat.make("lt", flat.make("sin", flat.make("sin", x)), flat.const(2.0))
    flat.guards = [(late, True), (flat.make("lt", x, y), True), (flat.make("lt", y, x), False)]
    flat.outputs = [x]
    for make in (InterpretedProgram, PythonProgram):
        machine = make(Kernel(flat, (Leaf("d", 2),), (Leaf("d", 1),)))
        assert machine.run([1.0, 2.0])[0] == 0
        assert machine.run([2.0, 1.0])[0] == 2
        assert machine.run([1.0, 1.0])[0] == 2
        assert machine.run([np.nan, 1.0])[0] == 1


def test_arguments_of_another_size_are_refused():
    machine = InterpretedProgram(long_program(10))
    with pytest.raises(ArgumentError, match="argument 0 has 3 numbers, not 10"):
        machine.run([1.0, 2.0, 3.0])


def test_what_has_no_machine_code_is_refused():
    flat = ScalarProgram()
    x = flat.input("l")
    flat.outputs = [flat.make("sin", x)]
    with pytest.raises(ValueKindError, match="sin of integers"):
        InterpretedProgram(Kernel(flat, (Leaf("l", 1),), (Leaf("l", 1),)))


def test_an_empty_program_runs():
    assert InterpretedProgram(Kernel(ScalarProgram(), (), ())).run() == (0, [])


def test_one_machine_serves_many_threads():
    kernel = long_program(3000)
    machine = InterpretedProgram(kernel)
    points = np.random.default_rng(1).uniform(0, 2, (200, 10))
    alone = [machine.run(point)[1][0] for point in points]
    with ThreadPoolExecutor(8) as pool:
        together = [result[1][0] for result in pool.map(machine.run, points)]
    assert np.array_equal(alone, together)
    assert len({tuple(result) for result in alone}) == 200


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_machines_that_are_gone_leave_nothing_behind():
    kernel, point = long_program(300), np.linspace(0, 2, 10)
    size = InterpretedProgram(kernel).code.nbytes

    def some():
        for _ in range(100):
            InterpretedProgram(kernel).run(point)

    tracemalloc.start()
    try:
        some()
        before = tracemalloc.get_traced_memory()[0]
        some()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 2 * size  # not even the code of two of the hundred
