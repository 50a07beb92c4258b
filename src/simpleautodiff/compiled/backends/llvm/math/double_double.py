"""Numbers stored as a sum of two floats, so that rounding errors are not lost."""

from __future__ import annotations

from collections.abc import Sequence

from simpleautodiff.compiled.backends.llvm.math.lane_values import Floats, fma

Pair = tuple[Floats, Floats]


def quick_sum(a: Floats | float, b: Floats) -> Pair:
    """Return a + b and its rounding error, where |a| ≥ |b| or a = 0."""
    total = b + a
    return total, b - (total - a)


def exact_sum(a: Floats, b: Floats | float) -> Pair:
    """Return a + b and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (a.builder.number(b) - part)


def exact_product(a: Floats, b: Floats | float) -> Pair:
    """Return a b and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)


def quotient(top: Pair, bottom: Pair, inverse: Floats) -> Pair:
    """Return top/bottom, given an approximation of 1/bottom."""
    first = top[0] * inverse
    rest = fma(-first, bottom[0], top[0]) + fma(-first, bottom[1], top[1])
    return first, rest * inverse


def square_root(x: Pair) -> Pair:
    """Return the square root of a pair that is not negative."""
    root = x[0].builder.call("sqrt", x[0])
    rest = (fma(-root, root, x[0]) + x[1]) * 0.5
    return root, root.equals(0.0).pick(0.0, rest / root)


def remainder(x: Floats, times: Floats, parts: Sequence[float]) -> Pair:
    """Return x - times · (two parts), with an error that is small beside the parts."""
    near = fma(times, -parts[0], x)
    high = fma(times, -parts[1], near)
    return high, fma(times, -parts[1], near - high)


def sharp_remainder(x: Floats, times: Floats, parts: Sequence[float]) -> Pair:
    """Return x - times · (three parts), with an error that is small beside the remainder itself.

    `near` is exact, and so is `near - high`: where `near` is much the smaller of the two terms it
    is a multiple of the other's last place, and where both are alike their difference is exact.
    """
    near = fma(times, -parts[0], x)
    product, lost = exact_product(times, parts[1])
    high = near - product
    return high, fma(times, -parts[2], ((near - high) - product) - lost)
