"""Rows: exponentials, logarithms, roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.primitive import Domain, Kink
from simpleautodiff.rules.roots import restate_root, restate_square, where_finite
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import lift, zero_like

POSITIVE = Domain("x > 0", lambda x: x > 0)
NOT_NEGATIVE = Domain("x ≥ 0", lambda x: x >= 0)
NOT_ZERO = Domain("x ≠ 0", lambda x: x != 0)


def ln(number: int, x: Any) -> Any:
    """Return log(number) in the number type of `x`, to its full precision."""
    return log(lift(number, to_plain(x)))


exp = row(
    "exp",
    lambda v, _x: v,
    text="exp({0})",
    latex=r"e^{{{0}}}",
    reason="the exponential function is its own derivative",
)
expm1 = row(
    "expm1",
    lambda _v, x: exp(x),
    define=lambda x: exp(x) - 1,
    text="expm1({0})",
    latex=r"(e^{{{0}}} - 1)",
    reason="subtracting 1 does not change the slope of exp",
)
exp2 = row(
    "exp2",
    lambda v, x: v * ln(2, x),
    define=lambda x: lift(2, x) ** x,
    text="exp2({0})",
    latex=r"2^{{{0}}}",
    reason="2^x = exp(x log 2), so the derivative is 2^x log 2",
)
log = row(
    "log",
    lambda _v, x: 1 / x,
    text="log({0})",
    latex=r"\log {0}",
    reason="the slope of log at x is 1/x",
    domain=POSITIVE,
)
log2 = row(
    "log2",
    lambda _v, x: 1 / (x * ln(2, x)),
    define=lambda x: log(x) / ln(2, x),
    text="log2({0})",
    latex=r"\log_2 {0}",
    reason="log2 x = log x / log 2, so the derivative is 1/(x log 2)",
    domain=POSITIVE,
)
log10 = row(
    "log10",
    lambda _v, x: 1 / (x * ln(10, x)),
    define=lambda x: log(x) / ln(10, x),
    text="log10({0})",
    latex=r"\log_{{10}} {0}",
    reason="log10 x = log x / log 10, so the derivative is 1/(x log 10)",
    domain=POSITIVE,
)
log1p = row(
    "log1p",
    lambda _v, x: 1 / (1 + x),
    define=lambda x: log(1 + x),
    text="log1p({0})",
    latex=r"\log(1 + {0})",
    reason="log(1 + x) has the slope of log at 1 + x",
    domain=Domain("x > -1", lambda x: x > -1),
)
sqrt = row(
    "sqrt",
    lambda v, _x: 1 / (2 * v),
    text="sqrt({0})",
    latex=r"\sqrt{{{0}}}",
    reason="from v² = x follows 2 v dv = dx, so the derivative is 1/(2 √x)",
    domain=NOT_NEGATIVE,
    kinks=[Kink("x = 0", lambda x: x == 0, "inf, by continuity")],
    squared=(lambda v, _x: where_finite(v, 1),),
    restate=restate_root,
)
cbrt = row(
    "cbrt",
    lambda v, _x: 1 / (3 * v * v),
    define=lambda x: x ** (lift(1, x) / 3),
    names={"mpmath": lambda x: _mpmath_cbrt(x)},
    text="cbrt({0})",
    latex=r"\sqrt[3]{{{0}}}",
    reason="from v³ = x follows 3 v² dv = dx",
    kinks=[Kink("x = 0", lambda x: x == 0, "inf, by continuity")],
)
square = row(
    "square",
    lambda _v, x: 2 * x,
    value=lambda x: x * x,
    text="square({0})",
    latex=r"{0}^2",
    reason="the derivative of x² is 2x",
    restate=restate_square,
)
reciprocal = row(
    "reciprocal",
    lambda v, _x: -v * v,
    value=lambda x: 1 / x,
    text="reciprocal({0})",
    latex=r"{0}^{{-1}}",
    reason="from v x = 1 follows dv x + v dx = 0, so the derivative is -v²",
    domain=NOT_ZERO,
)


def _mpmath_cbrt(x: Any) -> Any:
    """Return the real cube root of a real number; mpmath's own is the principal, complex one."""
    real = not hasattr(x, "_mpc_")
    return -x.context.cbrt(-x) if real and x < 0 else x.context.cbrt(x)


def _logaddexp(a: float, b: float) -> float:
    if a == b or math.isnan(a) or math.isnan(b):
        return a + b if a != b else a + math.log(2)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _logaddexp2(a: float, b: float) -> float:
    return float(np.logaddexp2(float(a), float(b)))


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


logaddexp = row(
    "logaddexp",
    lambda _v, a, b: sigmoid(a - b),
    lambda _v, a, b: sigmoid(b - a),
    define=lambda a, b: log(exp(a) + exp(b)),
    names={"math": _logaddexp},
    text="logaddexp({0}, {1})",
    latex=r"\log(e^{{{0}}} + e^{{{1}}})",
    reason="the derivative is the share of a term in the sum: that of a is 1/(1 + exp(b - a))",
)
logaddexp2 = row(
    "logaddexp2",
    lambda _v, a, b: sigmoid((a - b) * ln(2, a)),
    lambda _v, a, b: sigmoid((b - a) * ln(2, a)),
    define=lambda a, b: log2(exp2(a) + exp2(b)),
    names={"math": _logaddexp2},
    text="logaddexp2({0}, {1})",
    latex=r"\log_2(2^{{{0}}} + 2^{{{1}}})",
    reason="the derivative is the share of a term in the sum: that of a is 1/(1 + 2^(b - a))",
)
sigmoid: Wrapping = row(
    "sigmoid",
    lambda v, x: v * sigmoid(-x),
    define=lambda x: 1 / (1 + exp(-x)),
    names={"math": _sigmoid, "numpy": lambda x: _numpy_sigmoid(x), "sympy": ""},
    numpy=(),
    text="sigmoid({0})",
    latex=r"\sigma({0})",
    reason="σ(x) = 1/(1 + exp(-x)) has the derivative σ(x) (1 - σ(x)) = σ(x) σ(-x)",
)
softplus = row(
    "softplus",
    lambda _v, x: sigmoid(x),
    define=lambda x: log(1 + exp(x)),
    names={"math": _softplus, "numpy": lambda x: np.logaddexp(x, zero_like(x))},
    numpy=(),
    text="softplus({0})",
    latex=r"\mathrm{{softplus}}({0})",
    reason="log(1 + exp(x)) has the derivative σ(x)",
)


def _numpy_sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))[()]
