"""Functions of mpmath's intervals: those that `mpmath.iv` does not have itself.

Its exp, log, sqrt, sin, cos, tan, atan2 and gamma are enclosures. So is what is composed of them,
and a monotone function evaluated at the ends. The error function and polygamma are mpmath's own,
computed with 20 extra bits, of which the last ten are not trusted. Functions that `mpmath.iv`
evaluates by its code for numbers do not enclose, and are not used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from simpleautodiff.errors import DomainError
from simpleautodiff.values.functions import register_number

mpmath: Any = importlib.import_module("mpmath")
Function = Callable[..., Any]
_GUARD_BITS, _MARGIN_BITS = 20, 10


def _interval(x: Any) -> Any:
    return mpmath.iv.convert(x)


def _to_number(end: Any) -> Any:
    """Convert an end of an interval, which mpmath gives as an interval, to a number."""
    return mpmath.mp.make_mpf(end._mpi_[0])


def _enclose(lo: Any, hi: Any) -> Any:
    """Return the interval from the lower end of one to the upper end of another."""
    return mpmath.iv.mpf([lo.a, hi.b])


def _increasing(
    at_end: Function, least: float | None = None, most: float | None = None
) -> Function:
    """Return an increasing function from its enclosures at the ends, within a domain."""

    def enclose(x: Any) -> Any:
        x = _interval(x)
        if (least is not None and x.a < least) or (most is not None and x.b > most):
            raise DomainError(f"{x} is not inside of the domain from {least} to {most}")
        return _enclose(at_end(x.a), at_end(x.b))

    return enclose


def _decreasing(
    at_end: Function, least: float | None = None, most: float | None = None
) -> Function:
    mirrored = _increasing(lambda x: -at_end(x), least, most)
    return lambda x: -mirrored(x)


def _odd(at_end: Function) -> Function:
    """Return an increasing odd function from its enclosures at positive ends."""
    return _increasing(lambda x: -at_end(-x) if x.b < 0 else at_end(x))


def _with_guard_bits(f: Function) -> Function:
    """Turn a function of numbers into an enclosure at an end, by computing with extra bits."""

    def at_end(x: Any) -> Any:
        bits = mpmath.iv.prec + _GUARD_BITS
        with mpmath.workprec(bits):
            value = f(_to_number(x))
            room = mpmath.ldexp(abs(value), _MARGIN_BITS - bits)
            return mpmath.iv.mpf([value - room, value + room])

    return at_end


def _sinh(x: Any) -> Any:
    return (mpmath.iv.exp(x) - mpmath.iv.exp(-x)) / 2


def _cosh(x: Any) -> Any:
    x = abs(_interval(x))
    half_sum = lambda x: (mpmath.iv.exp(x) + mpmath.iv.exp(-x)) / 2  # noqa: E731
    return _increasing(half_sum)(x)


def _asin(x: Any) -> Any:
    return mpmath.iv.atan2(x, mpmath.iv.sqrt(1 - x * x))


def _acos(x: Any) -> Any:
    return mpmath.iv.atan2(mpmath.iv.sqrt(1 - x * x), x)


def _atanh(x: Any) -> Any:
    return mpmath.iv.log((1 + x) / (1 - x)) / 2


def _polygamma(n: Any, x: Any) -> Any:
    """Enclose a derivative of digamma on positive numbers: of odd order it decreases."""
    order = int(n.a if hasattr(n, "a") else n)
    if not _interval(x).a > 0:
        raise DomainError(f"polygamma of intervals is that of positive numbers; got {x}")
    monotone = _decreasing if order % 2 else _increasing
    return monotone(_with_guard_bits(lambda x: mpmath.polygamma(order, x)))(x)


def _lgamma(x: Any) -> Any:
    if not _interval(x).a > 0:
        raise DomainError(f"lgamma of intervals is that of positive numbers; got {x}")
    return mpmath.iv.loggamma(x)


def _stepwise(f: Function) -> Function:
    """Return a function that is constant between integers, where the ends agree."""

    def enclose(x: Any) -> Any:
        x = _interval(x)
        ends = {int(f(_to_number(end))) for end in (x.a, x.b)}
        if len(ends) > 1:
            raise DomainError(f"{x} contains a step; make the box smaller")
        return mpmath.iv.mpf(ends.pop())

    return enclose


def _sign(x: Any) -> Any:
    x = _interval(x)
    if x.a > 0 or x.b < 0 or x.a == x.b == 0:
        return mpmath.iv.mpf(1 if x.a > 0 else -1 if x.b < 0 else 0)
    raise DomainError(f"the sign of {x} is not decided. Make the box smaller")


def _maximum(x: Any, y: Any) -> Any:
    x, y = _interval(x), _interval(y)
    return _enclose(x if x.a >= y.a else y, x if x.b >= y.b else y)


def _minimum(x: Any, y: Any) -> Any:
    return -_maximum(-_interval(x), -_interval(y))


def _sinc_derivative(n: Any, x: Any) -> Any:
    """Enclose the n-th derivative of sin(πx)/(πx): its slope is at most πⁿ⁺¹/(n + 2).

    For it is the integral of (πu)ⁿ cos(πxu + nπ/2) over u from 0 to 1.
    """
    x, order = _interval(x), int(n.a if hasattr(n, "a") else n)
    middle, bits = x.mid, mpmath.iv.prec + _GUARD_BITS
    with mpmath.workprec(bits):
        value = mpmath.diff(mpmath.sincpi, _to_number(middle), order)
        room = mpmath.ldexp(1, _MARGIN_BITS - bits) * mpmath.pi**order
        enclosed = mpmath.iv.mpf([value - room, value + room])
    return enclosed + mpmath.iv.pi ** (order + 1) / (order + 2) * (x - middle)


INTERVAL_FUNCTIONS: dict[str, Function] = {
    "exp": lambda x: mpmath.iv.exp(x),
    "log": lambda x: _log(x),
    "sqrt": lambda x: mpmath.iv.sqrt(_check_not_negative(x)),
    "expm1": _increasing(lambda x: mpmath.iv.exp(x) - 1),
    "log1p": lambda x: _log(1 + _interval(x)),
    "log2": lambda x: _log2(x),
    "log10": lambda x: _log(x) / mpmath.iv.log(10),
    "cbrt": _odd(lambda x: mpmath.iv.exp(mpmath.iv.log(x) / 3) if x != 0 else x),
    "sin": lambda x: mpmath.iv.sin(x),
    "cos": lambda x: mpmath.iv.cos(x),
    "tan": lambda x: mpmath.iv.tan(x),
    "asin": _increasing(_asin, -1, 1),
    "acos": _decreasing(_acos, -1, 1),
    "atan": lambda x: mpmath.iv.atan2(_interval(x), 1),
    "atan2": lambda y, x: mpmath.iv.atan2(_interval(y), _interval(x)),
    "sinh": _increasing(_sinh),
    "cosh": _cosh,
    "tanh": _increasing(lambda x: 1 - 2 / (mpmath.iv.exp(2 * x) + 1)),
    "asinh": _odd(lambda x: mpmath.iv.log(x + mpmath.iv.sqrt(x * x + 1))),
    "acosh": _increasing(lambda x: mpmath.iv.log(x + mpmath.iv.sqrt(x * x - 1)), 1),
    "atanh": _increasing(_atanh, -1, 1),
    "hypot": lambda x, y: mpmath.iv.sqrt(_interval(x) ** 2 + _interval(y) ** 2),
    "square": lambda x: x**2,
    "gamma": lambda x: mpmath.iv.gamma(x),
    "lgamma": _lgamma,
    "digamma": lambda x: _polygamma(0, x),
    "polygamma": _polygamma,
    "erf": _increasing(_with_guard_bits(mpmath.erf)),
    "erfc": _decreasing(_with_guard_bits(mpmath.erfc)),
    "sinc": lambda x: _sinc_derivative(0, x),
    "sinc_derivative": _sinc_derivative,
    "floor": _stepwise(mpmath.floor),
    "ceil": _stepwise(mpmath.ceil),
    "trunc": _stepwise(int),
    "rint": _stepwise(mpmath.nint),
    "sign": _sign,
    "relu": lambda x: _maximum(x, 0),
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _maximum,
    "fmin": _minimum,
    "clip": lambda x, low, high: _minimum(_maximum(x, low), high),
    "copysign": lambda x, y: abs(_interval(x)) * _sign(y),
    "deg2rad": lambda x: _interval(x) * (mpmath.iv.pi / 180),
    "rad2deg": lambda x: _interval(x) * (180 / mpmath.iv.pi),
    # composed
    "logaddexp": lambda x, y: _log(mpmath.iv.exp(x) + mpmath.iv.exp(y)),
    "logaddexp2": lambda x, y: _log2(mpmath.iv.mpf(2) ** x + mpmath.iv.mpf(2) ** y),
    "logit": lambda x: _log(x) - _log(1 - _interval(x)),
    "xlogy": lambda x, y: _interval(x) * _log(y),
    "xlog1py": lambda x, y: _interval(x) * _log(1 + _interval(y)),
    "entr": lambda x: -_interval(x) * _log(x),
    "rel_entr": lambda x, y: _interval(x) * _log(_interval(x) / y),
    "kl_div": lambda x, y: _interval(x) * _log(_interval(x) / y) - x + y,
    "cosm1": lambda x: -2 * mpmath.iv.sin(_interval(x) / 2) ** 2,
    "rgamma": lambda x: mpmath.iv.rgamma(x),
    "betaln": lambda a, b: _betaln(a, b),
    "beta": lambda a, b: mpmath.iv.exp(_betaln(a, b)),
    "polygamma_step": lambda n, x, h: _polygamma(n, _interval(x) + h) - _polygamma(n, x),
    "sindg": lambda x: mpmath.iv.sin(_interval(x) * (mpmath.iv.pi / 180)),
    "cosdg": lambda x: mpmath.iv.cos(_interval(x) * (mpmath.iv.pi / 180)),
    "tandg": lambda x: mpmath.iv.tan(_interval(x) * (mpmath.iv.pi / 180)),
    "erfinv": _increasing(_with_guard_bits(mpmath.erfinv), -1, 1),
    "ndtri": _increasing(
        _with_guard_bits(lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)), 0, 1
    ),
    "expi": _increasing(_with_guard_bits(mpmath.ei), 0),
    "exp1": _decreasing(_with_guard_bits(mpmath.e1), 0),
}


def _log(x: Any) -> Any:
    return mpmath.iv.log(_check_not_negative(x))


def _log2(x: Any) -> Any:
    return _log(x) / mpmath.iv.log(2)


def _betaln(a: Any, b: Any) -> Any:
    return _lgamma(a) + _lgamma(b) - _lgamma(_interval(a) + b)


def _check_not_negative(x: Any) -> Any:
    """Return an interval, refusing negative numbers, whose root or logarithm is not real."""
    x = _interval(x)
    if x.a < 0:
        raise DomainError(f"{x} is not inside of the domain from 0 to inf")
    return x


register_number(importlib.import_module("mpmath.ctx_iv").ivmpf, INTERVAL_FUNCTIONS)
