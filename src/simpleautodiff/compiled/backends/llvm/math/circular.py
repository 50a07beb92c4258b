"""Sine, cosine and tangent: |x| = k π/2 + r, and the polynomials of r."""

from __future__ import annotations

from dataclasses import dataclass

from simpleautodiff.compiled.backends.llvm.math.double_double import (
    Pair,
    quick_sum,
    quotient,
    sharp_remainder,
)
from simpleautodiff.compiled.backends.llvm.math.exponentials import nearest
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    FloatFormat,
    Floats,
    Ints,
    fma,
    polynomial,
)


@dataclass(frozen=True)
class Angle:
    """The remainder r + low, and bits whose two lowest ones tell the quadrant."""

    r: Floats
    low: Floats
    quadrant: Ints


def limit(kind: FloatFormat) -> float:
    """Return the largest argument for which three parts of π/2 are enough."""
    return 2.0**30 if kind.bits == 64 else 2.0**15


def near_angle(x: Floats) -> Angle:
    """Return the angle of a number up to the limit."""
    a = abs(x)
    k, quadrant = nearest(a, x.builder.constants("TWO_OVER_PI")[0])
    return Angle(*sharp_remainder(a, k, x.builder.constants("HALF_PI")), quadrant)


def sine(angle: Angle) -> Pair:
    """Return sin(r) as r and a small rest."""
    z = angle.r * angle.r
    scaled = fma(z, -0.5, 1.0) * angle.low
    return angle.r, fma(z * angle.r, polynomial(z, z.builder.constants("SIN")), scaled)


def cosine(angle: Angle) -> Pair:
    """Return cos(r) as about 1 - r²/2 and a small rest."""
    z = angle.r * angle.r
    high = fma(z, -0.5, 1.0)
    low = fma(z, -0.5, 1.0 - high)
    rest = fma(z * z, polynomial(z, z.builder.constants("COS")), low)
    return high, fma(-angle.r, angle.low, rest)


def _choose(angle: Angle, quadrant: Ints) -> Floats:
    s, c = sine(angle), cosine(angle)
    value = quadrant.odd.pick(c[0] + c[1], s[0] + s[1])
    return value.flip((quadrant & 2) << (value.builder.kind.bits - 2))


def sin_of(x: Floats, angle: Angle) -> Floats:
    """Return sin(x), given the angle of |x|."""
    return _choose(angle, angle.quadrant).flip(x.sign)


def cos_of(x: Floats, angle: Angle) -> Floats:
    """Return cos(x), given the angle of |x|."""
    return _choose(angle, angle.quadrant + 1)


def tan_of(x: Floats, angle: Angle) -> Floats:
    """Return tan(x), given the angle of |x|."""
    odd = angle.quadrant.odd
    s, c = (quick_sum(*pair) for pair in (sine(angle), cosine(angle)))
    top = odd.pick(c[0], s[0]), odd.pick(c[1], s[1])
    bottom = odd.pick(s[0], c[0]), odd.pick(s[1], c[1])
    first, rest = quotient(top, bottom, 1.0 / bottom[0])
    return (first + rest).flip(odd.sign ^ x.sign)


OF_ANGLE = {"sin": sin_of, "cos": cos_of, "tan": tan_of}
