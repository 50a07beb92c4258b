"""Derivatives without rules, at every size of the argument and of what the function changes on."""

import cmath
import math

import pytest

from simpleautodiff.transforms.finite_difference import complex_step, estimate_derivative

KNOWN = {  # function, point, derivative, relative error that is accepted
    "sin": (math.sin, 1.0, math.cos(1.0), 1e-11),
    "slow": (lambda x: math.sin(x / 30), 1.0, math.cos(1 / 30) / 30, 1e-11),
    "fast": (lambda x: math.sin(500 * x), 1.0, 500 * math.cos(500.0), 1e-9),
    "slow and far": (math.log, 1e6, 1e-6, 1e-10),
    "far": (lambda x: math.sin(x / 3), 1e3, math.cos(1e3 / 3) / 3, 1e-9),
    "fast and far": (lambda x: math.sin(40 * x), 1e3, 40 * math.cos(4e4), 1e-7),
    "fast and far below": (lambda x: math.sin(40 * x), -1e3, 40 * math.cos(4e4), 1e-7),
    "close to a pole": (lambda x: 1 / x, 1e-3, -1e6, 1e-9),
    "close to the end of the domain": (math.sqrt, 1e-6, 500.0, 1e-9),
    "polynomial": (lambda x: x**3 - x, 2.0, 11.0, 1e-12),
    "constant": (lambda x: 7.0, 2.0, 0.0, 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_estimates_are_right_and_know_their_error(name):
    f, x, expected, tolerance = KNOWN[name]
    slope, error = estimate_derivative(f, x)
    assert slope == pytest.approx(expected, rel=tolerance, abs=0.0)
    assert error <= 100 * tolerance * abs(expected)
    assert abs(slope - expected) <= 10 * error + 1e-12 * abs(expected)


def test_a_scale_that_is_known_helps():
    f = lambda x: math.log(x + 1e-5)  # at 0 its own scale is not that of x
    slope, error = estimate_derivative(f, 0.0, 1e-5)
    assert slope == pytest.approx(1e5, rel=1e-9)
    assert estimate_derivative(f, 0.0)[1] > 1e3 * error


def test_where_there_is_no_slope_the_error_is_infinite():
    assert estimate_derivative(math.log, -5.0)[1] == math.inf
    assert estimate_derivative(lambda x: math.nan, 1.0)[1] == math.inf


def test_the_complex_step_loses_no_digit():
    assert complex_step(cmath.exp, 0.0) == 1.0
    assert complex_step(lambda z: z**3, 2.0) == 12.0
    assert complex_step(cmath.log, 3.0) == pytest.approx(1 / 3, rel=1e-16)
