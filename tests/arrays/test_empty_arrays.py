"""Empty arrays and matrices of one element: shapes as NumPy has them."""

import numpy as np
from numpy.polynomial import polynomial

import simpleautodiff as ad


def value_and_tangent(f, x):
    return ad.jvp(f, (x,), (np.ones_like(x),))


def test_zeros_are_trimmed_to_nothing():
    for found in value_and_tangent(lambda x: np.trim_zeros(0 * x), np.ones(3)):
        assert found.shape == np.trim_zeros(np.zeros(3)).shape == (0,)
    value, tangent = value_and_tangent(np.trim_zeros, np.array([0.0, 2.0, 0.0, 3.0, 0.0]))
    np.testing.assert_array_equal(value, [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(tangent, [1.0, 1.0, 1.0])


def test_the_sum_of_opposite_polynomials_is_one_zero():
    opposite = lambda x: polynomial.polyadd(x, -x)
    for found in value_and_tangent(opposite, np.array([1.0, 2.0])):
        np.testing.assert_array_equal(found, opposite(np.array([1.0, 2.0])))


def test_a_number_is_a_constant_polynomial():
    f = lambda x: polynomial.polymul(x, [1.0, 2.0])
    np.testing.assert_array_equal(f(3.0), [3.0, 6.0])
    np.testing.assert_array_equal(ad.jacobian(f)(3.0), [1.0, 2.0])


def test_the_determinant_of_one_0():
    np.testing.assert_array_equal(ad.grad(np.linalg.det)(np.zeros((1, 1))), [[1.0]])
    np.testing.assert_array_equal(ad.grad(np.linalg.det)(np.zeros((2, 2))), np.zeros((2, 2)))
    np.testing.assert_allclose(ad.grad(np.linalg.det)(np.diag([0.0, 3.0])), np.diag([3.0, 0.0]))
