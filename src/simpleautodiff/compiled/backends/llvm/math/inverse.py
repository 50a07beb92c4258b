"""Inverse circular functions."""

from __future__ import annotations

from math import inf

from simpleautodiff.compiled.backends.llvm.math.builder import (
    Bits,
    Mask,
    Number,
    at_most,
    fma,
    polynomial,
)
from simpleautodiff.compiled.backends.llvm.math.double_double import (
    exact_product,
    quick_sum,
    quotient,
)


def arc(y: Number, x: Number, left: Bits | None = None) -> Number:
    """Return the angle of the point (x, y), both ≥ 0 and not both 0, or infinite, or too small.

    A point below the diagonal, by symmetry; one near it is turned by π/4. Where the bit of the
    sign is set in `left`, x stands for -x.
    """
    lanes = y.lanes
    steep = y > x
    short, long = steep.pick(x, y), steep.pick(y, x)
    turned = short > long * 0.4142135623730951
    difference, lost = quick_sum(long, -short)
    total, error = quick_sum(long, short)
    top = turned.pick(-difference, short), turned.pick(-lost, 0.0)
    bottom = turned.pick(total, long), turned.pick(error, 0.0)
    t, t_low = quotient(top, bottom, 1.0 / bottom[0])
    z = t * t
    small = fma(z * t, polynomial(z, lanes.constants("ATAN")), t_low)
    eighths = turned.pick(1.0, 0.0)
    eighths = steep.pick(2.0 - eighths, eighths)
    flip = steep.sign
    if left is not None:
        eighths = is_set(left).pick(4.0 - eighths, eighths)
        flip = flip ^ left
    first, second, _ = lanes.constants("HALF_PI")
    base, base_low = exact_product(eighths, first * 0.5)
    high, rest = quick_sum(base, t.flip(flip))
    return high + (rest + (fma(eighths, second * 0.5, base_low) + small.flip(flip)))


def is_set(sign: Bits) -> Mask:
    """Say where the bit of the sign is set."""
    return (sign | sign.lanes.kind.pattern(1.0)).number < 0.0


def atan(x: Number) -> Number:
    """Emit atan(x)."""
    return arc(at_most(abs(x), 2.0**100), x.lanes.number(1.0)).flip(x.sign)


def atan2(y: Number, x: Number) -> Number:
    """Emit the angle of the point (x, y)."""
    a, b = abs(y), abs(x)
    huge = 2.0 ** (y.lanes.kind.bias - 3)
    tiny = y.lanes.kind.least * 2.0 ** (y.lanes.kind.fraction + 10)
    large, little = (a > huge) | (b > huge), ~((a > tiny) | (b > tiny))
    scale = large.pick(2.0**-8, little.pick(2.0 ** (y.lanes.kind.bias - 30), 1.0))
    endless = a.equals(inf) | b.equals(inf)
    a, b = (endless.pick(v.equals(inf).pick(1.0, 0.0), v * scale) for v in (a, b))
    b = (a.equals(0.0) & b.equals(0.0)).pick(1.0, b)
    value = arc(a, b, x.sign).flip(y.sign)
    return y.unordered(x).pick(x + y, value)


def asin(x: Number) -> Number:
    """Emit asin(x); above 1/2 as π/2 - 2 asin(√((1 - x)/2))."""
    far, s, small = _half(x)
    first, second, _ = x.lanes.constants("HALF_PI")
    high, rest = quick_sum(first, s * -2.0)
    outer = high + (rest + fma(small, -2.0, second))
    return far.pick(outer, s + small).flip(x.sign)


def _half(x: Number) -> tuple[Mask, Number, Number]:
    """Return whether |x| > 1/2, s = |x| or √((1 - |x|)/2) there, and asin(s) - s."""
    a = abs(x)
    far = a > 0.5
    z = far.pick((1.0 - a) * 0.5, a * a)
    s = far.pick(x.lanes.call("sqrt", z), a)
    return far, s, z * s * polynomial(z, x.lanes.constants("ASIN"))


def acos(x: Number) -> Number:
    """Emit acos(x): π/2 - asin(x), 2 asin(s) or π - 2 asin(s)."""
    far, s, small = _half(x)
    first, second, _ = x.lanes.constants("HALF_PI")
    left = x < 0.0
    base = far.pick(left.pick(first * 2.0, 0.0), first)
    base_low = far.pick(left.pick(second * 2.0, 0.0), second)
    times = far.pick(left.pick(-2.0, 2.0), left.pick(1.0, -1.0))
    high, rest = quick_sum(base, s * times)
    return high + (rest + fma(small, times, base_low))
