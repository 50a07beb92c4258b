"""Quantiles and distribution functions that SciPy finds by solving or integrating in plain numbers.

The value is SciPy's. A distribution function has the density for slope. A quantile x solves
F(x, p) = q; so dx = (dq - ∂F/∂p dp)/density, which steps of Newton's method carry, in every order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from simpleautodiff.arrays.lost_derivatives import REFUSED_BY_SCIPY, SCIPY, no_scipy_rule
from simpleautodiff.arrays.newton import invert
from simpleautodiff.arrays.registry import SPECIAL_UFUNCS, Function, implements_scipy
from simpleautodiff.arrays.scipy.scipy_densities import (
    HALF_LINE,
    LOW_END,
    beta_prime_density,
    choose_at_ends,
    gamma_density,
)
from simpleautodiff.arrays.ufuncs import evaluate_plainly
from simpleautodiff.core.level import Traced
from simpleautodiff.core.linear import ZERO
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.exponential import exp, log
from simpleautodiff.rules.scalar.incomplete import gammainc
from simpleautodiff.rules.scalar.noncentral import (
    chndtr,
    kolmogorov,
    kolmogorov_derivative,
    ncf_density,
    ncfdtr,
    nct_density,
    nctdtr,
    ncx2_density,
    tklmbda,
)
from simpleautodiff.rules.scalar.probability import log_ndtr, owens_t
from simpleautodiff.rules.scalar.shape_integrals import vonmises_cdf
from simpleautodiff.rules.scalar.special import erfc
from simpleautodiff.rules.scalar.trigonometric import cos, sin
from simpleautodiff.values.functions import optional

# Distribution functions of SciPy that are compiled. -----------------------------------------------


def _normal(z: Any) -> Any:
    return erfc(-z / math.sqrt(2)) / 2


def _normal_density(z: Any) -> Any:
    return exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _skew_normal(x: Any, loc: Any, scale: Any, a: Any) -> Any:
    z = (x - loc) / scale
    return _normal(z) - 2 * owens_t(z, a)


def _skew_normal_density(x: Any, loc: Any, scale: Any, a: Any) -> Any:
    z = (x - loc) / scale
    return 2 * _normal_density(z) * _normal(a * z) / scale


def _inverse_gauss(x: Any, mu: Any, scale: Any) -> Any:
    z, ratio = (x / scale) ** 0.5, x / (scale * mu)
    return _normal((ratio - 1) / z) + exp(2 / mu + log_ndtr(-(ratio + 1) / z))


def _inverse_gauss_density(x: Any, mu: Any, scale: Any) -> Any:
    z = (x / scale) ** 0.5
    return _normal_density((x / (scale * mu) - 1) / z) / (scale * z**3)


def _cosine(x: Any) -> Any:
    return (math.pi + x + sin(x)) / (2 * math.pi)


def _cosine_density(x: Any) -> Any:
    return (1 + cos(x)) / (2 * math.pi)


# Near 0 a noncentral density is a sum of rising powers, one for each member of the mixture: five
# have all derivatives at 0 up to the fourth.
_MEMBERS = 5


def _mix(nc: Any, member: Function) -> Any:
    """Return the mixture of members by the Poisson distribution of mean nc/2."""
    weights = [(nc / 2) ** j / math.factorial(j) for j in range(_MEMBERS)]
    return exp(-nc / 2) * sum(weight * member(j) for j, weight in enumerate(weights))


def _ncx2_density(x: Any, df: Any, nc: Any) -> Any:
    return choose_at_ends(
        HALF_LINE,
        x,
        lambda x: _mix(nc, lambda j: gamma_density(df / 2 + j, x / 2) / 2),
        lambda x: ncx2_density(x, df, nc),
    )


def _ncf_density(x: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    ratio = dfn / dfd
    return choose_at_ends(
        HALF_LINE,
        x,
        lambda x: _mix(nc, lambda j: beta_prime_density(dfn / 2 + j, dfd / 2, x * ratio) * ratio),
        lambda x: ncf_density(dfn, dfd, nc, x),
    )


def _ncx2(x: Any, df: Any, nc: Any) -> Any:
    """Return the noncentral χ² distribution, whose density may be infinite at 0."""
    return choose_at_ends(
        LOW_END,
        x,
        lambda x: _mix(nc, lambda j: gammainc(df / 2 + j, x / 2)),
        lambda x: chndtr(x, df, nc),
    )


def _ncf(dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    """Return the noncentral F distribution, whose density may be infinite at 0."""
    fdtr = SPECIAL_UFUNCS["fdtr"]
    return choose_at_ends(
        LOW_END,
        x,
        lambda x: _mix(nc, lambda j: fdtr(dfn + 2 * j, dfd, x * dfn / (dfn + 2 * j))),
        lambda x: ncfdtr(dfn, dfd, nc, x),
    )


def _minus(f: Function) -> Function:
    return lambda *args: -f(*args)


def _rest(f: Function) -> Function:
    return lambda *args: 1 - f(*args)


def _last_first(f: Function) -> Function:
    return lambda x, *parameters: f(*parameters, x)


SPECIAL_UFUNCS.update(
    {
        "chndtr": _ncx2,
        "ncfdtr": _ncf,
        "nctdtr": nctdtr,
        "tklmbda": tklmbda,
        "kolmogorov": kolmogorov,
        "_kolmogc": _rest(kolmogorov),
        "_kolmogp": lambda x: kolmogorov_derivative(1, x),
        "_cosine_cdf": _cosine,
        "_skewnorm_cdf": _skew_normal,
        "_ncx2_sf": _rest(chndtr),
        "_ncx2_pdf": _ncx2_density,
        "_ncf_sf": _rest(_last_first(ncfdtr)),
        "_ncf_pdf": _ncf_density,
        "_nct_sf": _rest(_last_first(nctdtr)),
        "_nct_pdf": _last_first(nct_density),
    }
)

# Their inverses. ----------------------------------------------------------------------------------


def _make_inverse(name: str, f: Function, slope: Function, last: bool = False) -> Function:
    """Return the inverse of f(x, *parameters) in x, whose value is that of SciPy's ufunc.

    Its first argument, or with `last` its last one, is the value of f.
    """

    def inverse(*args: Any) -> Any:
        compute = getattr(optional("scipy.special", f"{name} of a node")._ufuncs, name)
        value, parameters = (args[-1], args[:-1]) if last else (args[0], args[1:])
        return invert(evaluate_plainly(compute, *args), value, parameters, f, slope)

    return inverse


_INVERSES: dict[
    tuple[str, ...], tuple[Function, Function]
] = {  # names of the quantile, from below and from above: the distribution, its density
    ("chndtrix", "_ncx2_isf"): (_ncx2, _ncx2_density),
    ("_ncf_ppf", "_ncf_isf"): (_last_first(ncfdtr), _last_first(ncf_density)),
    ("_nct_ppf", "_nct_isf"): (_last_first(nctdtr), _last_first(nct_density)),
    ("_skewnorm_ppf", "_skewnorm_isf"): (_skew_normal, _skew_normal_density),
    ("_invgauss_ppf", "_invgauss_isf"): (_inverse_gauss, _inverse_gauss_density),
    ("_cosine_invcdf",): (_cosine, _cosine_density),
    ("_kolmogci", "kolmogi"): (_rest(kolmogorov), lambda x: -kolmogorov_derivative(1, x)),
}
for _names, (_f, _slope) in _INVERSES.items():
    _tails = ((_f, _slope), (_rest(_f), _minus(_slope)))
    for _name, _tail in zip(_names, _tails, strict=False):
        SPECIAL_UFUNCS[_name] = _make_inverse(_name, *_tail)
for _name, _f, _slope in (("ncfdtri", ncfdtr, ncf_density), ("nctdtrit", nctdtr, nct_density)):
    SPECIAL_UFUNCS[_name] = _make_inverse(_name, _last_first(_f), _last_first(_slope), last=True)

# SciPy takes the χ² distribution at nc = 0, which does not depend on nc.
SCIPY.update(
    {
        "stats.ncx2._pdf": _ncx2_density,
        "stats.ncx2._logpdf": lambda x, df, nc: log(_ncx2_density(x, df, nc)),
        "stats.ncx2._cdf": chndtr,
        "stats.ncx2._sf": SPECIAL_UFUNCS["_ncx2_sf"],
        "stats.ncx2._ppf": SPECIAL_UFUNCS["chndtrix"],
        "stats.ncx2._isf": SPECIAL_UFUNCS["_ncx2_isf"],
    }
)

# Methods of distributions that integrate a density, or solve an equation. -------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Integral:
    """A method of a distribution with plain parameters, whose slope is ± the density."""

    distribution: Any
    method: str
    parameters: tuple[Any, ...]
    sign: int

    def compute(self, x: Any) -> Any:
        """Return SciPy's value."""
        return getattr(self.distribution, self.method)(x, *self.parameters)

    def slope(self, x: Any) -> Any:
        """Return the density, or minus the density."""
        return self.sign * _find_density(self.distribution)(x, *self.parameters)


