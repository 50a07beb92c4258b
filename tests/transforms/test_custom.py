"""A user's own primitives, and the checker that finds wrong rules."""

import dataclasses
import math
import random

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import ZERO, check_grad, derivative, grad, jvp, primitive
from simpleautodiff.core.primitive import ByType, Primitive
from simpleautodiff.fast.calls import wrap
from simpleautodiff.rules import TABLE


@primitive(lambda v, x: 1 / (1 + abs(x)) ** 2, kinks=[ad.Kink("x = 0", lambda x: x == 0, "1")])
def softsign(x):
    """Squash x into (-1, 1)."""
    return x / (1 + abs(x))


@primitive(lambda v, x, y: y * ad.cos(x * y), lambda v, x, y: x * ad.cos(x * y))
def sine_of_product(x, y):
    return math.sin(x * y)


def test_one_declaration_serves_both_modes_and_every_order():
    reference = lambda x, y: ad.sin(x * y)
    for f in (grad, derivative):
        assert f(sine_of_product)(0.3, 2.0) == pytest.approx(f(reference)(0.3, 2.0), rel=1e-14)
    assert derivative(sine_of_product, 4)(0.3, 2.0) == pytest.approx(16 * math.sin(0.6), rel=1e-13)
    hessian = ad.hessian(sine_of_product, (0, 1))(0.3, 2.0)
    for row, expected in zip(hessian, ad.hessian(reference, (0, 1))(0.3, 2.0), strict=True):
        assert row == pytest.approx(expected, rel=1e-13)
    mixed = grad(grad(sine_of_product, 0), 1)(0.3, 2.0)
    assert mixed == pytest.approx(grad(grad(reference, 0), 1)(0.3, 2.0), rel=1e-14)
    assert jvp(softsign, (1.0,), (2.0,)) == (0.5, 0.5)
    assert softsign(-3.0) == -0.75
    assert softsign.__doc__ == "Squash x into (-1, 1)."
    assert softsign.__name__ == "softsign"


def test_the_value_function_sees_plain_numbers_only():
    seen = []

    @primitive(lambda v, x: v)
    def exponential(x):
        seen.append(type(x))
        return math.exp(x)

    grad(grad(exponential))(1.0)
    derivative(exponential, 3)(1.0)
    assert set(seen) == {float}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda v, x: ad.sin(x), "the rule of wrong for argument 1 is wrong: at x = 0.7"),
        (lambda v, x: ad.cos(x) * (1 + 1e-6), "is wrong"),
        (lambda v, x: -ad.cos(x), "differences of the function give"),
        (lambda v, x: ZERO, "it gives 0.0"),
        (lambda v, x: math.cos(x), "cannot be differentiated again"),
        (lambda v, x: ad.stop_gradient(ad.cos(x)), "the derivative of the rule of wrong"),
    ],
)
def test_a_wrong_rule_is_refused(rule, message):
    def wrong(x):
        return math.sin(x)

    with pytest.raises(ad.RuleError, match=message):
        primitive(rule)(wrong)


def test_the_refusal_gives_the_point_and_both_numbers():
    with pytest.raises(ad.RuleError) as caught:
        primitive(lambda v, x, y: y, lambda v, x, y: 2 * x)(lambda x, y: x * y)
    message = str(caught.value)
    assert "argument 2" in message
    assert "x1 = 0.7, x2 = 0.2" in message
    assert "gives 1.4" in message
    assert "give 0.69" in message or "give 0.7" in message


def test_domains_and_points():
    log_like = primitive(lambda v, x: 1 / x, domain=lambda x: x > 0)(lambda x: math.log(x))
    assert grad(log_like)(2.0) == 0.5
    with pytest.raises(ad.RuleError, match="could not be tested"):
        primitive(lambda v, x: 1 / (x - 100), domain=lambda x: x > 100)(lambda x: math.log(x - 100))
    near = primitive(lambda v, x: 1 / (x - 100), points=[101.5, 150])(lambda x: math.log(x - 100))
    assert grad(near)(102.0) == 0.5
    with pytest.raises(ad.RuleError, match="needs one rule for each argument, got 0"):
        primitive()(lambda x: x)


