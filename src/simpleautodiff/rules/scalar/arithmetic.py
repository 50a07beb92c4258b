"""Rows: the arithmetic operators + - * / // % **."""

from __future__ import annotations

import operator
from typing import Any

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import POWER, PRODUCT, SIGN, SUM, TABLE, Domain, Kink
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.multiples import carry_root
from simpleautodiff.rules.roots import restate_power, restate_product
from simpleautodiff.rules.row import row
from simpleautodiff.rules.scalar.exponential import log, reciprocal
from simpleautodiff.values.functions import is_complex, lift

DIVISOR = Domain("y ≠ 0", lambda x, y: y != 0)
MULTIPLE = Kink("x a multiple of y", lambda x, y: x % y == 0, "as if x were not a multiple")

add = row(
    "add",
    1,
    1,
    value=operator.add,
    text="{0} + {1}",
    latex="{0} + {1}",
    reason="a sum grows as much as either of its terms",
    binds=SUM,
)
sub = row(
    "sub",
    1,
    -1,
    value=operator.sub,
    numpy=["subtract"],
    text="{0} - {1}",
    latex="{0} - {1}",
    reason="a difference grows with its first term and shrinks with its second",
    binds=SUM,
)
mul = row(
    "mul",
    lambda _v, _x, y: y,
    lambda _v, x, _y: x,
    value=operator.mul,
    numpy=["multiply"],
    text="{0} × {1}",
    latex=r"{0} \times {1}",
    reason="the derivative with respect to each factor is the other factor",
    squared=(),
    restate=restate_product,
    binds=PRODUCT,
)


def _convert_integer(v: Any, number: Any) -> Any:
    """Return an integer in the number type of v, so that results stay exact or fully precise."""
    return lift(number, to_plain(v)) if type(number) is int else number


div = row(
    "div",
    lambda _v, _x, y: reciprocal(_convert_integer(_v, y)),
    lambda v, _x, y: -v * reciprocal(_convert_integer(v, y)),
    value=operator.truediv,
    numpy=["divide", "true_divide"],
    text="{0} / {1}",
    latex=r"{0} / {1}",
    reason="from v y = x follows dv y + v dy = dx: the derivatives are 1/y and -v/y",
    domain=DIVISOR,
    squared=(),
    restate=lambda x, y: carry_root(TABLE["div"], x, y),
    binds=PRODUCT,
)
neg = row(
    "neg",
    -1,
    value=operator.neg,
    numpy=["negative"],
    text="-{0}",
    latex="-{0}",
    reason="the negative shrinks as its argument grows",
    squared=(),
    restate=lambda x: carry_root(TABLE["neg"], x),
    binds=SIGN,
)
pos = row(
    "pos",
    1,
    value=operator.pos,
    numpy=["positive"],
    text="+{0}",
    latex="+{0}",
    reason="the number itself",
    squared=(),
    restate=lambda x: carry_root(TABLE["pos"], x),
    binds=SIGN,
)


def raise_to(x: Any, y: Any) -> Any:
    """Return x^y; Python's complex power of a negative number is refused."""
    result = x**y
    if type(result) is complex and not is_complex(x) and not is_complex(y):
        raise ValueError("a negative number to a fractional power")  # NumPy gives nan, so do we
    return result


def _differentiate_in_exponent(v: Any, x: Any, y: Any) -> Any:
    """Return ∂(x^y)/∂y = v log x; it is 0 where 0 is raised to a positive power."""

    def slope() -> Any:
        return v * log(_convert_integer(v, x))

    return choose(x == 0, lambda: choose(y > 0, ZERO, slope), slope)


def _differentiate_in_base(_v: Any, x: Any, y: Any) -> Any:
    """Return ∂(x^y)/∂x = y x^(y-1); it is 0 where y is.

    Where y has derivatives of its own, the slope depends on it there, too, if x has a logarithm.
    """
    if type(y) is int or type(y) is float:
        return 2 * x if y == 2 else y * raise_to(x, y - 1) if y else ZERO
    constant = y == 0 if to_plain(y) is y else (y == 0) & ((x == 0) | (x != x))
    return choose(constant, ZERO, lambda: y * raise_to(x, y - 1))


power = row(
    "power",
    _differentiate_in_base,
    lambda v, x, y: _differentiate_in_exponent(v, x, y),
    value=raise_to,
    numpy=["power", "float_power"],
    text="{0}^{1}",
    latex="{0}^{{{1}}}",
    reason="in the base it is y x^(y-1); in the exponent, from x^y = exp(y log x), it is v log x",
    domain=Domain("x > 0, or y an integer (and then x ≠ 0 if y < 0)", lambda x, y: x > 0),
    kinks=[
        Kink("x = 0, 0 < y < 1", lambda x, y: x == 0 and 0 < y < 1, "inf, by continuity", (0,)),
        Kink("x = y = 0", lambda x, y: x == 0 and y == 0, "-inf in y: 0^y falls to 0", (1,)),
    ],
    binds=POWER,
    restate=restate_power,
)


def _floor_divide(x: Any, y: Any) -> Any:
    try:
        return x // y
    except TypeError:  # mpmath's numbers have % but not //
        return (x - x % y) / y


floor_divide = row(
    "floor_divide",
    ZERO,
    ZERO,
    value=_floor_divide,
    text="{0} // {1}",
    latex=r"\lfloor {0} / {1} \rfloor",
    reason="floor division is piecewise constant",
    domain=DIVISOR,
    kinks=[MULTIPLE],
    binds=PRODUCT,
    real=True,
)
mod = row(
    "mod",
    1,
    lambda _v, x, y: -floor_divide(x, y),
    value=operator.mod,
    numpy=["remainder", "mod"],
    text="{0} % {1}",
    latex=r"{0} \bmod {1}",
    reason="x % y = x - (x // y) y, where x // y is piecewise constant",
    domain=DIVISOR,
    kinks=[MULTIPLE],
    binds=PRODUCT,
    real=True,
)