integral_of_density: Wrapping = row(
    "integral_of_density",
    lambda _v, x, integral: integral.slope(x),
    ZERO,
    value=lambda x, integral: integral.compute(x),
    numpy=(),
    settings=(1,),
    text="F({0})",
    latex="F({0})",
    reason="the slope of a distribution function is the density",
    listed=False,
)


def _find_density(distribution: Any) -> Function:
    """Return the density of a distribution; SciPy's differences in place of one are refused."""
    base = optional("scipy.stats", "a distribution").rv_continuous
    if type(distribution)._pdf is base._pdf:
        raise RuleError(
            f"the distribution {distribution.name!r} has no density of its own, by which its "
            f"quantiles are differentiated: give its class a method _pdf{cite_line()}"
        )
    return distribution._pdf  # type: ignore[no-any-return]


def _integrate(method: str, sign: int, distribution: Any, x: Any, *parameters: Any) -> Any:
    """Return a distribution function that SciPy computes, as a function of x."""
    if 0 in shape_of(x):
        return x
    if any(isinstance(parameter, Traced) for parameter in parameters):
        raise RuleError(
            f"scipy.stats.{distribution.name} integrates its density in plain numbers, so that it "
            "has derivatives in x, loc and scale, but not in its shape parameters. Pass these as "
            "plain numbers (node.value is one), or integrate the density: "
            f"simpleautodiff.plug.quad(pdf, a, x, parameters){cite_line()}"
        )
    return integral_of_density(x, Integral(distribution, method, parameters, sign))


