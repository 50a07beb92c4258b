"""Rows: derivatives of noncentral distributions in their degrees of freedom, of every order.

The noncentral χ² distribution is Σ P(j) Γ-distribution(df/2 + j), with Poisson's probabilities P of
mean nc/2; the one of F has beta distributions for members. They are differentiated one by one. A
derivative in nc is half the difference of the mixture that starts one member later, and itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.parameter_values import (
    betainc_derivative_value,
    differentiate_exp,
    gammainc_derivative_value,
    read_integers,
    read_orders,
    require,
)
from simpleautodiff.rules.scalar.probability import poisson_log_value, polygamma_step_value
from simpleautodiff.rules.scipy_values import scipy_row, scipy_special

_LARGEST = 4000  # noncentrality: about as many members are added up


def _mix(name: str, nc: Any, member: Callable[[Any], Any], shapes: tuple[Any, ...], x: Any) -> Any:
    """Return Σ P(j) member(j), as far as Poisson's probabilities P are not negligible."""
    args = *shapes, x
    for parameter in shapes:
        require(np.asarray(parameter) > 0, name, args, "positive degrees of freedom")
    shape = np.broadcast_shapes(*(np.shape(x) for x in (nc, *args)))
    mean = np.broadcast_to(np.asarray(nc, float) / 2, shape)
    require((mean >= 0) & (2 * mean <= _LARGEST), name, (nc,), f"0 ≤ nc ≤ {_LARGEST}")
    top = np.max(mean, initial=0.0)
    j = np.arange(top + 9 * top**0.5 + 30).reshape(-1, *[1] * len(shape))
    return np.sum(np.exp(poisson_log_value(j, mean)) * member(j), axis=0)


# The noncentral χ² distribution. ------------------------------------------------------------------


def _gamma_density_value(n: int, a: Any, x: Any) -> Any:
    """Compute the n-th derivative in a of the density x^(a-1) exp(-x)/Γ(a)."""

    def slopes(order: tuple[int, ...]) -> Any:
        k = order[0] - 1
        return (0.0 if k else np.log(x)) - scipy_special("polygamma")(k, a)

    return np.exp(poisson_log_value(a - 1.0, x)) * differentiate_exp(slopes, (n, 0))


def _chi_squared_value(n: Any, x: Any, df: Any, nc: Any) -> Any:
    (n,) = read_orders("chndtr_derivative", n)

    def member(j: Any) -> Any:
        a, half = np.broadcast_arrays(df / 2 + j, x / 2)
        density = np.exp(poisson_log_value(a - 1.0, half))
        return gammainc_derivative_value(n, a, half, density) / 2**n

    return _mix("chndtr", nc, member, (df,), x)


def _chi_squared_density_value(n: Any, x: Any, df: Any, nc: Any) -> Any:
    (n,) = read_integers("ncx2_density_derivative", n)

    def member(j: Any) -> Any:
        return _gamma_density_value(n, df / 2 + j, x / 2) / 2 ** (n + 1)

    return _mix("ncx2.pdf", nc, member, (df,), x)


_CHI_SQUARED = Domain(
    "n = 0, 1, ..., x > 0, df > 0, nc > 0", lambda n, x, df, nc: n >= 0 and x > 0 < df and nc > 0
)


def _chi_squared_density_slope(v: Any, n: Any, x: Any, df: Any, nc: Any) -> Any:
    """Differentiate in x: the members are x^(df/2 + j - 1) exp(-x/2), times constants."""
    slope = v * (df - 2 - x) + nc * ncx2_density_derivative(n, x, df + 2, nc)
    return (slope + (n * ncx2_density_derivative(n - 1, x, df, nc) if n > 0 else 0)) / (2 * x)


ncx2_density_derivative: Wrapping = scipy_row(
    "ncx2_density_derivative",
    ZERO,
    _chi_squared_density_slope,
    lambda _v, n, x, df, nc: ncx2_density_derivative(n + 1, x, df, nc),
    lambda v, n, x, df, nc: (ncx2_density_derivative(n, x, df + 2, nc) - v) / 2,
    value=_chi_squared_density_value,
    reason="the derivative of the n-th derivative in df of the mixture is the next one",
    domain=_CHI_SQUARED,
)
chndtr_derivative: Wrapping = scipy_row(
    "chndtr_derivative",
    ZERO,
    lambda _v, n, x, df, nc: ncx2_density_derivative(n, x, df, nc),
    lambda _v, n, x, df, nc: chndtr_derivative(n + 1, x, df, nc),
    lambda v, n, x, df, nc: (chndtr_derivative(n, x, df + 2, nc) - v) / 2,
    value=_chi_squared_value,
    reason="the derivative of the n-th derivative in df of the mixture is the next one",
    domain=Domain("n = 1, 2, ...", lambda n, *rest: n > 0 and _CHI_SQUARED.contains(n, *rest)),
)

