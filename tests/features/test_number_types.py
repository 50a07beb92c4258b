"""Numbers other than floats: each feature of the table, exercised."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


@shows("Complex numbers")
def test_complex():
    z = 1.0 + 2.0j
    assert ad.grad(lambda z: z**3)(z) == pytest.approx(3 * z**2)
    assert ad.grad(lambda z: np.abs(z) ** 2)(3.0 + 4.0j) == pytest.approx(6 - 8j)  # as JAX's


@shows("fractions.Fraction / exact rationals")
def test_fractions():
    slope = ad.grad(lambda x: (x**2 + 1) / (3 * x))(Fraction(1, 2))
    assert slope == Fraction(-1)
    assert type(slope) is Fraction


@shows("Multi-precision (mpmath / BigFloat)")
def test_many_digits():
    with mpmath.workdps(60):
        slope = ad.grad(lambda x: ad.exp(ad.sin(x)))(mpmath.mpf("0.5"))
        expected = mpmath.cos("0.5") * mpmath.exp(mpmath.sin("0.5"))
        assert abs(slope - expected) < mpmath.mpf("1e-58")


@shows("Intervals (enclosures of derivatives)")
def test_intervals():
    proof = ad.certify(lambda x: x * ad.exp(-x), [(0.0, 0.5)], pieces=8)
    assert proof.signs == (1,)  # it increases
    for x in np.linspace(0, 0.5, 11):
        assert (1 - x) * np.exp(-x) in proof.derivatives[0]
        assert x * np.exp(-x) in proof.value
    x = mpmath.iv.mpf([1, 2])
    slope = ad.grad(lambda x: ad.exp(x) * x)(x)  # mpmath's own intervals
    assert 2 * mpmath.e in slope
    assert 3 * mpmath.e**2 in slope


class Modular:
    """Numbers modulo 7, which nobody has registered."""

    def __init__(self, n):
        self.n = n % 7

    def __add__(self, other):
        return Modular(self.n + getattr(other, "n", other))

    def __mul__(self, other):
        return Modular(self.n * getattr(other, "n", other))

    def __sub__(self, other):
        return self + -1 * other

    __radd__, __rmul__ = __add__, __mul__


@shows("Generic over any user number type")
def test_own_numbers():
    slope = ad.grad(lambda x: x * x * x + 5 * x)(Modular(4))  # 3 · 16 + 5 = 53 = 4 mod 7
    assert slope.n == 4
