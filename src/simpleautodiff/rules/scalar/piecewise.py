"""Rows: piecewise functions, with kinks or jumps between the pieces.

Where the derivative is not unique, the rows choose the subgradient of least norm; equal arguments
of a maximum or minimum share the derivative equally.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.primitive import TABLE, Domain, Kink
from simpleautodiff.rules.branches import choose, either, half, is_nan, sympy_function, where
from simpleautodiff.rules.multiples import carry_root
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.complex_parts import conj, real_valued
from simpleautodiff.values.functions import is_array, is_complex, zero_like

LEAST_SUBGRADIENT = "0, the subgradient of least norm"
TIE = Kink("x = y", lambda x, y: x == y, "1/2 each: ties share equally")
FLAT_AT_STEP = "0, as on either side"


def _sympy_max(*xs: Any) -> Any:
    return sympy_function("Max")(*xs)


def _sympy_min(*xs: Any) -> Any:
    return sympy_function("Min")(*xs)


def _slope_of_size(v: Any, x: Any) -> Any:
    """Return sign(x); for a complex x the gradient of |x|, which is conj(x)/|x|, and 0 at 0."""
    if not is_complex(to_plain(x)):
        return sign(x)
    zero = v == 0
    return real_valued(where(zero, 0.0, conj(x) / where(zero, 1.0, v)))


def _slope_of_squared_size(_v: Any, x: Any) -> Any:
    """Return the gradient of |x|², which is smooth."""
    return real_valued(2 * conj(x)) if is_complex(to_plain(x)) else 2 * x


absolute = row(
    "abs",
    _slope_of_size,
    value=abs,
    numpy=["absolute", "fabs"],
    text="|{0}|",
    latex=r"|{0}|",
    reason="|x| grows with x where x is positive and shrinks where it is negative",
    kinks=[Kink("x = 0", lambda x: x == 0, LEAST_SUBGRADIENT)],
    holomorphic=False,
    squared=(_slope_of_squared_size,),
    restate=lambda x: carry_root(TABLE["abs"], x),
)


def _sign(x: Any) -> Any:
    return zero_like(x) + (1 if x > 0 else -1 if x < 0 else 0) if x == x else x


sign: Wrapping = row(
    "sign",
    ZERO,
    define=_sign,
    text="sign({0})",
    latex=r"\operatorname{{sign}} {0}",
    reason="it is constant on each side of 0",
    kinks=[Kink("x = 0", lambda x: x == 0, FLAT_AT_STEP)],
    real=True,
)
relu = row(
    "relu",
    lambda v, x: choose(x > 0, 1, lambda: choose(x <= 0, ZERO, v)),
    define=lambda x: x if x > 0 or x != x else zero_like(x),
    names={
        "numpy": lambda x: np.maximum(x, zero_like(x)),
        "sympy": lambda x: _sympy_max(x, 0),
    },
    numpy=(),
    text="relu({0})",
    latex=r"\max({0}, 0)",
    reason="relu returns positive numbers unchanged, and 0 for the others",
    kinks=[Kink("x = 0", lambda x: x == 0, LEAST_SUBGRADIENT)],
    real=True,
)


def _share_of_maximum(x: Any, y: Any) -> Any:
    """Return the derivative of the maximum in x: 1, 1/2 or 0."""
    tie_or_nan = lambda: choose(x == y, half(x), lambda: x + y)  # noqa: E731
    return choose(x > y, 1, lambda: choose(x < y, ZERO, tie_or_nan))


def _share_of_minimum(x: Any, y: Any) -> Any:
    """Return the derivative of the minimum in x."""
    return _share_of_maximum(y, x)


def _share_unless_nan(x: Any, y: Any, share: Any) -> Any:
    """Return the derivative in x of a maximum or minimum that ignores nan."""
    return choose(is_nan(y), 1, lambda: choose(is_nan(x), ZERO, lambda: share(x, y)))


def _maximum(x: Any, y: Any) -> Any:
    return x if x > y or x != x else y


def _minimum(x: Any, y: Any) -> Any:
    return x if x < y or x != x else y


maximum = row(
    "maximum",
    lambda _v, x, y: _share_of_maximum(x, y),
    lambda _v, x, y: _share_of_maximum(y, x),
    define=_maximum,
    names={"sympy": _sympy_max},
    text="max({0}, {1})",
    latex=r"\max({0}, {1})",
    reason="the maximum is the larger argument",
    kinks=[TIE],
    real=True,
)
minimum = row(
    "minimum",
    lambda _v, x, y: _share_of_minimum(x, y),
    lambda _v, x, y: _share_of_minimum(y, x),
    define=_minimum,
    names={"sympy": _sympy_min},
    text="min({0}, {1})",
    latex=r"\min({0}, {1})",
    reason="the minimum is the smaller argument",
    kinks=[TIE],
    real=True,
)
fmax = row(
    "fmax",
    lambda _v, x, y: _share_unless_nan(x, y, _share_of_maximum),
    lambda _v, x, y: _share_unless_nan(y, x, _share_of_maximum),
    define=lambda x, y: x if y != y else y if x != x else _maximum(x, y),
    names={"mpmath": "", "sympy": _sympy_max},
    text="fmax({0}, {1})",
    latex=r"\max({0}, {1})",
    reason="the maximum is the larger argument; a nan is ignored",
    kinks=[TIE],
    real=True,
)
fmin = row(
    "fmin",
    lambda _v, x, y: _share_unless_nan(x, y, _share_of_minimum),
    lambda _v, x, y: _share_unless_nan(y, x, _share_of_minimum),
    define=lambda x, y: x if y != y else y if x != x else _minimum(x, y),
    names={"mpmath": "", "sympy": _sympy_min},
    text="fmin({0}, {1})",
    latex=r"\min({0}, {1})",
    reason="the minimum is the smaller argument; a nan is ignored",
    kinks=[TIE],
    real=True,
)


def _share_of_clip(x: Any, low: Any, high: Any) -> Any:
    """Return the derivative of clip(x, low, high) in x."""
    edge = either(x == low, x == high)
    outside = either(x < low, x > high, low > high)
    inside_or_nan = lambda: choose(is_nan(x), x, 1)  # noqa: E731
    return choose(outside, ZERO, lambda: choose(edge, half(x), inside_or_nan))


clip = row(
    "clip",
    lambda _v, x, low, high: _share_of_clip(x, low, high),
    lambda _v, x, low, high: choose(
        low > high, ZERO, lambda: choose(x < low, 1, lambda: choose(x == low, half(x), ZERO))
    ),
    lambda _v, x, low, high: choose(
        either(x > high, low > high), 1, lambda: choose(x == high, half(x), ZERO)
    ),
    define=lambda x, low, high: _minimum(_maximum(x, low), high),
    names={"sympy": lambda x, low, high: _sympy_min(_sympy_max(x, low), high)},
    numpy=(),
    text="clip({0}, {1}, {2})",
    latex=r"\operatorname{{clip}}({0}, {1}, {2})",
    reason="clip is x between the bounds, and the nearer bound outside them",
    domain=Domain("low < high", lambda x, low, high: low < high),
    kinks=[
        Kink("x = low or x = high", lambda x, low, high: x in (low, high), "1/2 each: a tie shares")
    ],
    real=True,
)


def _sign_of(y: Any) -> Any:
    """Return the sign of y as an integer; it is -1 for -0.0, and a nan has one, too."""
    if is_array(to_plain(y)):
        return 1 - 2 * np.signbit(to_plain(y)).astype(to_plain(y).dtype)
    return -1 if y < 0 or (not y > 0 and _has_minus(to_plain(y))) else 1


def _has_minus(number: Any) -> bool:
    """Tell whether a zero or a nan has a minus sign."""
    if isinstance(number, (float, np.floating)):
        return bool(np.signbit(number))
    return str(number).startswith("-")


copysign = row(
    "copysign",
    lambda _v, x, y: sign(x) * _sign_of(y),
    ZERO,
    define=lambda x, y: abs(x) * _sign_of(y),
    names={"mpmath": "", "sympy": ""},
    text="copysign({0}, {1})",
    latex=r"\operatorname{{copysign}}({0}, {1})",
    reason="|x| with the sign of y, which is piecewise constant",
    kinks=[
        Kink("x = 0", lambda x, y: x == 0, LEAST_SUBGRADIENT, (0,)),
        Kink("y = 0", lambda x, y: y == 0, FLAT_AT_STEP, (1,)),
    ],
    real=True,
)


def _stepwise_row(name: str, python: Any, names: dict[str, Any]) -> Any:
    at_step = Kink("x an integer", lambda x: x == math.floor(x), FLAT_AT_STEP)
    if name == "trunc":
        at_step = Kink(
            "x an integer other than 0", lambda x: x != 0 and x == math.floor(x), FLAT_AT_STEP
        )
    if name == "rint":
        at_step = Kink("x half-way between integers", lambda x: (2 * x) % 2 == 1, FLAT_AT_STEP)

    def as_numpy(x: Any) -> Any:
        """Return a float for a float: integers have no -0.0, inf or nan."""
        if type(x) is not float:
            return python(x)
        return math.copysign(python(x), x) if math.isfinite(x) else x

    return row(
        name,
        ZERO,
        define=python,
        names={"math": as_numpy, **names},
        text=f"{name}({{0}})",
        latex=rf"\operatorname{{{{{name}}}}} {{0}}",
        reason=f"{name} is piecewise constant",
        kinks=[at_step],
        real=True,
    )


floor = _stepwise_row("floor", math.floor, {})
ceil = _stepwise_row("ceil", math.ceil, {"sympy": "ceiling"})
trunc = _stepwise_row("trunc", math.trunc, {"mpmath": lambda x: x.context.mpf(int(x)), "sympy": ""})
rint = _stepwise_row("rint", round, {"mpmath": "nint", "sympy": ""})


def _is_half_way(x: Any, digits: int | None) -> Any:
    digits = digits or 0
    return 2 * (x * 10**digits if digits >= 0 else x / 10**-digits) % 2 == 1


def _round(x: Any, digits: int | None) -> Any:
    """Round as Python does, also NumPy's numbers, which a compiled function gets for Python's."""
    if digits is None and not isinstance(x, np.ndarray):
        return round(x)
    if not isinstance(x, np.ndarray | np.generic):
        return round(x, digits)
    rounded = [round(number, digits or 0) for number in x.ravel().tolist()]
    return np.reshape(rounded, x.shape).astype(x.dtype)[()]


round_ = row(
    "round",
    ZERO,
    ZERO,
    value=_round,
    numpy=(),
    settings=(1,),
    text="round({0}, {1})",
    latex=r"\operatorname{{round}}({0}, {1})",
    reason="a rounded number is piecewise constant",
    kinks=[Kink("x half-way between rounded numbers", _is_half_way, FLAT_AT_STEP)],
    real=True,
)
stop_gradient = row(
    "stop_gradient",
    ZERO,
    value=lambda x: x,
    numpy=(),
    text="stop_gradient({0})",
    latex=r"\operatorname{{stop}}({0})",
    reason="it is declared constant: the value is used, the derivative is 0",
)
