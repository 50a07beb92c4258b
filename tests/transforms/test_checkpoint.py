"""checkpoint: the same derivatives, less memory, more evaluations."""

import math
import tracemalloc

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Node, checkpoint, grad
from simpleautodiff.values.functions import _forget


def steps(x, p, count=50):
    for _ in range(count):
        x = ad.sin(x) * p["a"] + p["b"]
    return [x, x * p["a"]]


POINT = (0.5, {"a": 1.1, "b": 0.2})


def total(f):
    return lambda x, p: sum(f(x, p))


def test_every_mode_and_order_agrees():
    plain, saved = total(steps), total(checkpoint(steps))
    assert grad(saved, (0, 1))(*POINT) == grad(plain, (0, 1))(*POINT)
    assert ad.jvp(saved, POINT, (1.0, {"a": 0.5, "b": 0.1})) == ad.jvp(
        plain, POINT, (1.0, {"a": 0.5, "b": 0.1})
    )
    second = lambda f: grad(lambda x: grad(f)(x, POINT[1]))(0.5)
    assert second(saved) == pytest.approx(second(plain), rel=1e-12)
    nested = lambda f: grad(grad(lambda x: f(x, POINT[1])))(0.5)
    assert nested(saved) == pytest.approx(nested(plain), rel=1e-12)
    assert ad.derivative(saved, 3)(*POINT) == pytest.approx(ad.derivative(plain, 3)(*POINT))
    value, linear = ad.linearize(saved, *POINT)
    assert linear(1.0, {"a": 0.0, "b": 0.0}) == pytest.approx(grad(plain)(*POINT))
    assert value == plain(*POINT)


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_memory_is_traded_for_evaluations():
    calls = []

    def block(x):
        calls.append(1)
        for _ in range(2000):
            x = x * 0.999 + 0.001
        return x

    def many(f):
        def run(x):
            for _ in range(20):
                x = f(x)
            return x

        return run

    def peak(f):
        tracemalloc.start()
        result = grad(f)(1.5)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result, size

    expected, without = peak(many(block))
    calls.clear()
    result, with_checkpoints = peak(many(checkpoint(block)))
    assert result == expected
    assert len(calls) == 40
    assert with_checkpoints < without / 8


def test_nested_checkpoints_and_hand_typed_graphs():
    inner = checkpoint(lambda x: ad.sin(x) * x)
    outer = checkpoint(lambda x: inner(inner(x)) + x)
    plain = lambda x: (lambda u: ad.sin(u) * u)(ad.sin(x) * x) + x
    assert grad(outer)(0.7) == pytest.approx(grad(plain)(0.7), rel=1e-14)
    x = ad.Node(0.7)
    y = outer(x)
    assert ad.reverse(y)[x] == pytest.approx(grad(plain)(0.7), rel=1e-14)
    assert ad.forward(x)[y] == pytest.approx(grad(plain)(0.7), rel=1e-14)


def test_keyword_arguments_and_plain_numbers():
    f = checkpoint(lambda x, *, k: x**k)
    assert f(3.0, k=2) == 9.0
    assert grad(lambda x: f(x, k=2))(3.0) == 6.0
    assert grad(lambda x: f(2.0, k=x))(3.0) == pytest.approx(8 * 0.6931471805599453)


def test_an_unused_result_costs_no_nan():
    both = checkpoint(lambda x: (x, ad.sqrt(x)))
    assert grad(lambda x: both(x)[0])(0.0) == 1.0


def test_structural_zeros_pass_through_checkpoints():
    f = ad.checkpoint(lambda a, b: ad.where(a < 1, a, b))
    assert grad(lambda x: f(x, ad.sqrt(x)))(0.0) == 1.0


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.parametrize("policy", [None, ad.checkpoint_policies.dots_saveable])
@pytest.mark.parametrize(
    ("f", "x", "value", "slope"),
    [
        (lambda x: 1 / x, 0.0, math.inf, -math.inf),
        (lambda x: (x + 1e200) ** 2.0, 0.0, math.inf, 2e200),
        (lambda x: x**0.5, -1.0, math.nan, math.nan),
    ],
)
def test_numbers_that_python_refuses_have_the_values_of_nodes(f, x, value, slope, policy):
    found = ad.value_and_grad(checkpoint(f, policy=policy))(x)
    np.testing.assert_array_equal(found, (value, slope))


