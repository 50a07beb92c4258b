"""Compiled programs compute what NumPy computes, at every width, for every number of examples."""

import ctypes
import math
import random
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.scalar_function import body, write_body
from simpleautodiff.compiled.backends.llvm.vmap_function import (
    host_width,
    width_of,
    write_batch,
    write_batch_module,
)
from simpleautodiff.compiled.native import compile as engine
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.operations import OPERATIONS, SCALAR_TYPES
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.share_reciprocals import share_reciprocals

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
WIDTHS = (1, 2, 4, 8, 16)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e-310, -1e-310, 1e300, -1e300]
CUT = [("to_int64", "d"), ("to_int64", "f")]  # only of floats without a fraction
SPECIAL += [math.inf, -math.inf, math.nan, 1e-40, 7.0, math.pi]
EXACT = {name for name, row in OPERATIONS.items() if row.code("d") is None or row.real.llvm}
EXACT -= {"to_int64"}


class Code:
    """Machine code, as long as this lives."""

    def __init__(self, text, level=1):
        names = re.findall(r"^define (?:i32|void) @(\w+)\(", text, re.MULTILINE)
        self.code = engine.build(text, level=level, names=names)

    def function(self, name, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(self.code.address(name))


def call_body(kernel, inputs, level=1, **options):
    """Return the leaves of the result, and what the code says about guards."""
    code = Code(body(kernel, **options), level)
    leaves = [
        np.asarray(x, SCALAR_TYPES[leaf.dtype])
        for x, leaf in zip(inputs, kernel.inputs, strict=True)
    ]
    leaves += [np.zeros(leaf.size, SCALAR_TYPES[leaf.dtype]) for leaf in kernel.outputs]
    function = code.function("body", ctypes.c_int32, *[ctypes.c_void_p] * len(leaves))
    failed = function(*[leaf.ctypes.data for leaf in leaves])
    return leaves[len(inputs) :], failed


class Rows:
    """A kernel compiled for many rows, called with arrays of two dimensions."""

    def __init__(self, kernel, modes, width, **options):
        self.kernel = kernel
        self.code = Code(write_batch_module(kernel, modes, width, **options))
        kinds = ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
        self.function = self.code.function("rows", None, *kinds)

    def __call__(self, count, *inputs, indices=None, start=0, out=None):
        leaves = [np.asarray(x) for x in inputs]
        if out is None:
            out = [
                np.full((count, leaf.size), 9, SCALAR_TYPES[leaf.dtype])
                for leaf in self.kernel.outputs
            ]
        indices = indices or [None] * len(leaves)
        table = []
        for x, index in zip([*leaves, *out], [*indices, *[None] * len(out)], strict=True):
            place = 0 if index is None else index.ctypes.data
            table += [x.ctypes.data, x.strides[0] // x.itemsize, place]
        table = np.array(table, np.int64)
        self.function(start, count, table.ctypes.data)
        return out


def expected(flat, columns, count):
    """Return the outputs for many rows, one column each."""
    found = flat.run(columns)
    return np.array([np.broadcast_to(column, count) for column in found]).T


def of_one_operation(operation, kind, precise=False):
    program = ScalarProgram(precise)
    arity = OPERATIONS[operation].arity
    kinds = ["?", kind, kind] if operation == "select" else [kind] * arity
    places = [program.input(k) for k in kinds]
    program.outputs = [program.make(operation, *places)]
    result = program.dtypes[program.outputs[0]]
    return Kernel(program, tuple(Leaf(k, 1) for k in kinds), (Leaf(result, 1),))


def samples(kind, count=300):
    random_ = np.random.default_rng(1)
    if kind == "?":
        return random_.integers(0, 2, count).astype(bool)
    if kind == "l":
        special = [0, 1, -1, 2, -2, 2**62, -(2**62)]
        return np.concatenate([special, random_.integers(-50, 50, count - len(special))])
    numbers = np.concatenate([SPECIAL, random_.normal(size=count - len(SPECIAL)) * 3])
    with np.errstate(all="ignore"):
        return numbers.astype(SCALAR_TYPES[kind])


def arguments(kernel):
    """Pair special numbers with each other, and random ones with random ones."""
    first, *others = [samples(leaf.dtype) for leaf in kernel.inputs]
    columns = [first]
    for n, other in enumerate(others, 1):
        columns.append(np.concatenate([other, np.roll(other, n), np.roll(other, 5 * n + 2)]))
    return [np.resize(column, len(columns[-1])) for column in columns]


def same(found, wanted):
    """Tell whether numbers are the same, nan like nan, and 0.0 like -0.0."""
    return np.array_equal(found, wanted, equal_nan=np.asarray(wanted).dtype.kind == "f")


def cases():
    """Return every operation that has an instruction, with every dtype that it takes."""
    for name, row in OPERATIONS.items():
        for kind in "dfl?":
            code = row.code(kind)
            same = (name, kind) in (("to_float64", "d"), ("to_float32", "f"))
            if code and code.llvm and not same and (name, kind) not in CUT:
                yield name, kind


@pytest.mark.parametrize(("operation", "kind"), [*cases()])
def test_exact_operations_are_numpys_at_every_width(operation, kind):
    kernel = of_one_operation(operation, kind)
    columns = arguments(kernel)
    count = len(columns[0])
    wanted = expected(kernel.program, columns, count)
    for width in WIDTHS:
        code = Rows(kernel, ["rows"] * len(columns), width)
        (found,) = code(count, *[column[:, None] for column in columns])
        assert same(found, wanted), width
        signs = np.signbit(found) == np.signbit(wanted) if found.dtype.kind == "f" else True
        if operation not in ("maximum", "minimum"):
            assert np.all(signs | np.isnan(wanted)), width


def test_whole_numbers_are_cut_from_numbers_without_a_fraction():
    kernel = of_one_operation("to_int64", "d")
    column = np.array([0.0, -0.0, 5.0, -7.0, 2.0**53, -(2.0**62)])[:, None]
    for width in WIDTHS:
        (found,) = Rows(kernel, ["rows"], width)(len(column), column)
        assert same(found, column.astype(np.int64))


MATHEMATICS = sorted(set(OPERATIONS) - EXACT - {"to_int64"})


@pytest.mark.parametrize("operation", MATHEMATICS)
@pytest.mark.parametrize("kind", "df")
def test_precise_mathematics_is_the_librarys_bit_for_bit(operation, kind):
    kernel = of_one_operation(operation, kind, precise=True)
    columns = arguments(kernel)
    library = {"power": "pow"}.get(operation, operation) + ("f" if kind == "f" else "")
    number = ctypes.c_float if kind == "f" else ctypes.c_double
    reference = ctypes.CDLL(None)[library]
    reference.restype, reference.argtypes = number, [number] * len(columns)
    wanted = np.array([reference(*row) for row in zip(*columns, strict=True)], SCALAR_TYPES[kind])
    for width in (1, 2, 8):
        code = Rows(kernel, ["rows"] * len(columns), width)
        (found,) = code(len(wanted), *[column[:, None] for column in columns])
        assert same(found[:, 0], wanted)


@pytest.mark.parametrize("operation", MATHEMATICS)
@pytest.mark.parametrize("kind", "df")
def test_mathematics_is_numpys_within_rounding(operation, kind):
    kernel = of_one_operation(operation, kind)
    columns = arguments(kernel)
    if operation in ("erf", "erfc"):
        wanted = np.array([kernel.program.run([x])[0] for x in columns[0]])[:, None]
    else:
        wanted = expected(kernel.program, columns, len(columns[0]))
    for width in WIDTHS:
        code = Rows(kernel, ["rows"] * len(columns), width)
        (found,) = code(len(wanted), *[column[:, None] for column in columns])
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
        finite = np.isfinite(wanted)
        assert same(found[~finite], wanted[~finite])
        off = np.abs(found[finite].astype(float) - wanted[finite].astype(float))
        assert np.all(off <= 4 * np.spacing(np.abs(wanted[finite]))), (width, off.max())


# Random programs. ---------------------------------------------------------------------------------


def random_program(seed, length, precise=True, kinds="d", guards=0):
    """Return a program of exact operations on leaves of several sizes and kinds."""
    choose = random.Random(seed)
    program = ScalarProgram(precise)
    inputs = [Leaf(choose.choice(kinds), choose.choice((1, 2, 3, 5, 9, 17))) for _ in range(3)]
    inputs.append(Leaf(kinds[0], 4))
    of_kind = {kind: [program.const(0.75 if kind in "df" else 1, kind)] for kind in "df?l"}
    for leaf in inputs:
        of_kind[leaf.dtype] += [program.input(leaf.dtype) for _ in range(leaf.size)]
    choices = [operation for operation in sorted(EXACT) if not operation.startswith("to_")]
    while len(program) < length:
        kind = choose.choice(kinds)
        operation = choose.choice(choices)
        args = [choose.choice(of_kind[kind][-20:]) for _ in range(OPERATIONS[operation].arity)]
        if operation == "select":
            args[0] = choose.choice(of_kind["?"][-20:])
        if not OPERATIONS[operation].code(kind):
            continue
        place = program.make(operation, *args)
        of_kind[program.dtypes[place]].append(place)
    outputs = [Leaf(choose.choice(kinds), size) for size in (1, 3, 11)] + [Leaf("?", 2)]
    for leaf in outputs:
        program.outputs += choose.choices(of_kind[leaf.dtype], k=leaf.size)
    return Kernel(program.prune(), tuple(inputs), tuple(outputs))


def random_leaf(leaf, shape, seed):
    random_ = np.random.default_rng(seed)
    if leaf.dtype == "?":
        return random_.integers(0, 2, shape).astype(bool)
    if leaf.dtype == "l":
        return random_.integers(-9, 9, shape)
    return random_.normal(size=shape).astype(SCALAR_TYPES[leaf.dtype])


def split(numbers, leaves):
    """Divide a flat list of results among leaves."""
    numbers = iter(numbers)
    return [
        np.array([next(numbers) for _ in range(leaf.size)], SCALAR_TYPES[leaf.dtype])
        for leaf in leaves
    ]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("kinds", ["d", "f", "df?l"])
def test_random_programs_once(level, chunk, kinds):
    for seed in range(4):
        kernel = random_program(seed, 120, kinds=kinds)
        inputs = [random_leaf(leaf, leaf.size, seed) for leaf in kernel.inputs]
        found, failed = call_body(kernel, inputs, level, chunk=chunk)
        wanted = split(
            kernel.program.run(np.concatenate([list(x) for x in inputs])), kernel.outputs
        )
        assert failed == 0
        assert all(map(same, found, wanted))


def check_rows(kernel, width, counts, **options):
    code = Rows(kernel, ["rows"] * len(kernel.inputs), width, **options)
    for count in counts:
        inputs = [random_leaf(leaf, (count, leaf.size), count) for leaf in kernel.inputs]
        found = code(count, *inputs)
        columns = [column for leaf in inputs for column in leaf.T]
        for result, wanted in zip(found, columns_of(kernel, columns, count), strict=True):
            assert same(result, wanted), count


def columns_of(kernel, columns, count):
    outputs = iter(kernel.program.run(columns))
    for leaf in kernel.outputs:
        one = [np.broadcast_to(next(outputs), count) for _ in range(leaf.size)]
        yield np.array(one, SCALAR_TYPES[leaf.dtype]).T


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kinds", ["d", "f", "df?l"])
def test_random_programs_for_any_number_of_rows(width, kinds):
    for seed in range(2):
        kernel = random_program(seed, 90, kinds=kinds)
        check_rows(kernel, width, range(2 * width + 2))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kinds", ["d", "df?l"])
def test_random_programs_for_many_rows_in_parts(width, kinds):
    kernel = random_program(3, 150, kinds=kinds)
    check_rows(kernel, width, (0, 1, width, 2 * width + 1), chunk=20)


def test_contraction_changes_rounding_only():
    program = ScalarProgram()
    x, y, z = (program.input() for _ in range(3))
    program.outputs = [program.add(program.mul(x, y), z)]
    kernel = Kernel(program, (Leaf("d", 3),), (Leaf("d", 1),))
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    (found,) = Rows(kernel, ["rows"], 4)(100, numbers)
    wanted = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2])[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


# A real one: where a camera sees a point, and the derivatives by hand-made reverse steps. --------


class Value:
    """A step that arithmetic is done with."""

    def __init__(self, program, place):
        self.program, self.place = program, place

    def make(self, operation, *others):
        places = [x.place if isinstance(x, Value) else self.program.const(x) for x in others]
        return Value(self.program, self.program.make(operation, self.place, *places))

    def __add__(self, other):
        return self.make("add", other)

    def __sub__(self, other):
        return self.make("sub", other)

    def __mul__(self, other):
        return self.make("mul", other)

    def __truediv__(self, other):
        return self.make("div", other)


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot_product(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def seen(x, sqrt, sin, cos):
    """Return how far from the observation a point is seen: 11 of the camera, point, weight, 2."""
    camera, point, weight, observed = x[:11], x[11:14], x[14], x[15:]
    moved = [point[i] - camera[3 + i] for i in range(3)]
    angle = sqrt(dot_product(camera, camera))
    axis = [camera[i] / angle for i in range(3)]
    turned, along = cross(axis, moved), dot_product(axis, moved)
    along = along - along * cos(angle)
    there = [moved[i] * cos(angle) + turned[i] * sin(angle) + axis[i] * along for i in range(3)]
    flat = [there[0] / there[2], there[1] / there[2]]
    square = flat[0] * flat[0] + flat[1] * flat[1]
    bent = square * camera[9] + square * square * camera[10] + 1.0
    return [(flat[i] * bent * camera[6] + camera[7 + i] - observed[i]) * weight for i in range(2)]


def reverse(program, output, inputs):
    """Return the places of the derivatives of one step by others."""
    adjoint = {output: program.const(1.0)}

    def add(place, term):
        adjoint[place] = program.add(adjoint[place], term) if place in adjoint else term

    for place in range(output, -1, -1):
        operation, *args = program.steps[place]
        if place not in adjoint or operation in ("input", "const"):
            continue
        bar, x, y = adjoint[place], args[0], args[-1]
        if operation in ("add", "sub"):
            add(x, bar)
            add(y, bar if operation == "add" else program.neg(bar))
        elif operation == "mul":
            add(x, program.mul(bar, y))
            add(y, program.mul(bar, x))
        elif operation == "div":
            add(x, program.div(bar, y))
            add(y, program.neg(program.div(program.mul(bar, place), y)))
        elif operation == "sqrt":
            add(x, program.div(program.mul(bar, program.const(0.5)), place))
        elif operation == "sin":
            add(x, program.mul(bar, program.make("cos", x)))
        elif operation == "cos":
            add(x, program.neg(program.mul(bar, program.make("sin", x))))
    return [adjoint.get(place, program.zero()) for place in inputs]


def camera_kernel(inputs, outputs):
    program = ScalarProgram()
    x = [Value(program, program.input()) for _ in range(17)]
    functions = [lambda v, name=name: v.make(name) for name in ("sqrt", "sin", "cos")]
    errors = seen(x, *functions)
    wrt = [value.place for value in x[:15]]
    program.outputs = [place for e in errors for place in reverse(program, e.place, wrt)]
    program.outputs += [e.place for e in errors]
    leaves = [tuple(Leaf("d", size) for size in sizes) for sizes in (inputs, outputs)]
    return Kernel(share_reciprocals(program), *leaves)


def observations(count):
    typical = [-0.76, -1.11, -0.85, 34.6, 39.7, 53.9, 419.0, 5.9, -8.5, 0.088, 0.0027]
    typical += [7.2, 0.0011, 3.0, 0.42, 272.0, 834.0]
    return np.array(typical) * (1 + 0.01 * np.random.default_rng(4).normal(size=(count, 17)))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_jacobian_of_a_camera(width):
    numbers = observations(101)
    kernel = camera_kernel((11, 3, 1, 2), (30, 2))
    leaves = [np.ascontiguousarray(part) for part in np.split(numbers, [11, 14, 15], axis=1)]
    jacobian, errors = Rows(kernel, ["rows"] * 4, width)(101, *leaves)
    exact = np.array(seen(list(numbers.T), np.sqrt, np.sin, np.cos)).T
    np.testing.assert_allclose(errors, exact, rtol=1e-11)
    for k in range(15):
        stepped = numbers.astype(complex)
        stepped[:, k] += 1e-30j
        slope = np.array(seen(list(stepped.T), np.sqrt, np.sin, np.cos)).imag.T / 1e-30
        np.testing.assert_allclose(jacobian[:, [k, 15 + k]], slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("chunk", [40, 1000])
def test_the_jacobian_of_a_camera_once(level, own, chunk):
    kernel = camera_kernel((17,), (32,))
    (x,) = observations(1)
    (found,), failed = call_body(kernel, [x], level, own=own, chunk=chunk)
    np.testing.assert_allclose(found, kernel.program.run(x), rtol=1e-10)
    assert failed == 0


def test_much_mathematics_is_called_and_little_is_put_in():
    program = ScalarProgram()
    place = program.input()
    for _ in range(40):
        place = program.make("tanh", place)
    program.outputs = [place]
    kernel = Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),))
    text = write_batch_module(kernel, ["rows"], 4)
    assert "alwaysinline" not in text
    assert "alwaysinline" in write_batch_module(of_one_operation("tanh", "d"), ["rows"], 4)
    x = np.linspace(-3, 3, 9)[:, None]
    (found,) = Rows(kernel, ["rows"], 4)(9, x)
    np.testing.assert_allclose(found[:, 0], program.run([x[:, 0]])[0], rtol=1e-13)


