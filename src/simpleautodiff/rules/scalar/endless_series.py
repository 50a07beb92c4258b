"""Values of SciPy's functions where SciPy would add up a series with too many terms.

Far out the same number is computed from arguments for which the series is short, or from the
function's expansion at infinity. Where neither is known the result is nan, with a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.errors import cite_line, short_repr, warn_domain
from simpleautodiff.rules.scipy_values import scipy_special

REACH = 1e6  # up to here SciPy's series take milliseconds
_NEAR_POLE = -1e4
_ASYMPTOTIC_TERMS = 12


def zeta_value(s: Any, q: Any) -> Any:
    """Compute Σ (q + k)⁻ˢ over k = 0, 1, ...; from afar, left of 0, as the sum over all integers.

    SciPy adds up one term for each unit left of 0. The sum over all integers k has the period 1 in
    q, and is ζ(s, f) ± ζ(s, 1 - f) for the fraction f of q; what it has too much is ± ζ(s, 1 - q).
    """
    zeta = scipy_special("zeta")
    part = q - np.floor(q)
    far = (q < _NEAR_POLE) & (part > 0) & (np.floor(s) == s)
    if not np.any(far):
        return zeta(s, q)
    parity = np.where(np.mod(s, 2) == 0, 1.0, -1.0)
    near = np.where(far, part, 0.5)
    whole = zeta(s, near) + parity * zeta(s, 1 - near)
    return np.where(far, whole - parity * zeta(s, 1 - q), zeta(s, np.where(far, 1.0, q)))


def polygamma_value(n: int, x: Any) -> Any:
    """Compute the n-th derivative of digamma."""
    if n == 0 or not np.any(x < _NEAR_POLE):
        return scipy_special("polygamma")(n, x)
    return (-1.0) ** (n + 1) * scipy_special("gamma")(n + 1.0) * zeta_value(n + 1.0, x)


def hyp1f1_value(a: Any, b: Any, x: Any) -> Any:
    """Compute ₁F₁(a; b; x): by SciPy, far out by its expansion at infinity."""
    far = np.abs(x) > REACH
    known = np.maximum(np.abs(a), np.abs(b)) <= np.where(far, 100, REACH)
    _warn_unless(known | np.isnan(a + b + x), "hyp1f1", (a, b, x))
    inside = known & ~far
    value = scipy_special("hyp1f1")(*(np.where(inside, each, 1.0) for each in (a, b, x)))
    if np.any(known & far):
        value = np.where(far, _hyp1f1_at_infinity(a, b, x), value)
    return np.where(known, value, np.nan)[()]


def _hyp1f1_at_infinity(a: Any, b: Any, x: Any) -> Any:
    """Add up exp(x) xᵃ⁻ᵇ Γ(b)/Γ(a) and |x|⁻ᵃ Γ(b)/Γ(b - a) Σ (a)ₖ (a - b + 1)ₖ/k! (-x)⁻ᵏ.

    Beyond `REACH` exp(x) is 0 on the left, and on the right inf, unless 1/Γ(a) is 0.
    """
    gamma, rgamma = scipy_special("gamma"), scipy_special("rgamma")
    total = term = np.ones(np.broadcast(a, b, x).shape)
    for k in range(_ASYMPTOTIC_TERMS):
        term = term * ((a + k) * (a - b + 1 + k) / (k + 1)) / -x
        total = total + term
    factor, root = rgamma(b - a), np.abs(x) ** (-a / 2)
    powers = np.where(factor == 0, 0.0, gamma(b) * root * factor * total * root)
    powers = np.where(x > 0, powers * np.cos(np.pi * np.mod(a, 2)), powers)
    growing = (x > 0) & (rgamma(a) != 0)
    return np.where(growing, np.inf * np.sign(gamma(b) * rgamma(a)), powers)


def hyp0f1_value(b: Any, x: Any) -> Any:
    """Compute ₀F₁(b; x), which far out is I₀(2√x) for b = 1, where SciPy divides by b - 1."""
    if np.iscomplexobj(x):
        return scipy_special("hyp0f1")(b, x)
    far = (b == 1) & (x > 1e5)
    value = scipy_special("hyp0f1")(b, np.where(far, 1.0, x))
    bessel = scipy_special("i0")(2 * np.sqrt(np.where(far, x, 1.0)))
    return np.where(far, bessel, value)[()]


def hyperu_value(a: Any, b: Any, x: Any) -> Any:
    """Compute U(a, b, x), for parameters up to `REACH`."""
    known = np.maximum(np.abs(a), np.abs(b)) <= REACH
    _warn_unless(known | np.isnan(a + b + x), "hyperu", (a, b, x))
    value = scipy_special("hyperu")(np.where(known, a, 1.0), np.where(known, b, 1.0), x)
    return np.where(known, value, np.nan)[()]


def yv_value(n: Any, x: Any) -> Any:
    """Compute Yₙ(x); for large integer orders as for fractional ones, without a step per unit."""
    large = np.abs(n) > REACH
    if not np.any(large):
        return scipy_special("yv")(n, x)
    yv = scipy_special("yv")
    return np.where(large, yv(n, x + 0j).real, yv(np.where(large, 0.0, n), x))[()]


def expn_value(n: Any, x: Any) -> Any:
    """Compute Eₙ(x) for integer orders, also for the negative ones that SciPy lacks.

    Eₙ = (exp(-x) - n Eₙ₊₁)/x goes down one order at a time, by positive terms; far down, or where
    exp(-x) is too small for that, E₋ₘ(x) is Γ(m + 1, x)/xᵐ⁺¹.
    """
    whole = np.floor(n) == n
    _warn_unless(whole, "expn", (n, x), "a whole order n")
    m = np.where(whole, np.maximum(-n, 0), 0.0)
    result = scipy_special("expn")(np.clip(np.where(whole, n, 0.0), 0, 2**31 - 1), x)
    last = np.exp(-x) / x
    deep = (m > 1000) | (x > 700)
    for order in range(1, 1 + int(np.max(np.where(deep, 0, m)))):
        last = (np.exp(-x) + order * last) / x
        result = np.where((m == order) & ~deep, last, result)
    if np.any(deep & (m > 0)):
        size = scipy_special("gammaln")(m + 1) - (m + 1) * np.log(x)
        tail = np.exp(size) * scipy_special("gammaincc")(m + 1, x)
        result = np.where(deep & (m > 0), tail, result)
    return np.where(whole, result, np.nan)[()]


def _warn_unless(known: Any, name: str, args: tuple[Any, ...], need: str = "") -> None:
    if not np.all(known):
        call = f"{name}({', '.join(map(short_repr, args))})"
        needs = need or f"parameters up to {REACH:g}, and up to 100 for larger x"
        warn_domain(f"{call} is not computed: it needs {needs}; it becomes nan{cite_line()}")
