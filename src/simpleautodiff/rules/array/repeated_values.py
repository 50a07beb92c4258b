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
from typing import Any

import numpy as np

from simpleautodiff.core.jet import JetLevel
from simpleautodiff.core.level import Level, Traced, to_concrete, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.tape import Tape
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.series_limits import (
    SERIES_ORDER,
    Factors,
    LimitLevel,
    MovingMatrix,
    divide,
    is_moving,
    move,
    warn_arbitrary,
)
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import Function

CLOSE = 8  # values that differ by fewer roundings than this, times their number, are repeated


# Which values are repeated. -----------------------------------------------------------------------


def are_close(values: Any, size: Any, count: int, factor: int = CLOSE) -> Any:
    """Tell which differences of `count` values of a given size are 0, up to rounding."""
    return abs(values) <= factor * count * np.finfo(to_plain(values).dtype).eps * size


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


# Decompositions of matrices that move. ------------------------------------------------------------


def move_symmetric(decompose: Function, a: Any, turned: bool) -> Factors:
    """Let repeated eigenvalues of symmetric matrices move apart."""
    w, v = decompose(a)
    pairs = find_pairs(w)
    vectors = v @ _make_rotation(pairs, v.dtype) if turned else v
    still = [ZERO] * SERIES_ORDER
    return {"eigenvalues": _move_values(w, pairs), "eigenvectors": [vectors, *still]}


def move_singular(a: Any, turned: bool) -> Factors:
    """Let repeated singular values move apart, and away from 0."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    v = np.conj(np.swapaxes(vh, -1, -2))
    zero = find_zeros(s)
    none = zero[..., :, None] & zero[..., None, :]
    if turned:
        turn = _make_rotation(find_pairs(s), u.dtype)
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


def _make_rotation(pairs: Any, dtype: Any) -> Any:
    """Return a matrix, orthogonal or unitary, that turns the vectors of repeated values."""
    n = pairs.shape[-1]
    some = _make_directions(n)
    if dtype.kind == "c":
        some = some + 1j * some[::-1]
    skew = (some - np.conj(some.T)) * pairs
    return np.linalg.solve(np.eye(n) - skew, np.eye(n) + skew).astype(dtype)


def separate(a: Any, find_values: Function, find_factors: Callable[[Any, bool], Factors]) -> Any:
    """Replace a matrix with repeated values, or singular values that are 0, by one that moves."""
    level, matrix = find_lowest_level(a), to_plain(a)
    if not is_derivative(level) or not matrix.size or not np.all(np.isfinite(matrix)):
        return a
    assert level is not None
    if not _has_repeated(matrix, find_values, find_factors):
        return a
    factors = find_factors(matrix, is_turned(level))
    return move(a, MovingMatrix(matrix, factors, _find_level_below(level)))


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
    matrices = to_concrete(a)
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
    return level if isinstance(x, (np.ndarray, np.generic, float)) else None


def _find_level_below(level: Level) -> LimitLevel:
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


# Division by differences. -------------------------------------------------------------------------


def divide_by_gaps(x: Any, values: Any) -> Any:
    """Divide element i, j of a matrix by values[j] - values[i], for values in a 1 × n matrix.

    The diagonal is 0. The quotient is nan where values are repeated and do not move apart.
    """
    n = to_plain(values).shape[-1]
    one = np.eye(n, dtype=bool)
    gap = where(one, 1.0, values - swap(values))
    x = where(one, 0.0, x)
    if is_moving(values):
        return divide(x, gap, find_pairs(to_plain(values)[..., 0, :]))
    return _divide_known(x, gap, are_close(to_plain(gap), _find_largest_size(values), n))


def divide_by_values(x: Any, values: Any) -> Any:
    """Divide the columns of a matrix by singular values: nan where they are 0 and do not move."""
    divisor = values + np.zeros(shape_of(x)[-2:], to_plain(values).dtype)
    n = to_plain(values).shape[-1]
    if is_moving(values):
        zero = find_zeros(to_plain(values)[..., 0, :])[..., None, :]
        return divide(x, divisor, np.broadcast_to(zero, to_plain(divisor).shape))
    return _divide_known(x, divisor, are_close(to_plain(divisor), _find_largest_size(values), n))


def divide_by_sums(x: Any, values: Any) -> Any:
    """Divide element i, j of a matrix, whose diagonal is 0, by the sum of two singular values."""
    n = to_plain(values).shape[-1]
    total = values + swap(values)
    if is_moving(values):
        zero = find_zeros(to_plain(values)[..., 0, :])
        return divide(x, total, zero[..., None, :] & zero[..., :, None])
    total = where(np.eye(n, dtype=bool), 1.0, total)  # where x is 0
    return _divide_known(x, total, are_close(to_plain(total), _find_largest_size(values), n))


def _find_largest_size(values: Any) -> Any:
    return np.max(abs(to_plain(values)), axis=-1, keepdims=True, initial=0.0)


def _divide_known(x: Any, divisor: Any, unknown: Any) -> Any:
    """Divide; where the divisor is `unknown`, return 0 for a zero matrix and nan for others."""
    missing = unknown & (np.max(abs(to_plain(x)), axis=(-2, -1), keepdims=True, initial=0.0) > 0)
    if np.any(to_concrete(missing)):
        warn_arbitrary()
    known = where(unknown, 0.0, x / where(unknown, 1.0, divisor))
    return where(missing, np.nan, known)
