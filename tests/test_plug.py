"""SciPy's solvers with our derivatives, and derivatives of solutions."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
import simpleautodiff.numpy as hips_np
from simpleautodiff import plug


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "method",
    ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact"],
)
def test_minimize(method):
    found = plug.minimize(
        rosenbrock, np.array([-1.0, 0.5, 2.0]), method=method, options={"maxiter": 2000}
    )
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


def test_minimize_without_derivatives_and_with_arguments():
    f = lambda x, a: np.sum((x - a) ** 2)
    for method in ("Nelder-Mead", "Newton-CG"):
        found = plug.minimize(f, [0.0, 0.0], args=(3.0,), method=method)
        np.testing.assert_allclose(found.x, [3.0, 3.0], atol=1e-3)


def test_solutions_have_derivatives_of_several_orders():
    root = lambda a: plug.solve_root(lambda x, a: x**3 - a, np.array([1.0]), a)[0]
    a = 2.0
    expected = [a ** (1 / 3), a ** (-2 / 3) / 3, -2 / 9 * a ** (-5 / 3), 10 / 27 * a ** (-8 / 3)]
    assert root(a) == pytest.approx(expected[0])
    assert ad.grad(root)(a) == pytest.approx(expected[1], rel=1e-12)
    assert ad.grad(ad.grad(root))(a) == pytest.approx(expected[2], rel=1e-10)
    assert ad.derivative(root, 2)(a) == pytest.approx(expected[2], rel=1e-10)
    assert ad.grad(ad.grad(ad.grad(root)))(a) == pytest.approx(expected[3], rel=1e-8)


def test_a_system_with_structured_parameters():
    def f(x, p):
        return np.stack([x[0] ** 2 + x[1] - p["a"], x[0] - p["b"][0] * x[1]])

    solution = lambda p: np.sum(plug.solve_root(f, np.ones(2), p) ** 2)
    p = {"a": 3.0, "b": [0.5]}
    slope = ad.grad(solution)(p)
    h = 1e-6
    for path, change in [("a", {"a": 3.0 + h, "b": [0.5]}), ("b", {"a": 3.0, "b": [0.5 + h]})]:
        expected = (solution(change) - solution(p)) / h
        found = slope["a"] if path == "a" else slope["b"][0]
        assert found == pytest.approx(expected, rel=1e-5)


def test_no_root_is_said():
    with (
        pytest.raises(ad.DomainError, match="no root of <lambda> was found"),
        np.errstate(all="ignore"),
    ):
        plug.solve_root(lambda x: x**2 + 1, np.array([0.3]))


def test_curve_fit_and_least_squares_on_noisy_data():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 3, 40)
    y = 2.5 * np.exp(-1.3 * t) + 0.01 * rng.normal(size=40)
    model = lambda t, a, b: a * np.exp(-b * t)
    p, covariance = plug.curve_fit(model, t, y, [1.0, 1.0])
    q = plug.least_squares(lambda p: model(t, *p) - y, [1.0, 1.0]).x
    np.testing.assert_allclose(p, q, rtol=1e-6)
    np.testing.assert_allclose(p, [2.5, 1.3], atol=0.05)
    assert covariance.shape == (2, 2)


def test_code_for_hips_autograd_runs_with_another_import_line():
    from simpleautodiff import elementwise_grad, grad, hessian_vector_product, make_vjp

    def tanh(x):
        return (1.0 - hips_np.exp(-2 * x)) / (1.0 + hips_np.exp(-2 * x))

    assert grad(tanh)(1.0) == pytest.approx(1 - math.tanh(1.0) ** 2)
    x = hips_np.linspace(-2, 2, 5)
    np.testing.assert_allclose(elementwise_grad(tanh)(x), 1 - np.tanh(x) ** 2)
    pullback, value = make_vjp(lambda x: hips_np.sum(x**2))(x)
    np.testing.assert_allclose(pullback(1.0), 2 * x)
    assert value == pytest.approx(10.0)
    product = hessian_vector_product(lambda x: hips_np.sum(x**3))(x, np.ones(5))
    np.testing.assert_allclose(product, 6 * x)
