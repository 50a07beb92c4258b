"""Inverse circular functions."""

from __future__ import annotations

from math import inf

from simpleautodiff.compiled.backends.llvm.math.double_double import (
    exact_product,
    quick_sum,
    quotient,
)
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    Floats,
    Ints,
    Mask,
    at_most,
    fma,
    polynomial,
)


def arc(y: Floats, x: Floats, left: Ints | None = None) -> Floats:
    """Return the angle of the point (x, y), both ≥ 0 and not both 0, or infinite, or too small.

    Symmetry moves the point below the diagonal; one near it is rotated by π/4. Where the sign bit
    is set in `left`, x stands for -x.
    """
    lanes = y.builder
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


def is_set(sign: Ints) -> Mask:
    """Tell where the sign bit is set."""
    return (sign | sign.builder.kind.pattern(1.0)).number < 0.0


def atan(x: Floats) -> Floats:
    """Emit atan(x)."""
    return arc(at_most(abs(x), 2.0**100), x.builder.number(1.0)).flip(x.sign)


def atan2(y: Floats, x: Floats) -> Floats:
    """Emit the angle of the point (x, y)."""
    a, b = abs(y), abs(x)
    huge = 2.0 ** (y.builder.kind.bias - 3)
    tiny = y.builder.kind.least * 2.0 ** (y.builder.kind.fraction + 10)
    large, little = (a > huge) | (b > huge), ~((a > tiny) | (b > tiny))
    scale = large.pick(2.0**-8, little.pick(2.0 ** (y.builder.kind.bias - 30), 1.0))
    endless = a.equals(inf) | b.equals(inf)
    a, b = (endless.pick(v.equals(inf).pick(1.0, 0.0), v * scale) for v in (a, b))
    b = (a.equals(0.0) & b.equals(0.0)).pick(1.0, b)
    value = arc(a, b, x.sign).flip(y.sign)
    return y.is_unordered(x).pick(x + y, value)


def asin(x: Floats) -> Floats:
    """Emit asin(x); above 1/2 as π/2 - 2 asin(√((1 - x)/2))."""
    far, s, small = _half(x)
    first, second, _ = x.builder.constants("HALF_PI")
    high, rest = quick_sum(first, s * -2.0)
    outer = high + (rest + fma(small, -2.0, second))
    return far.pick(outer, s + small).flip(x.sign)


def _half(x: Floats) -> tuple[Mask, Floats, Floats]:
    """Return whether |x| > 1/2, s = |x| or √((1 - |x|)/2) there, and asin(s) - s."""
    a = abs(x)
    far = a > 0.5
    z = far.pick((1.0 - a) * 0.5, a * a)
    s = far.pick(x.builder.call("sqrt", z), a)
    return far, s, z * s * polynomial(z, x.builder.constants("ASIN"))


def acos(x: Floats) -> Floats:
    """Emit acos(x): π/2 - asin(x), 2 asin(s) or π - 2 asin(s)."""
    far, s, small = _half(x)
    first, second, _ = x.builder.constants("HALF_PI")
    left = x < 0.0
    base = far.pick(left.pick(first * 2.0, 0.0), first)
    base_low = far.pick(left.pick(second * 2.0, 0.0), second)
    times = far.pick(left.pick(-2.0, 2.0), left.pick(1.0, -1.0))
    high, rest = quick_sum(base, s * times)
    return high + (rest + fma(small, times, base_low))
