"""Slopes have all their digits: a few units in the last place, where formulas would cancel, too."""

import math

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad

NEAR_ONE = [1 - 10.0**-k for k in range(1, 16)]
WIDE = [
    sign * x for x in (1e-12, 1e-3, 0.3, 1.0, 3.0, 9.0, 18.0, 19.5, 40.0, 300.0) for sign in (1, -1)
]
SLOPES = {  # a function, its derivative for mpmath, and where it is asked for
    "tanh": (ad.tanh, lambda x: mpmath.sech(x) ** 2, WIDE),
    "sigmoid": (ad.sigmoid, lambda x: 1 / (2 + mpmath.exp(x) + mpmath.exp(-x)), WIDE),
    "softplus": (ad.softplus, lambda x: 1 / (1 + mpmath.exp(-x)), WIDE),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), lambda x: 1 / (1 + mpmath.exp(-x)), WIDE),
    "atanh": (ad.atanh, lambda x: 1 / (1 - x**2), NEAR_ONE),
    "asin": (ad.asin, lambda x: 1 / mpmath.sqrt(1 - x**2), NEAR_ONE),
    "acos": (ad.acos, lambda x: -1 / mpmath.sqrt(1 - x**2), NEAR_ONE),
    "acosh": (ad.acosh, lambda x: 1 / mpmath.sqrt(x**2 - 1), [2 - x for x in NEAR_ONE]),
    "log1p": (ad.log1p, lambda x: 1 / (1 + x), [-x for x in NEAR_ONE]),
}
SECOND = {
    "tanh": lambda x: -2 * mpmath.tanh(x) * mpmath.sech(x) ** 2,
    "softplus": SLOPES["sigmoid"][1],
    "logaddexp": SLOPES["sigmoid"][1],
}


def units(found, exact):
    """Return how far a number is from the exact one, in units of its last place."""
    return float(abs(mpmath.mpf(float(found)) - exact)) / math.ulp(float(exact))


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name):
    f, exact, points = SLOPES[name]
    slope, compiled = ad.grad(f), ad.jit(ad.grad(f), tier="tape")
    compiled(points[0])
    batch = ad.vmap(slope)(np.array(points))
    with mpmath.workdps(400):
        for x, of_batch in zip(points, batch, strict=True):
            for found in (slope(x), ad.derivative(f)(x), compiled(x), of_batch):
                assert units(found, exact(mpmath.mpf(x))) < 6


@pytest.mark.parametrize("name", SECOND)
def test_second_slopes(name):
    f, points = SLOPES[name][0], SLOPES[name][2]
    with mpmath.workdps(400):
        for x in points:
            found = ad.grad(ad.grad(f))(x)
            assert units(found, SECOND[name](mpmath.mpf(x))) < 12


def test_tanh_far_out():
    slope = ad.grad(ad.tanh)
    for x in (400.0, 1e300, math.inf):
        assert slope(x) == slope(-x) == ad.grad(slope)(x) == 0
    assert math.isnan(slope(math.nan))
    assert ad.grad(ad.grad(slope))(0.0) == -2
