"""Random programs: forward, reverse, graphs typed by hand and HIPS autograd agree on all of them.

A program is a list of instructions (operation, operands); an operand is the position of an earlier
value. So values are shared, and many are never used for the result.
"""

from fractions import Fraction
from typing import NamedTuple

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad


class Operation(NamedTuple):
    ours: object
    theirs: object
    safe: object = lambda *xs: True  # well inside the domain, away from kinks


OPERATIONS = {
    "add": Operation(lambda x, y: x + y, lambda x, y: x + y),
    "sub": Operation(ad.sub, lambda x, y: x - y),
    "mul": Operation(lambda x, y: x * y, lambda x, y: x * y),
    "div": Operation(ad.div, lambda x, y: x / y, lambda x, y: abs(y) > 0.2),
    "power": Operation(
        lambda x, y: x**y, lambda x, y: x**y, lambda x, y: 0.2 < x < 3 and abs(y) < 3
    ),
    "logaddexp": Operation(ad.logaddexp, anp.logaddexp),
    "maximum": Operation(ad.maximum, anp.maximum, lambda x, y: abs(x - y) > 1e-3),
    "atan2": Operation(ad.atan2, anp.arctan2, lambda y, x: x * x + y * y > 0.1),
    "neg": Operation(lambda x: -x, lambda x: -x),
    "half": Operation(lambda x: 0.5 * x, lambda x: 0.5 * x),
    "third": Operation(lambda x: x / 3, lambda x: x / 3),
    "from three": Operation(lambda x: 3 - x, lambda x: 3 - x),
    "abs": Operation(abs, anp.abs, lambda x: abs(x) > 1e-3),
    "square": Operation(ad.square, anp.square),
    "cube": Operation(lambda x: x**3, lambda x: x**3),
    "sin": Operation(ad.sin, anp.sin),
    "cos": Operation(np.cos, anp.cos),
    "tanh": Operation(ad.tanh, anp.tanh),
    "atan": Operation(ad.atan, anp.arctan),
    "exp": Operation(ad.exp, anp.exp, lambda x: x < 3),
    "log": Operation(ad.log, anp.log, lambda x: x > 0.2),
    "sqrt": Operation(ad.sqrt, anp.sqrt, lambda x: x > 0.2),
    "asin": Operation(ad.asin, anp.arcsin, lambda x: abs(x) < 0.9),
    "sigmoid": Operation(ad.sigmoid, lambda x: 1 / (1 + anp.exp(-x))),
    "expm1": Operation(ad.expm1, anp.expm1, lambda x: x < 3),
}
BINARY = ("add", "sub", "mul", "div", "power", "logaddexp", "maximum", "atan2")
RATIONAL = ("add", "sub", "mul", "div", "neg", "square", "cube", "third", "from three")
BOUND = 20.0  # larger values are not computed with: a tanh stands in their place


class Program(NamedTuple):
    point: list
    instructions: list

    def run(self, xs, library="ours"):
        """Return all values: the inputs and the result of every instruction."""
        values = list(xs)
        for name, operands in self.instructions:
            compute = getattr(OPERATIONS[name], library)
            values.append(compute(*[values[i] for i in operands]))
        return values

    def result(self, xs, library="ours"):
        return self.run(xs, library)[-1]

    def results(self, xs, library="ours"):
        return self.run(xs, library)[-3:]

    def without_dead_code(self):
        """Return the program without the instructions that the result does not use."""
        inputs = len(self.point)
        alive = {inputs + len(self.instructions) - 1}
        for i in reversed(range(len(self.instructions))):
            if inputs + i in alive:
                alive.update(self.instructions[i][1])
        kept = [i for i in range(len(self.instructions)) if inputs + i in alive]
        new = {i: i for i in range(inputs)} | {inputs + i: inputs + k for k, i in enumerate(kept)}
        instructions = [
            (name, tuple(new[operand] for operand in operands))
            for name, operands in [self.instructions[i] for i in kept]
        ]
        return Program(self.point, instructions)


def _usable(name, operands):
    """Tell whether an operation stays well inside its domain and gives a moderate number."""
    operation = OPERATIONS[name]
    return operation.safe(*operands) and abs(operation.ours(*operands)) < BOUND


