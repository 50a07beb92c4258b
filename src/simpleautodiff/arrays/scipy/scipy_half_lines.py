"""Densities of scipy.stats that begin as a power of x, also at x = 0, and two-sided relatives.

SciPy computes them as exponentials of logarithms. At 0 the logarithm is infinite, and its slope,
too, so that their product has no derivative; the power has one.
"""

from __future__ import annotations

import math
from typing import Any

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.newton import invert
from simpleautodiff.arrays.registry import Function, implements_scipy
from simpleautodiff.arrays.scipy.scipy_densities import LOW_END, choose_at_ends, gamma_density
from simpleautodiff.arrays.ufuncs import evaluate_plainly
from simpleautodiff.core.level import to_plain
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.rules.scalar.bessel import exprel, hyp1f1
from simpleautodiff.rules.scalar.exponential import exp, log, log1p, sqrt
from simpleautodiff.rules.scalar.incomplete import gammainc, gammaincc
from simpleautodiff.rules.scalar.information import xlogy
from simpleautodiff.rules.scalar.special import lgamma
from simpleautodiff.values.functions import optional


def _multiply_power(x: Any, exponent: Any, further: Any, log_rest: Function, fall: Any) -> Any:
    """Return x^exponent e^log_rest(t) with t = x^further; log_rest begins with -fall t.

    At x = 0 the second factor may have an infinite slope where the first one is 0. There, both
    are multiplied out: x^exponent - fall x^(exponent + further).
    """

    def start(x: Any) -> Any:
        steep = (to_plain(further) < 1) & (to_plain(exponent) > 0)
        rest = exp(log_rest(power(x, where_row(steep, 1.0, further))))
        powers = power(x, exponent) - fall * power(x, exponent + further)
        return where_row(steep, powers * exp(log_rest(0.0)), power(x, exponent) * rest)

    return choose_at_ends(
        LOW_END, x, start, lambda x: exp(xlogy(exponent, x) + log_rest(power(x, further)))
    )


SCIPY["stats.erlang._pdf"] = lambda x, a: gamma_density(a, x)
SCIPY["stats.nakagami._pdf"] = lambda x, nu: _multiply_power(
    x, 2 * nu - 1, 2.0, lambda t: math.log(2) + xlogy(nu, nu) - lgamma(nu) - nu * t, nu
)
SCIPY["stats.burr12._pdf"] = lambda x, c, d: _multiply_power(
    x, c - 1, c, lambda t: log(c) + log(d) - (d + 1) * log1p(t), d + 1
)
SCIPY["stats.burr._pdf"] = lambda x, c, d: _multiply_power(
    x, c * d - 1, c, lambda t: log(c) + log(d) - (d + 1) * log1p(t), d + 1
)
SCIPY["stats.mielke._pdf"] = lambda x, k, s: _multiply_power(
    x, k - 1, s, lambda t: log(k) - (1 + k / s) * log1p(t), 1 + k / s
)
SCIPY["stats.exponpow._pdf"] = lambda x, b: _multiply_power(
    x, b - 1, b, lambda t: 1 + log(b) + t - exp(t), 0.0
)
SCIPY["stats.exponweib._pdf"] = lambda x, a, c: _multiply_power(
    x,
    a * c - 1,  # (1 - e^-t)^(a-1) x^(c-1) is ((1 - e^-t)/t)^(a-1) x^(ac-1)
    c,
    lambda t: log(a) + log(c) - t + (a - 1) * log(exprel(-t)),
    (a + 1) / 2,
)


@implements_scipy("stats.gengamma._pdf")
def gengamma_pdf(x: Any, a: Any, c: Any) -> Any:
    """Return the density of a power of a gamma variable; if c < 0, it is 0 at 0."""
    falling = (to_plain(x) == 0) & (to_plain(c) < 0)
    c = where_row(falling, 1.0, c)
    density = _multiply_power(x, c * a - 1, c, lambda t: log(abs(c)) - t - lgamma(a), 1.0)
    return where_row(falling, 0.0, density)


@implements_scipy("stats.argus._pdf")
def argus_pdf(x: Any, chi: Any) -> Any:
    """Return the density of ARGUS, which is 0 at both ends."""
    square = chi * chi
    log_height = 3 * log(chi) - math.log(2 * math.pi) / 2 - log(gammainc(1.5, square / 2) / 2)
    return x * sqrt(1 - x) * sqrt(1 + x) * exp(log_height - square * (1 - x) * (1 + x) / 2)


# Two-sided distributions, which SciPy writes with |x|: the distribution functions are smooth. -----


def _split_at_0(x: Any) -> tuple[Any, Any]:
    """Tell where x is not negative; return its size, with the slope to the right at 0."""
    right = to_plain(x) >= 0
    return right, where_row(right, x, -x)


@implements_scipy("stats.dweibull._cdf")
def dweibull_cdf(x: Any, c: Any) -> Any:
    """Return the distribution function of a double Weibull distribution."""
    right, size = _split_at_0(x)
    beyond = exp(-power(size, c)) / 2
    return where_row(right, 1 - beyond, beyond)


SCIPY["stats.dweibull._sf"] = lambda x, c: dweibull_cdf(-x, c)


@implements_scipy("stats.gennorm._cdf")
def gennorm_cdf(x: Any, beta: Any) -> Any:
    """Return the distribution function of a generalized normal distribution.

    Around 0 it is 1/2 + x ₁F₁(1/β; 1 + 1/β; -|x|^β)/(2 Γ(1 + 1/β)).
    """
    middle = to_plain(x) == 0
    near, far = where_row(middle, x, 0.0), where_row(middle, 1.0, x)
    share, steep, even = 1 / beta, to_plain(beta) < 1, to_plain(beta) % 2 == 0
    falling = power(where_row(even, near, abs(near)), where_row(steep, 1.0, beta))
    falling = where_row(steep, 0.0, falling)
    inner = near * hyp1f1(share, 1 + share, -falling) * exp(-lgamma(1 + share)) / 2
    beyond = gammaincc(share, power(abs(far), beta)) / 2
    outer = where_row(to_plain(far) > 0, 1 - beyond, beyond)
    return where_row(middle, 0.5 + inner, outer)


SCIPY["stats.gennorm._sf"] = lambda x, beta: gennorm_cdf(-x, beta)


@implements_scipy("stats.gennorm._ppf")
def gennorm_ppf(q: Any, beta: Any) -> Any:
    """Return the quantile of a generalized normal distribution."""
    law = optional("scipy.stats", "gennorm").gennorm
    return invert(evaluate_plainly(law._ppf, q, beta), q, (beta,), gennorm_cdf, law._pdf)
