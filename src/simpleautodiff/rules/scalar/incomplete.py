"""Rows: incomplete gamma and beta functions, Student's distribution, and their inverses.

In the argument x their derivative is a density, in a parameter an integral over a tail of one; that
of an inverse follows from both by the implicit function theorem.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain, Kink
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.exponential import exp, log, log1p
from simpleautodiff.rules.scalar.information import xlog1py, xlogy
from simpleautodiff.rules.scalar.parameter_values import (
    betainc_derivative_value,
    differentiate_exp,
    gammainc_derivative_value,
    read_orders,
    require,
)
from simpleautodiff.rules.scalar.piecewise import sign
from simpleautodiff.rules.scalar.probability import (
    BOTH_POSITIVE,
    betaln,
    poisson_log,
    poisson_log_value,
    polygamma_step,
    polygamma_step_value,
)
from simpleautodiff.rules.scalar.special import digamma, polygamma
from simpleautodiff.rules.scipy_values import scipy_row, scipy_special

# Incomplete gamma functions. ----------------------------------------------------------------------


def _gamma_density(n: Any, a: Any, x: Any) -> Any:
    """Return the n-th derivative in a of the density x^(a-1) exp(-x)/Γ(a)."""

    def slopes(order: tuple[int, ...]) -> Any:
        k = order[0] - 1
        return -polygamma(k, a) if k else log(x) - digamma(a)

    return exp(poisson_log(a - 1, x)) * differentiate_exp(slopes, (int(n), 0))


gammainc_derivative: Wrapping = scipy_row(
    "gammainc_derivative",
    ZERO,
    lambda _v, n, a, x: gammainc_derivative(n + 1, a, x),
    lambda _v, n, a, x: _gamma_density(n, a, x),
    value=lambda n, a, x: gammainc_derivative_value(
        read_orders("gammainc_derivative", n)[0], a, x, np.exp(poisson_log_value(a - 1.0, x))
    ),
    reason="the derivative of the n-th derivative in a is the next one; that in x of the density",
    domain=Domain("n = 1, 2, ..., a > 0, x > 0", lambda n, a, x: n > 0 and a > 0 and x > 0),
)
gammainc = scipy_row(
    "gammainc",
    lambda _v, a, x: gammainc_derivative(1, a, x),
    lambda _v, a, x: _gamma_density(0, a, x),
    reason="it is the integral of t^(a-1) exp(-t)/Γ(a) from 0 to x; in a, by quadrature",
    kinks=(Kink("x = 0, a < 1", lambda a, x: x == 0 and a < 1, "inf, by continuity", (1,)),),
    domain=BOTH_POSITIVE,
)
gammaincc = scipy_row(
    "gammaincc",
    lambda _v, a, x: -gammainc_derivative(1, a, x),
    lambda _v, a, x: -_gamma_density(0, a, x),
    reason="the upper incomplete gamma function is 1 minus the lower",
    kinks=(Kink("x = 0, a < 1", lambda a, x: x == 0 and a < 1, "-inf, by continuity", (1,)),),
    domain=BOTH_POSITIVE,
)
QUANTILE_DOMAIN = Domain("a > 0, 0 < p < 1", lambda a, p: a > 0 and 0 < p < 1)


def _gamma_quantile_slope(v: Any, a: Any) -> Any:
    """Differentiate a quantile in a; the lowest one, v = 0, is the same for every a."""
    return choose(
        to_plain(v) == 0,
        ZERO,
        lambda: -gammainc_derivative(1, a, v) / _gamma_density(0, a, v),
    )


gammaincinv = scipy_row(
    "gammaincinv",
    lambda v, a, _p: _gamma_quantile_slope(v, a),
    lambda v, a, _p: 1 / _gamma_density(0, a, v),
    reason="from P(a, v) = p follows dv = (dp - ∂P/∂a da)/(∂P/∂v)",
    kinks=(Kink("p = 0", lambda a, p: p == 0, "1 over the density there", (1,)),),
    domain=QUANTILE_DOMAIN,
)
gammainccinv = scipy_row(
    "gammainccinv",
    lambda v, a, _p: _gamma_quantile_slope(v, a),
    lambda v, a, _p: -1 / _gamma_density(0, a, v),
    reason="from 1 - P(a, v) = p follows dv = -(dp + ∂P/∂a da)/(∂P/∂v)",
    kinks=(Kink("p = 1", lambda a, p: p == 1, "-1 over the density there", (1,)),),
    domain=QUANTILE_DOMAIN,
)

# Incomplete beta functions. -----------------------------------------------------------------------

BETA_DOMAIN = Domain("a > 0, b > 0, 0 < x < 1", lambda a, b, x: a > 0 and b > 0 and 0 < x < 1)
STEEP_ENDS = "x = 0, a < 1, or x = 1, b < 1"


def _beta_density(m: Any, n: Any, a: Any, b: Any, x: Any) -> Any:
    """Return a derivative in a and b of the density x^(a-1) (1 - x)^(b-1)/B(a, b)."""

    def slopes(order: tuple[int, ...]) -> Any:
        i, j = order
        if i and j:
            return polygamma(i + j - 1, a + b)
        step = polygamma_step(i - 1, a, b) if i else polygamma_step(j - 1, b, a)
        return step + (log(x) if i else log1p(-x)) if i + j == 1 else step

    density = exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
    return density * differentiate_exp(slopes, (int(m), int(n)))


def _is_steep(a: Any, b: Any, x: Any) -> Any:
    return (x == 0 and a < 1) or (x == 1 and b < 1)


def _beta_slope(m: Any, n: Any, a: Any, b: Any, x: Any) -> Any:
    xlogy, xlog1py, betaln = map(scipy_special, ("xlogy", "xlog1py", "betaln"))
    density = np.exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))
    m, n = read_orders("betainc_derivative", m, n)
    return betainc_derivative_value(m, n, a, b, x, density, polygamma_step_value)


betainc_derivative: Wrapping = scipy_row(
    "betainc_derivative",
    ZERO,
    ZERO,
    lambda _v, m, n, a, b, x: betainc_derivative(m + 1, n, a, b, x),
    lambda _v, m, n, a, b, x: betainc_derivative(m, n + 1, a, b, x),
    lambda _v, m, n, a, b, x: _beta_density(m, n, a, b, x),
    value=_beta_slope,
    reason="the derivative of one of orders m and n in a and b is the next one; in x the density's",
    domain=Domain("a > 0, b > 0, 0 < x < 1", lambda m, n, a, b, x: BETA_DOMAIN.contains(a, b, x)),
)
betainc = scipy_row(
    "betainc",
    lambda _v, a, b, x: betainc_derivative(1, 0, a, b, x),
    lambda _v, a, b, x: betainc_derivative(0, 1, a, b, x),
    lambda _v, a, b, x: _beta_density(0, 0, a, b, x),
    reason="it is the integral of t^(a-1) (1 - t)^(b-1)/B(a, b); in a and b, by quadrature",
    kinks=(Kink(STEEP_ENDS, _is_steep, "inf, by continuity", (2,)),),
    domain=BETA_DOMAIN,
)
betaincc = scipy_row(
    "betaincc",
    lambda _v, a, b, x: -betainc_derivative(1, 0, a, b, x),
    lambda _v, a, b, x: -betainc_derivative(0, 1, a, b, x),
    lambda _v, a, b, x: -_beta_density(0, 0, a, b, x),
    reason="it is 1 minus the incomplete beta function",
    kinks=(Kink(STEEP_ENDS, _is_steep, "-inf, by continuity", (2,)),),
    domain=BETA_DOMAIN,
)


def _beta_quantile_slope(m: int, n: int, a: Any, b: Any, v: Any) -> Any:
    """Differentiate a quantile in a or b; the lowest and the highest, 0 and 1, are the same."""
    return choose(
        (to_plain(v) == 0) | (to_plain(v) == 1),
        ZERO,
        lambda: -betainc_derivative(m, n, a, b, v) / _beta_density(0, 0, a, b, v),
    )


betaincinv = scipy_row(
    "betaincinv",
    lambda v, a, b, _p: _beta_quantile_slope(1, 0, a, b, v),
    lambda v, a, b, _p: _beta_quantile_slope(0, 1, a, b, v),
    lambda v, a, b, _p: 1 / _beta_density(0, 0, a, b, v),
    reason="from I(a, b, v) = p follows dv = (dp - ∂I/∂a da - ∂I/∂b db)/(∂I/∂v)",
    kinks=(Kink("p = 0 or 1", lambda a, b, p: p in (0, 1), "1 over the density there", (2,)),),
    domain=BETA_DOMAIN,
)
betainccinv = scipy_row(
    "betainccinv",
    lambda v, a, b, _p: _beta_quantile_slope(1, 0, a, b, v),
    lambda v, a, b, _p: _beta_quantile_slope(0, 1, a, b, v),
    lambda v, a, b, _p: -1 / _beta_density(0, 0, a, b, v),
    reason="from 1 - I(a, b, v) = p follows dv = -(dp + ∂I/∂a da + ∂I/∂b db)/(∂I/∂v)",
    kinks=(Kink("p = 0 or 1", lambda a, b, p: p in (0, 1), "-1 over the density there", (2,)),),
    domain=BETA_DOMAIN,
)

# Student's distribution. --------------------------------------------------------------------------


def log_t_density(df: Any, x: Any) -> Any:
    """Return the logarithm of Student's density, which is normal for infinite df."""

    def student() -> Any:
        return -betaln(df / 2, 0.5) - log(df) / 2 - (df + 1) / 2 * log1p(x * x / df)

    def normal() -> Any:
        return -x * x / 2 - math.log(2 * math.pi) / 2

    return choose(_is_infinite(df), normal, student)


