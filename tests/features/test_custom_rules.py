"""Rules of one's own: each feature of the table, exercised."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


def make_log1pexp():
    """JAX's example of a custom rule: log(1 + e^x), stable for large x."""

    @ad.primitive(lambda v, x: 1 / (1 + ad.exp(-x)))
    def log1pexp(x):
        return math.log1p(math.exp(-abs(x))) + max(x, 0.0)

    return log1pexp


@shows("User-written JVP/VJP")
def test_own_rule():
    assert ad.grad(make_log1pexp())(100.0) == 1.0


@shows("One declaration serves both modes")
def test_both_modes():
    f, s = make_log1pexp(), 1 / (1 + math.exp(-0.5))
    assert ad.jvp(f, (0.5,), (1.0,))[1] == pytest.approx(s, rel=1e-15)
    assert ad.vjp(f, 0.5)[1](1.0)[0] == pytest.approx(s, rel=1e-15)
    assert ad.derivative(f, n=2)(0.5) == pytest.approx(s * (1 - s), rel=1e-14)


@shows("Rules verified automatically when registered")
def test_a_wrong_rule():
    with pytest.raises(ad.RuleError, match="the rule of cube for argument 1 is wrong"):

        @ad.primitive(lambda v, x: 2 * x * x)
        def cube(x):
            return x**3


@shows("stop_gradient / detach")
def test_stop_gradient():
    assert ad.grad(lambda x: x * ad.stop_gradient(x**2))(3.0) == 9.0


@shows("Black-box fallback by differences, error-estimated")
def test_black_box():
    gamma = ad.black_box(math.gamma)
    slope = ad.grad(lambda x: 2 * gamma(x))(3.0)
    expected = 4 * (1.5 - np.euler_gamma)
    assert abs(slope - expected) <= 2 * gamma.report.error + 1e-12
    assert gamma.report.error < 1e-6
