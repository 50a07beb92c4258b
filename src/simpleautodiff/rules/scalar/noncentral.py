"""Rows: distributions that are mixtures, and others whose slopes are densities.

The noncentral χ² distribution is a mixture of χ² distributions, by Poisson's probabilities of mean
nc/2; the one of F likewise. So a slope in nc is a difference of two members of the mixture, which
have two degrees of freedom more or less. In the degrees of freedom each member is differentiated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.arithmetic import raise_to
from simpleautodiff.rules.scalar.information import boxcox, boxcox1p
from simpleautodiff.rules.scalar.parameter_values import differentiate_exp, read_orders, require
from simpleautodiff.rules.scalar.poisson_mixtures import (
    chndtr_derivative,
    ncbeta_density_derivative,
    ncbeta_derivative,
    ncx2_density_derivative,
)
from simpleautodiff.rules.scalar.probability import poch
from simpleautodiff.rules.scalar.shape_integrals import nct_df_moment
from simpleautodiff.rules.scipy_values import scipy_method, scipy_row

# The noncentral χ² distribution. ------------------------------------------------------------------

CHI_SQUARED = Domain("x > 0, df > 0, nc ≥ 0", lambda x, df, nc: x > 0 and df > 0 and nc >= 0)

ncx2_density: Wrapping = scipy_row(
    "ncx2_density",
    lambda v, x, df, nc: (v * (df - 2 - x) + nc * ncx2_density(x, df + 2, nc)) / (2 * x),
    lambda _v, x, df, nc: ncx2_density_derivative(1, x, df, nc),
    lambda v, x, df, nc: (ncx2_density(x, df + 2, nc) - v) / 2,
    value=lambda x, df, nc: scipy_method("ncx2", "pdf")(x, df, nc),
    reason="each member of the mixture is x^(df/2 - 1) exp(-x/2), times a constant",
    domain=CHI_SQUARED,
)
chndtr = scipy_row(
    "chndtr",
    lambda _v, x, df, nc: ncx2_density(x, df, nc),
    lambda _v, x, df, nc: chndtr_derivative(1, x, df, nc),
    lambda _v, x, df, nc: -ncx2_density(x, df + 2, nc),
    reason="the slope is the density; in nc, minus that of two degrees of freedom more",
    domain=CHI_SQUARED,
)

# The noncentral F distribution. -------------------------------------------------------------------

RATIO = Domain(
    "dfn > 0, dfd > 0, nc ≥ 0, x > 0",
    lambda dfn, dfd, nc, x: dfn > 0 and dfd > 0 and nc >= 0 and x > 0,
)


def _next_density(dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    """Return the density whose mixture starts one member later."""
    share = dfn / (dfn + 2)
    return share * ncf_density(dfn + 2, dfd, nc, share * x)


def _ncf_density_slope(v: Any, dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    ratio = dfn / (dfd + dfn * x)
    first = (dfn / 2 - 1) / x - (dfn + dfd) / 2 * ratio
    return v * first + nc / 2 * _next_density(dfn, dfd, nc, x) * (1 / x - ratio)


def _to_beta(dfn: Any, dfd: Any, nc: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the arguments of the noncentral beta distribution."""
    return dfn / 2, dfd / 2, nc, dfn * x / (dfd + dfn * x)


