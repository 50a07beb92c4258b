"""Rows exactly where their domains, or the ranges of their parameters, end."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import simpleautodiff as ad
from simpleautodiff.rules import TABLE
from simpleautodiff.rules.array.linear_systems import is_singular
from simpleautodiff.rules.scalar.special import polygamma

POSITIVE = [row for row in TABLE.values() if row.domain.text == "x > 0, y > 0"]

OF_ONE_NUMBER = [row for row in TABLE.values() if row.floats and row.arity == 1]


@pytest.mark.parametrize("row", POSITIVE, ids=[row.name for row in POSITIVE])
def test_0_is_not_positive(row):
    assert not row.domain.contains(0.0, 1.0)
    assert not row.domain.contains(1.0, 0.0)
    assert row.domain.contains(5e-324, 5e-324)


def test_the_largest_number_of_degrees_of_freedom():
    """Student's distribution is Φ(x) - φ(x) (x³ + x) / 4ν + ..., so its slope in ν is known."""
    slope = ad.grad(lambda df: scipy.special.stdtr(df, 1.0))
    density = math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert slope(1e5) == pytest.approx(density * 2 / (4 * 1e10), rel=1e-4)
    with pytest.raises(ad.DomainError, match="at most 100000 degrees of freedom"):
        slope(math.nextafter(1e5, math.inf))


def test_the_size_of_a_complex_0_has_the_slope_0():
    slopes = ad.grad(lambda z: np.sum(np.abs(z)))(np.array([0j, 3 + 4j]))
    np.testing.assert_allclose(slopes, [0, 0.6 - 0.8j], rtol=1e-15)
    assert ad.grad(abs)(0j) == 0


def test_determinants_of_empty_matrices():
    assert ad.grad(lambda a: np.sum(np.linalg.det(a)))(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    np.testing.assert_array_equal(is_singular(np.zeros((3, 2, 0, 0))), np.zeros((3, 2), bool))


@pytest.mark.parametrize("y", [2.0, 3.0])
def test_the_exponent_of_box_and_cox_where_the_power_is_0(y):
    """(0^y - 1)/y = -1/y."""
    assert ad.grad(lambda y: scipy.special.boxcox(0.0, y))(y) == pytest.approx(1 / y**2)
    assert ad.grad(lambda y: scipy.special.boxcox1p(-1.0, y))(y) == pytest.approx(1 / y**2)


@pytest.mark.parametrize("x", [-3.3, -20.5, -20000.25])
def test_digamma_among_its_poles(x):
    with mpmath.workdps(40):
        exact = [mpmath.psi(n, x) for n in range(3)]
    assert polygamma(0, x) == pytest.approx(float(exact[0]), rel=1e-12)
    assert ad.grad(lambda x: polygamma(0, x))(x) == pytest.approx(float(exact[1]), rel=1e-12)
    assert ad.derivative(lambda x: polygamma(0, x), 2)(x) == pytest.approx(
        float(exact[2]), rel=1e-11
    )


@pytest.mark.parametrize(("s", "q"), [(1.1, 1.0), (2.0, 1.0), (2.0, 0.3), (5.0, 2.0), (1.5, 40.0)])
def test_slopes_of_zeta_in_its_exponent_have_all_their_digits(s, q):
    zeta = lambda s: scipy.special.zeta(s, q)
    with mpmath.workdps(40):
        first, second = (float(mpmath.zeta(s, q, n)) for n in (1, 2))
    assert ad.grad(zeta)(s) == pytest.approx(first, rel=2e-15)
    assert ad.grad(ad.grad(zeta))(s) == pytest.approx(second, rel=4e-15)


@pytest.mark.parametrize("row", OF_ONE_NUMBER, ids=[row.name for row in OF_ONE_NUMBER])
def test_a_number_with_a_value_is_inside(row):
    inside = [x for x in (-2.7, -0.4, 1e-3, 0.3, 0.9) if row.domain.contains(x)]
    assert inside
    for x in (1e-3, 0.3, 0.9):
        if x not in inside:
            with pytest.raises(ValueError, match="outside the domain"):
                row.compute(x)
