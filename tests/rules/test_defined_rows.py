"""Rows that others define, for numbers whose library lacks them: complex floats, symbols."""

import mpmath
import pytest
import sympy

import simpleautodiff as ad

POINT = 0.7 + 0.4j
TRUE = {
    "expm1": mpmath.expm1,
    "exp2": lambda z: mpmath.mpf(2) ** z,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": mpmath.log10,
    "log1p": lambda z: mpmath.log(1 + z),
    "cbrt": lambda z: z ** (mpmath.mpf(1) / 3),
    "square": lambda z: z * z,
    "reciprocal": lambda z: 1 / z,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "softplus": lambda z: mpmath.log(1 + mpmath.exp(z)),
    "deg2rad": lambda z: z * mpmath.pi / 180,
    "rad2deg": lambda z: z * 180 / mpmath.pi,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
}


@pytest.mark.parametrize("name", TRUE)
def test_python_complex_numbers_have_every_function(name):
    value, slope = ad.jvp(getattr(ad, name), (POINT,), (1 + 0j,))
    with mpmath.workdps(40):
        z = mpmath.mpc(POINT)
        expected, expected_slope = complex(TRUE[name](z)), complex(mpmath.diff(TRUE[name], z))
    assert type(value) is type(slope) is complex
    assert abs(value - expected) <= 4e-16 * abs(expected)
    assert abs(slope - expected_slope) <= 1e-15 * abs(expected_slope)


@pytest.mark.parametrize("name", TRUE)
def test_symbols_have_every_function(name):
    x = sympy.Symbol("x")
    value, slope = ad.jvp(getattr(ad, name), (x,), (1,))
    with mpmath.workdps(40):
        z = mpmath.mpf(0.7)
        expected, expected_slope = complex(TRUE[name](z)), complex(mpmath.diff(TRUE[name], z))
    assert complex(sympy.N(value.subs(x, 0.7))) == pytest.approx(expected, rel=1e-14)
    assert complex(sympy.N(sympy.sympify(slope).subs(x, 0.7))) == pytest.approx(
        expected_slope, rel=1e-14
    )
