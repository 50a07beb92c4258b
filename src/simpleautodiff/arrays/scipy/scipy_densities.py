"""Densities, also at the ends of their support, where their logarithm is infinite."""

from __future__ import annotations

import math
from typing import Any

from simpleautodiff.arrays.registry import Function
from simpleautodiff.core.level import to_plain
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.rules.scalar.exponential import exp, log
from simpleautodiff.rules.scalar.information import xlog1py, xlogy
from simpleautodiff.rules.scalar.probability import betaln, poisson_log
from simpleautodiff.rules.scalar.special import lgamma

HALF_LINE = (0.0, math.inf)
UNIT_INTERVAL = (0.0, 1.0)
LOW_END = (0.0, 0.0)  # of a half-line, alone


def choose_at_ends(
    support: tuple[float, float], x: Any, at_ends: Function, elsewhere: Function
) -> Any:
    """Return one function of x at the ends of a support, and another one elsewhere."""
    ends = (to_plain(x) == support[0]) | (to_plain(x) == support[1])
    return where_row(ends, at_ends(where_row(ends, x, 0.5)), elsewhere(where_row(ends, 0.5, x)))


def gamma_density(a: Any, z: Any) -> Any:
    """Return z^(a-1) e^-z / Γ(a)."""
    return choose_at_ends(
        HALF_LINE,
        z,
        lambda z: power(z, a - 1) * exp(-z - lgamma(a)),
        lambda z: exp(poisson_log(a - 1, z)),
    )


def beta_density(a: Any, b: Any, z: Any) -> Any:
    """Return z^(a-1) (1-z)^(b-1) / B(a, b)."""
    return choose_at_ends(
        UNIT_INTERVAL,
        z,
        lambda z: power(z, a - 1) * power(1 - z, b - 1) * exp(-betaln(a, b)),
        lambda z: exp(log_beta_density(a, b, z)),
    )


def log_beta_density(a: Any, b: Any, z: Any) -> Any:
    """Return the logarithm of `beta_density`."""
    return xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b)


def log_beta_prime_density(a: Any, b: Any, z: Any) -> Any:
    """Return the logarithm of `beta_prime_density`."""
    return xlogy(a - 1, z) - xlog1py(a + b, z) - betaln(a, b)


def beta_prime_density(a: Any, b: Any, z: Any) -> Any:
    """Return z^(a-1) (1+z)^(-a-b) / B(a, b)."""
    return choose_at_ends(
        HALF_LINE,
        z,
        lambda z: power(z, a - 1) * power(1 + z, -a - b) * exp(-betaln(a, b)),
        lambda z: exp(log_beta_prime_density(a, b, z)),
    )


def chi_density(z: Any, df: Any) -> Any:
    """Return z^(df-1) e^(-z²/2), normalised."""

    def rest(z: Any) -> Any:
        return (1 - df / 2) * math.log(2) - lgamma(df / 2) - z * z / 2

    return choose_at_ends(
        HALF_LINE,
        z,
        lambda z: power(z, df - 1) * exp(rest(z)),
        lambda z: exp(xlogy(df - 1, z) + rest(z)),
    )


def log_lognormal_density(z: Any, s: Any) -> Any:
    """Return the logarithm of the density of e^(s x) with x normal."""
    return -log(z) * (log(z) / (2 * s * s) + 1) - log(s) - math.log(2 * math.pi) / 2
