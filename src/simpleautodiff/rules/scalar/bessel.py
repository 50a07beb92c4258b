"""Rows: Bessel functions, hypergeometric functions, and functions with such derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain, Kink
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.arithmetic import raise_to
from simpleautodiff.rules.scalar.endless_series import (
    expn_value,
    hyp0f1_value,
    hyp1f1_value,
    hyperu_value,
    yv_value,
    zeta_value,
)
from simpleautodiff.rules.scalar.exponential import exp, log, log1p
from simpleautodiff.rules.scalar.parameter_values import (
    hyp1f1_derivative_value,
    hyp2f1_derivative_value,
    read_orders,
    zeta_derivative_value,
)
from simpleautodiff.rules.scalar.piecewise import sign
from simpleautodiff.rules.scalar.probability import rgamma
from simpleautodiff.rules.scalar.special import sinc
from simpleautodiff.rules.scalar.trigonometric import cos, cosh, sin
from simpleautodiff.rules.scipy_values import (
    compute_by_order,
    refuse_rule,
    scipy_row,
    scipy_special,
)
from simpleautodiff.values.functions import Function

POSITIVE_ARGUMENT = Domain("x > 0", lambda n, x: x > 0)
BELOW_ONE = Domain("m < 1", lambda m: m < 1)

# Bessel functions. --------------------------------------------------------------------------------

AS_A_ROOT = Kink("x = 0, 0 < n < 1", lambda n, x: x == 0 and 0 < n < 1, "inf, by continuity", (1,))

jv: Wrapping = scipy_row(
    "jv",
    refuse_rule("jv", "v"),
    lambda _v, n, x: (jv(n - 1, x) - jv(n + 1, x)) / 2,
    value=compute_by_order("j0", "j1", "jv"),
    reason="the derivative of Jₙ is (Jₙ₋₁ - Jₙ₊₁)/2",
    kinks=(AS_A_ROOT,),
)
yv: Wrapping = scipy_row(
    "yv",
    refuse_rule("yv", "v"),
    lambda _v, n, x: (yv(n - 1, x) - yv(n + 1, x)) / 2,
    value=compute_by_order("y0", "y1", yv_value),
    reason="the derivative of Yₙ is (Yₙ₋₁ - Yₙ₊₁)/2",
    domain=POSITIVE_ARGUMENT,
)
iv: Wrapping = scipy_row(
    "iv",
    refuse_rule("iv", "v"),
    lambda _v, n, x: (iv(n - 1, x) + iv(n + 1, x)) / 2,
    value=compute_by_order("i0", "i1", "iv"),
    reason="the derivative of Iₙ is (Iₙ₋₁ + Iₙ₊₁)/2",
    kinks=(AS_A_ROOT,),
)
kv: Wrapping = scipy_row(
    "kv",
    refuse_rule("kv", "v"),
    lambda _v, n, x: -(kv(n - 1, x) + kv(n + 1, x)) / 2,
    value=compute_by_order("k0", "k1", "kv"),
    reason="the derivative of Kₙ is -(Kₙ₋₁ + Kₙ₊₁)/2",
    domain=POSITIVE_ARGUMENT,
)


def _is_far(n: Any, x: Any) -> Any:
    """Tell where x is so much larger than the order n that the recurrence would cancel."""
    return (np.abs(to_plain(x)) > 50) & (to_plain(n) >= 0) & (to_plain(n) <= 8)


def _ive_slope(v: Any, n: Any, x: Any) -> Any:
    """Differentiate exp(-|x|) Iₙ(x) = (x/2)ⁿ/n! ₁F₁(n + 1/2; 2n + 1; -2|x|)."""

    def far() -> Any:
        kummer = hyp1f1(n + 1.5, 2 * n + 2, -2 * abs(x))
        return n / x * v - sign(x) * raise_to(x / 2, n) * rgamma(n + 1) * kummer

    def near() -> Any:
        return (ive(n - 1, x) + ive(n + 1, x)) / 2 - sign(x) * v

    as_a_root = (to_plain(x) == 0) & (to_plain(n) > 0) & (to_plain(n) < 1)
    return choose(_is_far(n, x), far, lambda: choose(as_a_root, math.inf, near))


def _kve_slope(v: Any, n: Any, x: Any) -> Any:
    """Differentiate exp(x) Kₙ(x) = √π (2x)ⁿ U(n + 1/2, 2n + 1, 2x)."""

    def far() -> Any:
        tricomi = hyperu(n + 1.5, 2 * n + 2, 2 * x)
        return n / x * v - math.sqrt(math.pi) * (2 * n + 1) * raise_to(2 * x, n) * tricomi

    return choose(_is_far(n, x), far, lambda: v - (kve(n - 1, x) + kve(n + 1, x)) / 2)


ive: Wrapping = scipy_row(
    "ive",
    refuse_rule("ive", "v"),
    _ive_slope,
    value=compute_by_order("i0e", "i1e", "ive"),
    reason="exp(-|x|) Iₙ by the product rule; for large x by Kummer's function, to lose no digits",
    kinks=(
        AS_A_ROOT,
        Kink("n = x = 0", lambda n, x: n == x == 0, "as if exp(-|x|) had the slope 0 there"),
    ),
)
kve: Wrapping = scipy_row(
    "kve",
    refuse_rule("kve", "v"),
    _kve_slope,
    value=compute_by_order("k0e", "k1e", "kve"),
    reason="exp(x) Kₙ by the product rule; for large x by Tricomi's function, to lose no digits",
    domain=POSITIVE_ARGUMENT,
)

# Hypergeometric functions. ------------------------------------------------------------------------


def _hyp_value(compute: Function, orders: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    *orders_of_parameters, order = read_orders("a derivative in parameters", *orders)
    return compute(tuple(orders_of_parameters), order, *args)


hyp1f1_derivative: Wrapping = scipy_row(
    "hyp1f1_derivative",
    *(ZERO, ZERO, ZERO),
    lambda _v, m, n, k, a, b, x: hyp1f1_derivative(m + 1, n, k, a, b, x),
    lambda _v, m, n, k, a, b, x: hyp1f1_derivative(m, n + 1, k, a, b, x),
    lambda _v, m, n, k, a, b, x: hyp1f1_derivative(m, n, k + 1, a, b, x),
    value=lambda m, n, k, *args: _hyp_value(hyp1f1_derivative_value, (m, n, k), args),
    reason="the derivative of one of orders m, n and k in a, b and x is the next one",
)
hyp2f1_derivative: Wrapping = scipy_row(
    "hyp2f1_derivative",
    *(ZERO, ZERO, ZERO, ZERO),
    lambda _v, i, j, m, k, a, b, c, x: hyp2f1_derivative(i + 1, j, m, k, a, b, c, x),
    lambda _v, i, j, m, k, a, b, c, x: hyp2f1_derivative(i, j + 1, m, k, a, b, c, x),
    lambda _v, i, j, m, k, a, b, c, x: hyp2f1_derivative(i, j, m + 1, k, a, b, c, x),
    lambda _v, i, j, m, k, a, b, c, x: hyp2f1_derivative(i, j, m, k + 1, a, b, c, x),
    value=lambda i, j, m, k, *args: _hyp_value(hyp2f1_derivative_value, (i, j, m, k), args),
    reason="the derivative of one of orders i, j, m and k in a, b, c and x is the next one",
    domain=Domain("x < 1", lambda *args: args[-1] < 1),
)
hyp0f1: Wrapping = scipy_row(
    "hyp0f1",
    refuse_rule("hyp0f1", "v"),
    lambda _v, b, x: hyp0f1(b + 1, x) / b,
    value=hyp0f1_value,
    reason="the derivative of ₀F₁(b; x) is ₀F₁(b + 1; x)/b",
)


def _is_line(a: Any, b: Any) -> Any:
    """Tell whether ₁F₁ is 1 + a x/b, where b + 1 is a pole of the function but not of its slope."""
    a, b = to_plain(a), to_plain(b)
    return (a == -1) & (b <= -1) & (np.floor(b) == b)


hyp1f1: Wrapping = scipy_row(
    "hyp1f1",
    lambda _v, a, b, x: hyp1f1_derivative(1, 0, 0, a, b, x),
    lambda _v, a, b, x: hyp1f1_derivative(0, 1, 0, a, b, x),
    lambda _v, a, b, x: choose(
        _is_line(a, b), lambda: a / b, lambda: a / b * hyp1f1(a + 1, b + 1, x)
    ),
    value=hyp1f1_value,
    reason="in x it is a/b ₁F₁(a + 1; b + 1; x), in a and b by the power series",
)
hyp2f1: Wrapping = scipy_row(
    "hyp2f1",
    lambda _v, a, b, c, x: hyp2f1_derivative(1, 0, 0, 0, a, b, c, x),
    lambda _v, a, b, c, x: hyp2f1_derivative(0, 1, 0, 0, a, b, c, x),
    lambda _v, a, b, c, x: hyp2f1_derivative(0, 0, 1, 0, a, b, c, x),
    lambda _v, a, b, c, x: a * b / c * hyp2f1(a + 1, b + 1, c + 1, x),
    reason="in x it is ab/c ₂F₁(a + 1, b + 1; c + 1; x), in a, b and c by the power series",
    domain=Domain("x < 1", lambda a, b, c, x: x < 1),
)
hyperu: Wrapping = scipy_row(
    "hyperu",
    refuse_rule("hyperu", "a"),
    refuse_rule("hyperu", "b"),
    lambda _v, a, b, x: -a * hyperu(a + 1, b + 1, x),
    value=hyperu_value,
    reason="the derivative of U(a, b, x) is -a U(a + 1, b + 1, x)",
    domain=Domain("x > 0", lambda a, b, x: x > 0),
)

# Functions with a hypergeometric derivative; simpler formulas would cancel near 0 or for large x. -


def _ellipk_slope(v: Any, m: Any) -> Any:
    """Return π/8 ₂F₁(3/2, 3/2; 2; m), far out by K and E themselves, which do not cancel there."""
    return choose(
        m < -1,
        lambda: (ellipe(m) / (1 - m) - v) / (2 * m),
        lambda: math.pi / 8 * hyp2f1(1.5, 1.5, 2.0, m),
    )


ellipk = scipy_row(
    "ellipk",
    _ellipk_slope,
    reason="K(m) = π/2 ₂F₁(1/2, 1/2; 1; m) has the derivative π/8 ₂F₁(3/2, 3/2; 2; m)",
    domain=BELOW_ONE,
)
ellipe = scipy_row(
    "ellipe",
    lambda _v, m: -math.pi / 8 * hyp2f1(0.5, 1.5, 2.0, m),
    reason="E(m) = π/2 ₂F₁(-1/2, 1/2; 1; m) has the derivative -π/8 ₂F₁(1/2, 3/2; 2; m)",
    domain=BELOW_ONE,
    kinks=(Kink("m = 1", lambda m: m == 1, "-inf, by continuity"),),
)


def exprel_slope(x: Any) -> Any:
    """Return the derivative of (exp(x) - 1)/x."""
    return hyp1f1(2.0, 3.0, x) / 2


def log1prel_slope(x: Any) -> Any:
    """Return the derivative of log(1 + x)/x, where that does not cancel by the product rule."""
    return choose(
        x > 1,
        lambda: (1 / (1 + x) - log1p(x) / x) / x,
        lambda: -hyp2f1(2.0, 2.0, 3.0, -x) / 2,
    )


exprel = scipy_row(
    "exprel",
    lambda _v, x: exprel_slope(x),
    reason="(exp(x) - 1)/x = ₁F₁(1; 2; x) has the derivative ₁F₁(2; 3; x)/2",
)
log1prel = scipy_row(
    "log1prel",
    lambda _v, x: log1prel_slope(x),
    value=lambda x: np.where(x == 0, 1.0, np.log1p(x) / np.where(x == 0, 1.0, x)),
    reason="log(1 + x)/x = ₂F₁(1, 1; 2; -x) has the derivative -₂F₁(2, 2; 3; -x)/2",
    domain=Domain("x > -1", lambda x: x > -1),
)
spence = scipy_row(
    "spence",
    lambda _v, x: choose(2 * x < 1, lambda: log(x) / (1 - x), lambda: -log1prel(x - 1)),
    reason="spence is the integral of log(t)/(1 - t) from 1 to x",
    kinks=(Kink("x = 0", lambda x: x == 0, "-inf, by continuity"),),
    domain=Domain("x > 0", lambda x: x > 0),
)
dawsn = scipy_row(
    "dawsn",
    lambda _v, x: hyp1f1(1.0, 0.5, -x * x),
    reason="Dawson's integral x ₁F₁(1; 3/2; -x²) has the derivative ₁F₁(1; 1/2; -x²)",
)
expi = scipy_row(
    "expi",
    lambda _v, x: exp(x) / x,
    reason="Ei is the integral of exp(t)/t",
    domain=Domain("x ≠ 0", lambda x: x != 0),
)
exp1 = scipy_row(
    "exp1",
    lambda _v, x: -exp(-x) / x,
    reason="E₁ is the integral of exp(-t)/t from x to infinity",
    domain=Domain("x > 0", lambda x: x > 0),
)


expn: Wrapping = scipy_row(
    "expn",
    refuse_rule("expn", "n"),
    lambda _v, n, x: -expn(n - 1, x),
    value=expn_value,
    reason="the derivative of Eₙ is -Eₙ₋₁",
    kinks=(Kink("n = 2, x = 0", lambda n, x: n == 2 and x == 0, "-inf, by continuity", (1,)),),
    domain=POSITIVE_ARGUMENT,
)
fresnel_s = scipy_row(
    "fresnel_s",
    lambda _v, x: sin(math.pi / 2 * x * x),
    value=lambda x: _part("fresnel", 0)(x),
    reason="S is the integral of sin(πt²/2)",
)
fresnel_c = scipy_row(
    "fresnel_c",
    lambda _v, x: cos(math.pi / 2 * x * x),
    value=lambda x: _part("fresnel", 1)(x),
    reason="C is the integral of cos(πt²/2)",
)


def _part(name: str, which: int) -> Function:
    """Return one of the results of a function of scipy.special."""
    return lambda x: scipy_special(name)(x)[which]


sici_s = scipy_row(
    "sici_s",
    lambda _v, x: sinc(x / math.pi),
    value=_part("sici", 0),
    reason="Si is the integral of sin(t)/t",
)
sici_c = scipy_row(
    "sici_c",
    lambda _v, x: cos(x) / x,
    value=_part("sici", 1),
    reason="Ci is an integral of cos(t)/t",
    domain=Domain("x > 0", lambda x: x > 0),
)
shichi_s = scipy_row(
    "shichi_s",
    lambda _v, x: (exprel(x) + exprel(-x)) / 2,
    value=_part("shichi", 0),
    reason="Shi is the integral of sinh(t)/t",
)
shichi_c = scipy_row(
    "shichi_c",
    lambda _v, x: cosh(x) / x,
    value=_part("shichi", 1),
    reason="Chi is an integral of cosh(t)/t",
    domain=Domain("x > 0", lambda x: x > 0),
)
airy: Wrapping = scipy_row(
    "airy",
    ZERO,
    lambda _v, k, x: x * airy(int(k) % 4 - 1, x) if int(k) % 2 else airy(int(k) % 4 + 1, x),
    value=lambda k, x: scipy_special("airy")(x)[int(k) % 4],
    reason="airy(0) and airy(2) are Ai and Bi, 1 and 3 their derivatives; Ai'' = x Ai, Bi'' = x Bi",
)

# Functions with complex values. -------------------------------------------------------------------

wofz: Wrapping = scipy_row(
    "wofz",
    lambda v, x: 2j / math.sqrt(math.pi) - 2 * x * v,
    reason="w(z) = exp(-z²) erfc(-iz) by the product rule",
)
lambertw: Wrapping = scipy_row(
    "lambertw",
    lambda v, _x, _k: exp(-v) / (1 + v),
    ZERO,
    value=lambda x, k: scipy_special("lambertw")(x, int(k)),
    reason="from v exp(v) = x follows dv = dx exp(-v)/(1 + v)",
    domain=Domain("x ≠ -1/e", lambda x, k: x != -math.exp(-1)),
)


def _harmonic_slope(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """Differentiate a spherical harmonic in theta, by its neighbours: smooth at the poles, too."""
    n, m = int(n), int(m)
    up, down = math.sqrt((n - m) * (n + m + 1)), math.sqrt((n + m) * (n - m + 1))
    above = up * exp(-1j * phi) * sph_harm_y(n, m + 1, theta, phi) if up else 0.0
    below = down * exp(1j * phi) * sph_harm_y(n, m - 1, theta, phi) if down else 0.0
    return (above - below) / 2


sph_harm_y: Wrapping = scipy_row(
    "sph_harm_y",
    ZERO,
    ZERO,
    lambda _v, n, m, theta, phi: _harmonic_slope(n, m, theta, phi),
    lambda v, _n, m, _theta, _phi: 1j * m * v,
    value=lambda n, m, theta, phi: scipy_special("sph_harm_y")(int(n), int(m), theta, phi),
    reason="in phi it is exp(i m phi); in theta it is made of the harmonics of m - 1 and m + 1",
)


def _zeta_slope(n: Any, s: Any, q: Any) -> Any:
    """Differentiate the n-th derivative in s, that of -s ζ(s + 1, q), by q."""
    n = int(n)
    lower = zeta(s + 1, q) if n == 1 else zeta_derivative(n - 1, s + 1, q)
    return -s * zeta_derivative(n, s + 1, q) - n * lower


zeta_derivative: Wrapping = scipy_row(
    "zeta_derivative",
    ZERO,
    lambda _v, n, s, q: zeta_derivative(n + 1, s, q),
    lambda _v, n, s, q: _zeta_slope(n, s, q),
    value=lambda n, s, q: zeta_derivative_value(read_orders("zeta_derivative", n)[0], s, q),
    reason="the derivative of the n-th derivative in s is the next one",
    domain=Domain("n = 1, 2, ..., s > 1, q > 0", lambda n, s, q: n > 0 and s > 1 and q > 0),
)
zeta: Wrapping = scipy_row(
    "zeta",
    lambda _v, s, q: zeta_derivative(1, s, q),
    lambda _v, s, q: -s * zeta(s + 1, q),
    value=zeta_value,
    reason="the derivative of Σ (q + k)⁻ˢ in q is -s Σ (q + k)⁻ˢ⁻¹, in s -Σ (q + k)⁻ˢ log(q + k)",
    domain=Domain("s > 1 and q > 0", lambda s, q: s > 1 and q > 0),
)
