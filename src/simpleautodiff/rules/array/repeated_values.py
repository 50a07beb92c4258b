"""Derivatives where eigenvalues or singular values are repeated: limits, in exact series.

The vectors of repeated values are any basis, and turn into each other at the rate
1 / (difference of their values). If a function does not depend on the basis (a function of
the matrix, a projector, a polar factor), the infinite terms cancel in the end, and a limit remains.
To find it, a matrix A = V W V⁻¹ with repeated values is replaced by one that moves,

    A(ε) = V (W + ε D) V⁻¹,   A(0) = A,

where the entries of D differ where those of W do not. Its decomposition is known exactly. A level
below that of the derivative (`LimitLevel`) computes with series in ε: jets, and what was divided by
a power of ε (`Pole`). Where the derivative leaves, `take_limit` takes the coefficient of ε⁰. If one
of a negative power is left, the function depends on the basis, and has no derivative: nan, and a
warning. NumPy's basis may be a special one, such as the axes, at which the infinite terms of
such a function vanish. So the function is run again with vectors that are turned, V R
(`is_turned`), and both derivatives have to exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import Level, Traced, concrete, plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Args, Primitive, values_read
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import cite_line, warn_domain
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import Function

SERIES_ORDER = 4  # terms of each series; each derivative uses up one
CLOSE = 8  # values that differ by fewer roundings than this, times their number, are repeated
LOSS = 1e4  # a pole counts as cancelled below this many roundings


# Which values are repeated. -----------------------------------------------------------------------


def are_close(values: Any, size: Any, count: int, factor: int = CLOSE) -> Any:
    """Tell which differences of `count` values of a given size are 0, up to rounding."""
    return abs(values) <= factor * count * np.finfo(plain(values).dtype).eps * size


def find_pairs(values: Any, factor: int = CLOSE) -> Any:
    """Return a matrix of bools: which pairs of plain values along the last axis are repeated."""
    n = values.shape[-1]
    one = np.eye(n, dtype=bool)
    size = np.max(np.abs(values), axis=-1, initial=0.0)[..., None, None]
    close = are_close(values[..., None, :] - values[..., :, None], size, n, factor)
    if np.count_nonzero(close) == close.size // max(n, 1):
        return close & ~one
    return (np.linalg.matrix_power((close | one).astype(float), n) > 0) & ~one  # and chains


def find_zeros(values: Any, factor: int = CLOSE) -> Any:
    """Tell which plain singular values, largest first, are 0."""
    return are_close(values, values[..., :1], values.shape[-1], factor)


# Series. ------------------------------------------------------------------------------------------


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
        self.largest = max(self.largest, _find_size(plain(found)))
        return found

    def _run(self, primitive: Primitive, args: Args) -> Any:
        own = [isinstance(arg, Traced) and arg.level is self for arg in args]
        if own[-1] and isinstance(args[-1], MovingMatrix):
            return args[-1] if primitive is MOVE else args[-1].decompose(primitive)
        if primitive is DIVIDE and own[1] and not _moves(args[1].value):
            return self._divide(*args)
        poles = [i for i, arg in enumerate(args) if own[i] and isinstance(arg, Pole)]
        if poles:
            return self._run_on_poles(primitive, list(args), poles)
        return super().run(primitive, args)

    def _run_on_poles(self, primitive: Primitive, args: list[Any], poles: list[int]) -> Any:
        """Run a primitive that is linear in the arguments with poles; others must have none."""
        numbers = {i for i in range(len(args)) if i not in primitive.settings}
        reads = [_values_read_in(primitive, i) for i in poles]
        factors = numbers.intersection(*[set().union(*reads)])
        summands = numbers - factors
        linear = all(i not in read and -1 not in read for i, read in zip(poles, reads, strict=True))
        if linear and summands.issuperset(poles):
            order = max(args[i].order for i in poles)
            size = max(_size(args[i]) for i in summands)
            for i in summands:
                args[i] = _times_power(args[i], order, self)
        elif linear and not summands - set(poles):
            order = sum(args[i].order for i in poles)
            size = math.prod(_size(args[i]) for i in poles)
            factors -= set(poles)
            for i in poles:
                args[i] = args[i].jet
        else:
            regular = [x.as_jet() if i in poles else x for i, x in enumerate(args)]
            return super().run(primitive, tuple(regular))
        size *= math.prod(_size(args[i]) for i in factors)
        return Pole(super().run(primitive, tuple(args)), order, size)

    def _divide(self, x: Any, gap: Any, repeated: Any) -> Any:
        """Divide by differences of values; those of repeated values are multiples of ε.

        Differences are linear in ε, so no term of theirs is lost.
        """
        pole = isinstance(x, Pole) and x.level is self
        jet, order = (x.jet, x.order) if pole else (x, 0)
        slope = where(repeated, gap.nth(1), 1.0)
        apart = jet / where(repeated, 1.0, gap)
        both = where(repeated, jet / slope, _times_power(apart, 1, self))
        smallest = np.min(np.abs(np.where(repeated, plain(slope), np.inf)), initial=np.inf)
        return Pole(_times_power(both, 0, self), order + 1, _size(x) / smallest)


@final
class Pole(Traced):
    """A series divided by ε to the power `order`.

    `size` bounds the terms that were added up in it: it is exact to the rounding of that.
    """

    __slots__ = ("jet", "order", "size")
    level: LimitLevel

    def __init__(self, jet: Any, order: int, size: float) -> None:
        self.jet, self.order, self.level = jet, order, jet.level
        self.size = max(size, _size(jet))
        self.value = _term(jet, order)

    def infinite(self) -> Any:
        """Tell which elements have a term with a negative power of ε that is not 0."""
        rounding = LOSS * self.level.rounding * self.size
        if self.order > SERIES_ORDER:
            return np.ones(np.shape(plain(self)), bool)
        terms = [plain(_term(self.jet, k)) for k in range(self.order)]
        return np.any([~(np.abs(term) <= rounding) for term in terms], axis=0)

    def as_jet(self) -> Jet:
        """Return the series without its infinite terms; its last terms are not known."""
        terms = [
            _times(math.factorial(k - self.order) / math.factorial(k), self.jet.nth(k))
            for k in range(self.order, SERIES_ORDER + 1)
        ]
        unknown = [np.nan * self.jet.value] * (SERIES_ORDER + 1 - len(terms))
        first, *rest = [*terms, *unknown]
        return Jet(where(self.infinite(), np.nan, first), rest, self.level)


def _term(jet: Any, k: int) -> Any:
    """Return the coefficient of εᵏ."""
    if k > SERIES_ORDER:
        return np.nan * jet.value
    derivative = jet.nth(k)
    return 0 * jet.value if derivative is ZERO else derivative * (1 / math.factorial(k))


def _times(number: float, derivative: Any) -> Any:
    return ZERO if derivative is ZERO else number * derivative


def _times_power(x: Any, order: int, level: LimitLevel) -> Jet:
    """Return x times εᵒʳᵈᵉʳ; the power that already divides a pole is subtracted."""
    if isinstance(x, Pole) and x.level is level:
        x, order = x.jet, order - x.order
    own = isinstance(x, Jet) and x.level is level
    jet: Jet = x if own else Jet(x, [ZERO] * SERIES_ORDER, level)
    if not order:
        return jet
    powers = range(order, SERIES_ORDER + 1)
    terms = [_times(float(math.perm(k, order)), jet.nth(k - order)) for k in powers]
    zero = 0 * np.where(np.isfinite(plain(x)), plain(x), 0)
    return Jet(zero, [ZERO] * (order - 1) + terms, level)


def _size(x: Any) -> float:
    """Return the largest term of a series, or the largest element of a constant."""
    if isinstance(x, Pole):
        return x.size
    terms = [x.value, *x.higher] if isinstance(x, Jet) else [x]
    return max(_find_size(plain(term)) for term in terms if term is not ZERO)


def _find_size(x: Any) -> float:
    """Return the largest absolute value of the finite numbers of an array."""
    sizes = np.abs(x)
    return float(np.max(np.where(np.isfinite(sizes), sizes, 0.0), initial=0.0))


def _values_read_in(primitive: Primitive, i: int) -> frozenset[int]:
    """Return the values that the derivative in an argument depends on."""
    if primitive.partials[i] is ZERO:
        return frozenset((-1,))  # a step function: its argument must have no pole
    if primitive.name == "einsum":
        return frozenset(range(1, primitive.arity)) - {i}
    return values_read(primitive, (i,))


# Decompositions of matrices that move. ------------------------------------------------------------


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


def move_symmetric(decompose: Function, a: Any, turned: bool) -> Factors:
    """Let repeated eigenvalues of symmetric matrices move apart."""
    w, v = decompose(a)
    pairs = find_pairs(w)
    vectors = v @ _rotation(pairs, v.dtype) if turned else v
    still = [ZERO] * SERIES_ORDER
    return {"eigenvalues": _move_values(w, pairs), "eigenvectors": [vectors, *still]}


def move_singular(a: Any, turned: bool) -> Factors:
    """Let repeated singular values move apart, and away from 0."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    v = np.conj(np.swapaxes(vh, -1, -2))
    zero = find_zeros(s)
    none = zero[..., :, None] & zero[..., None, :]
    if turned:
        turn = _rotation(find_pairs(s), u.dtype)
        u, v = u @ turn, v @ np.where(none, -turn, turn)  # for 0, sides are free
    values, apart, *still = _move_values(s, find_pairs(s) | none)
    packed = np.concatenate([u, values[..., None, :], v], -2)
    moved = np.concatenate([0 * u, apart[..., None, :], 0 * v], -2)
    return {"svd": [packed, moved, *still]}


