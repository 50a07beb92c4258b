"""Functions computed in place: arrays without axes, and where a short way would overflow."""

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad

SLOPES = {  # function and its derivative, by mpmath
    "sigmoid": (ad.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "tanh": (np.tanh, mpmath.tanh),
    "softplus": (ad.softplus, lambda x: mpmath.log(1 + mpmath.exp(x))),
    "logaddexp": (
        lambda x: np.logaddexp(x, 0.5),
        lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(0.5)),
    ),
}
POINTS = [-800.0, -40.0, -1.3, 0.0, 0.3, 2.0, 40.0, 800.0]


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("shape", [(), (1,), (5000,)])
def test_values_and_slopes_at_every_size_of_array(name, shape):
    f, exact = SLOPES[name]
    with mpmath.workdps(400):
        for x in POINTS:
            expected = float(exact(mpmath.mpf(x)))
            slope = float(mpmath.diff(exact, mpmath.mpf(x)))
            array = np.full(shape, x)
            value, pullback = ad.vjp(f, array)
            np.testing.assert_allclose(value, np.full(shape, expected), rtol=4e-16, atol=5e-324)
            (adjoint,) = pullback(np.ones(shape)[()])
            np.testing.assert_allclose(adjoint, np.full(shape, slope), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize(
    ("shift", "axis", "back"),
    [(3, 0, -3), (-3, 1, 3), ((2, 5), (0, 1), (-2, -5)), ((1, 2), (1, 1), (-1, -2))],
)
def test_large_arrays_are_rolled_along_one_axis_and_two(shift, axis, back):
    x = np.arange(40_000.0).reshape(200, 200)
    weights = np.cos(x)
    f = lambda x: np.sum(weights * np.roll(x * 2.0, shift, axis))
    value, gradient = ad.value_and_grad(f)(x)
    assert value == pytest.approx(np.sum(weights * np.roll(2 * x, shift, axis)), rel=1e-12)
    np.testing.assert_array_equal(gradient, 2 * np.roll(weights, back, axis))


@pytest.mark.parametrize("operation", [np.multiply, np.add, np.divide, np.subtract])
def test_a_wider_row_widens_a_large_array(operation):
    x = np.linspace(1, 2, 640_000).reshape(800, 800).astype(np.float32)
    row, expected = np.linspace(1, 2, 800), []

    def f(x):
        values = [operation(x * x, row), operation(row, x * x)]
        for value, right in zip(values, expected, strict=False):
            assert value.dtype == np.float64
            np.testing.assert_array_equal(value.value, right)
        return np.sum(values[0] * values[1])

    expected += [operation(x * x, row), operation(row, x * x)]
    for _ in range(3):  # the second call finds memory of the first
        ad.grad(f)(x)