@implements_scipy("stats.rv_continuous._cdf")
def cdf(self: Any, x: Any, *parameters: Any) -> Any:
    """Return the distribution function of a distribution that has only a density."""
    return _integrate("_cdf", 1, self, x, *parameters)


@implements_scipy("stats.rv_continuous._ppf")
def ppf(self: Any, q: Any, *parameters: Any) -> Any:
    """Return the quantile of a distribution that has no formula for it."""
    x = evaluate_plainly(self._ppf, q, *parameters)
    return invert(x, q, parameters, self._cdf, _find_density(self))


def _distribution(name: str) -> Any:
    return getattr(optional("scipy.stats", name), name)


SCIPY["stats.vonmises._cdf"] = vonmises_cdf


# Distributions whose functions are compiled, or integrated in plain numbers.
PLAIN_LAWS = ("genhyperbolic", "geninvgauss", "ksone", "kstwo", "landau", "norminvgauss")


def _make_integral(name: str, method: str, sign: int) -> Function:
    return lambda x, *shapes: _integrate(method, sign, _distribution(name), x, *shapes)


def _make_quantile(name: str, method: str, integral: str, sign: int) -> Function:
    """Return the quantile of a distribution, from below or from above."""

    def quantile(q: Any, *shapes: Any) -> Any:
        law = _distribution(name)
        x = evaluate_plainly(getattr(law, method), q, *shapes)
        slope = _find_density(law) if sign > 0 else _minus(_find_density(law))
        return invert(x, q, shapes, getattr(law, integral), slope)

    return quantile


for _name in PLAIN_LAWS:
    for _method, _integral, _sign in (("_ppf", "_cdf", 1), ("_isf", "_sf", -1)):
        SCIPY[f"stats.{_name}.{_integral}"] = _make_integral(_name, _integral, _sign)
        SCIPY[f"stats.{_name}.{_method}"] = _make_quantile(_name, _method, _integral, _sign)


def _refuse_law(*args: Any) -> Any:
    raise no_scipy_rule("stats.levy_stable")


def _refuse_count(*counts: Any) -> Any:
    """Refuse a node as a parameter that is an integer; SciPy checks all parameters first."""
    raise RuleError(
        "this parameter is an integer, in which there is no derivative. Pass a plain number "
        f"(node.value is one){cite_line()}"
    )


_REFUSALS = {
    **{f"stats.{name}._argcheck": _refuse_count for name in ("irwinhall", "ksone", "kstwo")},
    **{f"stats.levy_stable.{name}": _refuse_law for name in ("_pdf", "_cdf", "_ppf")},
}
SCIPY.update(_REFUSALS)
REFUSED_BY_SCIPY.update(_REFUSALS)
