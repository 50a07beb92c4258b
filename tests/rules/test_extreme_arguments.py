"""Every function of a formula answers or refuses at any arguments, in bounded time."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.special as sps

import simpleautodiff as ad
from simpleautodiff.program.formula_names import FORMULA_FUNCTIONS
from simpleautodiff.rules.scalar import bessel, information, special

HELPER = Path(__file__).parents[1] / "helpers" / "extreme_arguments.py"
PARTS = 4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_function_of_a_formula_takes_long_at_extreme_arguments(part):
    """Run in a process of its own: a series that never ends cannot be stopped from outside."""
    names = FORMULA_FUNCTIONS[part::PARTS]
    source = str(Path(ad.__file__).parents[1])
    try:
        done = subprocess.run(
            [sys.executable, str(HELPER), *names],
            capture_output=True,
            text=True,
            timeout=1200,
            env={**os.environ, "PYTHONPATH": source},
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"never ends: {(late.stdout or b'').splitlines()[-1]!r}")
    assert done.stderr.strip() == "", done.stderr[-2000:]
    assert done.returncode == 0


def test_the_names_of_the_report_end():
    """Slopes that once took for ever: their limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ad.grad(information.boxcox, 1)(1e300, 1e300) == np.inf
        assert ad.grad(information.boxcox1p, 1)(1e300, 1e300) == np.inf
        assert ad.grad(bessel.exprel)(1e16) == np.inf
        assert ad.grad(bessel.exprel)(float("inf")) == np.inf
        assert ad.grad(bessel.exprel)(-1e16) == pytest.approx(1e-32, rel=1e-14)
        assert bessel.expn(-1e300, 2.0) == np.inf


# What is computed otherwise far out, against mpmath. -------------------------------------------


def reference(f, *args):
    with mpmath.workdps(40):
        return float(f(*map(mpmath.mpf, args)))


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("x", [-12345.3, -20000.5, -10000.25, -123456.7])
def test_polygamma_far_left(n, x):
    expected = reference(lambda x: mpmath.polygamma(n, x), x)
    assert special.polygamma(n, x) == pytest.approx(expected, rel=1e-14)


def test_polygamma_farther_left_has_its_period():
    """Beyond all tails it is the sum over all integers, of period 1: ψ₁ = π²/sin²(πx)."""
    for x in (-1e9 + 0.5, -1e12 + 0.25, -4e15 + 0.5):
        expected = (np.pi / np.sin(np.pi * (x % 1))) ** 2
        assert special.polygamma(1, x) == pytest.approx(expected, rel=1e-8)
    found = special.polygamma(1, np.array([2.5, -1e12 + 0.5, -3.5]))
    assert found[[0, 2]].tolist() == sps.polygamma(1, np.array([2.5, -3.5])).tolist()


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        *[(2.0, 3.0, -2e6), (2.0, 3.0, -1e9), (1.0, 1.5, -1.5e6), (1.5, 2.5, -3e6)],
        *[(-2.5, 4.0, -2e6), (-3.0, 4.0, 2e6), (-3.0, 2.5, 2e6), (50.0, 20.5, -2e6)],
        *[(3.0, 3.0, -2e6), (5.0, 3.0, -2e6), (2.0, 3.0, 2e6), (-2.5, 1.5, 2e6)],
        *[(-3.0, 4.0, -2e6), (0.0, 2.5, 1e16), (99.5, 98.0, -1.1e6)],
    ],
)
def test_kummers_function_far_out(a, b, x):
    expected = reference(mpmath.hyp1f1, a, b, x)
    assert bessel.hyp1f1(a, b, x) == pytest.approx(expected, rel=2e-12)


@pytest.mark.parametrize(
    ("n", "x"),
    [
        *[(-1, 2.0), (-5, 3.0), (-900, 300.0), (-1100, 700.0), (-1500, 600.0), (-5000, 800.0)],
        *[(-2000, 800.0), (-3, 800.0), (-20, 1e-5)],
    ],
)
def test_exponential_integrals_of_negative_orders(n, x):
    with mpmath.workdps(40):
        expected = float(mpmath.expint(n, x))
    assert bessel.expn(n, x) == pytest.approx(expected, rel=1e-11)


def test_what_is_not_computed_is_told():
    for f, args in [
        (bessel.hyp1f1, (1e16, 2.5, 3.0)),
        (bessel.hyperu, (1.5, 1e9, 3.0)),
        (bessel.expn, (2.5, 1.0)),
    ]:
        with pytest.warns(ad.errors.DomainWarning, match="is not computed: it needs"):
            assert np.isnan(f(*args))


def test_bessel_functions_without_their_recurrences():
    assert bessel.hyp0f1(1.0, 1e16) == np.inf
    assert bessel.hyp0f1(1.0, 1.2e5) == pytest.approx(
        reference(lambda x: mpmath.hyp0f1(1, x), 1.2e5), rel=1e-12
    )
    assert bessel.yv(2e6, 3e6) == pytest.approx(float(sps.yv(2e6 + 1e-4, 3e6)), rel=1e-3)