def move_general(a: Any, turned: bool) -> Factors:
    """Let repeated eigenvalues of any matrices move apart."""
    w, v = np.linalg.eig(a)
    pairs = find_pairs(w)
    if np.any(np.linalg.svd(v)[1][..., -1] < np.sqrt(np.finfo(v.dtype).eps)):
        v = np.full_like(v, np.nan)  # too few eigenvectors: there is no derivative
    elif turned:
        v = v @ (np.eye(v.shape[-1]) + pairs * _make_directions(v.shape[-1])).astype(v.dtype)
    values, apart, *still = _move_values(w, pairs)
    packed = np.concatenate([values[..., None, :], v], -2)
    moved = np.concatenate([apart[..., None, :], 0 * v], -2)
    return {"eig": [packed, moved, *still]}


def _move_values(values: Any, pairs: Any) -> list[Any]:
    """Return w + ε d and its derivatives; d has different entries where values are repeated."""
    size = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    steps = (1 + np.arange(values.shape[-1])) / values.shape[-1]
    apart = np.where(np.any(pairs, axis=-1), steps * np.where(size == 0, 1.0, size), 0.0)
    return [values, apart.astype(values.dtype), *[ZERO] * (SERIES_ORDER - 1)]


def _make_directions(n: int) -> Any:
    """Return a matrix whose entries have no pattern; the same one each time."""
    return np.sin(1.0 + np.arange(n * n)).reshape(n, n) / n


