"""Higher derivatives: each feature of the table, exercised."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


@shows("grad of grad, any order")
def test_grad_of_grad():
    f = ad.tanh
    for _ in range(4):  # JAX's quickstart goes to the third
        f = ad.grad(f)
    t = math.tanh(1.0)
    assert f(1.0) == pytest.approx((1 - t * t) * (16 * t - 24 * t**3), rel=1e-12)


@shows("Hessian in one call")
def test_hessian():
    rosenbrock = lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    np.testing.assert_allclose(ad.hessian(rosenbrock)(np.ones(2)), [[802, -400], [-400, 200]])


@shows("Hessian-vector product")
def test_hessian_vector_product():
    n = 1000
    f = lambda x: np.sum(x) ** 3
    product = ad.hvp(f, (np.ones(n),), (np.arange(n, dtype=float),))
    np.testing.assert_allclose(product, np.full(n, 6.0 * n * n * (n - 1) / 2), rtol=1e-13)


@shows("Nested derivatives free of perturbation confusion")
def test_no_confusion():
    # Siskind and Pearlmutter's example: d/dx (x d/dy (x + y)) is 1, not 2
    assert ad.derivative(lambda x: x * ad.derivative(lambda y: x + y)(1.0))(1.0) == 1.0
    assert ad.grad(lambda x: x * ad.grad(lambda y: x + y)(1.0))(1.0) == 1.0