def _is_infinite(df: Any) -> Any:
    return to_plain(df) == math.inf


def _limit(df: Any) -> Any:
    require(df <= 1e5, "stdtr", (df,), "at most 100000 degrees of freedom")
    return np.asarray(df)[()]


limited_df = scipy_row(
    "limited_df",
    1,
    value=lambda df: _limit(np.float64(df) if isinstance(df, float) else df),
    reason="the same number; beyond 100000, where Student's slopes would cancel, an error",
)


def _stdtr_slope(df: Any, x: Any) -> Any:
    """Differentiate Student's distribution in df: beyond |x| is I(df/2, 1/2, df/(df + x²))/2."""
    df = limited_df(choose(_is_infinite(df), 1.0, df))
    near = choose(
        to_plain(x) ** 2 < to_plain(df),
        lambda: betainc_derivative(0, 1, 0.5, df / 2, x * x / (df + x * x)),
        lambda: -betainc_derivative(1, 0, df / 2, 0.5, df / (df + x * x)),
    )
    return sign(x) * near / 4 - x * exp(log_t_density(df, x)) / (2 * df)


stdtr = scipy_row(
    "stdtr",
    lambda _v, df, x: choose(_is_infinite(df), ZERO, lambda: _stdtr_slope(df, x)),
    lambda _v, df, x: exp(log_t_density(df, x)),
    reason="the slope of Student's distribution is its density; in df by the beta function",
    domain=Domain("df > 0", lambda df, x: df > 0),
)
stdtrit = scipy_row(
    "stdtrit",
    lambda v, df, _p: choose(
        _is_infinite(df), ZERO, lambda: -_stdtr_slope(df, v) * exp(-log_t_density(df, v))
    ),
    lambda v, df, _p: exp(-log_t_density(df, v)),
    reason="from F(df, v) = p follows dv = (dp - ∂F/∂df ddf)/density",
    domain=Domain("df > 0, 0 < p < 1", lambda df, p: df > 0 and 0 < p < 1),
)
