"""Distributions of extreme values on nodes: `genpareto`, `genextreme` and `kappa4` of scipy.stats.

Each has a shape parameter at whose value 0 SciPy takes another formula: (1 - kx)^(1/k) becomes
e^-x. Written with log(1 + x)/x, and the transformation of Box and Cox, they are smooth there.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.registry import implements_scipy
from simpleautodiff.arrays.scipy.scipy_densities import HALF_LINE
from simpleautodiff.arrays.scipy.scipy_stats import register_continuous
from simpleautodiff.core.level import to_plain
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.rules.scalar.bessel import log1prel
from simpleautodiff.rules.scalar.exponential import exp, expm1, log, log1p
from simpleautodiff.rules.scalar.information import boxcox, boxcox1p, inv_boxcox

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
    return exp(_log_tail(x, k))


def _kappa4_logcdf(x: Any, h: Any, k: Any) -> Any:
    return _log_tail(_tail(x, k), h)


def _kappa4_logpdf(x: Any, h: Any, k: Any) -> Any:
    return (1 - k) * _log_tail(x, k) + (1 - h) * _kappa4_logcdf(x, h, k)


SCIPY["stats.kappa4._logcdf"] = _kappa4_logcdf
SCIPY["stats.kappa4._logpdf"] = _kappa4_logpdf
SCIPY["stats.kappa4._cdf"] = lambda x, h, k: exp(_kappa4_logcdf(x, h, k))
SCIPY["stats.kappa4._pdf"] = lambda x, h, k: exp(_kappa4_logpdf(x, h, k))
SCIPY["stats.kappa4._ppf"] = lambda q, h, k: -boxcox(-boxcox(q, h), k)


@implements_scipy("stats.genextreme._logpdf")
def genextreme_logpdf(x: Any, c: Any) -> Any:
    """Return the logarithm of the density of a generalized extreme value distribution."""
    return (1 - c) * _log_tail(x, c) - _tail(x, c)


SCIPY["stats.genextreme._pdf"] = lambda x, c: exp(genextreme_logpdf(x, c))
SCIPY["stats.genextreme._logcdf"] = lambda x, c: -_tail(x, c)
SCIPY["stats.genextreme._cdf"] = lambda x, c: exp(-_tail(x, c))
SCIPY["stats.genextreme._sf"] = lambda x, c: -expm1(-_tail(x, c))
SCIPY["stats.genextreme._ppf"] = lambda q, c: -boxcox(-log(q), c)
SCIPY["stats.genextreme._isf"] = lambda q, c: -boxcox(-log1p(-q), c)
