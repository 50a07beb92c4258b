"""Densities and distribution functions of scipy.stats on nodes: `norm.logpdf(x, loc, scale)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.registry import Function
from simpleautodiff.arrays.scipy.scipy_densities import (
    HALF_LINE,
    UNIT_INTERVAL,
    beta_density,
    beta_prime_density,
    chi_density,
    choose_at_ends,
    gamma_density,
    log_beta_density,
    log_beta_prime_density,
    log_lognormal_density,
)
from simpleautodiff.arrays.scipy.scipy_ends import fix_infinite
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import ArgumentError, cite_line
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.row import add_kinks
from simpleautodiff.rules.scalar.arithmetic import div, power
from simpleautodiff.rules.scalar.exponential import exp, log, log1p, sigmoid, softplus
from simpleautodiff.rules.scalar.incomplete import (
    betainc,
    betaincc,
    gammainc,
    gammaincc,
    log_t_density,
    stdtr,
)
from simpleautodiff.rules.scalar.information import xlog1py, xlogy
from simpleautodiff.rules.scalar.probability import betaln, log_ndtr, ndtri, poisson_log
from simpleautodiff.rules.scalar.special import erfc, lgamma

EVERYWHERE = (-math.inf, math.inf)


@cache
def _make_standardize(support: tuple[float, float]) -> Function:
    """Return division by a scale, with a kink at the ends of a support."""
    if support == EVERYWHERE:
        return div
    ends = lambda x, scale: x in (support[0] * scale, support[1] * scale)  # noqa: E731
    return add_kinks(div, Kink("an end of the support", ends, "as inside of it"))


def _make_method(
    implementation: Function,
    shapes: tuple[str, ...],
    support: tuple[float, float],
    outside: float,
    rescale: Function = lambda value, _scale: value,
) -> Function:
    """Return a function of x, shapes, loc and scale from one of (x - loc)/scale and shapes.

    Outside the support the value is the constant `outside`. A density is divided by the scale,
    which `rescale` does.
    """

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        given = {"loc": 0.0, "scale": 1.0, **bind_parameters(shapes, args, kwargs)}
        scale = given["scale"]
        standardize = _make_standardize(support)
        z = fix_infinite(x, lambda x: standardize(x - given["loc"], scale))
        inside = (to_plain(z) >= support[0]) & (to_plain(z) <= support[1])
        if support != EVERYWHERE:
            z = where_row(inside, z, 0.5)
        value = rescale(implementation(z, *[given[name] for name in shapes]), scale)
        return value if support == EVERYWHERE else where_row(inside, value, outside)

    return method


def bind_parameters(
    shapes: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a distribution that were given, by name."""
    names = (*shapes, "loc", "scale")
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(args) > len(names) or set(given) - set(names) or set(shapes) - set(given):
        raise ArgumentError(f"the arguments after x are {', '.join(names)}{cite_line()}")
    return given


def register_continuous(
    name: str,
    shapes: tuple[str, ...],
    support: tuple[float, float],
    logpdf: Function,
    pdf: Function | None = None,
    **others: Function,
) -> None:
    """Register a distribution: the logarithm of its density, and its other functions.

    The density is the exponential of its logarithm, unless it is given as well.
    """
    log_density = _make_method(
        logpdf, shapes, support, -math.inf, lambda value, scale: value - log(scale)
    )
    SCIPY[f"stats.{name}.logpdf"] = log_density
    SCIPY[f"stats.{name}.pdf"] = (
        _make_method(pdf, shapes, support, 0.0, div) if pdf else _make_exponential(log_density)
    )
    for method, implementation in others.items():
        SCIPY[f"stats.{name}.{method}"] = _make_method(
            implementation, shapes, support, _AT_LEFT[method]
        )


def _make_exponential(logarithm: Function) -> Function:
    return lambda x, *args, **kwargs: np.exp(logarithm(x, *args, **kwargs))


