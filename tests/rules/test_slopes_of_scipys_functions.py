"""The slopes of functions whose values are SciPy's: against differences of those values.

Differences at seven steps, extrapolated, have ten digits and more, so that an error of 1e-9 shows;
functions that mpmath knows are compared with it in `test_rows`, to rounding.
"""

import numpy as np
import pytest
import scipy.special

import simpleautodiff as ad
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.errors import AutodiffError
from simpleautodiff.rules import TABLE
from simpleautodiff.rules.scalar.endless_series import zeta_value

ROWS = {name: row for name, row in TABLE.items() if row.floats and not row.arrays}
POINTS = [
    (0.35, 0.6, 0.45, 0.8),
    (1.3, 2.4, 0.7, 1.9),
    (2.0, 3.0, 0.3, 0.55),
    (3.0, 2.0, 0.4, 0.25),
    (0.8, 0.3, 1.7, 0.6),
    (2.0, 1.5, 2.5, 0.7),
]
OWN_POINTS = {
    "cosdg": [(35.0,), (-110.0,)],
    "ndtri_exp": [(-0.3,), (-1.7,), (-4.0,)],
    "sph_harm_y": [(3.0, 2.0, 0.4, 0.25), (2.0, -1.0, 1.1, 2.3)],
}
# Arguments in which there is no slope to compare: orders and parameters without a derivative, and
# derivatives in parameters, which have tests of their own.
WITHOUT = {
    *[(name, 0) for name in ("expn", "hyp0f1", "iv", "ive", "jv", "kv", "kve", "yv", "airy")],
    *[("hyperu", 0), ("hyperu", 1), ("lambertw", 1), ("sph_harm_y", 0), ("sph_harm_y", 1)],
    *[(name, 0) for name in ("erfcx_derivative", "gammainc_derivative", "polygamma_step")],
    *[("zeta_derivative", 0), ("kolmogorov_derivative", 0), ("vonmises_moment", 0)],
    *[("chndtr_derivative", 0), ("ncx2_density_derivative", 0)],
    *[("nct_df_moment", 0), ("nct_df_moment", 1)],
    *[(name, k) for name in ("ncbeta_derivative", "ncbeta_density_derivative") for k in range(6)],
    *[("betainc_derivative", k) for k in range(5)],
    *[("hyp1f1_derivative", k) for k in range(6)],
    *[("hyp2f1_derivative", k) for k in range(8)],
}


def slope_by_differences(f, x):
    """Return the derivative of f, extrapolated from central differences, and how far off it is."""
    before, best = [], (np.inf, np.nan)
    for step in 0.04 * max(abs(x), 0.5) * 2.0 ** -np.arange(7):
        ends = f(x + step), f(x - step)
        now = [(ends[0] - ends[1]) / (2 * step)]
        rounding = 2.0**-52 * abs(ends[0]) / step
        for k, old in enumerate(before):
            now.append(now[k] + (now[k] - old) / (4 ** (k + 1) - 1))
            error = max(abs(now[-1] - now[-2]), abs(now[-1] - old)) + rounding
            best = min(best, (error, now[-1]), key=lambda pair: pair[0])
        before = now
    return best[::-1]


def compare(row, k, point):
    """Tell whether a slope can be compared at a point; it has to be right, then."""
    args = point[: row.arity]
    try:
        value = row.compute(*args)
        slope = row.partial(k, value, args)
    except (AutodiffError, TypeError, ValueError):
        return False
    if slope is ZERO or isinstance(slope, Linear) or not np.isfinite(value * slope):
        return False
    f = lambda x: row.compute(*args[:k], x, *args[k + 1 :])
    expected, error = slope_by_differences(f, args[k])
    if not error <= 2e-10 * abs(expected):
        return False
    assert abs(slope - expected) <= 5e-10 * abs(expected), (row.name, k, args, slope, expected)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_slopes_to_nine_digits(name):
    row = ROWS[name]
    points = OWN_POINTS.get(name, POINTS)
    with np.errstate(all="ignore"):
        compared = {k for k in range(row.arity) if any([compare(row, k, p) for p in points])}
    assert {(name, k) for k in {*range(row.arity)} - {*row.settings} - compared} <= WITHOUT


def test_an_error_of_1e_9_shows():
    expected, error = slope_by_differences(np.sin, 0.7)
    assert error < 1e-11
    assert abs(expected - np.cos(0.7)) < 1e-12


@pytest.mark.parametrize("s", [2.0, 3.0])
@pytest.mark.parametrize("q", [-10_002.0, -10_001.5, -10_000.0, -9_999.5, -3.0])
def test_zeta_left_of_zero_is_scipys_on_poles_and_between(s, q):
    found, expected = zeta_value(s, q), scipy.special.zeta(s, q)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("x", [0.5, np.array([0.5, -0.25])])
@pytest.mark.parametrize(("a", "b"), [(-1, -1), (-1, -2), (-1, -5), (-2, -2), (-2, -3)])
def test_a_hypergeometric_series_that_ends_before_its_pole(a, b, x):
    """It is 1 + a x/b, or 1 + a x/b + a (a + 1) x²/(2 b (b + 1)), a polynomial."""
    a, b = float(a), float(b)
    second = a * (a + 1) / (b * (b + 1)) if a < -1 else 0.0
    f = lambda x: np.sum(scipy.special.hyp1f1(a, b, x))
    slope = ad.grad(f)
    np.testing.assert_allclose(slope(x), a / b + second * x, rtol=1e-15)
    again = ad.grad(lambda x: np.sum(slope(x)))(x)
    np.testing.assert_allclose(again, np.full(np.shape(x), second), rtol=1e-15)
