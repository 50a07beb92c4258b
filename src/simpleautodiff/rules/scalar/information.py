"""Rows: logit, x log y, entropies, Box-Cox transformations, functions of degrees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import Domain, Kink
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.row import Wrapping
from simpleautodiff.rules.scalar.arithmetic import raise_to
from simpleautodiff.rules.scalar.bessel import exprel_slope, log1prel_slope
from simpleautodiff.rules.scalar.exponential import exp, log, log1p
from simpleautodiff.rules.scalar.trigonometric import sin
from simpleautodiff.rules.scipy_values import scipy_row

BOTH = Domain("x > 0, y > 0", lambda x, y: x > 0 and y > 0)
DEGREE = math.pi / 180

logit = scipy_row(
    "logit",
    lambda _v, x: 1 / (x * (1 - x)),
    reason="log(x/(1 - x)) has the slope 1/(x (1 - x))",
    domain=Domain("0 < x < 1", lambda x: 0 < x < 1),
)


def _is_zero_product(x: Any, y: Any, edge: int) -> Any:
    """Tell where x log y is defined as 0 because x is 0, although log y is not finite."""
    return (to_plain(x) == 0) & (to_plain(y) <= edge)


xlogy = scipy_row(
    "xlogy",
    lambda _v, x, y: choose(_is_zero_product(x, y, 0), ZERO, lambda: log(y)),
    lambda _v, x, y: choose(_is_zero_product(x, y, 0), ZERO, lambda: x / y),
    reason="x log y has the derivatives log y and x/y, or 0 where x = 0 and y ≤ 0",
    kinks=(Kink("x = y = 0", lambda x, y: x == y == 0, "0, as a constant", (0,)),),
    domain=Domain("y > 0", lambda x, y: y > 0),
)
xlog1py = scipy_row(
    "xlog1py",
    lambda _v, x, y: choose(_is_zero_product(x, y, -1), ZERO, lambda: log1p(y)),
    lambda _v, x, y: choose(_is_zero_product(x, y, -1), ZERO, lambda: x / (1 + y)),
    reason="x log(1 + y) has the derivatives log(1 + y) and x/(1 + y), or 0 where x = 0 and y ≤ -1",
    kinks=(Kink("x = 0, y = -1", lambda x, y: x == 0 and y == -1, "0, as a constant", (0,)),),
    domain=Domain("y > -1", lambda x, y: y > -1),
)

# Entropies. ---------------------------------------------------------------------------------------

entr = scipy_row(
    "entr",
    lambda _v, x: -log(x) - 1,
    reason="the derivative of -x log x is -log x - 1",
    domain=Domain("x ≥ 0", lambda x: x >= 0),
    kinks=(Kink("x = 0", lambda x: x == 0, "inf, by continuity"),),
)


def _are_zero(x: Any, y: Any) -> Any:
    return (to_plain(x) == 0) & (to_plain(y) == 0)


FIRST_ZERO = Kink("x = 0", lambda x, y: x == 0, "-inf, by continuity", (0,))
rel_entr = scipy_row(
    "rel_entr",
    lambda _v, x, y: log(x / y) + 1,
    lambda _v, x, y: choose(_are_zero(x, y), ZERO, lambda: -x / y),
    reason="the derivatives of x log(x/y) are log(x/y) + 1 and -x/y",
    kinks=(FIRST_ZERO,),
    domain=BOTH,
)


def _log_ratio(x: Any, y: Any) -> Any:
    """Return log(x/y), accurate also where x and y are close."""
    close = np.abs(to_plain(x) - to_plain(y)) < 0.5 * to_plain(y)
    return choose(close, lambda: log1p((x - y) / y), lambda: log(x / y))


kl_div = scipy_row(
    "kl_div",
    lambda _v, x, y: _log_ratio(x, y),
    lambda _v, x, y: choose(_are_zero(x, y), 1, lambda: (y - x) / y),
    reason="the derivatives of x log(x/y) - x + y are log(x/y) and 1 - x/y",
    kinks=(FIRST_ZERO,),
    domain=BOTH,
)

# Box-Cox. -----------------------------------------------------------------------------------------


def _slope_in_exponent(logarithm: Any, exponent: Any) -> Any:
    """Differentiate (exp(λ t) - 1)/λ in λ, where t is the logarithm; smooth at λ = 0."""
    return logarithm * logarithm * exprel_slope(exponent * logarithm)


boxcox = scipy_row(
    "boxcox",
    lambda _v, x, y: raise_to(x, y - 1),
    lambda _v, x, y: choose(  # x is added, where it is 0, as an array divides by 0 without an error
        x == 0, lambda: 1 / (y * y + x), lambda: _slope_in_exponent(log(x), y)
    ),
    reason="(x^y - 1)/y, or log x at y = 0, has in x the derivative x^(y-1)",
    kinks=(Kink("x = 0, 0 < y < 1", lambda x, y: x == 0 < y < 1, "inf, by continuity", (0,)),),
    domain=Domain("x > 0", lambda x, y: x > 0),
)
boxcox1p = scipy_row(
    "boxcox1p",
    lambda _v, x, y: exp(xlog1py(y - 1, x)),
    lambda _v, x, y: choose(
        x == -1, lambda: 1 / (y * y + (1 + x)), lambda: _slope_in_exponent(log1p(x), y)
    ),
    reason="((1 + x)^y - 1)/y, or log(1 + x) at y = 0, has in x the derivative (1 + x)^(y-1)",
    kinks=(
        Kink("x = -1, 0 < y < 1", lambda x, y: x == -1 and 0 < y < 1, "inf, by continuity", (0,)),
    ),
    domain=Domain("x > -1", lambda x, y: x > -1),
)
INVERSE = Domain("1 + x y > 0", lambda x, y: 1 + x * y > 0)


def _slope_of_inverse(v: Any, x: Any, y: Any) -> Any:
    """Differentiate v = (1 + x y)^(1/y) in x; where v is 0, the slope is a power of 0."""
    rest = 1 + x * y
    return choose(rest == 0, lambda: rest ** (1 / y - 1), lambda: v / rest)


def _slope_of_inverse_in_exponent(v: Any, x: Any, y: Any) -> Any:
    """Differentiate v = (1 + x y)^(1/y) in y."""
    rest = 1 + x * y
    return choose(
        rest == 0,
        lambda: x / y * rest ** (1 / y - 1),
        lambda: v * x * x * log1prel_slope(x * y),
    )


inv_boxcox = scipy_row(
    "inv_boxcox",
    _slope_of_inverse,
    _slope_of_inverse_in_exponent,
    reason="v = (1 + x y)^(1/y), or exp x at y = 0, has in x the derivative v/(1 + x y)",
    domain=INVERSE,
)
inv_boxcox1p = scipy_row(
    "inv_boxcox1p",
    lambda v, x, y: _slope_of_inverse(v + 1, x, y),
    lambda v, x, y: _slope_of_inverse_in_exponent(v + 1, x, y),
    reason="v = (1 + x y)^(1/y) - 1 has in x the derivative (v + 1)/(1 + x y)",
    domain=INVERSE,
)

# Degrees, and the cosine near 0. ------------------------------------------------------------------

sindg: Wrapping = scipy_row(
    "sindg",
    lambda _v, x: DEGREE * cosdg(x),
    reason="the slope of sin is cos; a degree is π/180 radians",
)
cosdg: Wrapping = scipy_row(
    "cosdg",
    lambda _v, x: -DEGREE * sindg(x),
    reason="the slope of cos is -sin; a degree is π/180 radians",
)
tandg = scipy_row(
    "tandg",
    lambda v, _x: DEGREE * (1 + v * v),
    reason="the derivative of tan is 1 + tan²; a degree is π/180 radians",
    domain=Domain("x not an odd multiple of 90", lambda x: x % 180 != 90),
)
cosm1 = scipy_row(
    "cosm1",
    lambda _v, x: -sin(x),
    reason="subtracting 1 does not change the slope of cos",
)
