"""Derivatives of complex functions on branch cuts: those of the side to which the value belongs.

The sign of a zero says which side that is. Expected values are mpmath's, a little to that side.
"""

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad

AWAY = [mpmath.mpf(10) ** -n for n in (25, 32)]  # from the cut; the step of a difference
ACROSS = [complex(x, zero) for x in (-3.0, -1.5, -0.5, 0.5, 1.5, 2.0) for zero in (0.0, -0.0)]
ALONG = [complex(zero, y) for y in (-3.0, -1.5, -0.5, 0.5, 1.5, 2.0) for zero in (0.0, -0.0)]

# NumPy's function, mpmath's, points
FUNCTIONS = {
    "log": (np.log, mpmath.log, ACROSS),
    "log2": (np.log2, lambda z: mpmath.log(z) / mpmath.log(2), ACROSS),
    "log10": (np.log10, mpmath.log10, ACROSS),
    "log1p": (np.log1p, lambda z: mpmath.log(1 + z), ACROSS),
    "sqrt": (np.sqrt, mpmath.sqrt, ACROSS),
    "power": (lambda z: z**0.3, lambda z: z ** mpmath.mpf(0.3), ACROSS),
    "complex power": (lambda z: z ** (0.3 + 1j), lambda z: z ** mpmath.mpc(0.3, 1), ACROSS),
    "asin": (np.arcsin, mpmath.asin, ACROSS),
    "acos": (np.arccos, mpmath.acos, ACROSS),
    "atan": (np.arctan, mpmath.atan, ALONG),
    "asinh": (np.arcsinh, mpmath.asinh, ALONG),
    "acosh": (np.arccosh, mpmath.acosh, ACROSS),
    "atanh": (np.arctanh, mpmath.atanh, ACROSS),
    "entire": (lambda z: np.exp(z) * np.sin(z), lambda z: mpmath.exp(z) * mpmath.sin(z), ACROSS),
}


def beside(z):
    """Return a point next to z, on the side that the sign of its zero says."""
    side = [np.copysign(1, part) if part == 0 else 0 for part in (z.real, z.imag)]
    return mpmath.mpc(z) + AWAY[0] * mpmath.mpc(*side)


def second(f):
    """Return the second derivative of a holomorphic function, by forward mode twice."""
    return lambda z: ad.jvp(lambda z: ad.jvp(f, (z,), (1 + 0j,))[1], (z,), (1 + 0j,))[1]


WAYS = {
    "compiled": lambda f: ad.jit(lambda z: ad.jvp(f, (z,), (1 + 0j,))[1]),
    "forward": lambda f: lambda z: ad.jvp(f, (z,), (1 + 0j,))[1],
    "reverse": lambda f: lambda z: ad.vjp(f, z)[1](1 + 0j)[0],
    "of an array": lambda f: (
        lambda z: ad.jvp(f, (np.array([z, 0.3 + 0.7j]),), (np.ones(2) + 0j,))[1][0]
    ),
    "in a batch": lambda f: (
        lambda z: ad.vmap(lambda z: ad.jvp(f, (z,), (1 + 0j,))[1])(np.array([z, 0.3 + 0.7j]))[0]
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_on_a_cut_are_those_of_the_side_of_the_value(name):
    f, exact, points = FUNCTIONS[name]
    with mpmath.workdps(80):
        for z in map(np.complex128, points):
            at = beside(complex(z))
            assert abs(complex(f(z)) - complex(exact(at))) < 1e-14  # NumPy's side
            expected = complex(mpmath.diff(exact, at, h=AWAY[1]))
            for way, derivative in WAYS.items():
                found = complex(derivative(f)(z))
                assert abs(found - expected) <= 1e-14 * abs(expected), (way, z)
            expected = complex(mpmath.diff(exact, at, 2, h=AWAY[1]))
            assert abs(complex(second(f)(z)) - expected) <= 1e-14 * max(1, abs(expected)), z


@pytest.mark.parametrize("name", ["asin", "acos", "acosh"])
def test_numbers_without_signed_zeros_have_one_side(name):
    """The value of mpmath's functions on a cut belongs to one side; so does the derivative."""
    f, exact, points = FUNCTIONS[name]
    with mpmath.workdps(40):
        for z in map(mpmath.mpc, points):
            value, found = ad.jvp(f, (z,), (mpmath.mpc(1),))
            beside = [z + mpmath.mpc(0, side) * mpmath.mpf(10) ** -30 for side in (1, -1)]
            near = min(beside, key=lambda at: abs(exact(at) - value))
            expected = mpmath.diff(exact, near, h=mpmath.mpf(10) ** -34)
            assert abs(found - expected) < 1e-4 * abs(expected)


@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_the_cube_root_of_a_complex_number_is_the_principal_one(kind):
    value, slope = ad.jvp(ad.cbrt, (kind(2 + 11j),), (kind(1),))
    assert value == pytest.approx(2 + 1j, rel=1e-15)  # (2 + i)³ = 2 + 11 i
    assert slope == pytest.approx(1 / (3 * (3 + 4j)), rel=1e-15)
