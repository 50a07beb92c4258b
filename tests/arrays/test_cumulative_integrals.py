"""Integrals up to every point, with an initial value: SciPy's values, and exact tangents."""

import numpy as np
import pytest

import simpleautodiff as ad

integrate = pytest.importorskip("scipy.integrate")

Y = np.array([[0.3, -1.2, 2.0, 0.7, 1.5], [1.1, 0.4, -0.6, 0.9, 0.2], [2.0, 0.1, 0.5, -1.0, 3.0]])
DIRECTION = Y[::-1] * 0.5


@pytest.mark.parametrize("initial", [None, 0.0, 2.5])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["cumulative_trapezoid", "cumulative_simpson"])
def test_values_and_tangents(name, axis, initial):
    if name == "cumulative_trapezoid" and initial:
        pytest.skip("SciPy takes 0 only")
    f = lambda y: getattr(integrate, name)(y, dx=0.3, axis=axis, initial=initial)
    value, tangent = ad.jvp(f, (Y,), (DIRECTION,))
    np.testing.assert_array_equal(value, f(Y))
    np.testing.assert_allclose(tangent, f(Y + DIRECTION) - f(Y), atol=1e-15)  # it is linear
    weights = np.cos(np.arange(value.size)).reshape(value.shape)
    gradient = ad.grad(lambda y: np.sum(weights * f(y)))(Y)
    assert np.sum(gradient * DIRECTION) == pytest.approx(np.sum(weights * tangent), rel=1e-13)


def test_stacks_of_tables():
    stack = np.stack([Y, 2 * Y, Y - 1, -Y])
    f = lambda y: integrate.cumulative_simpson(y, dx=0.3, axis=1, initial=1.5)
    value, tangent = ad.jvp(f, (stack,), (stack,))
    np.testing.assert_array_equal(value, f(stack))
    np.testing.assert_allclose(tangent, value - 1.5, atol=1e-15)  # without the initial value


@pytest.mark.parametrize(
    "ends", [{"prepend": 0.5}, {"append": -1.0}, {"prepend": 1.0, "append": 2}]
)
def test_differences_with_ends(ends):
    value, tangent = ad.jvp(lambda y: np.diff(y, **ends), (Y,), (DIRECTION,))
    np.testing.assert_array_equal(value, np.diff(Y, **ends))
    of_ends = dict.fromkeys(ends, 0.0)
    np.testing.assert_array_equal(tangent, np.diff(DIRECTION, **of_ends))
