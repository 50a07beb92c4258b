"""Rows: relatives of the error function, and gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.arithmetic import mod
from simpleautodiff.rules.scalar.endless_series import polygamma_value
from simpleautodiff.rules.scalar.exponential import exp, log
from simpleautodiff.rules.scalar.special import digamma, erf, gamma, gauss, polygamma
from simpleautodiff.rules.scalar.trigonometric import cos, sin
from simpleautodiff.rules.scipy_values import scipy_row, scipy_special

BETWEEN_0_AND_1 = Domain("0 < x < 1", lambda x: 0 < x < 1)
BOTH_POSITIVE = Domain("x > 0, y > 0", lambda x, y: x > 0 and y > 0)
ROOT_2, ROOT_PI, ROOT_2PI = math.sqrt(2), math.sqrt(math.pi), math.sqrt(2 * math.pi)

# The error function and its relatives. ------------------------------------------------------------

erfinv = scipy_row(
    "erfinv",
    lambda v, _x: ROOT_PI / 2 * exp(v * v),
    reason="the slope of the inverse of erf is one over that of erf: √π/2 exp(v²)",
    domain=Domain("-1 < x < 1", lambda x: -1 < x < 1),
)
erfcinv = scipy_row(
    "erfcinv",
    lambda v, _x: -ROOT_PI / 2 * exp(v * v),
    reason="the slope of the inverse of erfc is one over that of erfc: -√π/2 exp(v²)",
    domain=Domain("0 < x < 2", lambda x: 0 < x < 2),
)
owens_t = scipy_row(
    "owens_t",
    lambda _v, h, a: -exp(-h * h / 2) * erf(a * h / math.sqrt(2)) / (2 * ROOT_2PI),
    lambda _v, h, a: exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
    reason="Owen's T is the integral of exp(-h²(1 + t²)/2)/(2π(1 + t²)) from 0 to a",
)
ndtri_exp = scipy_row(
    "ndtri_exp",
    lambda v, _x: ROOT_2PI / 2 * erfcx(-v / ROOT_2),
    reason="one over the slope of log Φ, which is φ/Φ; exp(v²/2) Φ(v) is erfcx(-v/√2)/2",
    domain=Domain("x < 0", lambda x: x < 0),
)
ndtri = scipy_row(
    "ndtri",
    lambda v, _x: ROOT_2PI * exp(v * v / 2),
    reason="the slope of the inverse of the normal distribution is one over its density",
    domain=BETWEEN_0_AND_1,
)


def _erfcx_derivative(n: int, x: Any) -> Any:
    """Compute the n-th derivative of exp(x²) erfc(x).

    For x < 0 it follows from f' = 2 x f - 2/√π. For x > 0 that formula cancels, so the integral
    2/√π ∫ (-2t)ⁿ exp(-t² - 2xt) dt over t > 0 is used, which does not.
    """
    if n == 0:
        return scipy_special("erfcx")(x)
    wide, below = np.asarray(x, float), np.minimum(x, 0.0)
    last, current = scipy_special("erfcx")(below), -2 / ROOT_PI
    current = current + 2 * below * last
    for k in range(1, n):
        last, current = current, 2 * below * current + 2 * k * last
    u, w = gauss(60 + 4 * n)
    end = np.minimum(7.0 + math.sqrt(n), (20.0 + 2 * n) / np.maximum(wide, 1e-300))[..., None]
    t = end * u
    integrand = (-2 * t) ** n * np.exp(-t * t - 2 * np.maximum(wide, 0.0)[..., None] * t)
    return np.where(wide < 0, current, 2 / ROOT_PI * np.sum(w * end * integrand, -1))


erfcx_derivative: Wrapping = scipy_row(
    "erfcx_derivative",
    ZERO,
    lambda _v, n, x: erfcx_derivative(n + 1, x),
    value=lambda n, x: _erfcx_derivative(int(n), x),
    reason="the derivative of the n-th derivative of exp(x²) erfc(x) is the next one",
)
erfcx: Wrapping = scipy_row(
    "erfcx",
    lambda _v, x: erfcx_derivative(1, x),
    reason="the derivative of exp(x²) erfc(x) is 2 x v - 2/√π, computed without cancellation",
)
log_ndtr = scipy_row(
    "log_ndtr",
    lambda v, x: choose(
        x < 0,
        lambda: math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2)),
        lambda: exp(-x * x / 2 - v) / ROOT_2PI,
    ),
    reason="the slope of the log of the normal distribution is the density over the distribution",
)

# Gamma and beta. ----------------------------------------------------------------------------------


def _rgamma_slope(v: Any, x: Any) -> Any:
    """Differentiate 1/Γ(x); for x ≤ 0 by 1/Γ(x) = Γ(1 - x) sin(πx)/π, which is smooth at poles."""

    def reflected() -> Any:
        angle = math.pi * mod(x, 2)
        return gamma(1 - x) * (cos(angle) - digamma(1 - x) * sin(angle) / math.pi)

    return choose(x > 0, lambda: -v * digamma(x), reflected)


rgamma = scipy_row(
    "rgamma",
    _rgamma_slope,
    reason="the derivative of 1/Γ is -digamma/Γ, continued smoothly to the poles of Γ",
)


def polygamma_step_value(n: int, a: Any, b: Any) -> Any:
    """Compute ψₙ(a + b) - ψₙ(a), as an integral where the difference would cancel."""
    u, w = gauss(12)
    near = (b <= a) & (2 * b >= -a)  # far enough from the pole for twelve points to be exact
    base, step = np.where(near, a, 1.0), np.where(near, b, 0.0)
    inner = polygamma_value(n + 1, base[..., None] + step[..., None] * u)
    return np.where(near, step * np.sum(w * inner, -1), _polygamma(n, a + b) - _polygamma(n, a))


def _polygamma(n: int, x: Any) -> Any:
    return scipy_special("psi")(x) if n == 0 else polygamma_value(n, x)


polygamma_step: Wrapping = scipy_row(
    "polygamma_step",
    ZERO,
    lambda _v, n, a, b: polygamma_step(n + 1, a, b),
    lambda _v, n, a, b: polygamma(n + 1, a + b),
    value=lambda n, a, b: polygamma_step_value(int(n), a, b),
    reason="the derivative of ψₙ(a + b) - ψₙ(a) is ψₙ₊₁(a + b) - ψₙ₊₁(a) in a, ψₙ₊₁(a + b) in b",
    domain=Domain("n = 0, 1, 2, ... and x > 0", lambda n, a, b: a > 0 and a + b > 0),
)


def _is_pole(x: Any) -> Any:
    """Tell where Γ has a pole; an interval is taken to have none."""
    number = to_plain(x)
    known = isinstance(number, (int, float, np.generic, np.ndarray, Traced))
    return (number <= 0) & (number == np.floor(number)) if known else np.False_


def _betaln_slope(a: Any, b: Any) -> Any:
    """Differentiate log|B(a, b)| in a; if Γ has poles at a and a + b, B is ± B(1 - a - b, b)."""
    return choose(
        _is_pole(a) & _is_pole(a + b),
        lambda: polygamma_step(0, 1 - a - b, b),
        lambda: -polygamma_step(0, a, b),
    )


def _beta_slope(v: Any, a: Any, b: Any) -> Any:
    """Differentiate B(a, b) = Γ(a) Γ(b)/Γ(a + b) in a, also where it is 0."""
    zero = _is_pole(a + b) & ~(_is_pole(a) | _is_pole(b))

    def at_zero() -> Any:
        x, y = choose(zero, a, 0.5), choose(zero, b, 0.5)
        return gamma(x) * gamma(y) * _rgamma_slope(rgamma(x + y), x + y)

    return choose(zero, at_zero, lambda: v * _betaln_slope(a, b))


def _poch_slope(v: Any, z: Any, m: Any) -> Any:
    """Differentiate Γ(z + m)/Γ(z) in z, also where Γ has a pole at z, or at both.

    In the latter case it is ± the one of 1 - z - m, by reflection.
    """
    return choose(
        _is_pole(z),
        lambda: choose(
            _is_pole(z + m),
            lambda: -v * polygamma_step(0, 1 - z - m, m),
            lambda: gamma(z + m) * _rgamma_slope(rgamma(z), z),
        ),
        lambda: v * polygamma_step(0, z, m),
    )


betaln = scipy_row(
    "betaln",
    lambda _v, a, b: _betaln_slope(a, b),
    lambda _v, a, b: _betaln_slope(b, a),
    reason="log B(a, b) = log Γ(a) + log Γ(b) - log Γ(a + b); digamma is the slope of log Γ",
    domain=BOTH_POSITIVE,
)
beta = scipy_row(
    "beta",
    _beta_slope,
    lambda v, a, b: _beta_slope(v, b, a),
    reason="the derivative of B is B times that of log B",
    domain=BOTH_POSITIVE,
)
poch = scipy_row(
    "poch",
    _poch_slope,
    lambda v, z, m: v * digamma(z + m),
    reason="(z)ₘ = Γ(z + m)/Γ(z), and Γ' = Γ digamma",
    domain=BOTH_POSITIVE,
)
binom = scipy_row(
    "binom",
    lambda v, n, k: v * polygamma_step(0, n - k + 1, k),
    lambda v, n, k: v * polygamma_step(0, k + 1, n - 2 * k),
    reason="the binomial coefficient is Γ(n + 1)/(Γ(k + 1) Γ(n - k + 1)), and Γ' = Γ digamma",
    domain=Domain("-1 < k < n + 1", lambda n, k: -1 < k < n + 1),
)

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def poisson_log_value(k: Any, m: Any) -> Any:
    """Compute k log m - m - log Γ(k + 1), for large k by Stirling's series to lose no digits."""
    large = np.where(k > 20, k, 20.0)
    series = sum(c / large ** (2 * i + 1) for i, c in enumerate(_STIRLING))
    d = (m - large) / large
    ratio = np.where(d < -0.5, np.log(m / large), np.log1p(d))
    far = large * (ratio - d) - series - np.log(2 * math.pi * large) / 2
    near = scipy_special("xlogy")(k, m) - m - scipy_special("gammaln")(k + 1.0)
    return np.where(k > 20, far, near)


poisson_log = scipy_row(
    "poisson_log",
    lambda _v, k, m: log(m) - digamma(k + 1),
    lambda _v, k, m: choose((to_plain(k) == 0) & (to_plain(m) == 0), -1, lambda: (k - m) / m),
    value=poisson_log_value,
    reason="k log m - m - log Γ(k + 1) has the derivatives log m - digamma(k + 1) and k/m - 1",
    domain=Domain("k > -1, m > 0", lambda k, m: k > -1 and m > 0),
)
