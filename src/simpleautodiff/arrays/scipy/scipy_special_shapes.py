"""Functions of scipy.stats for which SciPy takes another formula at special values.

`genextreme` at c = 0 does not contain c, so that SciPy's code has a derivative of 0 in c there. The
formulas here hold on both sides: (1 - kx)^(1/k), which becomes e^-x at k = 0, is written with
log(1 + x)/x, or with the transformation of Box and Cox.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD, SCIPY, no_scipy_rule
from simpleautodiff.arrays.registry import Function, implements_scipy
from simpleautodiff.arrays.scipy.scipy_densities import HALF_LINE
from simpleautodiff.arrays.scipy.scipy_stats import register_continuous
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.rules.scalar.bessel import iv, ive, log1prel
from simpleautodiff.rules.scalar.exponential import exp, expm1, log, log1p, softplus
from simpleautodiff.rules.scalar.information import boxcox, boxcox1p, inv_boxcox, xlogy
from simpleautodiff.rules.scalar.probability import log_ndtr
from simpleautodiff.rules.scalar.trigonometric import cos

# The generalized Pareto distribution. -------------------------------------------------------------


def _pareto_tail(z: Any, c: Any) -> Any:
    """Return (1 + cz)^(-1/c), e^-z at c = 0; 0 beyond the end that the support has if c < 0."""
    return where_row(1 + c * z > 0, inv_boxcox(-z, -c), 0.0)


def _log_pareto_density(z: Any, c: Any) -> Any:
    return log(_pareto_tail(z, c)) - log1p(c * z)


def _pareto_density(z: Any, c: Any) -> Any:
    """Return (1 + cz)^(-1/c-1); 0 beyond the end that the support has if c < 0."""
    rest = 1 + c * z
    end, beyond = to_plain(rest) == 0, to_plain(rest) < 0
    at_end = power(where_row(end, rest, 0.5), -1 / where_row(end, c, 1.0) - 1)
    inside = exp(_log_pareto_density(where_row(end | beyond, 0.0, z), c))
    return where_row(end, at_end, where_row(beyond, 0.0, inside))


register_continuous(
    "genpareto",
    ("c",),
    HALF_LINE,
    _log_pareto_density,
    pdf=_pareto_density,
    cdf=lambda z, c: 1 - _pareto_tail(z, c),
    sf=_pareto_tail,
    logsf=lambda z, c: log(_pareto_tail(z, c)),
)
SCIPY["stats.genpareto.ppf"] = lambda q, c, loc=0.0, scale=1.0: loc - scale * boxcox1p(-q, -c)
SCIPY["stats.genpareto.isf"] = lambda q, c, loc=0.0, scale=1.0: loc - scale * boxcox(q, -c)

# kappa4, and the generalized extreme value distribution, which is kappa4 at h = 0. ----------------


def _log_tail(x: Any, k: Any) -> Any:
    """Return log(1 - kx)/k, -x at k = 0."""
    return -x * log1prel(-k * x)


def _tail(x: Any, k: Any) -> Any:
    """Return (1 - kx)^(1/k), e^-x at k = 0: at h = 0 it is -log F."""
    return _at_end(
        x, k, lambda rest, k: power(rest, 1 / k), math.inf, lambda x, k: exp(_log_tail(x, k))
    )


def _density(x: Any, k: Any) -> Any:
    """Return (1 - kx)^(1/k-1), minus the slope of `_tail`."""
    return _at_end(
        x, k, lambda rest, k: power(rest, 1 / k - 1), 0.0, lambda x, k: exp(_log_density(x, k))
    )


def _log_density(x: Any, k: Any) -> Any:
    return _at_end(
        x,
        k,
        lambda rest, k: xlogy(1 / k - 1, rest),
        -math.inf,
        lambda x, k: (1 - k) * _log_tail(x, k),
    )


def _at_end(x: Any, k: Any, at_end: Function, below: float, elsewhere: Function) -> Any:
    """Return `at_end` or, if k < 0, `below` where 1 - kx is 0, and `elsewhere` everywhere else."""
    rest = 1 - k * x
    end = to_plain(rest) == 0
    there = where_row(end & (to_plain(k) > 0), k, 1.0)
    last = where_row(to_plain(k) > 0, at_end(where_row(end, rest, 1.0), there), below)
    return where_row(end, last, elsewhere(where_row(end, 0.0, x), k))


def _kappa4_logcdf(x: Any, h: Any, k: Any) -> Any:
    return _log_tail(_tail(x, k), h)


def _kappa4_logpdf(x: Any, h: Any, k: Any) -> Any:
    low, (x, h, k) = _leave_low_end(x, h, k)
    return where_row(low, -math.inf, _log_density(x, k) + _log_density(_tail(x, k), h))


def _leave_low_end(x: Any, h: Any, k: Any) -> tuple[Any, list[Any]]:
    """Tell where x is the lower end 1/k of a support, as k < 0; replace the arguments by 0 there.

    There the distribution function and all its derivatives are 0.
    """
    low = (to_plain(k) < 0) & (to_plain(k) * to_plain(x) == 1)
    return low, [where_row(low, 0.0, each) for each in (x, h, k)]


def _kappa4_pdf(x: Any, h: Any, k: Any) -> Any:
    """Return the density; at an end of the support as a product, as its logarithm is infinite."""
    low, (x, h, k) = _leave_low_end(x, h, k)
    end = (to_plain(k) * to_plain(x) == 1) | (to_plain(h) * to_plain(_tail(x, k)) == 1)
    inside = _kappa4_logpdf(*(where_row(end, 0.0, each) for each in (x, h, k)))
    at_end = [where_row(end, each, 0.0) for each in (x, h, k)]
    product = _density(at_end[0], at_end[2]) * _density(_tail(at_end[0], at_end[2]), at_end[1])
    return where_row(low, 0.0, where_row(end, product, exp(inside)))


SCIPY["stats.kappa4._logcdf"] = _kappa4_logcdf
SCIPY["stats.kappa4._logpdf"] = _kappa4_logpdf
SCIPY["stats.kappa4._cdf"] = lambda x, h, k: exp(_kappa4_logcdf(x, h, k))
SCIPY["stats.kappa4._pdf"] = _kappa4_pdf
SCIPY["stats.kappa4._ppf"] = lambda q, h, k: -boxcox(-boxcox(q, h), k)
SCIPY["stats.genextreme._logpdf"] = lambda x, c: _kappa4_logpdf(x, 0.0, c)
SCIPY["stats.genextreme._pdf"] = lambda x, c: _kappa4_pdf(x, 0.0, c)
SCIPY["stats.genextreme._logcdf"] = lambda x, c: -_tail(x, c)
SCIPY["stats.genextreme._cdf"] = lambda x, c: exp(-_tail(x, c))
SCIPY["stats.genextreme._sf"] = lambda x, c: -expm1(-_tail(x, c))
SCIPY["stats.genextreme._ppf"] = lambda q, c: -boxcox(-log(q), c)
SCIPY["stats.genextreme._isf"] = lambda q, c: -boxcox(-log1p(-q), c)


# Other distributions. -----------------------------------------------------------------------------


@implements_scipy("stats.skewnorm._logpdf")
def skewnorm_logpdf(z: Any, a: Any) -> Any:
    """Return the logarithm of a density for which SciPy has a formula without a, if a = 0."""
    return log_ndtr(a * z) - (z * z + math.log(math.pi / 2)) / 2


SCIPY["stats.skewnorm._pdf"] = lambda z, a: exp(skewnorm_logpdf(z, a))


def _log_i0(x: Any) -> Any:
    """Return log I₀(x), smooth at 0, where the scaled function of SciPy has a kink."""
    small = np.abs(to_plain(x)) < 1
    near, far = where_row(small, x, 0.0), where_row(small, 1.0, x)
    return where_row(small, log(iv(0, near)), log(ive(0, far)) + abs(far))


@implements_scipy("stats.rice._logpdf")
def rice_logpdf(x: Any, b: Any) -> Any:
    """Return the logarithm of the density of the Rice distribution."""
    return log(x) - (x * x + b * b) / 2 + _log_i0(x * b)


SCIPY["stats.rice._pdf"] = lambda x, b: x * exp(_log_i0(x * b) - (x * x + b * b) / 2)


@implements_scipy("stats.vonmises._logpdf")
def vonmises_logpdf(x: Any, kappa: Any) -> Any:
    """Return the logarithm of the density of von Mises."""
    return kappa * cos(x) - _log_i0(kappa) - math.log(2 * math.pi)


SCIPY["stats.vonmises._pdf"] = lambda x, kappa: exp(vonmises_logpdf(x, kappa))


@implements_scipy("stats.genlogistic._logpdf")
def genlogistic_logpdf(x: Any, c: Any) -> Any:
    """Return the logarithm of a density that SciPy writes with |x|, which has a kink at 0."""
    return log(c) - x - (c + 1) * softplus(-x)


SCIPY["stats.genlogistic._pdf"] = lambda x, c: exp(genlogistic_logpdf(x, c))


@implements_scipy("stats.triang._pdf")
def triang_pdf(x: Any, c: Any) -> Any:
    """Return the density of a triangle whose tip is at c, from 0 to 1."""
    left, c_left, c_right = _split(x, c)
    return where_row(left, 2 * x / c_left, 2 * (1 - x) / (1 - c_right))


@implements_scipy("stats.triang._cdf")
def triang_cdf(x: Any, c: Any) -> Any:
    """Return the distribution function of a triangle."""
    left, c_left, c_right = _split(x, c)
    return where_row(left, x * x / c_left, 1 - (1 - x) ** 2 / (1 - c_right))


def _split(x: Any, c: Any) -> tuple[Any, Any, Any]:
    """Tell where x is left of the tip c; return c for both sides, with other numbers elsewhere."""
    left = (to_plain(x) < to_plain(c)) | (to_plain(c) == 1)
    return left, where_row(left, c, 1.0), where_row(left, 0.0, c)


# Transformations to normal variables. -------------------------------------------------------------


@implements_scipy("stats.yeojohnson")
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Return the transformation of Yeo and Johnson with a given λ."""
    if lmbda is None:
        raise no_scipy_rule("stats.yeojohnson_normmax")
    right = to_plain(x) >= 0
    above, below = where_row(right, x, 0.0), where_row(right, 0.0, -x)
    return where_row(right, boxcox1p(above, lmbda), -boxcox1p(below, 2 - lmbda))