@pytest.mark.parametrize("chunk", [1, 1000])
def test_leaves_without_numbers(chunk):
    program = ScalarProgram()
    x = program.input()
    program.outputs = [program.neg(x), x, program.const(2.0)]
    kernel = Kernel(program, (Leaf("d", 0), Leaf("d", 1)), (Leaf("d", 3), Leaf("d", 0)))
    (found, _), failed = call_body(kernel, [[], [3.0]], chunk=chunk)
    assert [*found, failed] == [-3, 3, 2, 0]
    found, _ = Rows(kernel, ["rows", "rows"], 2, chunk=chunk)(3, np.zeros((3, 0)), np.ones((3, 1)))
    assert same(found, [[-1, 1, 2]] * 3)


# How rows are given. ------------------------------------------------------------------------------


def weighted():
    """x·w of three numbers each, and the sum of x."""
    program = ScalarProgram(precise=True)
    x, w = [program.input() for _ in range(3)], [program.input() for _ in range(3)]
    products = [program.mul(a, b) for a, b in zip(x, w, strict=True)]
    dot = program.add(program.add(products[0], products[1]), products[2])
    program.outputs = [dot, program.add(program.add(x[0], x[1]), x[2])]
    return Kernel(program, (Leaf("d", 3), Leaf("d", 3)), (Leaf("d", 2),))


