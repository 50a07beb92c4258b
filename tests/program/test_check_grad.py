"""The checker: it finds wrong rules, and accuses no right one."""

import dataclasses
import math
import random

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import check_grad, extend
from simpleautodiff.core.level import wrap
from simpleautodiff.core.primitive import ByType, Primitive
from simpleautodiff.rules import TABLE


def test_check_grad_neither_passes_nor_accuses_too_easily():
    with pytest.raises(ad.ResultError, match="nothing to check"):
        ad.check_grad(lambda x: None, 2.0)
    with pytest.raises(ad.ArgumentError, match="a point of numbers"):
        ad.check_grad(lambda x: x, "text")
    for f, x in [
        (lambda x: ad.sin(1000 * x) * ad.sign(x), 1.0),
        (lambda x: 1 / abs(x), 1e-4),
        (lambda x: ad.log(abs(x)), 1e-3),
        (lambda x: ad.relu(x - 1), 1.01),
    ]:
        (check,) = ad.check_grad(f, x)
        assert check.forward == pytest.approx(check.reference, rel=1e-6)
    small = ad.stop_gradient
    with pytest.raises(ad.CheckError):
        ad.check_grad(lambda x: 1e-6 * small(x) * x, 2.0)


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
    assert "test_check_grad.py" in message
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


def test_check_grad_accepts_right_rules_where_differences_are_hard():
    a = np.array([[0.2, 1.0, -0.4], [0.7, 0.1, 0.3], [-0.9, 0.5, 0.6]])
    check_grad(lambda a: np.linalg.cholesky(a @ a.T + 3 * np.eye(3)), a)
    check_grad(lambda a: np.linalg.eigh(a @ a.T + np.diag([1.0, 3.0, 6.0]))[1] ** 2, a)
    check_grad(lambda x: np.nan_to_num(x) * 0.5, np.array([np.nan, 1.0, np.inf]))
    check_grad(lambda x: np.nan_to_num(x) * 2, np.nan)
    check_grad(lambda x: np.sin(x.astype(np.float32)), a)


def test_check_grad_of_complex_results_compares_both_parts():
    for f in (lambda x: x * 1j, lambda x: np.exp(1j * x), lambda x: (x + 2j) ** 3):
        assert len(check_grad(f, 2.0)) == 2
    assert len(check_grad(lambda x: np.fft.fft(x), np.array([1.0, 2.0, 4.0]))) == 18
    wrong = broken("wrong", lambda v, x: 1j * v + 0.01, lambda x: np.exp(1j * x))
    with pytest.raises(ad.CheckError, match="Wrong is the rule of 'wrong'"):
        check_grad(wrong, 2.0)


def test_check_grad_accuses_rules_of_users():
    late = ad.primitive(lambda v, x: 2 * x if x < 5 else 3 * x)(lambda x: x * x)
    zero = ad.primitive(lambda v, x: 2 * x if x < 5 else ad.ZERO)(lambda x: x * x)
    for function in (late, zero):
        check_grad(function, 3.0)
        with pytest.raises(ad.CheckError, match=r"Wrong is the rule of '<lambda>'.* 14\.0"):
            check_grad(function, 7.0)
    back = broken("back", lambda v, x: ad.Linear(lambda d: 2 * d, lambda b: 3 * b), lambda x: 2 * x)
    with pytest.raises(ad.CheckError, match="Wrong is the way back of the rule of 'back'"):
        check_grad(lambda x: np.sum(back(x)), np.ones(3))
    infinite = broken("infinite", lambda v, x: np.inf, lambda x: 2 * x)
    with pytest.raises(ad.CheckError, match="Wrong is the rule of 'infinite'"):
        check_grad(infinite, 1.0)


def test_check_grad_acquits_only_what_it_has_tested():
    rule = broken("rough", lambda v, x: 3.0, lambda x: np.float32(x) * np.float32(2))
    with pytest.raises(ad.CheckError) as caught:
        check_grad(lambda x: rule(x) * 1.0, 1.5)
    assert "Wrong is the rule of 'rough'" in str(caught.value)
    kink = broken("kink", lambda v, x: 5.0, abs)
    with pytest.raises(ad.CheckError) as caught:
        check_grad(lambda x: kink(x) + ad.absolute(x - 1.0), 1.0)
    assert "Wrong is the rule of 'kink'" in str(caught.value)


@pytest.mark.parametrize("x", [0.7, np.array([0.1, 0.2]), 0.7 + 0.2j, np.array([0.1 + 0.2j, 0.5])])
@pytest.mark.parametrize("few", [False, True])
def test_a_wrong_rule_given_by_defvjp_is_named(x, few):
    def sine(scale):
        own = extend.primitive(np.sin)
        extend.defvjp(own, lambda ans, x: lambda g: g * np.cos(x) * scale)
        return lambda x: np.sum(own(np.atleast_1d(x).astype(kind) if few else x) * 2)

    kind = "c8" if np.iscomplexobj(x) else "f4"
    assert len(check_grad(sine(1.0), x)) == np.size(x) * (1 + 3 * np.iscomplexobj(x))
    with pytest.raises(ad.CheckError, match=r"Wrong is the rule of 'sin': v\d = sin\("):
        check_grad(sine(1.05), x)


def test_the_parts_of_complex_numbers_are_checked_apart():
    assert len(check_grad(lambda z: abs(z) ** 2, 0.1 + 0.2j)) == 2
    f = lambda z: np.sum(np.exp(z) * np.conj(z))
    checks = check_grad(f, np.array([0.1 + 0.2j, 0.5]))
    assert len(checks) == 8
    z = 0.1 + 0.2j
    assert checks[0].forward == pytest.approx((np.exp(z) * (1 + z.conjugate())).real)
    wrong = broken("wrong", lambda v, x: ad.Linear(lambda d: 2 * d, lambda b: 2 * b), np.conj)
    with pytest.raises(ad.CheckError, match=r"the imaginary part of input 1\[0\].*'wrong'"):
        check_grad(lambda z: np.imag(wrong(z)), np.array([0.1 + 0.2j]))
