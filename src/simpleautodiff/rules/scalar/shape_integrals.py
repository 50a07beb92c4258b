"""Rows: the distribution of von Mises, and noncentral t in df, by integrals of their densities.

Each family of integrals is closed under differentiation: its derivatives are other members of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.bessel import ive
from simpleautodiff.rules.scalar.exponential import exp
from simpleautodiff.rules.scalar.parameter_values import gammainc_derivative_value, read_integers
from simpleautodiff.rules.scalar.probability import poisson_log_value
from simpleautodiff.rules.scalar.special import gauss
from simpleautodiff.rules.scalar.trigonometric import sin
from simpleautodiff.rules.scipy_values import refuse_rule, scipy_method, scipy_row, scipy_special

_POINTS = 20


def _integrate(integrand: Callable[[Any], Any], edges: Any) -> Any:
    """Integrate over the intervals between edges, which are the last axis."""
    u, weights = gauss(_POINTS)
    size = np.diff(edges)[..., None]
    values = integrand(edges[..., :-1, None] + size * u)
    return np.sum(size * weights * values, axis=(-2, -1))


# The distribution of von Mises, on the circle. ----------------------------------------------------


def _rise(x: Any) -> Any:
    """Return 1 - cos x."""
    return 2 * sin(x / 2) ** 2


def _distance(kappa: Any) -> Any:
    """Return 1 - the mean of cos x."""
    return 1 - ive(1, kappa) / ive(0, kappa)


def vonmises_density(x: Any, kappa: Any) -> Any:
    """Return exp(κ cos x)/(2π I₀(κ))."""
    return exp(-kappa * _rise(x)) / (2 * math.pi * ive(0, kappa))


def _moment_value(k: Any, x: Any, kappa: Any) -> Any:
    """Integrate (1 - cos t)^k times the density from 0 to x, as far as that is not negligible."""
    (k,) = read_integers("vonmises_moment", k)
    x, kappa = np.broadcast_arrays(np.asarray(x, float), np.asarray(kappa, float))
    x = x - 2 * math.pi * np.round(x / (2 * math.pi))
    far = np.minimum(np.abs(x), 16 / np.sqrt(np.maximum(kappa, 1.0)))
    kappa = kappa[..., None, None]

    def integrand(t: Any) -> Any:
        rise = 2 * np.sin(t / 2) ** 2
        return rise**k * np.exp(-kappa * rise)

    total = _integrate(integrand, far[..., None] * np.linspace(0, 1, 13))
    height = 2 * math.pi * scipy_special("i0e")(kappa[..., 0, 0])
    return np.sign(x) * total / height


def _cdf_value(x: Any, kappa: Any) -> Any:
    """Compute SciPy's function, which does not end where there is no distribution: nan."""
    known = (np.asarray(kappa) >= 0) & np.isfinite(kappa) & np.isfinite(x)
    given = [np.where(known, a, b) for a, b in ((x, 0.0), (kappa, 1.0))]
    return np.where(known, scipy_method("vonmises", "_cdf")(*given), math.nan)[()]


_CIRCLE = Domain("kappa > 0", lambda x, kappa: kappa > 0)
vonmises_moment: Wrapping = scipy_row(
    "vonmises_moment",
    ZERO,
    lambda _v, k, x, kappa: _rise(x) ** k * vonmises_density(x, kappa),
    lambda v, k, x, kappa: _distance(kappa) * v - vonmises_moment(k + 1, x, kappa),
    value=_moment_value,
    reason="it is the integral of (1 - cos t)^k times the density, from 0 to x",
    domain=Domain("k = 0, 1, ..., kappa > 0", lambda k, x, kappa: k >= 0 and kappa > 0),
)
vonmises_cdf: Wrapping = scipy_row(
    "vonmises_cdf",
    lambda _v, x, kappa: vonmises_density(x, kappa),
    lambda _v, x, kappa: (
        _distance(kappa) * vonmises_moment(0, x, kappa) - vonmises_moment(1, x, kappa)
    ),
    value=_cdf_value,
    reason="the slope is the density; in kappa, the integral of its slope",
    domain=_CIRCLE,
)

# The noncentral t distribution. -------------------------------------------------------------------


def _t_moment_value(k: Any, df: Any, nc: Any, t: Any) -> Any:
    """Integrate s^k φ(t s - nc) ∂P/∂a, P the gamma distribution of a = df/2 at df s²/2."""
    (k,) = read_integers("nct_df_moment", k)
    df, nc, t = (np.asarray(x)[..., None] for x in np.broadcast_arrays(df * 1.0, nc, t))
    end = np.sqrt(1 + 24 / np.sqrt(df) + 240 / df)
    steps = np.arange(-9.0, 10.0)
    edges = np.concatenate(
        [
            0 * end,
            end * 2.0 ** -np.arange(44.0),
            1 + steps / np.sqrt(2 * df),
            (nc + steps) / np.where(np.abs(t) > 1e-3, t, 1e-3),
        ],
        axis=-1,
    )
    edges = np.sort(np.clip(edges, 0.0, end), axis=-1)
    df, nc, t = (x[..., None] for x in (df, nc, t))

    def integrand(s: Any) -> Any:
        a, u = np.broadcast_arrays(df / 2, df * s * s / 2)
        change = gammainc_derivative_value(1, a, u, np.exp(poisson_log_value(a - 1.0, u)))
        return s**k * np.exp(-((t * s - nc) ** 2) / 2) / math.sqrt(2 * math.pi) * change

    return _integrate(integrand, edges)


nct_df_moment: Wrapping = scipy_row(
    "nct_df_moment",
    ZERO,
    refuse_rule("nct_df_moment", "df"),
    lambda v, k, df, nc, t: t * nct_df_moment(k + 1, df, nc, t) - nc * v,
    lambda _v, k, df, nc, t: (
        nc * nct_df_moment(k + 1, df, nc, t) - t * nct_df_moment(k + 2, df, nc, t)
    ),
    value=_t_moment_value,
    reason="it is an integral of s^k φ(t s - nc), where φ' = -x φ",
    domain=Domain("k = 0, 1, ..., df > 0", lambda k, df, nc, t: k >= 0 and df > 0),
)