def dot(x, w):
    return x[..., 0] * w[..., 0] + x[..., 1] * w[..., 1] + x[..., 2] * w[..., 2]


@pytest.mark.parametrize("chunk", [2, 1000])
@pytest.mark.parametrize("width", WIDTHS)
def test_one_row_for_all_and_rows_by_index(width, chunk):
    random_ = np.random.default_rng(2)
    x, w = random_.normal(size=(10, 3)), random_.normal(size=(1, 3))
    same_code = Rows(weighted(), ["rows", "same"], width, chunk=chunk)
    gathered = Rows(weighted(), ["gathered", "rows"], width, chunk=chunk)
    for count in (1, width, 2 * width + 1):
        index = random_.integers(0, 10, count)
        chosen = x[index]
        (found,) = same_code(count, chosen, w)
        assert same(found[:, 0], dot(chosen, w))
        many = random_.normal(size=(count, 3))
        (found,) = gathered(count, x, many, indices=[index, None])
        assert same(found[:, 0], dot(chosen, many))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_apart_in_memory_and_rows_from_the_middle(width):
    kernel = of_one_operation("abs", "d")
    wide = np.random.default_rng(3).normal(size=(40, 5))
    code = Rows(kernel, ["rows"], width)
    out = np.zeros((40, 2))
    code(33, wide[:, 1:2], start=6, out=[out[:, 1:]])
    assert same(out[6:33, 1], abs(wide[6:33, 1]))
    assert not out[:6].any()
    assert not out[33:].any()
    assert not out[:, 0].any()


