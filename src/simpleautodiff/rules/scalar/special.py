"""Rows: the error function, the gamma function and its relatives, sinc."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.multiples import even, odd
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.endless_series import polygamma_value
from simpleautodiff.rules.scalar.exponential import exp, sqrt
from simpleautodiff.rules.scalar.trigonometric import pi, sin
from simpleautodiff.values.functions import find_registered, lift, optional, shape

NOT_A_POLE = Domain("x not one of 0, -1, -2, ...", lambda x: x > 0 or x != math.floor(x))
POLYGAMMA_DOMAIN = Domain("n = 0, 1, 2, ... and x > 0", lambda n, x: x > 0)

erf = row(
    "erf",
    lambda _v, x: 2 / sqrt(pi(x)) * exp(-x * x),
    names={"scipy": "erf"},
    numpy=(),
    text="erf({0})",
    latex=r"\operatorname{{erf}} {0}",
    reason="erf is the integral of 2/√π exp(-t²)",
    **odd("erf"),
)
erfc = row(
    "erfc",
    lambda _v, x: -2 / sqrt(pi(x)) * exp(-x * x),
    names={"scipy": "erfc"},
    numpy=(),
    text="erfc({0})",
    latex=r"\operatorname{{erfc}} {0}",
    reason="erfc = 1 - erf",
)
gamma = row(
    "gamma",
    lambda v, x: v * digamma(x),
    names={"scipy": "gamma"},
    numpy=(),
    text="gamma({0})",
    latex=r"\Gamma({0})",
    reason="digamma is the derivative of log Γ, so Γ' = Γ digamma",
    domain=NOT_A_POLE,
)
lgamma = row(
    "lgamma",
    lambda _v, x: digamma(x),
    names={"scipy": "gammaln", "mpmath": lambda x: x.context.loggamma(x).real, "sympy": "loggamma"},
    numpy=(),
    text="lgamma({0})",
    latex=r"\log|\Gamma({0})|",
    reason="digamma is the derivative of log Γ",
    domain=NOT_A_POLE,
    real=True,
)
digamma: Wrapping = row(
    "digamma",
    lambda _v, x: polygamma(1, x),
    names={"scipy": "digamma"},
    numpy=(),
    text="digamma({0})",
    latex=r"\psi({0})",
    reason="polygamma(n) is the n-th derivative of digamma",
    domain=NOT_A_POLE,
)


def _trigamma_and_up(n: Any, x: Any) -> Any:
    """Compute polygamma(n, x) in floats, by SciPy if it is installed, else by mpmath."""
    try:
        import scipy.special  # noqa: F401
    except ImportError:
        return float(optional("mpmath", "polygamma", also="scipy").polygamma(int(n), x))
    return polygamma_value(int(n), x)


polygamma: Wrapping = row(
    "polygamma",
    ZERO,
    lambda _v, n, x: polygamma(n + 1, x),
    names={
        "math": lambda n, x: float(_trigamma_and_up(n, x)),
        "numpy": lambda n, x: np.asarray(_trigamma_and_up(n, x), x.dtype)[()],
    },
    numpy=(),
    text="polygamma({0}, {1})",
    latex=r"\psi^{{({0})}}({1})",
    reason="the derivative of the n-th derivative of digamma is the next one",
    domain=POLYGAMMA_DOMAIN,
)


_FLOATS = float, np.float32, np.float16


def _sinc_derivative(n: int, x: Any) -> Any:
    """Compute the n-th derivative of sin(πx)/(πx).

    With s(t) = sin t / t, the rule of Leibniz for t s = sin t gives the recurrence
    t s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ = sin(t + nπ/2). It divides by t, so near 0 the power series
    Σ (-1)ᵏ t²ᵏ⁻ⁿ / ((2k + 1) (2k - n)!) is used. In between, for large n, floats lose precision in
    both, but not in the integral ∫₀¹ uⁿ cos(t u + nπ/2) du.
    """
    if shape(x):
        return np.vectorize(lambda each: _sinc_derivative(n, each), otypes=[x.dtype])(x)
    own = find_registered("sinc_derivative", type(x))
    if own:
        return own(n, x)
    if isinstance(x, _FLOATS) and not math.isfinite(x):
        return type(x)(math.nan)  # as np.sinc gives
    circle = pi(x)
    t = circle * x
    symbolic = type(x).__module__.startswith("sympy")
    if isinstance(x, _FLOATS) and n > 5 and 1 < abs(t) <= 2 * n + 20:
        return type(x)(circle**n * _sinc_integral(n, t))
    if not symbolic and abs(t) <= n + 1:
        return circle**n * _sinc_series(n, t)
    angle = circle * math.remainder(x, 2) if isinstance(x, _FLOATS) else t  # sin has the period 2π
    s = sin(angle) / t
    for k in range(1, n + 1):
        s = (sin(angle + k * (circle / 2)) - k * s) / t
    return circle**n * s


@functools.cache
def gauss(points: int) -> Any:
    """Return the points and weights of Gauss-Legendre quadrature on [0, 1]."""
    u, w = np.polynomial.legendre.leggauss(points)
    return (u + 1) / 2, w / 2


def _sinc_integral(n: int, t: float) -> float:
    u, w = gauss(32 + (n + int(abs(t))) // 2)
    return float(np.sum(w * u**n * np.cos(t * u + (n % 4) * (math.pi / 2))))


def _sinc_series(n: int, t: Any) -> Any:
    k = -(-n // 2)
    term = (-1) ** k * t ** (2 * k - n) / lift(math.factorial(2 * k - n), t)
    total = t * 0
    while total + term / (2 * k + 1) != total:
        total = total + term / (2 * k + 1)
        k += 1
        term = -term * t * t / ((2 * k - n) * (2 * k - n - 1))
    return total


sinc_derivative: Wrapping = row(
    "sinc_derivative",
    ZERO,
    lambda _v, n, x: sinc_derivative(n + 1, x),
    value=lambda n, x: _sinc_derivative(int(n), x),
    numpy=(),
    text="sinc_derivative({0}, {1})",
    latex=r"\operatorname{{sinc}}^{{({0})}}({1})",
    reason="the derivative of the n-th derivative of sinc is the next one",
)
sinc = row(
    "sinc",
    lambda _v, x: sinc_derivative(1, x),
    value=lambda x: _sinc_derivative(0, x),
    numpy=(),
    text="sinc({0})",
    latex=r"\operatorname{{sinc}} {0}",
    reason="sin(πx)/(πx) is smooth everywhere, also at 0",
    **even("sinc"),
)