def test_check_grad_accepts_what_is_right():
    f = lambda x, p: [ad.exp(x) * p["a"], ad.where(x > 0, x, -x) + abs(p["b"]), x ** p["a"]]
    for order in (1, 2, 3):
        checks = check_grad(f, 0.7, {"a": 1.5, "b": -2.0}, order=order)
        assert len(checks) == 9
        assert {check.order for check in checks} == {order}
        assert all(abs(c.forward - c.reference) < 1e-6 for c in checks)


def test_check_grad_uses_the_complex_step_where_it_can():
    methods = {c.method for c in check_grad(lambda x: ad.sin(x) * x**3, 0.5)}
    assert methods == {"complex step"}
    assert {c.method for c in check_grad(lambda x: abs(x) * x, 0.5)} == {"differences"}
    assert {c.method for c in check_grad(lambda x: ad.sin(x), 0.5, order=2)} == {"differences"}


def test_check_grad_in_many_dimensions_takes_random_directions():
    checks = check_grad(lambda xs: sum(x * x for x in xs), [float(i) for i in range(40)])
    assert len(checks) == 10
    assert all(abs(c.forward - c.reference) < 1e-9 * abs(c.forward) for c in checks)


def broken(name, rule, value):
    """Make a primitive with a wrong rule, past the test that would refuse it."""
    return wrap(
        Primitive(
            name, (rule,), value, f"{name}({{0}})", name, "wrong", by_type=ByType(name, {}, value)
        )
    )


def test_check_grad_names_the_primitive_the_node_and_the_line():
    bad_tanh = broken("bad_tanh", lambda v, x: 1 + v * v, math.tanh)

    def model(x, y):
        hidden = ad.exp(x) * y
        squashed = bad_tanh(hidden)
        return squashed * x + ad.sin(y)

    with pytest.raises(ad.CheckError) as caught:
        check_grad(model, 0.3, 0.4)
    message = str(caught.value)
    assert "rule of 'bad_tanh'" in message
    assert "v4 = bad_tanh(" in message or "v3 = bad_tanh(" in message
    assert "test_custom.py" in message
    assert "squashed = bad_tanh(hidden)" in message


def test_check_grad_finds_a_rule_wrong_only_in_the_second_order():
    bad_square = broken("bad_square", lambda v, x: 2 * ad.stop_gradient(x), lambda x: x * x)
    check_grad(lambda x: bad_square(x) * 3, 1.5)
    with pytest.raises(ad.CheckError, match="Wrong is the derivative of the rule of 'bad_square'"):
        check_grad(lambda x: bad_square(x) * 3, 1.5, order=2)


def test_check_grad_blames_the_function_where_no_rule_is_wrong():
    state = [1.0]

    def drifting(x):
        state[0] += 1
        return x * state[0]

    with pytest.raises(ad.CheckError, match="the function itself is the cause"):
        check_grad(drifting, 1.0)


def test_check_grad_of_arrays_in_nested_structures():
    model = lambda x, p: np.tanh(x @ p["w"][0]) + p["b"]
    x = np.linspace(-1, 1, 8).reshape(4, 2)
    checks = check_grad(model, x, {"w": [np.array([0.3, -0.7])], "b": 0.5})
    assert len(checks) == 10 * 4  # of 11 numbers ten random directions, and each of four results
    few = check_grad(lambda p: np.sum(p["w"][0] ** 3) * p["b"], {"w": [np.ones(2)], "b": 2})
    assert [check.forward for check in few] == pytest.approx([6.0, 6.0, 2.0])
    assert (
        len(check_grad(lambda a: np.linalg.inv(a), np.array([[2.0, 1.0], [0, 3]]), order=2)) == 16
    )


def test_check_grad_names_the_element_and_the_rule_of_arrays():
    cos_twice = lambda v, x: np.where(np.arange(3) == 1, 2.0, 1.0) * np.cos(x)
    bad_sin = broken("bad_sin", cos_twice, np.sin)
    with pytest.raises(ad.CheckError) as caught:
        check_grad(lambda p: np.sum(bad_sin(p["w"])), {"w": np.array([0.1, 0.2, 0.3])})
    assert "in the direction of input 1['w'][1]" in str(caught.value)
    assert "Wrong is the rule of 'bad_sin'" in str(caught.value)
    assert "by differences in a random direction" in str(caught.value)
    lost = lambda a: np.sum(ad.stop_gradient(a) * a)
    with pytest.raises(ad.CheckError, match=r"of input 1\[0, 1\].*the function itself"):
        check_grad(lost, np.array([[0.0, 3.0]]))


