"""Limits of derivatives, in exact series: the level below that of a derivative, and its numbers.

`repeated_values` says where they are needed. A `LimitLevel` computes with series in ε: jets, and
what was divided by a power of ε (`Pole`). Where the derivative leaves, `take_limit` takes the
coefficient of ε⁰.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import Level, Traced, to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Args, Primitive, find_values_read
from simpleautodiff.errors import cite_line, warn_domain
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row

SERIES_ORDER = 6  # terms of each series; a derivative uses up one, or two of svd
LOSS = 1e4  # a pole counts as cancelled below this many roundings


@final
class LimitLevel(JetLevel):
    """A level of series in ε, just below the level of the derivative that needs it."""

    def __init__(self, number: float, owner: Level) -> None:
        super().__init__(SERIES_ORDER)
        self.number = self.lazy.number = number
        self.open = self.lazy.open = True
        self.owner = owner
        self.rounding = 0.0  # that of the matrices
        self.largest = 0.0  # of the numbers that were computed from them

    def run(self, primitive: Primitive, args: Args) -> Any:
        """Run a primitive on series."""
        found = self._run(primitive, args)
        self.largest = max(self.largest, _find_size(to_plain(found)))
        return found

    def _run(self, primitive: Primitive, args: Args) -> Any:
        own = [isinstance(arg, Traced) and arg.level is self for arg in args]
        if own[-1] and isinstance(args[-1], MovingMatrix):
            return args[-1] if primitive is MOVE else args[-1].decompose(primitive)
        if primitive is DIVIDE and own[1] and not is_moving(args[1].value):
            return self._divide(*args)
        poles = [i for i, arg in enumerate(args) if own[i] and isinstance(arg, Pole)]
        if poles:
            return self._run_on_poles(primitive, list(args), poles)
        return super().run(primitive, args)

    def _run_on_poles(self, primitive: Primitive, args: list[Any], poles: list[int]) -> Any:
        """Run a primitive that is linear in the arguments with poles; others must have none."""
        numbers = {i for i in range(len(args)) if i not in primitive.settings}
        reads = [_find_values_read(primitive, i) for i in poles]
        factors = numbers.intersection(*[set().union(*reads)])
        summands = numbers - factors
        linear = all(i not in read and -1 not in read for i, read in zip(poles, reads, strict=True))
        if linear and summands.issuperset(poles):
            order = max(args[i].order for i in poles)
            size = max(_find_bound(args[i]) for i in summands)
            for i in summands:
                args[i] = _multiply_by_power(args[i], order, self)
        elif linear and not summands - set(poles):
            order = sum(args[i].order for i in poles)
            size = math.prod(_find_bound(args[i]) for i in poles)
            factors -= set(poles)
            for i in poles:
                args[i] = args[i].jet
        else:
            regular = [x.as_jet() if i in poles else x for i, x in enumerate(args)]
            return super().run(primitive, tuple(regular))
        size *= math.prod(_find_bound(args[i]) for i in factors)
        return _reduce(super().run(primitive, tuple(args)), order, size)

    def _divide(self, x: Any, gap: Any, repeated: Any) -> Any:
        """Divide by differences of values; those of repeated values are multiples of ε.

        Differences are linear in ε, so no term of theirs is lost.
        """
        pole = isinstance(x, Pole) and x.level is self
        jet, order = (x.jet, x.order) if pole else (x, 0)
        slope = where(repeated, gap.nth(1), 1.0)
        apart = jet / where(repeated, 1.0, gap)
        both = where(repeated, jet / slope, _multiply_by_power(apart, 1, self))
        smallest = np.min(np.abs(np.where(repeated, to_plain(slope), np.inf)), initial=np.inf)
        return Pole(_multiply_by_power(both, 0, self), order + 1, _find_bound(x) / smallest)


@final
class Pole(Traced):
    """A series divided by ε to the power `order`.

    `size` bounds the terms that were added up in it: it is exact to the rounding of that.
    """

    __slots__ = ("jet", "order", "size")
    level: LimitLevel

    def __init__(self, jet: Any, order: int, size: float) -> None:
        self.jet, self.order, self.level = jet, order, jet.level
        self.size = max(size, _find_bound(jet))
        self.value = _take_term(jet, order)

    def infinite(self) -> Any:
        """Tell which elements have a term with a negative power of ε that is not 0."""
        rounding = LOSS * self.level.rounding * self.size
        if self.order > SERIES_ORDER:
            return np.ones(np.shape(to_plain(self)), bool)
        terms = [to_plain(_take_term(self.jet, k)) for k in range(self.order)]
        return np.any([~(np.abs(term) <= rounding) for term in terms], axis=0)

    def as_jet(self) -> Jet:
        """Return the series without its infinite terms; its last terms are not known."""
        terms = [
            _multiply(math.factorial(k - self.order) / math.factorial(k), self.jet.nth(k))
            for k in range(self.order, SERIES_ORDER + 1)
        ]
        unknown = [np.nan * self.jet.value] * (SERIES_ORDER + 1 - len(terms))
        first, *rest = [*terms, *unknown]
        return Jet(where(self.infinite(), np.nan, first), rest, self.level)


def _reduce(jet: Jet, order: int, size: float) -> Pole:
    """Return a pole of the lowest order: a part of one may have no infinite terms itself."""
    while order and not np.any(to_plain(jet.value)):
        terms = [_multiply(1 / (k + 1), jet.nth(k + 1)) for k in range(SERIES_ORDER)]
        first = 0 * jet.value if terms[0] is ZERO else terms[0]
        jet, order = Jet(first, [*terms[1:], np.nan * first], jet.level), order - 1
    return Pole(jet, order, size)


def _take_term(jet: Any, k: int) -> Any:
    """Return the coefficient of εᵏ."""
    if k > SERIES_ORDER:
        return np.nan * jet.value
    derivative = jet.nth(k)
    return 0 * jet.value if derivative is ZERO else derivative * (1 / math.factorial(k))


def _multiply(number: float, derivative: Any) -> Any:
    return ZERO if derivative is ZERO else number * derivative


def _multiply_by_power(x: Any, order: int, level: LimitLevel) -> Jet:
    """Return x times εᵒʳᵈᵉʳ; the power that already divides a pole is subtracted."""
    if isinstance(x, Pole) and x.level is level:
        x, order = x.jet, order - x.order
    own = isinstance(x, Jet) and x.level is level
    jet: Jet = x if own else Jet(x, [ZERO] * SERIES_ORDER, level)
    if not order:
        return jet
    powers = range(order, SERIES_ORDER + 1)
    terms = [_multiply(float(math.perm(k, order)), jet.nth(k - order)) for k in powers]
    zero = 0 * np.where(np.isfinite(to_plain(x)), to_plain(x), 0)
    return Jet(zero, [ZERO] * (order - 1) + terms, level)


def _find_bound(x: Any) -> float:
    """Return the largest term of a series, or the largest element of a constant."""
    if isinstance(x, Pole):
        return x.size
    terms = [x.value, *x.higher] if isinstance(x, Jet) else [x]
    return max(_find_size(to_plain(term)) for term in terms if term is not ZERO)


def _find_size(x: Any) -> float:
    """Return the largest absolute value of the finite numbers of an array."""
    sizes = np.abs(x)
    return float(np.max(np.where(np.isfinite(sizes), sizes, 0.0), initial=0.0))


def _find_values_read(primitive: Primitive, i: int) -> frozenset[int]:
    """Return the values that the derivative in an argument depends on."""
    if primitive.partials[i] is ZERO:
        return frozenset((-1,))  # a step function: its argument must have no pole
    if primitive.name == "einsum":
        return frozenset(range(1, primitive.arity)) - {i}
    return find_values_read(primitive, (i,))


# The two rows of this level. ----------------------------------------------------------------------


Factors = dict[str, list[Any]]  # by row: its value for A(ε) and derivatives in ε


class MovingMatrix(Traced):
    """A matrix A(ε); `value` is A(0), with repeated values."""

    __slots__ = ("factors",)

    def __init__(self, a: Any, factors: Factors, level: LimitLevel) -> None:
        self.value, self.level = a, level
        level.rounding = max(level.rounding, float(np.finfo(a.dtype).eps))
        self.factors = factors

    def decompose(self, primitive: Primitive) -> Any:
        """Return the result of a decomposition row for A(ε)."""
        value, *higher = self.factors[primitive.name]
        return Jet(value, higher, self.level)


move: Wrapping = row(
    "move",
    1,
    ZERO,
    value=lambda a, moving: moving,
    numpy=(),
    text="{0}",
    latex="{0}",
    arrays=True,
    reason="the same matrix, as one that moves",
    listed=False,
)


MOVE: Primitive = move.primitive  # type: ignore[attr-defined]


divide: Wrapping = row(
    "divide_by_differences",
    lambda _v, _x, gap, repeated: Linear(
        lambda dot: divide(dot, gap, repeated), lambda bar: divide(bar, gap, repeated)
    ),
    lambda v, _x, gap, repeated: Linear(
        lambda dot: -divide(v * dot, gap, repeated), lambda bar: -divide(v * bar, gap, repeated)
    ),
    ZERO,
    value=lambda x, gap, repeated: x / gap,
    numpy=(),
    settings=(2,),
    text="{0} / {1}",
    latex=r"{0} / {1}",
    reason="a quotient, whose divisor may be 0 in the limit",
    listed=False,
)
DIVIDE: Primitive = divide.primitive  # type: ignore[attr-defined]


def is_moving(x: Any) -> bool:
    """Tell whether the innermost value of a number is a series."""
    while isinstance(x, Traced):
        if isinstance(x.level, LimitLevel):
            return True
        x = getattr(x, "value", None)  # a symbol has no value
    return False


# Limits. ------------------------------------------------------------------------------------------


def warn_arbitrary() -> None:
    """Warn that a derivative does not exist, because the basis is arbitrary."""
    warn_domain(
        "the derivative becomes nan: eigenvalues or singular values are repeated (or 0), and the "
        "function depends on which of their vectors are taken. What does not depend on them, such "
        "as (V * f(w)) @ V.T, has the first few derivatives, of one matrix or a stack (not in "
        "graphs typed by hand)"
        f"{cite_line()}"
    )


def take_limit(x: Any) -> Any:
    """Return the limit of a derivative that is returned; nan, with a warning, if there is none."""
    while isinstance(x, Traced) and isinstance(x.level, LimitLevel):
        if isinstance(x, Pole):
            infinite = x.infinite()
            if np.any(infinite):
                warn_arbitrary()
            x = where(infinite, np.nan, x.value)
        else:
            x = x.value
    if isinstance(x, Traced) and x.opaque and is_moving(x):
        batch: Any = type(x)  # a batch of derivatives
        return batch(take_limit(x.value), x.level)
    return x