def test_a_checkpointed_closure_over_a_node():
    assert grad(lambda w: ad.checkpoint(lambda x: x * w)(w * 2))(2.0) == 8.0
    flag = grad(lambda x: ad.checkpoint(lambda t: (t * t, True))(x)[0])
    assert flag(3.0) == 6.0


def test_checkpoints_and_stated_nodes_register_nothing():
    f = grad(ad.checkpoint(lambda x: x * x))
    before = len(_forget)
    for _ in range(50):
        f(2.0)
        Node(6.0, [Node(2.0)], "mul").grad_wrt_parents = [3.0]
    assert len(_forget) == before


def test_a_captured_node_at_second_order():
    def f(a):
        return ad.checkpoint(lambda x: a * x * x)(a)  # a³

    assert ad.grad(f)(2.0) == 12.0
    assert ad.grad(ad.grad(f))(2.0) == 12.0
    assert ad.grad(ad.grad(ad.grad(f)))(2.0) == 6.0


@pytest.mark.parametrize("transform", [ad.jacrev, ad.jacfwd])
@pytest.mark.parametrize("jit", [False, True])
def test_elements_that_do_not_depend_on_each_other(transform, jit):
    derivative = transform(checkpoint(np.sqrt))
    derivative = ad.jit(derivative) if jit else derivative
    with np.errstate(all="ignore"):
        found = derivative(np.array([4.0, 1.0, 0.0]))
    np.testing.assert_array_equal(found, np.diag([0.25, 0.5, np.inf]))


def test_elements_that_are_not_taken_outside_of_it():
    def f(x, root):
        return np.sum(root(np.sqrt(x) + 0.0)[1:])

    x = np.array([0.0, 4.0, 16.0])
    with np.errstate(all="ignore"):
        found = grad(lambda x: f(x, checkpoint(lambda v: v * 2.0)))(x)
    np.testing.assert_array_equal(found, [0.0, 0.5, 0.25])  # of 2 √x


def write_to_its_argument(v):
    v[0] = v[0] * v[1]
    v *= 2.0
    return v[::-1] * v


def write_a_view(v):
    part = v[1:]
    part[0] = 3.0
    return v * 2.0


def write_at_places(v):
    """Write as NumPy does into arrays that are read-only, too."""
    np.add.at(v, [0, 0, 1], v[::-1])
    np.negative.at(v, [2])
    return v * 2.0


@pytest.mark.parametrize("policy", [None, ad.checkpoint_policies.dots_saveable])
@pytest.mark.parametrize("write", [write_to_its_argument, write_a_view, write_at_places])
def test_functions_that_write_to_their_arguments(write, policy):
    def f(x, of):
        v = np.sin(x)
        return np.sum(of(v) ** 2) + np.sum(v**3)  # which sees what was written

    x = np.array([1.1, 0.7, 1.3])
    saved, plain = (lambda x, of=of: f(x, of) for of in (checkpoint(write, policy=policy), write))
    for derivative in (ad.value_and_grad, ad.hessian, lambda f: ad.jacfwd(ad.grad(f))):
        for one, other in zip(derivative(saved)(x), derivative(plain)(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def write_twice_the_first(v, x):
    v[0] = v[0] * 2.0
    return v * x


def add_to_the_first(v, x):
    np.add.at(v, [0], 1.0)
    return v * x


@pytest.mark.parametrize("write", [write_twice_the_first, add_to_the_first])
def test_functions_that_write_to_constants_among_their_arguments(write):
    def f(x, of):
        v = np.ones(3)
        return np.sum(of(v, x) ** 2) * v[0]  # (4 + 1 + 1) x² 2

    assert ad.value_and_grad(lambda x: f(x, write))(0.5) == (3.0, 12.0)
    assert ad.value_and_grad(lambda x: f(x, checkpoint(write)))(0.5) == (3.0, 12.0)
