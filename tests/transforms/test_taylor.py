"""Taylor series: all coefficients, of vectors and structures, in and out; JAX's `jet`."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax.experimental.jet import jet as jax_jet

import simpleautodiff as ad

jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("sin", 0.7),
        ("exp", -1.2),
        ("log", 2.5),
        ("tan", 0.4),
        ("sqrt", 3.0),
        ("atan", 0.8),
        ("erf", 0.3),
        ("gamma", 2.2),
        ("sinh", 0.1),
    ],
)
def test_all_coefficients_of_a_function_of_one_number(name, x):
    with mpmath.workdps(40):
        expected = [float(c) for c in mpmath.taylor(getattr(mpmath, name), x, 8)]
    assert ad.taylor(getattr(ad, name), x, 8) == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_a_series_of_order_0_is_the_value():
    assert ad.taylor(ad.exp, 1.0, 0) == [math.exp(1.0)]


def test_exact_numbers_stay_exact():
    assert ad.taylor(lambda x: 1 / (1 - x), Fraction(1, 2), 4) == [2, 4, 8, 16, 32]
    assert type(ad.taylor(lambda x: x**3, Fraction(1, 2), 3)[3]) is Fraction


def test_vectors_and_structures():
    x = np.array([0.2, 0.5])
    coefficients = ad.taylor(np.sin, x, 3)
    for found, expected in zip(
        coefficients, [np.sin(x), np.cos(x), -np.sin(x) / 2, -np.cos(x) / 6], strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    f = lambda p: (p["a"] @ p["a"] * p["b"], [np.exp(p["b"])])
    p, d = {"a": np.array([1.0, 2.0]), "b": 3.0}, {"a": np.array([0.0, 1.0]), "b": 2.0}
    # (1 + (2 + t)²) (3 + 2t) = 15 + 22 t + 11 t² + 2 t³
    found = ad.taylor(f, p, 4, direction=d)
    assert [c[0] for c in found] == pytest.approx([15, 22, 11, 2, 0])
    exact = [math.exp(3) * 2**n / math.factorial(n) for n in range(5)]
    assert [c[1][0] for c in found] == pytest.approx(exact)
    assert ad.taylor(f, p, 0) == [f(p)]


def test_the_example_of_jax():
    h0, h1, h2 = 0.5**3.0, 3.0 * 0.5**2.0, 6.0 * 0.5
    f0, (f1, f2) = ad.jet(np.sin, (h0,), ((h1, h2),))
    assert f0 == np.sin(h0)
    assert f1 == pytest.approx(np.cos(h0) * h1)
    assert f2 == pytest.approx(-np.sin(h0) * h1**2 + np.cos(h0) * h2)


@pytest.mark.parametrize("scaled", [True, False])
def test_jet_is_that_of_jax(scaled):
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=2)
    series = [[rng.normal(size=v.shape) for _ in range(4)] for v in (w, x)]
    f = lambda np: lambda w, x: {"h": np.tanh(w @ x), "s": np.sum(np.exp(w) * x)}
    found, higher = ad.jet(f(np), (w, x), series, factorial_scaled=scaled)
    expected, terms = jax_jet(f(jnp), (w, x), series, factorial_scaled=scaled)
    for key in ("h", "s"):
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-12)
        assert len(higher[key]) == len(terms[key]) == 4
        for mine, theirs in zip(higher[key], terms[key], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


def test_series_inside_of_derivatives():
    third = lambda x: ad.taylor(ad.sin, x, 3)[3]  # -cos(x)/6
    assert ad.grad(third)(0.4) == pytest.approx(math.sin(0.4) / 6)
    assert ad.vmap(third)(np.array([0.1, 0.4]))[1] == pytest.approx(-math.cos(0.4) / 6)
    assert ad.jit(third)(0.4) == pytest.approx(-math.cos(0.4) / 6)


def test_what_is_refused():
    with pytest.raises(ad.ArgumentError, match="0, 1, 2"):
        ad.taylor(ad.sin, 1.0, -1)
    with pytest.raises(ad.ArgumentError, match="all of the same length"):
        ad.jet(ad.add, (1.0, 2.0), ((1.0, 0.0), (1.0,)))
    with pytest.raises(ad.ArgumentError, match="structure"):
        ad.taylor(lambda p: p["a"], {"a": 1.0}, 2, direction={"b": 1.0})
    with pytest.raises(ad.ArgumentError, match="shape"):
        ad.jet(np.sin, (np.ones(2),), ((np.ones(3),),))
