"""Intervals contain all values and derivatives over a box, and prove signs."""

import math
import random

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Interval

INSIDE = {"acosh": (1.2, 1.9), "atanh": (-0.6, 0.7), "asin": (-0.6, 0.7), "acos": (-0.6, 0.7)}
POSITIVE = ("log", "log2", "log10", "sqrt", "cbrt", "reciprocal")
NAMES = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc"),
    *("square", "reciprocal", "sigmoid", "softplus"),
]
IN_MPMATH = {
    "exp2": lambda x: 2**x,
    "log2": lambda x: mpmath.log(x, 2),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "log1p": mpmath.log1p,
}


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_intervals_contain_what_mpmath_gives(name):
    exact = IN_MPMATH.get(name) or getattr(mpmath, name)
    lo, hi = INSIDE.get(name, (0.3, 1.4) if name in POSITIVE else (-0.8, 1.2))
    generator = random.Random(name)
    for width in (0.0, 1e-12, 0.05, 1.0):
        for _ in range(20):
            a = generator.uniform(lo, hi)
            box = (a, min(hi, a + width * (hi - lo)))
            proof = ad.certify(getattr(ad, name), [box])
            with mpmath.workdps(40):
                for t in (0, generator.random(), 1):
                    x = mpmath.mpf(box[0]) + t * (mpmath.mpf(box[1]) - mpmath.mpf(box[0]))
                    assert proof.value.lo <= exact(x) <= proof.value.hi
                    slope = mpmath.diff(exact, x)
                    room = mpmath.mpf(10) ** -15 * (1 + abs(slope))  # of the differences
                    (found,) = proof.derivatives
                    assert found.lo - room <= slope <= found.hi + room


def test_signs_are_proven():
    f = lambda x, y: x**2 + ad.sin(y) * x + 1
    proof = ad.certify(f, [(0.5, 1.0), (0.1, 0.2)], pieces=16)
    assert (proof.sign, proof.signs) == (1, (1, 1))
    rosenbrock = lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
    proof = ad.certify(rosenbrock, [[(2.0, 2.5), (0.0, 1.0)]], pieces=64)
    assert proof.sign == 1
    assert proof.signs == ([1, -1],)
    assert ad.certify(lambda x: x - x, [(0.0, 1.0)]).sign is None
    assert ad.certify(lambda x: ad.sin(x), [(0.0, 7.0)]).value.hi == 1.0


def test_more_pieces_are_narrower_and_still_right():
    f = lambda x: x * (1 - x)  # its range over [0, 1] is [0, 1/4]
    widths = [ad.certify(f, [(0.0, 1.0)], pieces=n).value for n in (1, 4, 64)]
    assert widths[0].width > widths[1].width > widths[2].width
    assert all(value.lo <= 0 and value.hi >= 0.25 for value in widths)
    assert widths[2].hi < 0.26


@pytest.mark.parametrize(
    ("f", "box"),
    [
        (lambda x: abs(x), (-1.0, 1.0)),
        (lambda x: ad.relu(x), (-1.0, 1.0)),
        (lambda x: x if x > 0 else -x, (-1.0, 1.0)),
        (lambda x: 1 / x, (-1.0, 1.0)),
        (lambda x: ad.log(x), (-1.0, 1.0)),
        (lambda x: ad.tan(x), (1.0, 2.0)),
        (lambda x: ad.where(x > 0.5, x, 1.0), (0.0, 1.0)),
    ],
)
def test_what_is_not_decided_is_refused(f, box):
    with pytest.raises(ad.DomainError):
        ad.certify(f, [box])


def test_arithmetic_is_rounded_outwards():
    x = Interval(0.1) + 0.2
    with mpmath.workdps(40):
        assert x.lo < mpmath.mpf(0.1) + mpmath.mpf(0.2) < x.hi
    assert x.width < 1e-15
    assert (Interval(-2.0, 1.0) ** 2).lo <= 0 < 4 <= (Interval(-2.0, 1.0) ** 2).hi < 4.001
    assert math.inf in Interval(1.0, 1e308) * 10
    with pytest.raises(ad.ArgumentError, match="to a larger one"):
        Interval(2, 1)
    with pytest.raises(ad.ArgumentError, match="pair"):
        ad.certify(lambda x: x, ["text"])


def test_functions_of_numpy_are_enclosed_too():
    by_rows = ad.certify(lambda x, y: ad.sin(x) * ad.exp(y), [(0.1, 0.2), (0.0, 1.0)], pieces=3)
    by_numpy = ad.certify(lambda x, y: np.sin(x) * np.exp(y), [(0.1, 0.2), (0.0, 1.0)], pieces=3)
    assert repr(by_numpy) == repr(by_rows)
