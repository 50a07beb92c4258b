"""Integrals of functions that jump: the jump's part of the derivative is there, or refused."""

import math

import numpy as np
import pytest
from scipy.integrate import nquad, quad

import simpleautodiff as ad


def below(a):
    """Return a function that is 1 below a: its integral from 0 to 1 is a."""
    return lambda x: np.where(x < a, 1.0, 0.0)


MOVING = {  # integrals from 0 to 1
    "where": below,
    "an if": lambda a: lambda x: 1.0 if x < a else 0.0,
    "sign": lambda a: lambda x: np.sign(x - a),
    "heaviside": lambda a: lambda x: np.heaviside(x - a, 0.5),
    "between smooth parts": lambda a: lambda x: a * np.sin(x) + np.where(x < a, 1.0, 0.1),
    "small beside a steep part": lambda a: lambda x: 5 * np.exp(x) + np.where(x < a, 1e-3, 0.0),
    "two places": lambda a: lambda x: np.where(x < 0.7, 1.0, 0.0) * np.where(x < a, 1.0, 0.0),
}


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("a", [0.3, 0.5])  # the second is a place at which quad divides
def test_a_jump_that_moves_is_refused_with_the_way_out(name, a):
    area = lambda a: quad(MOVING[name](a), 0, 1)[0]
    for differentiate in (ad.grad, ad.derivative):
        with pytest.raises(ad.DomainError, match=r"points=\[jump\]"):
            differentiate(area)(a)
    with pytest.raises(ad.DomainError, match=r"points=\[jump\]"):
        ad.vmap(ad.grad(area))(np.array([a, a]))
    assert area(a) == pytest.approx(quad(MOVING[name](a), 0, 1)[0])


@pytest.mark.parametrize("a", [0.3, 0.5])
def test_what_the_error_advises_is_right(a):
    ways = {
        "points": lambda a: quad(below(a), 0, 1, points=[a])[0],
        "two integrals": lambda a: quad(below(a), 0, a)[0] + quad(below(a), a, 1)[0],
        "backwards": lambda a: -quad(below(a), 1, 0, points=[0.2, a])[0],
        "from 0": lambda a: quad(below(a), 0, a)[0],
    }
    for area in ways.values():
        for differentiate in (ad.grad, ad.derivative):
            assert differentiate(area)(a) == pytest.approx(1.0)
        np.testing.assert_allclose(ad.vmap(ad.grad(area))(np.array([a, 0.4])), [1.0, 1.0])
    plain = quad(below(a), 0, 1, points=[a])[0]
    assert ad.value_and_grad(ways["points"])(a)[0] == plain


def test_a_jump_that_stays_has_no_part():
    area = lambda a: quad(lambda x: a * np.where(x < 0.3, 1.0, 2.0), 0, 1)[0]
    assert ad.grad(area)(2.0) == pytest.approx(0.3 + 2 * 0.7)


def test_a_kink_is_no_jump_but_in_the_second_derivative():
    """∫ max(x - a, 0) dx from 0 to 1 is (1 - a)² / 2."""
    area = lambda a, **options: quad(lambda x: np.maximum(x - a, 0), 0, 1, **options)[0]
    assert ad.grad(area)(0.3) == pytest.approx(-0.7)
    at_kink = lambda a: area(a, points=[a])
    for twice in (lambda f: ad.grad(ad.grad(f)), lambda f: ad.derivative(f, 2)):
        with pytest.raises(ad.DomainError, match=r"jumps at 0\.3"):
            twice(area)(0.3)
        assert twice(at_kink)(0.3) == pytest.approx(1.0)


def test_a_step_that_is_steep_is_found():
    """Its slope is 0 nearly everywhere, where quad would look for it."""
    area = lambda a: quad(lambda x: np.tanh(1e4 * (x - a)), 0, 1)[0]
    assert ad.grad(area)(0.3) == pytest.approx(-2.0)
    assert ad.derivative(area)(0.3) == pytest.approx(-2.0)


def test_ends_at_which_the_integrand_is_infinite():
    assert ad.grad(lambda a: quad(lambda x: 1 / np.sqrt(x), 0, a)[0])(2.0) == pytest.approx(
        1 / math.sqrt(2)
    )
    assert ad.grad(lambda a: quad(lambda x: np.exp(-a * x) / np.sqrt(x), 0, 1)[0])(
        1.0
    ) == pytest.approx(-quad(lambda x: np.exp(-x) * np.sqrt(x), 0, 1)[0])


def test_limits_of_weighted_integrals():
    """The derivative in a limit is the integrand there, with its weight."""
    one = lambda x: 1 + 0 * x
    cosine = lambda b: quad(one, 0, b, weight="cos", wvar=1.0)[0]
    assert ad.grad(cosine)(3.0) == pytest.approx(math.cos(3.0))
    assert ad.jvp(cosine, (3.0,), (1.0,))[1] == pytest.approx(math.cos(3.0))
    assert ad.hessian(cosine)(3.0) == pytest.approx(-math.sin(3.0))
    nested = lambda b: nquad(
        lambda x, y: 1 + 0 * x, [[0, b], [0, 1]], opts=[{"weight": "cos", "wvar": 1.0}, {}]
    )
    assert ad.grad(lambda b: nested(b)[0])(3.0) == pytest.approx(math.cos(3.0))
    tail = lambda a: quad(lambda x: np.exp(-x), a, np.inf, weight="sin", wvar=2.0)[0]
    assert ad.grad(tail)(0.7) == pytest.approx(-math.exp(-0.7) * math.sin(1.4))
    value = lambda b: quad(lambda x: x, -1, b, weight="cauchy", wvar=0.2)[0]
    assert ad.grad(value)(3.0) == pytest.approx(3 / 2.8)


def test_derivatives_of_weights_are_refused():
    of_wvar = lambda w: quad(lambda x: 1 + 0 * x, 0, 1, weight="cos", wvar=w)[0]
    of_limit = lambda b: quad(lambda x: x, 0, b, weight="alg", wvar=(0.2, 0.3))[0]
    with pytest.raises(ad.AutodiffError, match="no derivative in wvar; write the weight into"):
        ad.grad(of_wvar)(2.0)
    with pytest.raises(ad.AutodiffError, match="no derivative in a limit; write the weight"):
        ad.grad(of_limit)(3.0)
