"""Rows: circular and hyperbolic functions, their inverses, angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain, wrap
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import REALS, TABLE, Domain, Kink, Primitive
from simpleautodiff.rules.branches import choose
from simpleautodiff.rules.multiples import carry_root, even, odd
from simpleautodiff.rules.restating import register_value
from simpleautodiff.rules.roots import where_finite
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.exponential import sqrt
from simpleautodiff.values.functions import is_complex, lift

FROM_MINUS_1_TO_1 = Domain("-1 ≤ x ≤ 1", lambda x: -1 <= x <= 1)
KINKS_AT_ENDS = [Kink("x = -1 or x = 1", lambda x: x in (-1, 1), "inf (in size), by continuity")]
ORIGIN = "x = y = 0"


def pi(x: Any) -> Any:
    """Return π in the number type of `x`, to its full precision."""
    number = to_plain(x)
    if isinstance(number, (float, int)):
        return math.pi
    return number.pi if hasattr(number, "pi") else 4 * atan(lift(1, number))


sin: Wrapping = row(
    "sin",
    lambda _v, x: cos(x),
    text="sin({0})",
    latex=r"\sin {0}",
    reason="the slope of sin is cos",
    **odd("sin"),
)
cos: Wrapping = row(
    "cos",
    lambda _v, x: -sin(x),
    text="cos({0})",
    latex=r"\cos {0}",
    reason="the slope of cos is -sin",
    **even("cos"),
)
tan = row(
    "tan",
    lambda v, _x: 1 + v * v,
    text="tan({0})",
    latex=r"\tan {0}",
    reason="tan = sin/cos has the derivative 1 + tan²",
    **odd("tan"),
)


def _on_side_of(reference: Callable[[], Any], root: Any) -> Any:
    """Return a complex root with the sign of `reference`, which it equals up to the sign.

    On a branch cut the sign of a zero, which addition loses, says on which side the value is.
    """
    number = to_plain(root)
    if not is_complex(number):
        return root
    wanted = reference()
    along = number.real * wanted.real + number.imag * wanted.imag
    return choose(along < 0, lambda: -root, root)


asin: Wrapping = row(
    "asin",
    lambda _v, x: 1 / _on_side_of(lambda: cos(asin(to_plain(x))), sqrt((1 - x) * (1 + x))),
    names={"numpy": "arcsin"},
    numpy=["arcsin"],
    text="asin({0})",
    latex=r"\arcsin {0}",
    reason="from sin v = x follows cos v dv = dx, and cos v = √(1 - x²)",
    domain=FROM_MINUS_1_TO_1,
    kinks=KINKS_AT_ENDS,
    **odd("asin"),
)
acos: Wrapping = row(
    "acos",
    lambda _v, x: -1 / _on_side_of(lambda: sin(acos(to_plain(x))), sqrt((1 - x) * (1 + x))),
    names={"numpy": "arccos"},
    numpy=["arccos"],
    text="acos({0})",
    latex=r"\arccos {0}",
    reason="acos x = π/2 - asin x",
    domain=FROM_MINUS_1_TO_1,
    kinks=KINKS_AT_ENDS,
)
atan = row(
    "atan",
    lambda _v, x: 1 / (1 + x * x),
    names={"numpy": "arctan"},
    numpy=["arctan"],
    text="atan({0})",
    latex=r"\arctan {0}",
    reason="from tan v = x follows (1 + x²) dv = dx",
    **odd("atan"),
)
atan2 = row(
    "atan2",
    lambda _v, y, x: choose((x == 0) & (y == 0), ZERO, lambda: x / hypot(x, y) / hypot(x, y)),
    lambda _v, y, x: choose((x == 0) & (y == 0), ZERO, lambda: -y / hypot(x, y) / hypot(x, y)),
    names={"numpy": "arctan2"},
    numpy=["arctan2"],
    text="atan2({0}, {1})",
    latex=r"\operatorname{{atan2}}({0}, {1})",
    reason="the angle of (x, y) turns by (x dy - y dx)/(x² + y²)",
    kinks=[
        Kink(ORIGIN, lambda y, x: x == 0 and y == 0, "0 in both"),
        Kink("y = 0, x < 0", lambda y, x: y == 0 and x < 0, "as if the angle did not jump", (0,)),
    ],
    real=True,
)
sinh: Wrapping = row(
    "sinh",
    lambda _v, x: cosh(x),
    text="sinh({0})",
    latex=r"\sinh {0}",
    reason="the slope of sinh is cosh",
    **odd("sinh"),
)
cosh: Wrapping = row(
    "cosh",
    lambda _v, x: sinh(x),
    text="cosh({0})",
    latex=r"\cosh {0}",
    reason="the slope of cosh is sinh",
    **even("cosh"),
)


def _sech_squared(x: float) -> float:
    e = math.exp(-2 * abs(x))
    return 4 * e / ((1 + e) * (1 + e))


def _numpy_sech_squared(x: Any) -> Any:
    if is_complex(x):
        return 1 / np.cosh(x) ** 2
    e = np.exp(-2 * np.abs(x))
    return 4 * e / ((1 + e) * (1 + e))


tanh: Wrapping = row(
    "tanh",
    lambda _v, x: sech_squared(x),
    text="tanh({0})",
    latex=r"\tanh {0}",
    reason="tanh = sinh/cosh has the derivative 1 - tanh² = 1/cosh²",
    **odd("tanh"),
)
sech_squared: Wrapping = row(  # a row of its own: in 1 - tanh² digits cancel
    "sech_squared",
    lambda v, x: -2 * tanh(x) * v,
    define=lambda x: 1 / cosh(x) ** 2,
    names={"math": _sech_squared, "numpy": _numpy_sech_squared, "mpmath": "", "sympy": ""},
    numpy=(),
    text="sech²({0})",
    latex=r"\operatorname{{sech}}^2 {0}",
    reason="1/cosh² has the derivative -2 sinh/cosh³",
    **even("sech_squared"),
)


def _cosh_of_asinh(x: Any) -> Any:
    if not is_complex(to_plain(x)):
        return hypot(1, x)
    return _on_side_of(lambda: cosh(asinh(to_plain(x))), sqrt(1 + x * x))


asinh: Wrapping = row(
    "asinh",
    lambda _v, x: 1 / _cosh_of_asinh(x),
    names={"numpy": "arcsinh"},
    numpy=["arcsinh"],
    text="asinh({0})",
    latex=r"\operatorname{{arsinh}} {0}",
    reason="from sinh v = x follows cosh v dv = dx, and cosh v = √(1 + x²)",
    **odd("asinh"),
)
acosh: Wrapping = row(
    "acosh",
    lambda _v, x: 1 / _on_side_of(lambda: sinh(acosh(to_plain(x))), sqrt(x - 1) * sqrt(x + 1)),
    names={"numpy": "arccosh"},
    numpy=["arccosh"],
    text="acosh({0})",
    latex=r"\operatorname{{arcosh}} {0}",
    reason="from cosh v = x follows sinh v dv = dx, and sinh v = √(x² - 1)",
    domain=Domain("x ≥ 1", lambda x: x >= 1),
    kinks=[Kink("x = 1", lambda x: x == 1, "inf, by continuity")],
)
atanh = row(
    "atanh",
    lambda _v, x: 1 / ((1 - x) * (1 + x)),
    names={"numpy": "arctanh"},
    numpy=["arctanh"],
    text="atanh({0})",
    latex=r"\operatorname{{artanh}} {0}",
    reason="from tanh v = x follows (1 - x²) dv = dx",
    domain=Domain("-1 < x < 1", lambda x: -1 < x < 1),
    **odd("atanh"),
)


def _share_of_length(v: Any, x: Any, y: Any) -> Any:
    """Return x / v with v = √(x² + y²), and 0 at the origin."""
    return choose(v == 0, 0, lambda: _divide_by_length(x, choose(v == 0, 1, v), y))


def _make_share() -> Primitive:
    """Make x / v with the derivatives that it has as a function of x and y: y² / v³ and -x y / v³.

    The difference 1/v - x²/v³ is the same in exact arithmetic, and loses all digits if y is small.
    """
    divide = TABLE["div"]
    made = replace(
        divide,
        partials=(
            lambda _q, x, v, y: _divide_by_length(y, v, x) * _divide_by_length(y, v, x) / v,
            ZERO,
            lambda q, x, v, y: -q * _divide_by_length(y, v, x) / v,
        ),
        compute=lambda x, v, _y: divide.compute(x, v),
        by_type=None,
        domain=REALS,
        listed=False,
        squared=None,
        restate=None,
    )
    return register_value(divide, made)


_divide_by_length = wrap(_make_share())


hypot: Wrapping = row(
    "hypot",
    lambda v, x, y: _share_of_length(v, x, y),
    lambda v, x, y: _share_of_length(v, y, x),
    define=lambda x, y: sqrt(x * x + y * y),
    names={"math": lambda x, y: float(np.hypot(x, y))},  # math.hypot rounds differently
    text="hypot({0}, {1})",
    latex=r"\sqrt{{{0}^2 + {1}^2}}",
    reason="from v² = x² + y² follows v dv = x dx + y dy",
    kinks=[Kink(ORIGIN, lambda x, y: x == 0 and y == 0, "0, the subgradient of least norm")],
    real=True,
    squared=(
        lambda v, x, _y: where_finite(v, lambda: 2 * x),
        lambda v, _x, y: where_finite(v, lambda: 2 * y),
    ),
    restate=lambda x, y: carry_root(TABLE["hypot"], x, y),
)
deg2rad = row(
    "deg2rad",
    lambda _v, x: pi(x) / 180,
    define=lambda x: x * (pi(x) / 180),
    names={"math": math.radians, "mpmath": "", "sympy": ""},
    numpy=["deg2rad", "radians"],
    text="deg2rad({0})",
    latex=r"\tfrac{{\pi}}{{180}} {0}",
    reason="a degree is π/180 radians",
    **odd("deg2rad"),
)
rad2deg = row(
    "rad2deg",
    lambda _v, x: 180 / pi(x),
    define=lambda x: x * (180 / pi(x)),
    names={"math": math.degrees, "mpmath": "", "sympy": ""},
    numpy=["rad2deg", "degrees"],
    text="rad2deg({0})",
    latex=r"\tfrac{{180}}{{\pi}} {0}",
    reason="a radian is 180/π degrees",
    **odd("rad2deg"),
)