@implements_scipy("stats.yeojohnson_llf")
def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
    """Return the log-likelihood of λ."""
    sizes = np.sum(np.sign(data) * log1p(abs(data)), axis=axis, keepdims=keepdims)
    return (lmb - 1) * sizes + _log_likelihood(yeojohnson(data, lmb), axis, keepdims)


@implements_scipy("stats.boxcox_llf")
def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
    """Return the log-likelihood of λ for the transformation of Box and Cox."""
    sizes = np.sum(log(data), axis=axis, keepdims=keepdims)
    return (lmb - 1) * sizes + _log_likelihood(boxcox(data, lmb), axis, keepdims)


def _log_likelihood(normal: Any, axis: Any, keepdims: bool) -> Any:
    """Return the largest log-likelihood of normal variables, without its constants."""
    variance = np.var(normal, axis=axis, keepdims=keepdims)
    return -np.size(normal) / np.size(variance) / 2 * log(variance)


@implements_scipy("stats.pmean")
def pmean(a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, weights: Any = None) -> Any:
    """Return the power mean, (mean of a^p)^(1/p); at p = 0 it is the geometric mean."""
    a = a if dtype is None else a.astype(dtype)
    return inv_boxcox(np.average(boxcox(a, p), axis=axis, weights=weights), p)


@implements_scipy("stats.circstd")
def circstd(
    samples: Any,
    high: Any = 2 * math.pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    normalize: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return √(-2 log R), where 1 - R² is the variance of the sines plus that of the cosines.

    Of equal angles it is 0 and has the slope 0, as any standard deviation.
    """
    if nan_policy != "propagate":
        raise RuleError(
            f"scipy.stats.circstd of a node takes nan_policy='propagate', not {nan_policy!r}"
            f"{cite_line()}"
        )
    turn = 2 * math.pi / (high - low)
    spread = np.hypot(
        np.std(np.sin(samples * turn), axis=axis, keepdims=keepdims),
        np.std(np.cos(samples * turn), axis=axis, keepdims=keepdims),
    )
    deviation = spread * np.sqrt(log1prel(-spread * spread))
    return deviation if normalize else deviation / turn


INSTEAD["stats.yeojohnson_normmax"] = (
    "write simpleautodiff.plug.solve_minimum(f, x0, data), where f(lmbda, data) is "
    "-scipy.stats.yeojohnson_llf(lmbda, data)"
)
