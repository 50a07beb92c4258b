"""Scalar programs are simplified as algebra allows, and no further than floating point does."""

import math

import numpy as np
import pytest

from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram, from_bits, to_bits


@pytest.fixture(params=["d", "f"])
def given(request):
    """Give a program with the inputs x and y, a product of them, and a structural zero."""
    return make(False, request.param)


def make(precise, dtype):
    program = ScalarProgram(precise)
    x, y = program.input(dtype), program.input(dtype)
    return program, x, y, program.mul(x, y), program.zero(dtype)


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
def test_structural_zeros_vanish(precise, dtype):
    program, x, y, product, zero = make(precise, dtype)
    for one in (x, product, program.neg(x), program.const(3, dtype)):
        assert program.add(one, zero) == program.add(zero, one) == one
        assert program.sub(one, zero) == one
        assert program.sub(zero, one) == program.neg(one)
        assert program.mul(one, zero) == program.mul(zero, one) == zero
        assert program.div(zero, one) == zero
    assert program.neg(zero) == zero
    assert program.make("select", program.make("lt", x, y), zero, zero) == zero
    assert program.is_zero(zero)
    assert not program.is_zero(program.const(0, dtype))


def test_numbers_that_change_nothing(given):
    program, x, y, product, _ = given
    dtype = program.dtypes[x]
    none, one, minus = (program.const(number, dtype) for number in (0, 1, -1))
    for term in (x, product):
        assert program.add(term, none) == program.add(none, term) == term
        assert program.sub(term, none) == term
        assert program.mul(term, one) == program.mul(one, term) == term
        assert program.mul(term, minus) == program.mul(minus, term) == program.neg(term)
        assert program.div(term, one) == term
        assert program.neg(program.neg(term)) == term
    assert program.steps[program.mul(x, none)][0] == "mul"  # 0 × inf is nan
    assert program.steps[program.sub(none, x)][0] == "sub"  # 0 - 0 is not -0
    assert program.steps[program.add(x, one)] == ("add", x, one)
    assert program.steps[program.sub(x, y)] == ("sub", x, y)


def test_signs_move_outwards(given):
    program, x, y, product, _ = given
    minus = program.neg(y)
    assert program.add(x, minus) == program.add(minus, x) == program.sub(x, y)
    assert program.sub(x, minus) == program.add(x, y)
    assert program.mul(x, minus) == program.mul(minus, x) == program.neg(product)
    assert program.div(minus, x) == program.neg(program.div(y, x))
    assert program.make("abs", minus) == program.make("abs", y)
    lower = program.make("lt", x, y)
    assert program.make("not", program.make("not", lower)) == lower
    scaled = program.mul(minus, program.const(3.0, program.dtypes[x]))
    assert program.steps[scaled][0] == "mul"  # a sign before a number is one step anyway


def test_every_bit_counts_in_a_precise_program():
    program, x, y, _, _ = make(True, "d")
    none = program.const(0)
    for term in (program.add(x, none), program.add(none, x)):
        assert program.steps[term][0] == "add"  # -0 + 0 is 0
    assert program.steps[program.sub(x, none)][0] == "sub"
    minus = program.neg(y)
    assert program.steps[program.add(x, minus)][0] == "add"
    assert program.steps[program.sub(x, minus)][0] == "sub"
    assert program.steps[program.make("power", x, program.const(3))][0] == "power"


@pytest.mark.parametrize("number", [2.0, -0.25, 2.0**119, -(2.0**-100), 3.0, 2.0**125, 0.75])
def test_only_powers_of_two_have_exact_reciprocals(given, number):
    program, x, *_ = given
    quotient = program.steps[program.div(x, program.const(number, program.dtypes[x]))]
    is_exact = abs(np.frexp(number)[0]) == 0.5 and 2.0**-119 < abs(number) < 2.0**119
    assert quotient[0] == ("mul" if is_exact else "div")
    if is_exact:
        assert program.number(quotient[2]) == 1 / number


