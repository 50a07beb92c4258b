"""Pearson's distribution of the third type, `scipy.stats.pearson3`, on nodes.

It is a gamma distribution of shape b² = 4/skew², turned round if the skew is negative, of the
variable t = b (x + b). SciPy takes a skew below 1.6e-5 for 0, the normal distribution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.newton import invert
from simpleautodiff.arrays.registry import Function, is_batch
from simpleautodiff.arrays.scipy.scipy_densities import gamma_density
from simpleautodiff.arrays.scipy.scipy_stats import EVERYWHERE, bind_parameters, register_continuous
from simpleautodiff.arrays.ufuncs import evaluate_plainly
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.exponential import exp, log
from simpleautodiff.rules.scalar.incomplete import gammainc, gammaincc
from simpleautodiff.rules.scalar.parameter_values import require
from simpleautodiff.rules.scalar.probability import poisson_log
from simpleautodiff.rules.scalar.special import erfc
from simpleautodiff.values.functions import optional


def _choose(normal: Function, of_gamma: Function) -> Function:
    """Return a function of z and the skew from that of the normal and of the gamma distribution."""

    def function(z: Any, skew: Any) -> Any:
        _check_skew(skew)
        tiny = np.abs(to_plain(skew)) < 1.6e-5
        b = 2 / where_row(tiny, 1.0, skew)
        t = b * (z + b)
        inside = to_plain(t) >= 0
        value = of_gamma(b, where_row(inside, t, 1.0), inside)
        return where_row(tiny, normal(z), value)

    return function


def _check_skew(skew: Any) -> None:
    """Refuse to differentiate in a small skew: the slopes of the gamma distribution cancel."""
    if isinstance(skew, Traced) and not is_batch(skew):
        number = to_plain(skew)
        require(np.abs(number) >= 0.005, "pearson3", (number,), "a skew of at least 0.005")


def _tail(lower: bool) -> Function:
    """Return the probability below z, or the one above it."""

    def of_gamma(b: Any, t: Any, inside: Any) -> Any:
        below = (to_plain(b) > 0) == lower
        value = where_row(below, gammainc(b * b, t), gammaincc(b * b, t))
        return where_row(inside, value, np.where(below, 0.0, 1.0))

    sign = -1 if lower else 1
    return _choose(lambda z: erfc(sign * z / math.sqrt(2)) / 2, of_gamma)


register_continuous(
    "pearson3",
    ("skew",),
    EVERYWHERE,
    _choose(
        lambda z: -z * z / 2 - math.log(2 * math.pi) / 2,
        lambda b, t, inside: where_row(inside, log(abs(b)) + poisson_log(b * b - 1, t), -math.inf),
    ),
    pdf=_choose(
        lambda z: exp(-z * z / 2) / math.sqrt(2 * math.pi),
        lambda b, t, inside: where_row(inside, abs(b) * gamma_density(b * b, t), 0.0),
    ),
    cdf=_tail(lower=True),
    sf=_tail(lower=False),
    logcdf=lambda z, skew: log(_tail(lower=True)(z, skew)),
    logsf=lambda z, skew: log(_tail(lower=False)(z, skew)),
)


def _make_quantile(name: str, of: str, sign: int) -> Function:
    """Return the inverse of a method of the distribution, whose slope is ± the density."""

    def quantile(q: Any, *args: Any, **kwargs: Any) -> Any:
        law = optional("scipy.stats", "pearson3").pearson3
        given = {"loc": 0.0, "scale": 1.0, **bind_parameters(("skew",), args, kwargs)}
        parameters = (given["skew"], given["loc"], given["scale"])
        x = evaluate_plainly(getattr(law, name), q, *parameters)
        return invert(x, q, parameters, getattr(law, of), lambda *at: sign * law.pdf(*at))

    return quantile


SCIPY["stats.pearson3.ppf"] = _make_quantile("ppf", "cdf", 1)
SCIPY["stats.pearson3.isf"] = _make_quantile("isf", "sf", -1)