@st.composite
def operands_of(draw, name, size):
    """Draw which of `size` values an operation takes: mostly recent ones, so that most count."""
    last = st.just(size - 1)
    place = st.one_of(last, last, st.integers(max(0, size - 3), size - 1), st.integers(0, size - 1))
    return tuple(draw(place) for _ in range(2 if name in BINARY else 1))


@st.composite
def programs(draw, names=tuple(OPERATIONS), longest=14):
    numbers = st.integers(-40, 40).map(lambda k: k / 16 + 1 / 64)
    point = draw(st.lists(numbers, min_size=1, max_size=4))
    values = list(point)
    instructions = []
    for _ in range(draw(st.integers(3, longest))):
        name = draw(st.sampled_from(names))
        operands = draw(operands_of(name, len(values)))
        if not _usable(name, [values[i] for i in operands]):
            name, operands = "tanh", operands[:1]
        instructions.append((name, operands))
        values.append(OPERATIONS[name].ours(*[values[i] for i in operands]))
    return Program(point, instructions)


@st.composite
def rational_programs(draw):
    """Draw a program of + - * / at a point of fractions; a division by 0 becomes a negation."""
    fractions = st.builds(Fraction, st.integers(-9, 9), st.integers(1, 7))
    point = draw(st.lists(fractions, min_size=1, max_size=3))
    values = list(point)
    instructions = []
    for _ in range(draw(st.integers(3, 8))):
        name = draw(st.sampled_from(RATIONAL))
        operands = draw(operands_of(name, len(values)))
        if name == "div" and values[operands[1]] == 0:
            name, operands = "neg", operands[:1]
        instructions.append((name, operands))
        values.append(OPERATIONS[name].ours(*[values[i] for i in operands]))
    return Program(point, instructions)


def some(examples):
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


def unit(size, i):
    return [float(i == j) for j in range(size)]


def assert_same(numbers, expected, rel=1e-9):
    """Compare arrays; an entry may lose digits against the largest, by cancellation."""
    numbers, expected = np.array(numbers, float), np.array(expected, float)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(numbers, expected, rtol=rel, atol=rel * scale)


def forward_gradient(program):
    size = len(program.point)
    tangents = [[direction] for direction in (unit(size, i) for i in range(size))]
    return [ad.jvp(program.result, [program.point], tangent)[1] for tangent in tangents]


def autograd_gradient(program):
    point = np.array(program.point)
    return autograd.grad(lambda xs: program.result(xs, "theirs"))(point)


def test_the_operations_are_all_used_somewhere():
    assert len(OPERATIONS) >= 15
    for name, operation in OPERATIONS.items():
        operands = (0.75, 1.5)[: 2 if name in BINARY else 1]
        assert operation.safe(*operands)
        assert operation.ours(*operands) == pytest.approx(operation.theirs(*operands), rel=1e-14)


@pytest.mark.slow
@some(500)
@given(programs())
def test_forward_reverse_and_autograd_agree(program):
    value, reverse = ad.value_and_grad(program.result)(program.point)
    expected = autograd_gradient(program)
    assert value == pytest.approx(program.result(np.array(program.point), "theirs"), rel=1e-12)
    assert_same(reverse, expected)
    assert_same(forward_gradient(program), expected)
    assert_same(forward_gradient(program), reverse, rel=1e-11)


@pytest.mark.slow
@some(200)
@given(programs(), st.data())
def test_directions_are_sums_of_partial_derivatives(program, data):
    tangent = data.draw(
        st.lists(st.floats(-2, 2), min_size=len(program.point), max_size=len(program.point))
    )
    gradient = ad.grad(program.result)(program.point)
    expected = np.dot(gradient, tangent)
    scale = max(1.0, np.abs(gradient).max())
    forward = ad.jvp(program.result, [program.point], [tangent])[1]
    linearized = ad.linearize(program.result, program.point)[1](tangent)
    assert abs(forward - expected) <= 1e-11 * scale
    assert abs(linearized - expected) <= 1e-11 * scale
    pulled = ad.vjp(program.result, program.point)[1](3.0)[0]
    assert_same(pulled, 3 * np.array(gradient), rel=1e-12)


@pytest.mark.slow
@some(200)
@given(programs())
def test_jacobians_agree(program):
    reverse = ad.jacrev(program.results)(program.point)
    forward = ad.jacfwd(program.results)(program.point)
    assert_same(forward, reverse, rel=1e-11)
    assert_same(ad.jacobian(program.results)(program.point), reverse, rel=1e-11)
    point = np.array(program.point)
    expected = [
        autograd.grad(lambda xs, k=k: program.results(xs, "theirs")[k])(point)
        for k in range(len(reverse))
    ]
    assert_same(reverse, expected)


