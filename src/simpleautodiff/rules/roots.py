"""Squares and roots that cancel at 0: what is recorded where the formula itself is singular.

A root v of a smooth s ≥ 0 (`abs`, `hypot`, `sqrt`; a norm and a standard deviation are roots, too)
has a kink where s = 0, and v² has none. Two rules, applied where the numbers are at 0:

- An even power of a root has the derivatives of that power of s: d(v²) = ds.
- The root of a sum of squares has the derivative 0, the subgradient of least norm, as a norm has.
  Forward mode does not know how s was computed; there a root is flat where ds is 0,
  unless s is a root itself: the derivative 0 of abs at 0 is a choice.

A multiple of a root is a root, too, and so are its rearranged elements: (c v)² = c (c v²).

Values are those of the operations that were written.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, filled
from simpleautodiff.core.node import NODES
from simpleautodiff.core.primitive import TABLE, Kink, Primitive
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.multiples import carry_root, is_first_root, multiply_roots
from simpleautodiff.rules.restating import (
    Restated,
    ignore_last,
    is_at_0,
    is_constant,
    is_root,
    is_same,
    may_hold,
    may_hold_root,
    note_zeros,
    origin,
    register_value,
    restate_as,
    square_of,
)
from simpleautodiff.rules.sums_of_squares import is_sum_of_squares
from simpleautodiff.values.functions import is_complex


def restate_product(x: Any, y: Any) -> Restated:
    """Return the product of a root with itself as a function of the root's arguments."""
    if not (may_hold_root(x) or may_hold_root(y)):
        return None
    if x is y or (is_root(x) and is_same(x, y)):
        return restate_square(x)
    primitive, smooth = TABLE["mul"], multiply_roots(x, y)
    return carry_root(primitive, x, y) if smooth is None else restate_as(primitive, smooth, x, y)


def restate_square(x: Any) -> Restated:
    """Return the square of a root, or of a multiple of a root, as a smooth function."""
    return _restate_even(TABLE["square"], x, 2)


def _restate_even(primitive: Primitive, x: Any, n: int, *exponent: Any) -> Restated:
    """Return an even power of a root as a function of the root's arguments."""
    if n == 2 and is_first_root(x) and is_at_0(x):
        made, args = origin(x)
        assert made is not None
        return square_of(made), (x, *args)
    smooth = multiply_roots(x, x)
    if smooth is None:
        return carry_root(primitive, x, *exponent)
    return restate_as(primitive, smooth if n == 2 else smooth ** (n // 2), x, *exponent)


def restate_root(x: Any) -> Restated:
    """Return the square root of a sum of squares, which is flat at 0."""
    return _restate_flat(TABLE["sqrt"], x)


def restate_power(x: Any, y: Any) -> Restated:
    """Return an even power of a root, or a root of a sum of squares, as a smooth function."""
    if not is_constant(y) or float(y) < 0.5:
        return None
    y, exponent = float(y), y
    if y == 0.5:
        return restate_root(x) or _restate_half(x, exponent)
    if y < 1:
        return _restate_flat(TABLE["power"], x, exponent)
    return _restate_even(TABLE["power"], x, int(y), exponent) if y % 2 == 0 else None


def _restate_flat(primitive: Primitive, x: Any, *exponent: Any) -> Restated:
    """Return a root with slope 0 where its argument, a sum of squares, is 0."""
    if is_complex(to_plain(x)) or not may_hold(flat := to_plain(x) == 0):
        return None
    if type(x) is Jet:
        dot = filled(x.nth(1))
        if may_hold_root(x) or dot is ZERO or not may_hold(flat := flat & (to_plain(dot) == 0)):
            return None
    elif type(x) not in NODES or not is_sum_of_squares(x):
        return None
    note_zeros(x)
    return _make_flat_root(primitive), (x, *exponent, flat)


def _restate_half(x: Any, exponent: Any) -> Restated:
    """Return x to the power 1/2 at 0 as a root, like sqrt."""
    return (_half_power(), (x, exponent)) if type(x) in {*NODES, Jet} and is_at_0(x) else None


@cache
def _half_power() -> Primitive:
    squared = TABLE["sqrt"].squared
    assert squared is not None
    (rule,) = squared
    made = replace(
        TABLE["power"],
        by_type=None,
        listed=False,
        squared=(lambda v, x, _exponent: rule(v, x), ZERO),
        restate=None,
    )
    return register_value(TABLE["power"], made)


@cache
def _make_flat_root(primitive: Primitive) -> Primitive:
    """Make a root with one more argument: the mask of the elements with slope 0."""
    rule, *others = primitive.partials

    def slope(v: Any, x: Any, *args: Any) -> Any:
        flat = to_plain(args[-1])
        return choose(flat, 0, lambda: rule(choose(flat, 1, v), choose(flat, 1, x), *args[:-1]))

    made = replace(
        primitive,
        partials=(slope, *map(ignore_last, others), ZERO),
        compute=lambda *args: primitive.compute(*args[:-1]),
        kinks=(Kink("x = 0", lambda *args: args[-1], "0, the subgradient of least norm"),),
        by_type=None,
        settings=(primitive.arity,),
        listed=False,
        squared=primitive.squared and (*map(ignore_last, primitive.squared), ZERO),
        restate=None,
    )
    return register_value(primitive, made)


def where_finite(v: Any, slope: Any) -> Any:
    """Return `slope`, the derivative of v², where v is finite, and nan elsewhere, as 2 v dv."""
    nothing = to_plain(v) - to_plain(v)  # 0 or nan
    return choose(nothing == 0, slope, nothing)
