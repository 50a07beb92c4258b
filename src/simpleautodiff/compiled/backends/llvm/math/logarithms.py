"""Logarithms and inverse hyperbolic functions: x = 2**k (1 + f), and log(1 + f) by f/(2 + f)."""

from __future__ import annotations

from math import inf, nan, sqrt

from simpleautodiff.compiled.backends.llvm.math.double_double import (
    Pair,
    exact_product,
    exact_sum,
    quick_sum,
    quotient,
    square_root,
)
from simpleautodiff.compiled.backends.llvm.math.exponentials import exp
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    Floats,
    Ints,
    at_least,
    at_most,
    fma,
    polynomial,
)


def split(x: Floats) -> tuple[Floats, Floats, Ints]:
    """Return k, m with x = 2**k m and 0.7 < m < 1.42, and the bits of 2**k; x is normal."""
    kind = x.builder.kind
    one = kind.pattern(1.0)
    moved = x.bits - (kind.pattern(sqrt(0.5)) - one)
    whole = 2.0**kind.fraction
    k = ((moved >> kind.fraction) | kind.pattern(whole)).number - (whole + kind.bias)
    exponent = moved & -(1 << kind.fraction)
    return k, ((x.bits + one) - exponent).number, exponent


def split_any(x: Floats) -> tuple[Floats, Floats]:
    """Return k and m of any positive number."""
    kind = x.builder.kind
    small = x < kind.least
    places = kind.fraction + 2
    k, m, _ = split(small.pick(x * 2.0**places, x))
    return k - small.pick(float(places), 0.0), m


def above(f: Floats, ratio: Floats) -> Floats:
    """Return log(1 + f) - f, given f/(2 + f)."""
    z = ratio * ratio
    half = f * 0.5 * f
    return fma(ratio, fma(z, polynomial(z, f.builder.constants("LOG")), half), -half)


def with_ends(value: Floats, x: Floats) -> Floats:
    """Return the logarithm of x, corrected where x is 0, infinite, negative or nan."""
    end = x.equals(0.0).pick(-inf, nan)
    return (x > 0.0).pick(x.equals(inf).pick(inf, value), end)


def log(x: Floats) -> Floats:
    """Emit log(x)."""
    k, m = split_any(x)
    f = m - 1.0
    first, second, _ = x.builder.constants("LN2")
    rest = fma(k, second, above(f, f / (f + 2.0)))
    return with_ends(fma(k, first, f + rest), x)


def in_base(x: Floats, unit: tuple[float, float], two: tuple[float, float]) -> Floats:
    """Return unit · log(x), with log(2) in that unit; both as two parts."""
    k, m = split_any(x)
    f = m - 1.0
    rest = above(f, f / (f + 2.0))
    high, low = exact_product(f, unit[0])
    small = fma(rest, unit[0], fma(f, unit[1], fma(k, two[1], low)))
    total, error = quick_sum(k * two[0], high)
    return with_ends(total + (error + small), x)


def log2(x: Floats) -> Floats:
    """Emit the logarithm to base 2."""
    unit = x.builder.constants("LOG2_E")
    return in_base(x, (unit[0], unit[1]), (1.0, 0.0))


def log10(x: Floats) -> Floats:
    """Emit the logarithm to base 10."""
    unit, two = x.builder.constants("LOG10_E"), x.builder.constants("LOG10_2")
    return in_base(x, (unit[0], unit[1]), (two[0], two[1]))


def log_above_one(high: Floats, low: Floats, twos: Floats | float = 0.0) -> Floats:
    """Return log(1 + high + low) + twos · log(2)."""
    kind = high.builder.kind
    u, lost = exact_sum(high, 1.0)
    k, m, exponent = split(u)
    near = k.equals(0.0)
    down = (high.builder.whole(2 * kind.pattern(1.0)) - exponent).number
    moved = (u < 2.0**60).pick((lost + low) * down, 0.0)
    f, rest = near.pick(high, m - 1.0), near.pick(low, moved)
    ratio = f / (f + 2.0)
    slope = (1.0 - ratio) * (1.0 - ratio)
    k = k + twos
    first, second, _ = high.builder.constants("LN2")
    small = above(f, ratio) + fma(k, second, rest * slope)
    return with_ends(fma(k, first, f + small), u)