_AT_LEFT = {"cdf": 0.0, "sf": 1.0, "logcdf": -math.inf, "logsf": 0.0}
register_continuous(
    "norm",
    (),
    EVERYWHERE,
    lambda z: -z * z / 2 - math.log(2 * math.pi) / 2,
    cdf=lambda z: erfc(-z / math.sqrt(2)) / 2,
    sf=lambda z: erfc(z / math.sqrt(2)) / 2,
    logcdf=lambda z: log_ndtr(z),
    logsf=lambda z: log_ndtr(-z),
)
register_continuous(
    "expon",
    (),
    HALF_LINE,
    lambda z: -z,
    cdf=lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logsf=lambda z: -z,
)
register_continuous(
    "gamma",
    ("a",),
    HALF_LINE,
    lambda z, a: poisson_log(a - 1, z),
    pdf=lambda z, a: gamma_density(a, z),
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
)
register_continuous(
    "chi2",
    ("df",),
    HALF_LINE,
    lambda z, df: poisson_log(df / 2 - 1, z / 2) - math.log(2),
    pdf=lambda z, df: gamma_density(df / 2, z / 2) / 2,
    cdf=lambda z, df: gammainc(df / 2, z / 2),
    sf=lambda z, df: gammaincc(df / 2, z / 2),
)
register_continuous(
    "t",
    ("df",),
    EVERYWHERE,
    lambda z, df: log_t_density(df, z),
    cdf=lambda z, df: stdtr(df, z),
    sf=lambda z, df: stdtr(df, -z),
    logcdf=lambda z, df: log(stdtr(df, z)),
    logsf=lambda z, df: log(stdtr(df, -z)),
)
register_continuous(
    "cauchy",
    (),
    EVERYWHERE,
    lambda z: -math.log(math.pi) - log1p(z * z),
    cdf=lambda z: 0.5 + np.arctan(z) / math.pi,
    sf=lambda z: 0.5 - np.arctan(z) / math.pi,
)
register_continuous("laplace", (), EVERYWHERE, lambda z: -abs(z) - math.log(2))
register_continuous(
    "logistic",
    (),
    EVERYWHERE,
    lambda z: -softplus(z) - softplus(-z),
    cdf=lambda z: sigmoid(z),
    sf=lambda z: sigmoid(-z),
    logcdf=lambda z: -softplus(-z),
    logsf=lambda z: -softplus(z),
)
register_continuous("uniform", (), UNIT_INTERVAL, lambda z: z * 0.0)
register_continuous(
    "lognorm",
    ("s",),
    HALF_LINE,
    log_lognormal_density,
    pdf=lambda z, s: choose_at_ends(
        HALF_LINE, z, lambda z: z * 0.0, lambda z: exp(log_lognormal_density(z, s))
    ),
)
register_continuous(
    "beta",
    ("a", "b"),
    UNIT_INTERVAL,
    lambda z, a, b: log_beta_density(a, b, z),
    pdf=lambda z, a, b: beta_density(a, b, z),
)
register_continuous(
    "betaprime",
    ("a", "b"),
    HALF_LINE,
    lambda z, a, b: log_beta_prime_density(a, b, z),
    pdf=lambda z, a, b: beta_prime_density(a, b, z),
)
register_continuous(
    "f",
    ("dfn", "dfd"),
    HALF_LINE,
    lambda z, n, m: log_beta_prime_density(n / 2, m / 2, z * n / m) + log(n / m),
    pdf=lambda z, n, m: beta_prime_density(n / 2, m / 2, z * n / m) * (n / m),
)
register_continuous(
    "chi",
    ("df",),
    HALF_LINE,
    lambda z, df: xlogy(df - 1, z) + (1 - df / 2) * math.log(2) - lgamma(df / 2) - z * z / 2,
    pdf=chi_density,
)
register_continuous(
    "rayleigh", (), HALF_LINE, lambda z: log(z) - z * z / 2, pdf=lambda z: z * exp(-z * z / 2)
)
SCIPY["stats.norm.ppf"] = lambda q, loc=0.0, scale=1.0: loc + scale * ndtri(q)
SCIPY["stats.norm.isf"] = lambda q, loc=0.0, scale=1.0: loc - scale * ndtri(q)


def _make_beta_function(implementation: Function, right: float) -> Function:
    """Return a distribution function of `beta`, which is `right` beyond 1."""

    def function(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        z = (x - loc) / scale
        inside = (to_plain(z) >= 0) & (to_plain(z) <= 1)
        within = implementation(a, b, where_row(inside, z, 0.5))
        return where_row(inside, within, where_row(to_plain(z) > 1, right, 1 - right))

    return function


SCIPY["stats.beta.cdf"] = _make_beta_function(betainc, 1.0)
SCIPY["stats.beta.sf"] = _make_beta_function(betaincc, 0.0)


# Discrete distributions. --------------------------------------------------------------------------


def _binomial(k: Any, n: Any, p: Any) -> Any:
    return xlogy(k, p) + xlog1py(n - k, -p) - betaln(n - k + 1.0, k + 1.0) - log(n + 1.0)


def _negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return lgamma(n + k) - lgamma(k + 1.0) - lgamma(n) + xlogy(n, p) + xlog1py(k, -p)


# By name: the logarithm, the probability, and which numbers have one.
_PROBABILITIES: dict[str, tuple[Function, Function, Callable[..., Any]]] = {
    "poisson": (
        lambda k, mu: poisson_log(k, mu),
        lambda k, mu: gamma_density(k + 1.0, mu),
        lambda k, mu: k >= 0,
    ),
    "binom": (
        _binomial,
        lambda k, n, p: beta_density(k + 1.0, n - k + 1.0, p) / (n + 1.0),
        lambda k, n, p: (k >= 0) & (k <= n),
    ),
    "nbinom": (
        _negative_binomial,
        lambda k, n, p: exp(_negative_binomial(k, n, p)),
        lambda k, n, p: k >= 0,
    ),
    "bernoulli": (
        lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
        lambda k, p: power(p, k) * power(1 - p, 1 - k),
        lambda k, p: (k >= 0) & (k <= 1),
    ),
    "geom": (
        lambda k, p: xlog1py(k - 1, -p) + log(p),
        lambda k, p: beta_density(1.0, k, p) / k * p,
        lambda k, p: k >= 1,
    ),
}


def _make_probability(
    implementation: Function, there: Callable[..., Any], outside: float
) -> Function:
    """Return a function of k and shapes from one of the numbers that have a probability."""

    def probability(k: Any, *shapes: Any, loc: Any = 0) -> Any:
        k = np.asarray(to_plain(k) - to_plain(loc))[()]
        inside = (np.floor(k) == k) & there(k, *map(to_plain, shapes))
        return where_row(inside, implementation(np.where(inside, k, 1.0)[()], *shapes), outside)

    return probability


for _name, (_logpmf, _pmf, _there) in _PROBABILITIES.items():
    SCIPY[f"stats.{_name}.logpmf"] = _make_probability(_logpmf, _there, -math.inf)
    SCIPY[f"stats.{_name}.pmf"] = _make_probability(_pmf, _there, 0.0)