@pytest.mark.slow
@some(150)
@given(programs(longest=10))
def test_hessians_agree(program):
    hessian = ad.hessian(program.result)(program.point)
    assert_same(np.transpose(hessian), hessian, rel=1e-10)
    assert_same(ad.jacfwd(ad.jacfwd(program.result))(program.point), hessian)
    assert_same(ad.jacrev(ad.jacrev(program.result))(program.point), hessian)
    assert_same(ad.jacrev(ad.jacfwd(program.result))(program.point), hessian)
    size = len(program.point)
    columns = [ad.hvp(program.result, ([*program.point],), (unit(size, i),)) for i in range(size)]
    assert_same(columns, hessian)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")  # of a linear result
@some(60)
@given(programs(longest=8))
def test_hessian_is_that_of_autograd(program):
    point = np.array(program.point)
    expected = autograd.hessian(lambda xs: program.result(xs, "theirs"))(point)
    assert_same(ad.hessian(program.result)(program.point), expected)


@pytest.mark.slow
@some(150)
@given(programs(longest=8))
def test_third_derivatives_agree(program):
    f = lambda x: program.result([x, *program.point[1:]])
    x = program.point[0]
    taylor = ad.derivative(f, n=3)(x)
    assert_same(ad.grad(ad.grad(ad.grad(f)))(x), taylor)
    assert_same(ad.derivative(ad.grad(f), n=2)(x), taylor)
    assert_same(ad.grad(ad.derivative(f, n=2))(x), taylor)


@pytest.mark.slow
@some(200)
@given(programs())
def test_graph_typed_by_hand_agrees(program):
    nodes = [ad.Node(x) for x in program.point]
    values = program.run(nodes)
    result = values[-1]
    gradient = ad.grad(program.result)(program.point)
    bar = ad.reverse(result)
    assert_same([bar[node] for node in nodes], gradient, rel=1e-11)
    used = [i for i, node in enumerate(nodes) if node in bar]  # others are graphs of their own
    found = [nodes[i].partial_derivative for i in used]
    assert_same(found, [gradient[i] for i in used], rel=1e-11)
    for i, node in enumerate(nodes):
        dot = ad.forward(node)
        assert_same(dot[result], gradient[i], rel=1e-11 * max(1.0, np.abs(gradient).max()))
        tangents = ad.jvp(program.run, [program.point], [unit(len(nodes), i)])[1]
        assert_same([dot[value] for value in values], tangents, rel=1e-11)


@some(150)
@given(programs(longest=8))
def test_graph_of_graphs_typed_by_hand_agrees(program):
    inner = [ad.Node(x) for x in program.point]
    outer = [ad.Node(x) for x in inner]
    gradient = ad.reverse(program.result(outer))
    size = len(inner)
    hessian = np.zeros((size, size))
    for i, node in enumerate(outer):
        if isinstance(gradient[node], ad.Node):
            bar = ad.reverse(gradient[node])
            hessian[i] = [bar[x] for x in inner]
    assert_same(hessian, ad.hessian(program.result)(program.point))


@some(150)
@given(programs())
def test_dead_code_changes_nothing(program):
    short = program.without_dead_code()
    assert len(short.instructions) <= len(program.instructions)
    assert ad.value_and_grad(short.result)(program.point) == ad.value_and_grad(program.result)(
        program.point
    )
    assert forward_gradient(short) == forward_gradient(program)


@pytest.mark.slow
@some(200)
@given(rational_programs())
def test_fractions_agree_exactly(program):
    gradient = ad.grad(program.result)(program.point)
    size = len(program.point)
    forward = [
        ad.jvp(program.result, [program.point], [[int(i == j) for j in range(size)]])[1]
        for i in range(size)
    ]
    assert gradient == forward
    assert all(type(number) is Fraction for number in gradient + forward)
    nodes = [ad.Node(x) for x in program.point]
    bar = ad.reverse(program.result(nodes))
    assert [bar[node] for node in nodes] == gradient
    hessian = ad.hessian(program.result)(program.point)
    assert hessian == ad.jacrev(ad.jacrev(program.result))(program.point)
    assert hessian == [list(column) for column in zip(*hessian, strict=True)]
