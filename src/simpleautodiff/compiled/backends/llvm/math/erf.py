"""The error function and its complement, by (1 + 9x/8) exp(x²) erfc(x), which hardly varies."""

from __future__ import annotations

from simpleautodiff.compiled.backends.llvm.math.coefficients import (
    ERF_CENTRE,
    ERF_END,
    ERF_SLOPE,
)
from simpleautodiff.compiled.backends.llvm.math.double_double import (
    exact_product,
    exact_sum,
    quick_sum,
    quotient,
)
from simpleautodiff.compiled.backends.llvm.math.exponentials import power_of_two, reduce, scale
from simpleautodiff.compiled.backends.llvm.math.lane_values import Floats, at_most, fma, polynomial


def tail(a: Floats) -> Floats:
    """Return erfc(a), a ≥ 0."""
    a = at_most(a, 28.0 if a.builder.kind.bits == 64 else 11.0)
    square, lost = exact_product(a, a)
    parts = reduce(-square, -lost)
    sloped, more = exact_product(a, ERF_SLOPE)
    bottom, error = exact_sum(sloped, 1.0)
    centre = a + ERF_CENTRE
    both = 1.0 / (centre * bottom)
    t = (a - ERF_CENTRE) * (bottom * both)
    first, first_low = a.builder.constants("ERFC_FIRST")
    f, f_low = quick_sum(first, t * polynomial(t, a.builder.constants("ERFC")))
    e, e_low = quick_sum(1.0, parts.r)
    e_low = e_low + parts.rest
    product, lost = exact_product(e, f)
    low = fma(e, f_low + first_low, fma(e_low, f, lost))
    high, rest = quotient((product, low), (bottom, error + more), centre * both)
    return scale(high + rest, parts.steps)


def erfc(x: Floats) -> Floats:
    """Emit erfc(x)."""
    value = tail(abs(x))
    return (x < 0.0).pick(2.0 - value, value)


def rough_tail(a: Floats) -> Floats:
    """Return erfc(a), a ≥ 1, accurately enough to be subtracted from 1."""
    a = at_most(a, 6.0)
    parts = reduce(-(a * a))
    bottom = fma(a, ERF_SLOPE, 1.0)
    centre = a + ERF_CENTRE
    both = 1.0 / (centre * bottom)
    t = (a - ERF_CENTRE) * (bottom * both)
    first, _ = a.builder.constants("ERFC_FIRST")
    f = fma(t, polynomial(t, a.builder.constants("ERFC")), first) * (centre * both)
    return fma(parts.r + parts.rest, f, f) * power_of_two(parts.steps)


def erf(x: Floats) -> Floats:
    """Emit erf(x)."""
    a = abs(x)
    inner = fma(a, polynomial(a * a, x.builder.constants("ERF")), a)
    return (a > ERF_END).pick(1.0 - rough_tail(a), inner).flip(x.sign)
