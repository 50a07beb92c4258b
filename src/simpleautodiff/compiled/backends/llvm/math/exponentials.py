"""Exponentials and hyperbolic functions: x = k log 2 + r, and the even and odd part of exp(r)."""

from __future__ import annotations

from dataclasses import dataclass

from simpleautodiff.compiled.backends.llvm.math.double_double import (
    Pair,
    exact_product,
    exact_sum,
    quick_sum,
    quotient,
    remainder,
)
from simpleautodiff.compiled.backends.llvm.math.lane_values import (
    Floats,
    Ints,
    at_least,
    at_most,
    fma,
    polynomial,
)


@dataclass(frozen=True)
class Reduced:
    """The parts of exp(x) = 2**k (1 + even + r + odd); `steps` holds k in its low bits."""

    k: Floats
    steps: Ints
    r: Floats
    even: Floats
    odd: Floats

    @property
    def rest(self) -> Floats:
        """The difference exp(r) - (1 + r)."""
        return self.even + self.odd


def exponent_range(x: Floats) -> tuple[float, float]:
    """Return bounds beyond which exp is surely 0, or infinite."""
    return (-746.0, 710.0) if x.builder.kind.bits == 64 else (-105.0, 89.0)


def power_of_two(steps: Ints) -> Floats:
    """Return 2**k for k in the low bits of `steps`, where that is a normal number."""
    kind = steps.builder.kind
    return ((steps << kind.fraction) + kind.pattern(1.0)).number


def scale(x: Floats, steps: Ints) -> Floats:
    """Return 2**k x, in two steps because 2**k alone may not be a float."""
    half = steps >> 1
    return x * power_of_two(half) * power_of_two(steps - half)


def nearest(x: Floats, factor: float) -> tuple[Floats, Ints]:
    """Return the integer nearest to x times a factor, and bits whose low ones hold it."""
    magic = x.builder.kind.magic
    moved = fma(x, factor, magic)
    return moved - magic, moved.bits


def expand(k: Floats, steps: Ints, r: Floats, low: Floats) -> Reduced:
    """Return the parts, given the remainder r + low."""
    z = r * r
    even = z * polynomial(z, r.builder.constants("COSH"))
    odd = fma(z * r, polynomial(z, r.builder.constants("SINH")), low)
    return Reduced(k, steps, r, even, odd)


def reduce(x: Floats, low: Floats | None = None) -> Reduced:
    """Return the parts of exp(x + low); x must be within the exponent range."""
    k, steps = nearest(x, x.builder.constants("LOG2_E")[0])
    r, rest = remainder(x, k, x.builder.constants("LN2")[:2])
    if low is not None:
        r, rest = exact_sum(r, rest + low)
    return expand(k, steps, r, rest)


def clamp(x: Floats) -> Floats:
    """Return x, limited to the exponent range."""
    low, high = exponent_range(x)
    return at_most(at_least(x, low), high)


def exp_of(parts: Reduced) -> Floats:
    """Return the exponential with these parts."""
    return scale((parts.r + parts.rest) + 1.0, parts.steps)


def exp(x: Floats) -> Floats:
    """Emit exp(x): one polynomial of r, whose error is small beside 1."""
    bounded = clamp(x)
    constants = x.builder.constants
    k, steps = nearest(bounded, constants("LOG2_E")[0])
    high, low, _ = constants("LN2")
    r = fma(k, -low, fma(k, -high, bounded))
    even, odd = constants("COSH"), constants("SINH")
    terms = [term for pair in zip(even[::-1], odd[::-1], strict=False) for term in pair]
    second = polynomial(r, (*even[: len(even) - len(odd)], *terms[::-1]))
    return scale(fma(r, fma(r, second, 1.0), 1.0), steps)


