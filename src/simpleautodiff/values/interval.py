"""Intervals of floats: the result of an operation contains every result for numbers in them.

Ends are rounded outwards: by one float after arithmetic, which is exact to half a unit in the last
place, and by four after the functions of `math`, whose errors are below two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simpleautodiff.errors import ArgumentError, DomainError
from simpleautodiff.values.functions import optional, register_number

_INF = math.inf


class Interval:
    """All numbers from `lo` to `hi`.

    Comparisons answer if all numbers give the same answer, and raise otherwise.

    Examples
    --------
    >>> x = Interval(1, 2)
    >>> x - 1 > -0.5, 2 in x * x, (x - x).lo <= -1
    (True, True, True)
    >>> x > 1.5
    Traceback (most recent call last):
    simpleautodiff.errors.DomainError: whether Interval(1.0, 2.0) > 1.5 is not decided ...
    """

    __slots__ = ("hi", "lo")
    __add__: Any  # the arithmetic is given below
    __sub__: Any
    __mul__: Any

    def __init__(self, lo: float, hi: float | None = None) -> None:
        self.lo, self.hi = float(lo), float(lo if hi is None else hi)
        if not self.lo <= self.hi:
            raise ArgumentError(f"an interval goes from a number to a larger one; got {lo}, {hi}")

    @property
    def mid(self) -> float:
        """A number in the middle."""
        return self.lo / 2 + self.hi / 2

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.hi - self.lo

    @property
    def sign(self) -> int | None:
        """The common sign of all its numbers: 1, -1 or 0; None if they differ."""
        if self.lo > 0 or self.hi < 0:
            return 1 if self.lo > 0 else -1
        return 0 if self.lo == self.hi == 0 else None

    def __contains__(self, x: Any) -> bool:
        return bool(self.lo <= x <= self.hi)

    def __repr__(self) -> str:
        return f"Interval({self.lo!r}, {self.hi!r})"

    def __hash__(self) -> int:
        return hash((self.lo, self.hi))

    def conjugate(self) -> Interval:
        """Return itself: its numbers are real."""
        return self

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: Interval) -> Interval:
        """Return the intersection, which the caller knows not to be empty."""
        return Interval(max(self.lo, other.lo), min(self.hi, other.hi))

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __pos__(self) -> Interval:
        return self

    def __abs__(self) -> Interval:
        if self.lo >= 0:
            return self
        return Interval(0.0, max(-self.lo, self.hi)) if self.hi > 0 else -self

    def __pow__(self, n: Any) -> Any:
        if isinstance(n, Interval) and n.lo == n.hi:
            n = n.lo
        if not isinstance(n, (int, float, Interval)):
            return NotImplemented
        if isinstance(n, Interval) or n != int(n):
            return _increasing(math.exp)(n * _increasing(math.log, 0.0)(self))
        if n < 0:
            return 1 / self ** int(-n)
        base = abs(self) if n % 2 == 0 else self
        return _increasing(lambda x: _power(x, int(n)))(base) if n else Interval(1.0)

    def __rpow__(self, base: Any) -> Any:
        return Interval(base) ** self if isinstance(base, (int, float)) else NotImplemented


def _power(x: float, n: int) -> float:
    try:
        return x**n
    except OverflowError:
        return math.copysign(_INF, x) if n % 2 else _INF


def _outwards(lo: float, hi: float, steps: int = 1) -> Interval:
    if math.isnan(lo) or math.isnan(hi):
        return Interval(-_INF, _INF)
    for _ in range(steps):
        lo, hi = math.nextafter(lo, -_INF), math.nextafter(hi, _INF)
    return Interval(lo, hi)


def _add(x: Interval, y: Interval) -> Interval:
    return _outwards(x.lo + y.lo, x.hi + y.hi)


def _multiply(x: Interval, y: Interval) -> Interval:
    ends = [a * b if a and b else 0.0 for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return _outwards(min(ends), max(ends))


def _divide(x: Interval, y: Interval) -> Interval:
    if 0 in y:
        raise DomainError(f"{x} is divided by {y}, which contains 0; make the box smaller")
    return _multiply(x, _outwards(1 / y.hi, 1 / y.lo))


def _operate(operation: Callable[[Interval, Interval], Interval], reflected: bool) -> Any:
    def method(self: Interval, other: Any) -> Any:
        if not isinstance(other, (int, float, Interval)):
            return NotImplemented
        other = other if isinstance(other, Interval) else Interval(other)
        return operation(other, self) if reflected else operation(self, other)

    return method


for _name, _operation in {
    "add": _add,
    "sub": lambda x, y: _add(x, -y),
    "mul": _multiply,
    "truediv": _divide,
}.items():
    setattr(Interval, f"__{_name}__", _operate(_operation, False))
    setattr(Interval, f"__r{_name}__", _operate(_operation, True))


def _compare(sign: str, surely: Callable[[Interval, Interval], bool], never: Any) -> Any:
    """Make a comparison that answers only if the answer is the same for all numbers."""

    def method(self: Interval, other: Any) -> Any:
        if not isinstance(other, (int, float, Interval)):
            return NotImplemented
        numbers = other if isinstance(other, Interval) else Interval(other)
        if surely(self, numbers):
            return True
        if never(self, numbers):
            return False
        raise DomainError(
            f"whether {self} {sign} {other} is not decided: it is for some numbers and not for "
            "others. Make the box smaller"
        )

    return method


def _is_apart(x: Interval, y: Interval) -> bool:
    return x.hi < y.lo or y.hi < x.lo


def _is_same(x: Interval, y: Interval) -> bool:
    return x.lo == x.hi == y.lo == y.hi


for _sign, _dunder, _surely, _never in (
    ("<", "__lt__", lambda x, y: x.hi < y.lo, lambda x, y: x.lo >= y.hi),
    ("<=", "__le__", lambda x, y: x.hi <= y.lo, lambda x, y: x.lo > y.hi),
    (">", "__gt__", lambda x, y: x.lo > y.hi, lambda x, y: x.hi <= y.lo),
    (">=", "__ge__", lambda x, y: x.lo >= y.hi, lambda x, y: x.hi < y.lo),
    ("==", "__eq__", _is_same, _is_apart),
    ("!=", "__ne__", _is_apart, _is_same),
):
    setattr(Interval, _dunder, _compare(_sign, _surely, _never))


# Elementary functions. ----------------------------------------------------------------------------


def _increasing(f: Callable[[float], float], least: float = -_INF, most: float = _INF) -> Any:
    """Return an increasing function of floats, between two numbers, as one of intervals."""

    def enclose(x: Interval) -> Interval:
        if not (least <= x.lo and x.hi <= most):
            raise DomainError(f"{x} is not inside of the domain from {least} to {most}")
        return _outwards(_value_at(f, x.lo), _value_at(f, x.hi), 4)

    return enclose


def _value_at(f: Callable[[float], float], x: float) -> float:
    try:
        return f(x)
    except OverflowError:
        return _INF if x > 0 else -_INF
    except ValueError:  # an end of the domain: log(0), atanh(±1), log1p(-1)
        return -_INF if x <= 0 else _INF


def _decreasing(f: Callable[[float], float], least: float = -_INF, most: float = _INF) -> Any:
    mirrored = _increasing(lambda x: -f(x), least, most)
    return lambda x: -mirrored(x)


def _cosh(x: Interval) -> Interval:
    enclosed: Interval = _increasing(math.cosh)(abs(x))
    return enclosed.meet(Interval(1.0, _INF))


def _wave(f: Callable[[float], float], top: float) -> Callable[[Interval], Interval]:
    """Return sin or cos of intervals; the maxima are at `top` + 2πk, the minima half way."""

    def enclose(x: Interval) -> Interval:
        if not x.width < 6.28 or max(-x.lo, x.hi) > 1e6:
            return Interval(-1.0, 1.0)
        ends = _outwards(min(f(x.lo), f(x.hi)), max(f(x.lo), f(x.hi)), 4)
        lo = -1.0 if _meets(x, top + math.pi) else max(ends.lo, -1.0)
        hi = 1.0 if _meets(x, top) else min(ends.hi, 1.0)
        return Interval(lo, hi)

    return enclose


def _meets(x: Interval, start: float, period: float = 2 * math.pi) -> bool:
    """Tell whether x may contain a number of the form start + k period."""
    room = 1e-9
    return math.floor((x.hi + room - start) / period) >= math.ceil((x.lo - room - start) / period)


def _tan(x: Interval) -> Interval:
    if not x.width < 3.14 or _meets(x, math.pi / 2, math.pi):
        raise DomainError(f"tan has a pole in {x}")
    return _outwards(math.tan(x.lo), math.tan(x.hi), 4)


def _hypot(x: Any, y: Any) -> Any:
    return _increasing(math.sqrt, 0.0)(_at_least_0(x * x if x is y else x**2 + y**2))


def _largest(x: Any, y: Any) -> Interval:
    x, y = (z if isinstance(z, Interval) else Interval(z) for z in (x, y))
    return Interval(max(x.lo, y.lo), max(x.hi, y.hi))


def _at_least_0(x: Interval) -> Interval:
    return x.meet(Interval(0.0, _INF)) if x.lo < 0 <= x.hi else x


def _by_mpmath(name: str) -> Callable[..., Interval]:
    """Return a function of intervals that mpmath computes."""

    def enclose(*xs: Any) -> Interval:
        mpmath = optional("mpmath", f"{name} of an interval")
        from simpleautodiff.values.mpmath_intervals import INTERVAL_FUNCTIONS

        given = [mpmath.iv.mpf([x.lo, x.hi]) if isinstance(x, Interval) else x for x in xs]
        found = INTERVAL_FUNCTIONS[name](*given)
        return _outwards(float(found.a), float(found.b))

    return enclose


_BY_MPMATH = (
    *("atan2", "beta", "betaln", "ceil", "clip", "copysign", "cosdg"),
    *("cosm1", "deg2rad", "digamma", "entr", "erfinv", "exp1", "expi", "floor", "fmax", "fmin"),
    *("gamma", "kl_div", "lgamma", "logaddexp", "logaddexp2", "logit", "ndtri", "polygamma"),
    *("polygamma_step", "rad2deg", "rel_entr", "rgamma", "rint", "sinc"),
    *("sinc_derivative", "sindg", "tandg", "trunc", "xlog1py", "xlogy"),
)
register_number(
    Interval,
    {
        **{name: _by_mpmath(name) for name in _BY_MPMATH},
        "exp": _increasing(math.exp),
        "exp2": _increasing(math.exp2),
        "expm1": _increasing(math.expm1),
        "log": _increasing(math.log, 0.0),
        "log2": _increasing(math.log2, 0.0),
        "log10": _increasing(math.log10, 0.0),
        "log1p": _increasing(math.log1p, -1.0),
        "sqrt": _increasing(math.sqrt, 0.0),
        "cbrt": _increasing(math.cbrt),
        "sin": _wave(math.sin, math.pi / 2),
        "cos": _wave(math.cos, 0.0),
        "tan": _tan,
        "asin": _increasing(math.asin, -1.0, 1.0),
        "acos": _decreasing(math.acos, -1.0, 1.0),
        "atan": _increasing(math.atan),
        "sinh": _increasing(math.sinh),
        "cosh": _cosh,
        "tanh": _increasing(math.tanh),
        "sech_squared": lambda x: 1 / _cosh(x) ** 2,
        "asinh": _increasing(math.asinh),
        "acosh": _increasing(math.acosh, 1.0),
        "atanh": _increasing(math.atanh, -1.0, 1.0),
        "hypot": _hypot,
        "square": lambda x: x**2,
        "abs": abs,
        "erf": _increasing(math.erf),
        "erfc": _decreasing(math.erfc),
        "sigmoid": lambda x: 1 / (1 + _increasing(math.exp)(-x)),
        "softplus": lambda x: _increasing(math.log, 0.0)(1 + _increasing(math.exp)(x)),
        "sign": lambda x: Interval(1.0 if x > 0 else -1.0 if x < 0 else 0.0),
        "maximum": _largest,
        "minimum": lambda x, y: -_largest(-x, -y),
    },
)