def _rotation(pairs: Any, dtype: Any) -> Any:
    """Return a matrix, orthogonal or unitary, that turns the vectors of repeated values."""
    n = pairs.shape[-1]
    some = _make_directions(n)
    if dtype.kind == "c":
        some = some + 1j * some[::-1]
    skew = (some - np.conj(some.T)) * pairs
    return np.linalg.solve(np.eye(n) - skew, np.eye(n) + skew).astype(dtype)


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


def separate(a: Any, find_values: Function, find_factors: Callable[[Any, bool], Factors]) -> Any:
    """Replace a matrix with repeated values, or singular values that are 0, by one that moves."""
    level, matrix = find_lowest_level(a), plain(a)
    if not is_derivative(level) or not matrix.size or not np.all(np.isfinite(matrix)):
        return a
    assert level is not None
    if not _has_repeated(matrix, find_values, find_factors):
        return a
    factors = find_factors(matrix, is_turned(level))
    return move(a, MovingMatrix(matrix, factors, _level_below(level)))


def _has_repeated(matrix: Any, find_values: Function, find_factors: Function) -> bool:
    """Tell whether a matrix, or one of a stack, has repeated values, or 0 among singular ones."""
    values = find_values(matrix)
    zero = find_factors is move_singular and np.any(find_zeros(values, 2 * CLOSE))
    return bool(zero or np.any(find_pairs(values, 2 * CLOSE)))


class OneByOne(BaseException):
    """Raised to tell `vmap` that examples have to be computed one by one."""

    def __init__(self, level: Any) -> None:
        super().__init__()
        self.level = level


def _find_batch(a: Any) -> Any:
    """Return the level of the `vmap` that a matrix belongs to, if it is differentiated.

    A level of `vmap` can be split, a batch of derivatives cannot.
    """
    found, derivative = None, False
    while isinstance(a, Traced):
        if a.opaque and not getattr(a.level, "splits", False):
            return None
        found = a.level if a.opaque and found is None else found
        derivative = derivative or is_derivative(a.level)
        a = a.value
    return found if derivative else None


def split_batch(a: Any, find_values: Function, find_factors: Function) -> None:
    """Have `vmap` compute examples one by one if a differentiated matrix has repeated values."""
    level = _find_batch(a)
    matrices = concrete(a)
    if level is None or not isinstance(matrices, np.ndarray) or not matrices.size:
        return
    if np.all(np.isfinite(matrices)) and _has_repeated(matrices, find_values, find_factors):
        raise OneByOne(level)


def is_derivative(level: Level | None) -> bool:
    """Tell whether a level computes a derivative whose steps are not shown."""
    return isinstance(level, JetLevel) or (isinstance(level, Tape) and not level.shown)