# The noncentral F distribution: mixtures of beta distributions of a + j, b and y. -----------------


def _log_beta_density(a: Any, b: Any, y: Any) -> Any:
    xlogy, xlog1py, betaln = map(scipy_special, ("xlogy", "xlog1py", "betaln"))
    return xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y) - betaln(a, b)


def _beta_value(m: Any, n: Any, a: Any, b: Any, nc: Any, y: Any) -> Any:
    m, n = read_orders("ncbeta_derivative", m, n)

    def member(j: Any) -> Any:
        first, second, at = np.broadcast_arrays(a + j, b, y)
        density = np.exp(_log_beta_density(first, second, at))
        return betainc_derivative_value(m, n, first, second, at, density, polygamma_step_value)

    return _mix("ncfdtr", nc, member, (a, b), y)


def _beta_density_value(m: Any, n: Any, a: Any, b: Any, nc: Any, y: Any) -> Any:
    orders = read_integers("ncbeta_density_derivative", m, n)

    def member(j: Any) -> Any:
        first = a + j

        def slopes(order: tuple[int, ...]) -> Any:
            if all(order):
                return scipy_special("polygamma")(sum(order) - 1, first + b)
            pair = (first, b) if order[0] else (b, first)
            step = polygamma_step_value(sum(order) - 1, *pair)
            return step + (np.log(y) if order[0] else np.log1p(-y)) if sum(order) == 1 else step

        density = np.exp(_log_beta_density(first, b, y))
        return density * differentiate_exp(slopes, orders)

    return _mix("ncf.pdf", nc, member, (a, b), y)


def _beta_density_slope(v: Any, m: Any, n: Any, a: Any, b: Any, nc: Any, y: Any) -> Any:
    """Differentiate in y: the members are y^(a + j - 1) (1 - y)^(b - 1), times constants."""
    low = (a - 1) * v + nc / 2 * ncbeta_density_derivative(m, n, a + 1, b, nc, y)
    low = low + (m * ncbeta_density_derivative(m - 1, n, a, b, nc, y) if m > 0 else 0)
    high = (b - 1) * v + (n * ncbeta_density_derivative(m, n - 1, a, b, nc, y) if n > 0 else 0)
    return low / y - high / (1 - y)


_BETA = Domain(
    "m, n = 0, 1, ..., a > 0, b > 0, nc > 0, 0 < y < 1",
    lambda m, n, a, b, nc, y: m >= 0 <= n and a > 0 < b and nc > 0 and 0 < y < 1,
)
ncbeta_density_derivative: Wrapping = scipy_row(
    "ncbeta_density_derivative",
    ZERO,
    ZERO,
    lambda _v, m, n, a, b, nc, y: ncbeta_density_derivative(m + 1, n, a, b, nc, y),
    lambda _v, m, n, a, b, nc, y: ncbeta_density_derivative(m, n + 1, a, b, nc, y),
    lambda v, m, n, a, b, nc, y: (ncbeta_density_derivative(m, n, a + 1, b, nc, y) - v) / 2,
    _beta_density_slope,
    value=_beta_density_value,
    reason="the derivative of one of orders m and n in a and b is the next one",
    domain=_BETA,
)
ncbeta_derivative: Wrapping = scipy_row(
    "ncbeta_derivative",
    ZERO,
    ZERO,
    lambda _v, m, n, a, b, nc, y: ncbeta_derivative(m + 1, n, a, b, nc, y),
    lambda _v, m, n, a, b, nc, y: ncbeta_derivative(m, n + 1, a, b, nc, y),
    lambda v, m, n, a, b, nc, y: (ncbeta_derivative(m, n, a + 1, b, nc, y) - v) / 2,
    lambda _v, m, n, a, b, nc, y: ncbeta_density_derivative(m, n, a, b, nc, y),
    value=_beta_value,
    reason="the derivative of one of orders m and n in a and b is the next one; in y the density's",
    domain=Domain("m + n > 0", lambda m, n, *rest: m + n > 0 and _BETA.contains(m, n, *rest)),
)