def exp2(x: Floats) -> Floats:
    """Emit 2**x."""
    low, high = exponent_range(x)
    bounded = at_most(at_least(x, low * 1.45), high * 1.45)
    k, steps = nearest(bounded, 1.0)
    ln2 = x.builder.constants("LN2")
    part = bounded - k
    r = part * ln2[0]
    return exp_of(expand(k, steps, r, fma(part, ln2[1], fma(part, ln2[0], -r))))


def expm1(x: Floats) -> Floats:
    """Emit exp(x) - 1 as 2**k ((1 - 2**-k) + r + …), which is exact where k = 0."""
    lowest = -44.0 if x.builder.kind.bits == 64 else -20.0
    bounded = at_most(at_least(x, lowest), exponent_range(x)[1])
    parts = reduce(bounded)
    down = (parts.k > 70.0).pick(0.0, power_of_two(x.builder.whole(0) - parts.steps))
    total, error = quick_sum(1.0 - down, parts.r)
    return x.equals(0.0).pick(x, scale(total + (error + parts.rest), parts.steps))


def with_small(whole: Floats, factor: Floats, r: Floats, small: Floats) -> Pair:
    """Return whole + factor r + small, where |whole| ≥ |factor r| or whole = 0."""
    product, lost = exact_product(factor, r)
    total, error = quick_sum(whole, product)
    return total, error + (lost + small)


def sine_and_cosine(parts: Reduced, up: Floats, down: Floats) -> tuple[Pair, Pair]:
    """Return sinh and cosh, given 2**k / 2 and 2**-k / 2."""
    (plus, plus_low), (minus, minus_low) = quick_sum(up, down), quick_sum(up, -down)
    sine = fma(plus, parts.odd, fma(minus, parts.even, minus_low))
    cosine = fma(minus, parts.odd, fma(plus, parts.even, plus_low))
    return with_small(minus, plus, parts.r, sine), with_small(plus, minus, parts.r, cosine)


def hyperbolic(a: Floats) -> tuple[Floats, Floats]:
    """Return sinh and cosh of a number that is not negative."""
    lanes = a.builder
    large = a > (40.0 if lanes.kind.bits == 64 else 18.0)
    parts = reduce(at_most(a, exponent_range(a)[1] + 2.0))
    up = large.pick(0.5, power_of_two(parts.steps) * 0.5)
    down = large.pick(0.0, power_of_two(lanes.whole(0) - parts.steps) * 0.5)
    sine, cosine = (total + low for total, low in sine_and_cosine(parts, up, down))
    return (
        large.pick(scale(sine, parts.steps), sine),
        large.pick(scale(cosine, parts.steps), cosine),
    )


def sinh(x: Floats) -> Floats:
    """Emit sinh(x)."""
    return hyperbolic(abs(x))[0].flip(x.sign)


def cosh(x: Floats) -> Floats:
    """Emit cosh(x)."""
    return hyperbolic(abs(x))[1]


def tanh(x: Floats) -> Floats:
    """Emit tanh(x) = (e - 1)/(e + 1) with e = exp(2x), both divided by 2**k."""
    parts = reduce(at_most(abs(x) * 2.0, 44.0))
    down = power_of_two(x.builder.whole(0) - parts.steps)
    top, bottom = (_and_rest(quick_sum(1.0, other), parts) for other in (-down, down))
    first, rest = quotient(top, bottom, 1.0 / bottom[0])
    return (first + rest).flip(x.sign)


def _and_rest(whole: Pair, parts: Reduced) -> Pair:
    """Return whole + r + …, where |whole| ≥ |r| or whole = 0."""
    total, error = quick_sum(whole[0], parts.r)
    return quick_sum(total, error + (whole[1] + parts.rest))


def sigmoid(x: Floats) -> Floats:
    """Emit 1/(1 + exp(-x)), from exp of a negative number."""
    e = exp(-abs(x))
    bottom = quick_sum(1.0, e)
    top = (x < 0.0).pick(e, 1.0)
    first, rest = quotient((top, x.builder.number(0.0)), bottom, 1.0 / bottom[0])
    return first + rest
