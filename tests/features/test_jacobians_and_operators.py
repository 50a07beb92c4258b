"""Jacobians, products with them, implicit functions: each feature of the table, exercised."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


@shows("value_and_grad")
def test_value_and_grad():
    assert ad.value_and_grad(lambda x, y: x**2 * y, (0, 1))(3.0, 5.0) == (45.0, (30.0, 9.0))


@shows("Jacobian by either mode")
def test_jacobians():
    # the map of polar coordinates, whose determinant is r
    f = lambda p: np.stack([p[0] * np.cos(p[1]), p[0] * np.sin(p[1])])
    for jacobian in (ad.jacfwd, ad.jacrev):
        assert np.linalg.det(jacobian(f)(np.array([2.0, 0.7]))) == pytest.approx(2.0, rel=1e-14)


@shows("jvp / vjp with user seeds")
def test_seeds():
    a, x, u, w = np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2), np.array([1.0, -1.0]), np.arange(2)
    f = lambda x: a @ x**2
    np.testing.assert_array_equal(ad.jvp(f, (x,), (u,))[1], a @ (2 * x * u))
    np.testing.assert_array_equal(ad.vjp(f, x)[1](w * 1.0)[0], 2 * x * (a.T @ w))


@shows("Linearize once, apply often; transpose a linear map")
def test_linear_maps():
    calls = []

    def f(x):
        calls.append(1)
        return np.sin(x) * np.arange(3.0)

    x = np.ones(3)
    value, push = ad.linearize(f, x)
    np.testing.assert_allclose(value, math.sin(1) * np.arange(3))
    for u in np.eye(3):
        np.testing.assert_allclose(push(u), math.cos(1) * np.arange(3) * u)
    assert len(calls) == 1
    _value, transposed = ad.vjp(push, x)  # the vjp of a linear map is its transpose
    np.testing.assert_allclose(transposed(np.ones(3))[0], math.cos(1) * np.arange(3))


@shows("Implicit differentiation (root, argmin, fixed point)")
def test_implicit_functions():
    pytest.importorskip("scipy")
    from simpleautodiff import plug

    root = lambda a: plug.solve_root(lambda x, a: x**3 - a, 1.0, a)
    assert ad.grad(root)(8.0) == pytest.approx(1 / 12, rel=1e-10)
    least = lambda a: plug.solve_minimum(lambda x, a: (x - a) ** 2 + x**2, 0.0, a)
    assert ad.grad(least)(3.0) == pytest.approx(0.5, rel=1e-10)
    fixed = lambda a: plug.solve_fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a)
    assert ad.grad(fixed)(2.0) == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-10)


@shows("Sensitivities of ODE solves")
@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_sensitivities(sensitivity):
    pytest.importorskip("scipy")
    from simpleautodiff import plug

    def decayed(rate):
        given = {"args": (rate,), "rtol": 1e-10, "atol": 1e-12, "sensitivity": sensitivity}
        return plug.solve_ivp(lambda t, y, k: -k * y, (0, 2), [3.0], **given).y[0, -1]

    assert ad.grad(decayed)(0.5) == pytest.approx(-6 * math.exp(-1), rel=1e-7)