def test_the_width_is_that_of_the_widest_numbers():
    assert width_of(of_one_operation("abs", "f")) == host_width("f")
    assert width_of(of_one_operation("to_float64", "f")) == host_width("d")


# Guards, memory, threads. -------------------------------------------------------------------------


def guarded():
    """x², on the way along which x0 < x1, not x1 < x2, and x0 < x2."""
    program = ScalarProgram()
    x = [program.input() for _ in range(3)]
    third = program.make("lt", x[0], x[2])
    program.guards = [
        (program.make("lt", x[0], x[1]), True),
        (program.make("lt", x[1], x[2]), False),
    ]
    program.guards.append((third, True))
    program.outputs = [program.mul(x[0], x[0])]
    return Kernel(program, (Leaf("d", 3),), (Leaf("d", 1),))


@pytest.mark.parametrize("chunk", [1, 2, 1000])
@pytest.mark.parametrize("level", [0, 1])
def test_the_first_guard_that_fails_is_named(chunk, level):
    for x, wanted in (
        ([1, 3, 2], 0),
        ([3, 1, 2], 1),
        ([1, 2, 3], 2),
        ([2, 3, 1], 3),
        ([3, 1, 0], 1),
    ):
        found, failed = call_body(guarded(), [x], level, chunk=chunk)
        assert failed == wanted
        assert failed or found[0][0] == x[0] ** 2