def log1p(x: Floats) -> Floats:
    """Emit log(1 + x)."""
    return x.equals(0.0).pick(x, log_above_one(x, x.builder.number(0.0)))


def softplus(x: Floats) -> Floats:
    """Emit log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))."""
    return at_least(x, 0.0) + log1p(exp(-abs(x)))


def far(a: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a, limited so that its square is finite; beyond the limit also 1.0 and a, else 0."""
    bound = 2.0**500 if a.builder.kind.bits == 64 else 2.0**60
    return at_most(a, bound), (a > bound).pick(1.0, 0.0), (a > bound).pick(a, 0.0)


def asinh(x: Floats) -> Floats:
    """Emit asinh(x) = log(1 + x + (√(1 + x²) - 1)); where x is huge, log(2x)."""
    a, twos, huge = far(abs(x))
    square, lost = exact_product(a, a)
    total, error = exact_sum(square, 1.0)
    root, rest = square_root((total, error + lost))
    high, low = exact_sum(a, root - 1.0)
    return _or_huge(high, low + rest, twos, huge).flip(x.sign)


def acosh(x: Floats) -> Floats:
    """Emit acosh(x) = log(1 + t + √(2t + t²)), t = x - 1; where x is huge, log(2x)."""
    a, twos, huge = far(x)
    t = a - 1.0
    square, lost = exact_product(t, t)
    total, error = exact_sum(t * 2.0, square)
    root, rest = square_root((total, error + lost))
    high, low = exact_sum(t, root)
    return (x < 1.0).pick(nan, _or_huge(high, low + rest, twos, huge))


def _or_huge(high: Floats, low: Floats, twos: Floats, huge: Floats) -> Floats:
    large = huge > 0.0
    return log_above_one(large.pick(huge, high), large.pick(0.0, low), twos)


def atanh(x: Floats) -> Floats:
    """Emit atanh(x) = log(1 + 2x/(1 - x))/2."""
    a = abs(x)
    bottom = quick_sum(1.0, -a)
    high, low = quotient((a * 2.0, x.builder.number(0.0)), bottom, 1.0 / bottom[0])
    return (log_above_one(high, low) * 0.5).flip(x.sign)


def log_pair(a: Floats) -> Pair:
    """Return log(a), a ≥ 0, with about ten bits more than a float, if it is finite."""
    k, m = split_any(a)
    s, s_low = _ratio(m)
    z, lost = exact_product(s, s)
    z_low = fma(s * 2.0, s_low, lost)
    third, third_low = a.builder.constants("TWO_THIRDS")
    w, w_low = quick_sum(third, z * polynomial(z, a.builder.constants("LOG_PAIR")))
    p, p_lost = exact_product(z, w)
    p_low = fma(z, w_low + third_low, fma(z_low, w, p_lost))
    u, u_low = quick_sum(2.0, p)
    high, lost = exact_product(s, u)
    low = fma(s, u_low + p_low, fma(s_low, u, lost))
    whole, part = a.builder.constants("LN2_WHOLE")
    total, error = quick_sum(k * whole, high)
    total, rest = quick_sum(total, error + fma(k, part, low))
    return a.equals(0.0).pick(-inf, (a < inf).pick(total, a)), rest


def _ratio(m: Floats) -> Pair:
    """Return (m - 1)/(m + 1)."""
    bottom = m + 1.0
    return quotient((m - 1.0, m.builder.number(0.0)), (bottom, m - (bottom - 1.0)), 1.0 / bottom)