HALVES = [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize("n", [*range(-9, 10), *HALVES, 4.5, 0.25, math.inf, math.nan])
def test_powers(n):
    program, x, *_ = make(False, "d")
    program.outputs = [program.make("power", x, program.const(n))]
    is_product = not any(step[0] == "power" for step in program.steps)
    assert is_product == (n in range(-8, 9) or n in HALVES)
    points = np.array([-2.5, -1.0, 0.75, 3.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(program.run([points, 0.0])[0] + 0 * points, points**n, 1e-14)


@pytest.mark.parametrize("n", HALVES)
def test_powers_by_roots_end_where_powers_do(n):
    program, x, *_ = make(False, "d")
    program.outputs = [program.make("power", x, program.const(n))]
    points = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e300, 1.7e308]
    with np.errstate(all="ignore"):
        found = np.array([program.run([np.float64(point), 0.0])[0] for point in points])
        expected = np.power(points, np.full(len(points), n))  # NumPy has sqrt for a single 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-323)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_choices_that_are_known(given):
    program, x, y, *_ = given
    lower = program.make("lt", x, y)
    assert program.make("select", program.const(True, "?"), x, y) == x
    assert program.make("select", program.const(False, "?"), x, y) == y
    assert program.make("select", lower, x, x) == x
    assert program.steps[program.make("select", lower, x, y)] == ("select", lower, x, y)
    zero = program.zero(program.dtypes[x])
    assert program.steps[program.make("select", lower, x, zero)] == ("select", lower, x, zero)


def test_choices_within_a_choice_by_the_same_condition_are_decided():
    program = ScalarProgram()
    x = program.input()
    still = program.make("eq", x, program.const(0.0))
    safe = program.make("select", still, program.const(1.0), x)
    slope = program.div(program.const(3.0), program.add(safe, program.const(1.0)))
    chosen = program.make("select", still, program.const(5.0), slope)
    program.outputs = [chosen]
    pruned = program.prune()
    assert [step[0] for step in pruned.steps].count("select") == 1
    assert pruned.run([np.array([0.0, 2.0])])[0].tolist() == [5.0, 1.0]
    other = program.make("select", program.make("lt", x, safe), slope, x)
    assert program.steps[other][2] == slope  # by another condition


DOUBLED = {
    "x + x": lambda p, x, y: (p.add(x, x), "mul", 1),
    "-x - x": lambda p, x, y: (p.sub(p.neg(x), x), "neg", 2),
    "0.1 (2 x)": lambda p, x, y: (p.mul(p.const(0.1, p.dtypes[x]), p.add(x, x)), "mul", 1),
    "4 (-x)": lambda p, x, y: (p.mul(p.const(4.0, p.dtypes[x]), p.neg(x)), "mul", 1),
    "2 (0.1 x)": lambda p, x, y: (
        p.mul(p.const(2.0, p.dtypes[x]), p.mul(p.const(0.1, p.dtypes[x]), x)), "mul", 1),
    "(2 x)²": lambda p, x, y: (p.mul(p.add(x, x), p.add(x, x)), "mul", 2),
    "2 x + 2 y": lambda p, x, y: (p.add(p.add(x, x), p.add(y, y)), "mul", 2),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("case", DOUBLED)
def test_powers_of_two_are_joined_and_no_bit_is_changed(case, dtype):
    found = []
    for precise in (False, True):
        program, x, y, *_ = make(precise, dtype)
        result, name, count = DOUBLED[case](program, x, y)
        program.outputs = [result]
        if not precise:
            assert program.steps[result][0] == name
            pruned = program.prune()
            assert sum(step[0] not in ("input", "const") for step in pruned.steps) == count
        points = np.random.default_rng(0).normal(size=(2, 50))
        points[:, :3] = [[0.0, -0.0, np.inf], [-0.0, -0.0, 1.0]]
        points = points.astype({"d": np.float64, "f": np.float32}[dtype])
        with np.errstate(all="ignore"):
            found.append(np.stack([program.run([a, b])[0] for a, b in points.T]))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(*np.signbit(found))


def test_integers_are_not_doubled():
    program, x, *_ = make(False, "l")
    assert program.steps[program.add(x, x)] == ("add", x, x)


def test_powers_that_would_be_too_large_stay():
    program, x, *_ = make(False, "f")
    huge = program.mul(x, program.const(2.0**90, "f"))
    square = program.mul(huge, huge)
    assert program.steps[square] == ("mul", huge, huge)
    product = program.mul(program.const(2.0**90, "f"), huge)
    assert huge in program.steps[product]


def test_comparisons_without_signs_and_powers_of_two(given):
    program, x, y, *_ = given
    dtype = program.dtypes[x]
    for name in ("lt", "le"):
        assert program.make(name, program.neg(x), program.neg(y)) == program.make(name, y, x)
        three, minus = program.const(3.0, dtype), program.const(-3.0, dtype)
        assert program.make(name, program.neg(x), three) == program.make(name, minus, x)
        assert program.make(name, three, program.neg(x)) == program.make(name, x, minus)
        double, limit = program.mul(program.const(2.0, dtype), x), program.const(1.5, dtype)
        assert program.make(name, double, three) == program.make(name, x, limit)
        assert program.make(name, three, double) == program.make(name, limit, x)
        assert program.steps[program.make(name, x, y)] == (name, x, y)


def test_the_same_step_is_made_once(given):
    program, x, y, product, _ = given
    count = len(program)
    assert program.mul(y, x) == product
    assert len(program) == count
    less = program.sub(x, y)
    assert program.sub(y, x) != less
    two, other = program.const(2.0, "d"), program.const(2, "l")
    assert two != other
    assert program.const(0.0) != program.const(-0.0)
    assert program.const(math.nan) == program.const(math.nan)


def test_constants_are_folded():
    program = ScalarProgram()
    found = program.mul(program.const(3.0), program.const(0.5))
    assert program.number(found) == 1.5
    assert program.folded == 1
    assert program.number(program.make("lt", program.const(1.0), program.const(2.0)))
    assert program.number(program.make("sqrt", program.const(2.0))) == math.sqrt(2)
    x = program.input()
    assert program.number(program.mul(x, program.const(3.0))) is None
    assert program.number(program.mul(program.const(3.0), x)) is None


def test_another_dtype():
    program = ScalarProgram()
    x = program.input("d")
    assert program.to("d", x) == x
    assert program.is_zero(program.to("f", program.zero("d")))
    narrow, whole, truth = program.to("f", x), program.to("l", x), program.to("?", x)
    assert [program.dtypes[step] for step in (narrow, whole, truth)] == ["f", "l", "?"]
    program.outputs = [narrow, whole, truth]
    assert program.run([2.7]) == [np.float32(2.7), 2, True]
    assert program.run([0.0]) == [0, 0, False]


def test_what_nothing_needs_goes():
    program = ScalarProgram()
    x, y, _unused = program.input(), program.input(), program.input("l")
    needed = program.add(program.make("sin", x), program.zero())
    program.mul(program.make("cos", x), y)
    asked = program.make("lt", y, program.const(4.0))
    program.outputs, program.guards = [needed, program.zero()], [(asked, True)]
    made = program.prune()
    names = [step[0] for step in made.steps]
    assert names == ["input", "input", "input", "sin", "const", "const", "lt"]
    assert made.is_zero(made.outputs[1])
    assert made.steps[made.guards[0][0]][0] == "lt"
    assert made.guards[0][1] is True
    assert made.make("sin", made.inputs[0]) == made.outputs[0]  # and is still found
    assert made.const(4.0) == made.steps[made.guards[0][0]][2]
    assert [made.dtypes[index] for index in made.inputs] == ["d", "d", "l"]
    np.testing.assert_array_equal(made.run([0.5, 1.0, 2]), [math.sin(0.5), 0.0])


@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, -1e-310, 1e300, math.inf, math.nan])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_numbers_keep_their_bits(number, dtype):
    kind = {"d": np.float64, "f": np.float32}[dtype]
    with np.errstate(over="ignore"):
        expected = kind(number)
    found = from_bits(to_bits(number, dtype), dtype)
    assert type(found) is kind
    assert found.tobytes() == expected.tobytes()