def test_kernels_share_a_module_and_what_they_call():
    module, kernel = Module(), of_one_operation("sin", "d")
    write_body(module, kernel, "once")
    write_batch(module, kernel, ["rows"], 1, "many")
    write_batch(module, of_one_operation("fmod", "d"), ["rows", "rows"], 1, "others")
    code = Code(module.text())
    x, y = np.array([0.5]), np.zeros(1)
    once = code.function("once", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    assert once(x.ctypes.data, y.ctypes.data) == 0
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-15)


def test_rows_refuse_guards():
    with pytest.raises(ValueError, match="guards"):
        write_batch_module(guarded(), ["rows"], 4)


def test_mathematics_of_whole_numbers_is_refused():
    program = ScalarProgram()
    program.outputs = [program.make("sin", program.input("l"))]
    with pytest.raises(TypeError, match="sin is not for numbers of dtype 'l'"):
        body(Kernel(program, (Leaf("l", 1),), (Leaf("l", 1),)))


def test_a_long_program_works_in_memory_of_its_own_from_many_threads():
    program = ScalarProgram(precise=True)
    x = [program.input() for _ in range(100)]
    late = [program.mul(a, b) for a in x for b in x]
    sums = [program.add(a, b) for a, b in zip(late, late[::-1], strict=True)]
    program.outputs = sums[:100]
    for place in reversed(sums[100:]):
        program.outputs[0] = program.add(program.outputs[0], place)
    kernel = Kernel(program, (Leaf("d", 100),), (Leaf("d", 100),))
    text = body(kernel, chunk=500)
    assert "@malloc" in text
    code = Code(text, 0)
    function = code.function("body", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def run(seed):
        numbers, out = np.random.default_rng(seed).normal(size=100), np.zeros(100)
        for _ in range(50):
            assert function(numbers.ctypes.data, out.ctypes.data) == 0
        return same(out, np.array(program.run(numbers)))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(8)))


