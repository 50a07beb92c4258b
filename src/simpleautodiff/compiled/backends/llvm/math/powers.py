"""Roots and powers."""

from __future__ import annotations

from math import inf, nan

from simpleautodiff.compiled.backends.llvm.math.double_double import exact_product
from simpleautodiff.compiled.backends.llvm.math.exponentials import (
    clamp,
    exp_of,
    exponent_range,
    nearest,
    power_of_two,
    reduce,
)
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    Floats,
    at_least,
    at_most,
    fma,
    polynomial,
)
from simpleautodiff.compiled.backends.llvm.math.logarithms import log_pair


def sqrt(x: Floats) -> Floats:
    """Emit the square root."""
    return x.builder.call("sqrt", x)


def cbrt(x: Floats) -> Floats:
    """Emit the cube root: x = 8**q m, and Newton steps for the cube root of m."""
    kind, a = x.builder.kind, abs(x)
    thirds = (kind.fraction + 2) // 3
    small = a < kind.least
    normal = small.pick(a * 8.0**thirds, a)
    whole = 2.0**kind.fraction
    exponent = ((normal.bits >> kind.fraction) | kind.pattern(whole)).number
    _, steps = nearest(exponent - (whole + kind.bias), 1 / 3)
    m = (normal.bits - ((steps + (steps << 1)) << kind.fraction)).number
    y = polynomial(m, x.builder.constants("CBRT"))
    for _ in range(kind.bits // 32):
        h = fma(-m, y * y * y, 1.0)
        y = fma(y * h, fma(h, 2 / 9, 1 / 3), y)
    root = m * (y * y)
    square, lost = exact_product(root, root)
    left = fma(-lost, root, fma(-square, root, m))
    root = fma(left, y * y * (1 / 3), root) * power_of_two(steps)
    usual = (a > 0.0) & (a < inf)
    return usual.pick(small.pick(root * 2.0**-thirds, root), a).flip(x.sign)


def hypot(x: Floats, y: Floats) -> Floats:
    """Emit √(x² + y²), scaled so that no square overflows."""
    kind, a, b = x.builder.kind, abs(x), abs(y)
    long, short = (b > a).pick(b, a), (b > a).pick(a, b)
    step = 2.0 ** (600 if kind.bits == 64 else 70)
    edge = 2.0 ** (500 if kind.bits == 64 else 60)
    large, small = long > edge, long < 1 / edge
    scale = large.pick(1 / step, small.pick(step, 1.0))
    back = large.pick(step, small.pick(1 / step, 1.0))
    p, q = long * scale, short * scale
    root = sqrt(fma(p, p, q * q)) * back
    infinite = a.equals(inf) | b.equals(inf)
    return infinite.pick(inf, root)


def power(x: Floats, y: Floats) -> Floats:
    """Emit x**y = exp(y log|x|), with a minus sign where x is negative and y odd."""
    lanes, a = x.builder, abs(x)
    high, low = log_pair(a)
    most = 2.0 ** (lanes.kind.bias - 3)
    times = at_most(at_least(y, -most), most)
    product, lost = exact_product(times, high)
    rest = (abs(product) < exponent_range(x)[1] + 50.0).pick(fma(times, low, lost), 0.0)
    value = exp_of(reduce(clamp(product), rest))
    whole = lanes.call("rint", y).equals(y)
    half = y * 0.5
    odd = whole & ~lanes.call("rint", half).equals(half)
    value = value.flip(odd.pick(x, 0.0).sign)
    value = ((x < 0.0) & (a < inf) & ~whole).pick(nan, value)
    return (x.equals(1.0) | y.equals(0.0)).pick(1.0, value)