def _ncf_density_slopes(v: Any, dfn: Any, dfd: Any, nc: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives in dfn and dfd, which are in a, b, and in the scale of x."""
    of_beta = _to_beta(dfn, dfd, nc, x)
    width = dfn * dfd / (2 * (dfd + dfn * x) ** 2)
    scaled = v + x * _ncf_density_slope(v, dfn, dfd, nc, x)
    in_a, in_b = (ncbeta_density_derivative(*order, *of_beta) for order in ((1, 0), (0, 1)))
    return width * in_a + scaled / dfn, width * in_b - scaled / dfd


ncf_density: Wrapping = scipy_row(
    "ncf_density",
    lambda v, *args: _ncf_density_slopes(v, *args)[0],
    lambda v, *args: _ncf_density_slopes(v, *args)[1],
    lambda v, dfn, dfd, nc, x: (_next_density(dfn, dfd, nc, x) - v) / 2,
    _ncf_density_slope,
    value=lambda dfn, dfd, nc, x: scipy_method("ncf", "pdf")(x, dfn, dfd, nc),
    reason="each member of the mixture is x^(dfn/2 - 1) (dfd + dfn x)^(-dfn/2 - dfd/2)",
    domain=RATIO,
)
ncfdtr: Wrapping = scipy_row(
    "ncfdtr",
    lambda _v, dfn, dfd, nc, x: (
        ncbeta_derivative(1, 0, *_to_beta(dfn, dfd, nc, x)) / 2
        + ncf_density(dfn, dfd, nc, x) * x / dfn
    ),
    lambda _v, dfn, dfd, nc, x: (
        ncbeta_derivative(0, 1, *_to_beta(dfn, dfd, nc, x)) / 2
        - ncf_density(dfn, dfd, nc, x) * x / dfd
    ),
    lambda v, dfn, dfd, nc, x: (ncfdtr(dfn + 2, dfd, nc, dfn / (dfn + 2) * x) - v) / 2,
    lambda _v, dfn, dfd, nc, x: ncf_density(dfn, dfd, nc, x),
    reason="the slope is the density; in nc, half the next mixture minus this one",
    domain=RATIO,
)

# The noncentral t distribution: (z + nc)/s, with z normal and df s² of the χ² distribution. -------

SHIFTED = Domain("df > 0", lambda df, nc, t: df > 0)


def _moment(k: int, df: Any, nc: Any, t: Any) -> Any:
    """Return the mean of s^k φ(t s - nc): the density with k - 1 degrees of freedom more."""
    more = df + (k - 1)
    factor = poch(df / 2, (k - 1) / 2) * raise_to(more / 2, 0.5) * raise_to(df / 2, -k / 2)
    return factor * nct_density(more, nc, raise_to(more / df, 0.5) * t)


def _nctdtr_slope(df: Any, nc: Any, t: Any) -> Any:
    """Return the mean of φ(t s - nc), by partial integration if df - 1 is not positive."""

    def of_few() -> Any:
        return ((df + t * t) * _moment(2, df, nc, t) - t * nc * nct_density(df, nc, t)) / df

    return choose(df > 1, lambda: _moment(0, choose(df > 1, df, 2.0), nc, t), of_few)


def _nct_density_value(df: Any, nc: Any, t: Any) -> Any:
    """Return SciPy's density; elsewhere its series takes very long, or ends the process."""
    known = (df >= 1e-3) & (df <= 1e8) & (np.abs(nc) <= 500)
    require(known | (df != df) | (nc != nc), "nct", (df, nc, t), "0.001 ≤ df ≤ 1e8, |nc| ≤ 500")
    return scipy_method("nct", "pdf")(t, df, nc)


def _nct_density_slope(df: Any, nc: Any, t: Any) -> Any:
    return nc * _moment(2, df, nc, t) - t * _moment(3, df, nc, t)


def _nct_density_slope_in_df(v: Any, df: Any, nc: Any, t: Any) -> Any:
    """Return the derivative in t of that of the distribution in df."""
    first, second, third = (nct_df_moment(k, df, nc, t) for k in range(3))
    bend = nc * second - t * third + _nct_density_slope(df, nc, t) / df
    return -(first + v / df + t * bend) / 2


nct_density: Wrapping = scipy_row(
    "nct_density",
    _nct_density_slope_in_df,
    lambda v, df, nc, t: t * _moment(2, df, nc, t) - nc * v,
    lambda _v, df, nc, t: _nct_density_slope(df, nc, t),
    value=_nct_density_value,
    reason="it is the mean of s φ(t s - nc), where φ' = -x φ",
    domain=SHIFTED,
)
nctdtr = scipy_row(
    "nctdtr",
    lambda _v, df, nc, t: -t / 2 * (nct_df_moment(0, df, nc, t) + nct_density(df, nc, t) / df),
    lambda _v, df, nc, t: -_nctdtr_slope(df, nc, t),
    lambda _v, df, nc, t: nct_density(df, nc, t),
    reason="it is the mean of Φ(t s - nc), and Φ' = φ; in df by partial integration",
    domain=SHIFTED,
)

# Tukey's lambda distribution: the inverse of a formula. -------------------------------------------


def _quantile_slope(p: Any, lam: Any) -> Any:
    return raise_to(p, lam - 1) + raise_to(1 - p, lam - 1)


def _quantile_slope_in_shape(p: Any, lam: Any) -> Any:
    upper, lower = (f.primitive.partials[1] for f in (boxcox, boxcox1p))  # type: ignore[attr-defined]
    return upper(None, p, lam) - lower(None, -p, lam)


def _is_beyond(x: Any, lam: Any) -> Any:
    """Tell where x is outside of the support, which is bounded if lam > 0."""
    return np.abs(to_plain(x)) * to_plain(lam) > 1


tklmbda = scipy_row(
    "tklmbda",
    lambda v, x, lam: choose(_is_beyond(x, lam), ZERO, lambda: 1 / _quantile_slope(v, lam)),
    lambda v, x, lam: choose(
        _is_beyond(x, lam),
        ZERO,
        lambda: -_quantile_slope_in_shape(v, lam) / _quantile_slope(v, lam),
    ),
    reason="from x = (v^lam - (1 - v)^lam)/lam follows dv, by the implicit function theorem",
    domain=Domain("lam ≤ 0 or |x lam| < 1", lambda x, lam: lam <= 0 or abs(x * lam) < 1),
)

# Kolmogorov's distribution. -----------------------------------------------------------------------


def _differentiate_kolmogorov(n: int, x: Any) -> Any:
    """Compute the n-th derivative of 2 Σ (-1)^(k-1) exp(-2k²x²).

    For small x the sum is that of Jacobi, 1 - √(2π)/x Σ exp(-(2k - 1)²π²/(8x²)).
    """
    x = np.asarray(x, float)
    far, near = np.maximum(x, 0.8), np.clip(x, 1e-2, 0.8)  # it is 1 below 0.01, to every digit
    total, first = np.zeros_like(x), np.zeros_like(x)
    for k in range(1, 7 + n):
        of_far = {1: -4 * k * k * far, 2: -4.0 * k * k}
        term = differentiate_exp(lambda order, g=of_far: g.get(order[0], 0.0), (n, 0))  # type: ignore[misc]
        total = total - 2 * (-1) ** k * np.exp(-2 * (k * far) ** 2) * term
        c = ((2 * k - 1) * math.pi) ** 2 / 8

        def of_near(order: tuple[int, ...], c: float = c) -> Any:
            j = order[0]  # the j-th derivative of -log x - c/x²
            sign = (-1) ** j * math.factorial(j - 1)
            return sign * (near**-j - j * (j + 1) * c * near ** (-j - 2))

        height = math.sqrt(2 * math.pi) / near * np.exp(-c / near**2)
        first = first - height * differentiate_exp(of_near, (n, 0))
    return np.where(x > 0.8, total, np.where(x > 1e-2, first, (-1.0) ** n * 0.0))


kolmogorov_derivative: Wrapping = scipy_row(
    "kolmogorov_derivative",
    ZERO,
    lambda _v, n, x: kolmogorov_derivative(n + 1, x),
    value=lambda n, x: _differentiate_kolmogorov(read_orders("kolmogorov_derivative", n)[0], x),
    reason="the derivative of the n-th derivative of Kolmogorov's distribution is the next one",
    domain=Domain("n = 1, 2, ...", lambda n, x: n > 0),
)
kolmogorov = scipy_row(
    "kolmogorov",
    lambda _v, x: kolmogorov_derivative(1, x),
    reason="the sum 2 Σ (-1)^(k-1) exp(-2k²x²) is differentiated term by term",
)