def test_rows_in_threads_meet_without_a_gap():
    kernel = random_program(5, 200)
    code = Rows(kernel, ["rows"] * 4, host_width())
    inputs = [random_leaf(leaf, (997, leaf.size), 7) for leaf in kernel.inputs]
    out = [np.zeros((997, leaf.size), SCALAR_TYPES[leaf.dtype]) for leaf in kernel.outputs]
    edges, running = [0, 3, 250, 251, 700, 997], []
    with ThreadPoolExecutor(4) as pool:
        for begin, end in pairwise(edges):
            running.append(pool.submit(code, end, *inputs, start=begin, out=out))
        for one in running:
            one.result()
    columns = [column for leaf in inputs for column in leaf.T]
    assert all(map(same, out, columns_of(kernel, columns, 997)))


@pytest.mark.parametrize("factor", [2.0, 0.25, 2.0**60])
def test_a_divisor_and_its_multiple_by_a_power_of_two_share_a_division(factor):
    program = ScalarProgram()
    x, y = program.input(), program.input()
    multiple = program.mul(program.const(factor), y)
    program.outputs = [program.div(x, y), program.div(x, multiple)]
    shared = share_reciprocals(program)
    assert [step[0] for step in shared.steps].count("div") == 1
    for numbers in ((1.0, 3.0), (-5.0, 7e-5), (2.5, -1e200)):
        expected = [numbers[0] / numbers[1], numbers[0] / (factor * numbers[1])]
        assert shared.run(list(numbers)) == pytest.approx(expected, rel=4e-16)


@pytest.mark.parametrize("factor", [3.0, -2.0, 0.0, 2.0**200, float("inf"), float("nan")])
def test_other_multiples_keep_their_division(factor):
    program = ScalarProgram()
    x, y = program.input(), program.input()
    multiple = program.mul(program.const(factor), y)
    program.outputs = [program.div(x, y), program.div(x, multiple)]
    assert [step[0] for step in share_reciprocals(program).steps].count("div") == 2