NAMES = ["sin", "exp", "tanh", "cosh", "sigmoid", "atan", "erf", "softplus"]


@pytest.mark.parametrize("seed", range(100))
def test_a_mutated_rule_is_found_in_a_random_program(seed):
    generator = random.Random(seed)
    victim = generator.choice(NAMES)
    right, factor = TABLE[victim].partials[0], generator.choice([0.5, -1.0, 1.001])
    mutant = wrap(
        dataclasses.replace(
            TABLE[victim],
            name=f"mutant_{victim}",
            partials=(lambda v, x: right(v, x) * factor,),
            by_type=ByType(victim, {}, TABLE[victim].compute),
        )
    )
    steps = [getattr(ad, generator.choice(NAMES)) for _ in range(6)]
    steps.insert(generator.randrange(7), mutant)
    picks = [(generator.randrange(i + 2), generator.randrange(i + 2)) for i in range(7)]

    def program(x, y):
        values = [x, y]
        for step, (i, j) in zip(steps, picks, strict=True):
            values.append(step(values[i] * 0.5 + values[j] * 0.25))
        return sum(values)

    with pytest.raises(ad.CheckError, match=f"rule of 'mutant_{victim}'"):
        check_grad(program, 0.3, -0.6)


def test_functions_of_arrays():
    @primitive(
        lambda v, x, y: ad.Linear(lambda dx: np.tril(np.outer(dx, y)), lambda dv: np.tril(dv) @ y),
        lambda v, x, y: ad.Linear(lambda dy: np.tril(np.outer(x, dy)), lambda dv: x @ np.tril(dv)),
        points=[(np.array([1.0, -2.0]), np.array([0.5, 3.0, 1.0]))],
    )
    def triangle(x, y):
        return np.tril(x[:, None] * y)

    x, y = np.array([0.3, 0.9]), np.array([-1.0, 2.0])
    for argnum in (0, 1):
        ours = ad.hessian(lambda x, y: np.sum(np.sin(triangle(x, y))), argnum)(x, y)
        theirs = ad.hessian(lambda x, y: np.sum(np.sin(np.tril(np.outer(x, y)))), argnum)(x, y)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("push", "pull", "message"),
    [
        (lambda dx: 2 * dx[::-1], lambda dv: dv[::-1], "argument 1 is wrong"),
        (lambda dx: dx[::-1], lambda dv: dv, "in reverse mode, is wrong"),
    ],
)
def test_wrong_rules_of_arrays(push, pull, message):
    with pytest.raises(ad.RuleError, match=message):
        ad.primitive(lambda v, x: ad.Linear(push, pull), points=[np.array([1.0, 2.0, 4.0])])(
            lambda x: x[::-1]
        )


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("size", [10, 40_000])
def test_arrays_of_a_rule_remain_the_users(size, factor):
    c, buffer = np.linspace(1, 2, size), np.empty(size)

    @ad.primitive(lambda v, x: c[: np.size(x)], points=[np.ones(4)])
    def by_a_view(x):
        return c[: np.size(x)] * x

    pull = lambda bar: np.multiply(bar, 2, out=buffer[: np.size(bar)])

    @ad.primitive(lambda v, x: ad.Linear(lambda dot: 2 * dot, pull), points=[np.ones(4)])
    def twice(x):
        return 2 * x

    x, before = np.ones(size), c.copy()
    found = [ad.grad(lambda x: np.sum(factor * by_a_view(x)))(x) for _ in range(2)]
    for slope in found:
        np.testing.assert_allclose(slope, factor * before, rtol=1e-15)
        assert not np.shares_memory(slope, c)
    np.testing.assert_array_equal(c, before)
    both = ad.grad(lambda x, y: np.sum(factor * twice(x)) + np.sum(5 * twice(y)), (0, 1))(x, x)
    np.testing.assert_array_equal(both[0], np.full(size, 2 * factor))
    np.testing.assert_array_equal(both[1], np.full(size, 10.0))