def find_lowest_level(x: Any) -> Level | None:
    """Return the level whose nodes hold plain numbers, unless an opaque one is in between."""
    level = None
    while isinstance(x, Traced):
        if x.opaque:
            return None
        level, x = x.level, x.value
    return level if isinstance(x, (np.ndarray, np.generic)) else None


def _level_below(level: Level) -> LimitLevel:
    """Return the level of series that belongs to the level of a derivative."""
    if not hasattr(level, "series"):
        below = math.ceil(level.number) - 1
        level.series = LimitLevel((level.number + below) / 2, level)  # type: ignore[attr-defined]
    return level.series  # type: ignore[attr-defined,no-any-return]


def has_moved(level: Level) -> bool:
    """Tell whether a derivative has come across repeated values."""
    return hasattr(level, "series")


def find_largest(level: Any) -> float:
    """Return the largest number that a derivative has computed from repeated values."""
    return float(level.series.largest)


def mark_turned(level: Level) -> None:
    """Mark a run of the function as the one that tests whether the basis matters."""
    level.turned = True  # type: ignore[attr-defined]


def is_turned(level: Level | None) -> bool:
    """Tell whether the function is run with another basis of repeated values than NumPy's."""
    while isinstance(level, LimitLevel):
        level = level.owner
    return getattr(level, "turned", False)


def warn_arbitrary() -> None:
    """Warn that a derivative does not exist, because the basis is arbitrary."""
    warn_domain(
        "the derivative becomes nan: eigenvalues or singular values are repeated (or 0), and the "
        "function depends on which of their vectors are taken. What does not depend on them, such "
        "as (V * f(w)) @ V.T, has derivatives, up to the "
        f"{SERIES_ORDER}th, of one matrix or a stack (not in graphs typed by hand)"
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
    if isinstance(x, Traced) and x.opaque and _moves(x):
        batch: Any = type(x)  # a batch of derivatives
        return batch(take_limit(x.value), x.level)
    return x


# Division by differences. -------------------------------------------------------------------------


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


def _moves(x: Any) -> bool:
    """Tell whether the innermost value of a number is a series."""
    while isinstance(x, Traced):
        if isinstance(x.level, LimitLevel):
            return True
        x = getattr(x, "value", None)  # a symbol has no value
    return False


def divide_by_gaps(x: Any, values: Any) -> Any:
    """Divide element i, j of a matrix by values[j] - values[i], for values in a 1 × n matrix.

    The diagonal is 0. The quotient is nan where values are repeated and do not move apart.
    """
    n = plain(values).shape[-1]
    one = np.eye(n, dtype=bool)
    gap = where(one, 1.0, values - swap(values))
    x = where(one, 0.0, x)
    if _moves(values):
        return divide(x, gap, find_pairs(plain(values)[..., 0, :]))
    return _divide_known(x, gap, are_close(plain(gap), _largest(values), n))


def divide_by_values(x: Any, values: Any) -> Any:
    """Divide the columns of a matrix by singular values: nan where they are 0 and do not move."""
    divisor = values + np.zeros(shape_of(x)[-2:], plain(values).dtype)
    n = plain(values).shape[-1]
    if _moves(values):
        zero = find_zeros(plain(values)[..., 0, :])[..., None, :]
        return divide(x, divisor, np.broadcast_to(zero, plain(divisor).shape))
    return _divide_known(x, divisor, are_close(plain(divisor), _largest(values), n))


def divide_by_sums(x: Any, values: Any) -> Any:
    """Divide element i, j of a matrix, whose diagonal is 0, by the sum of two singular values."""
    n = plain(values).shape[-1]
    total = values + swap(values)
    if _moves(values):
        zero = find_zeros(plain(values)[..., 0, :])
        return divide(x, total, zero[..., None, :] & zero[..., :, None])
    total = where(np.eye(n, dtype=bool), 1.0, total)  # where x is 0
    return _divide_known(x, total, are_close(plain(total), _largest(values), n))


def _largest(values: Any) -> Any:
    return np.max(abs(plain(values)), axis=-1, keepdims=True, initial=0.0)


def _divide_known(x: Any, divisor: Any, unknown: Any) -> Any:
    """Divide; where the divisor is `unknown`, return 0 for a zero matrix and nan for others."""
    missing = unknown & (np.max(abs(plain(x)), axis=(-2, -1), keepdims=True, initial=0.0) > 0)
    if np.any(concrete(missing)):
        warn_arbitrary()
    known = where(unknown, 0.0, x / where(unknown, 1.0, divisor))
    return where(missing, np.nan, known)
