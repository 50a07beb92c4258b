"""NumPy's functions, methods and attributes on nodes: rows, or short programs made of rows.

`np.var(x)` of a node runs the program written here with the rows' operations, so its derivatives of
every order follow from theirs. What has a plain answer (`np.argmax`, `np.shape`, comparisons) gets
it from the plain array.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.errors import RuleError, at_line
from simpleautodiff.node import SPECIAL, Traced, plain
from simpleautodiff.rules import elementary, special
from simpleautodiff.rules.contract import einsum_of, matmul
from simpleautodiff.rules.linalg import cholesky, det, inv, logabsdet, solve
from simpleautodiff.rules.piecewise import clip as clip_row
from simpleautodiff.rules.piecewise import where as where_row
from simpleautodiff.rules.shapes import (
    broadcast_to,
    concatenate,
    cumsum,
    getitem,
    max_over,
    min_over,
    reshape,
    scatter,
    shape_of,
    sum_over,
    transpose,
)
from simpleautodiff.structure import map_leaves

Function = Callable[..., Any]
FUNCTIONS: dict[Any, Function] = {}


def answers(*functions: Any) -> Callable[[Function], Function]:
    """Say which functions of NumPy a program answers for nodes."""

    def register(program: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(functions, program))
        return program

    return register


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Answer a call of NumPy with a node among its arguments."""
    program = FUNCTIONS.get(function)
    name = f"np.{function.__name__}"
    if program is None and function in PLAIN:
        return function(*map_leaves(plain, args), **map_leaves(plain, kwargs))
    if program is None:
        raise RuleError(
            f"no derivative rule for {name}. Write it with functions that have one, or declare it "
            f"with @simpleautodiff.primitive{at_line()}"
        )
    try:
        return program(*args, **kwargs)
    except TypeError:
        _explain_arguments(name, program, args, kwargs)
        raise


def _explain_arguments(name: str, program: Function, args: Any, kwargs: Any) -> None:
    """Raise a clear error if NumPy's function was given what the program does not take."""
    try:
        inspect.signature(program).bind(*args, **kwargs)
    except TypeError as error:
        raise RuleError(f"{name} of a node: {error}{at_line()}") from None


PLAIN = {
    *(np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.searchsorted, np.nonzero),
    *(np.count_nonzero, np.any, np.all, np.allclose, np.isclose, np.array_equal, np.result_type),
    *(np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.argwhere, np.flatnonzero),
    *(np.iscomplexobj, np.isrealobj, np.array_repr, np.array_str, np.digitize, np.unique),
}

# Sums and their relatives. ------------------------------------------------------------------------


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    rank = len(shape_of(x))
    if axis is None:
        return tuple(range(rank))
    return tuple(int(a) % rank for a in np.atleast_1d(axis))


def _count(x: Any, axis: Any) -> int:
    return int(np.prod([shape_of(x)[a] for a in _axes(x, axis)], dtype=int))


@answers(np.sum)
def sum_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Add up elements."""
    return sum_over(a, axis, keepdims)


@answers(np.mean)
def mean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Average elements."""
    return sum_over(a, axis, keepdims) / _count(a, axis)


@answers(np.average)
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """Average elements with weights."""
    if weights is None:
        return mean(a, axis)
    if shape_of(weights) != shape_of(a):
        weights = reshape(weights, [n if i == axis else 1 for i, n in enumerate(shape_of(a))])
    return sum_over(a * weights, axis, False) / sum_over(
        weights * np.ones(shape_of(a)), axis, False
    )


@answers(np.var)
def var(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the mean square of the deviations."""
    deviation = a - mean(a, axis, True)
    return sum_over(deviation * deviation, axis, keepdims) / (_count(a, axis) - ddof)


@answers(np.std)
def std(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the root of the variance."""
    return np.sqrt(var(a, axis, ddof, keepdims))


@answers(np.max, np.amax)
def max_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the largest elements; equal ones share the derivative."""
    return max_over(a, axis, keepdims)


@answers(np.min, np.amin)
def min_(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest elements; equal ones share the derivative."""
    return min_over(a, axis, keepdims)


@answers(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the range from smallest to largest."""
    return max_over(a, axis, keepdims) - min_over(a, axis, keepdims)


@answers(np.prod)
def prod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Multiply elements, in pairs, pairs of pairs, ...: right where some are zero, too."""
    axes, full = _axes(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    x = reshape(transpose(a, (*axes, *rest)), (-1, *[full[i] for i in rest]))
    while (n := shape_of(x)[0]) > 1:
        pairs = getitem(x, slice(0, n // 2)) * getitem(x, slice(n // 2, n // 2 * 2))
        x = concatenate([pairs, getitem(x, slice(n - 1, n))]) if n % 2 else pairs
    result = getitem(x, 0) if shape_of(x)[0] else np.ones([full[i] for i in rest])
    return (
        reshape(result, [1 if i in axes else n for i, n in enumerate(full)]) if keepdims else result
    )


@answers(np.cumsum)
def cumsum_(a: Any, axis: int | None = None) -> Any:
    """Add up from the start to each element."""
    return cumsum(reshape(a, (-1,)), 0) if axis is None else cumsum(a, axis % len(shape_of(a)))


@answers(np.cumprod)
def cumprod(a: Any, axis: int | None = None) -> Any:
    """Multiply from the start to each element, in steps that double."""
    x = reshape(a, (-1,)) if axis is None else np.moveaxis(a, axis, 0)
    n, step = shape_of(x)[0], 1
    while step < n:
        later = getitem(x, slice(step, n)) * getitem(x, slice(0, n - step))
        x = concatenate([getitem(x, slice(0, step)), later])
        step *= 2
    return x if axis is None else np.moveaxis(x, 0, axis)


@answers(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Subtract neighbours."""
    x = np.moveaxis(a, axis, -1)
    for _ in range(n):
        x = x[..., 1:] - x[..., :-1]
    return np.moveaxis(x, -1, axis)


@answers(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by trapezoids."""
    step = dx if x is None else diff(x, axis=axis if len(shape_of(x)) > 1 else -1)
    if x is not None and len(shape_of(x)) == 1 and len(shape_of(y)) > 1:
        step = reshape(
            step, [-1 if i == axis % len(shape_of(y)) else 1 for i in range(len(shape_of(y)))]
        )
    z = np.moveaxis(y, axis, -1)
    inner = (z[..., 1:] + z[..., :-1]) / 2
    return sum_over(np.moveaxis(inner, -1, axis) * step, axis, False)


# Products. ----------------------------------------------------------------------------------------


@answers(np.dot)
def dot(a: Any, b: Any) -> Any:
    """Multiply as np.dot does."""
    if not shape_of(a) or not shape_of(b):
        return a * b
    if len(shape_of(a)) <= 2 and len(shape_of(b)) <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([-1], [-2 if len(shape_of(b)) > 1 else 0]))


@answers(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Multiply two arrays as vectors."""
    return matmul(reshape(np.conjugate(a) if np.iscomplexobj(a) else a, (-1,)), reshape(b, (-1,)))


@answers(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum products over the last axes."""
    return tensordot(a, b, ([-1], [-1])) if shape_of(a) and shape_of(b) else a * b


@answers(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Multiply every element of one vector with every element of another."""
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


@answers(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products over chosen axes, as one product of matrices."""
    ra, rb = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        axes = (range(ra - axes, ra), range(axes))
    axes_a = [int(i) % ra for i in np.atleast_1d(axes[0])]
    axes_b = [int(i) % rb for i in np.atleast_1d(axes[1])]
    free_a = [i for i in range(ra) if i not in axes_a]
    free_b = [i for i in range(rb) if i not in axes_b]
    size = int(np.prod([shape_of(a)[i] for i in axes_a], dtype=int))
    left = reshape(transpose(a, (*free_a, *axes_a)), (-1, size))
    right = reshape(transpose(b, (*axes_b, *free_b)), (size, -1))
    new = [shape_of(a)[i] for i in free_a] + [shape_of(b)[i] for i in free_b]
    return reshape(matmul(left, right), tuple(new))


@answers(np.einsum)
def einsum(subscripts: str, *operands: Any) -> Any:
    """Sum products as the subscripts say; an ellipsis is written out first."""
    if not isinstance(subscripts, str):
        raise RuleError(
            "np.einsum of a node takes its subscripts as text: np.einsum('ij,j->i', ...)"
        )
    written = _written_out(subscripts.replace(" ", ""), [len(shape_of(x)) for x in operands])
    return einsum_of(len(operands))(written, *operands)


def _written_out(subscripts: str, ranks: list[int]) -> str:
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts]
    hidden = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True)]
    longest = max((h for t, h in zip(terms, hidden, strict=True) if "..." in t), default=0)
    dots = "".join(free[:longest])
    if "..." in inputs and len({h for t, h in zip(terms, hidden, strict=True) if "..." in t}) > 1:
        raise RuleError("np.einsum of a node needs ellipses of one length; reshape first")
    new = [t.replace("...", dots) for t in terms]
    if not arrow:
        letters = "".join(sorted(set("".join(new)) - set(dots)))
        output = dots + "".join(c for c in letters if "".join(new).count(c) == 1)
    return ",".join(new) + "->" + output.replace("...", dots)


@answers(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product."""
    rank = max(len(shape_of(a)), len(shape_of(b)))
    sa = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    sb = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    left = reshape(a, [n for s in sa for n in (s, 1)])
    right = reshape(b, [n for s in sb for n in (1, s)])
    return reshape(left * right, tuple(m * n for m, n in zip(sa, sb, strict=True)))


@answers(np.cross)
def cross(a: Any, b: Any) -> Any:
    """Return the cross product of vectors of three along the last axis."""
    a1, a2, a3 = a[..., 0], a[..., 1], a[..., 2]
    b1, b2, b3 = b[..., 0], b[..., 1], b[..., 2]
    return stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1)


@answers(np.trace)
def trace(a: Any, offset: int = 0) -> Any:
    """Add up the diagonal."""
    return sum_over(diagonal(a, offset), -1, False)


# Shapes. ------------------------------------------------------------------------------------------


@answers(np.reshape)
def reshape_(a: Any, shape: Any, order: str = "C") -> Any:
    """Give another shape."""
    new = np.empty(shape_of(a), bool).reshape(shape).shape
    if order == "F":
        return transpose(reshape(transpose(a, None), new[::-1]), None)
    return reshape(a, new)


@answers(np.ravel)
def ravel(a: Any) -> Any:
    """Write all elements in a row."""
    return reshape(a, (-1,))


@answers(np.transpose)
def transpose_(a: Any, axes: Any = None) -> Any:
    """Put the axes in another order."""
    rank = len(shape_of(a))
    return transpose(a, None if axes is None else tuple(int(i) % rank for i in axes))


@answers(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    axes = list(range(len(shape_of(a))))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(a, tuple(axes))


@answers(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places."""
    moved, places = _axes(a, source), _axes(a, destination)
    order = [i for i in range(len(shape_of(a))) if i not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return transpose(a, tuple(order))


def _by_index(function: Any) -> Function:
    """Answer a function that only moves elements: do it to their numbers, then look them up."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        numbers = np.arange(np.prod(shape_of(a), dtype=int)).reshape(shape_of(a))
        return getitem(reshape(a, (-1,)), function(numbers, *args, **kwargs))

    program.__name__ = function.__name__
    return program


def _by_shape(function: Any) -> Function:
    """Answer a function that only gives another shape: do it to an empty array first."""

    def program(a: Any, *args: Any, **kwargs: Any) -> Any:
        return reshape(a, function(np.empty(shape_of(a), bool), *args, **kwargs).shape)

    return program


_MOVING: tuple[Any, ...] = (
    *(np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.tile, np.repeat, np.take),
    *(np.take_along_axis, np.resize, np.delete, np.rollaxis),
)
_SHAPING: tuple[Any, ...] = (
    *(np.expand_dims, np.squeeze, np.atleast_1d, np.atleast_2d, np.atleast_3d),
)
FUNCTIONS.update({function: _by_index(function) for function in _MOVING})
FUNCTIONS.update({function: _by_shape(function) for function in _SHAPING})


@answers(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any) -> Any:
    """Copy along new or stretched axes."""
    return broadcast_to(array, np.broadcast_shapes(shape_of(array), shape))


@answers(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Give all arrays their common shape."""
    new = np.broadcast_shapes(*[shape_of(a) for a in args])
    return tuple(broadcast_to(a, new) for a in args)


@answers(np.concatenate)
def concatenate_(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Join arrays."""
    if axis is None:
        return concatenate([reshape(a, (-1,)) for a in arrays], 0)
    return concatenate(list(arrays), axis)


@answers(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays."""
    return concatenate_([arr, values], axis)


@answers(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays along a new axis."""
    rank = len(shape_of(arrays[0])) + 1
    place = axis % rank
    new = [reshape(a, (*shape_of(a)[:place], 1, *shape_of(a)[place:])) for a in arrays]
    return concatenate(new, place)


@answers(np.vstack)
def vstack(tup: Sequence[Any]) -> Any:
    """Join arrays as rows."""
    return concatenate([FUNCTIONS[np.atleast_2d](a) for a in tup], 0)


@answers(np.hstack)
def hstack(tup: Sequence[Any]) -> Any:
    """Join arrays side by side."""
    parts = [FUNCTIONS[np.atleast_1d](a) for a in tup]
    return concatenate(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


@answers(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join arrays in depth."""
    return concatenate([FUNCTIONS[np.atleast_3d](a) for a in tup], 2)


@answers(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join vectors as columns."""
    return concatenate([reshape(a, (-1, 1)) if len(shape_of(a)) == 1 else a for a in tup], 1)


def _split(function: Any) -> Function:
    def program(ary: Any, *args: Any, **kwargs: Any) -> list[Any]:
        numbers = np.arange(np.prod(shape_of(ary), dtype=int)).reshape(shape_of(ary))
        flat = reshape(ary, (-1,))
        return [getitem(flat, part) for part in function(numbers, *args, **kwargs)]

    return program


_SPLITTING: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update({function: _split(function) for function in _SPLITTING})


@answers(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Spread vectors over a grid."""
    numbers = np.meshgrid(*[np.arange(shape_of(x)[0]) for x in xi], indexing=indexing)  # type: ignore[call-overload]
    return tuple(getitem(x, n) for x, n in zip(xi, numbers, strict=True))


@answers(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal."""
    result: Any = _by_index(np.diagonal)(a, offset, axis1, axis2)
    return result


@answers(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Make a diagonal matrix, or take a diagonal."""
    if len(shape_of(v)) == 2:
        return diagonal(v, k)
    n = shape_of(v)[0] + abs(k)
    i = np.arange(shape_of(v)[0])
    return scatter(v, (i + max(-k, 0), i + max(k, 0)), (n, n))


@answers(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Keep the lower triangle."""
    rows, columns = shape_of(m)[-2:]
    return where_row(np.tri(rows, columns, k, bool), m, 0.0)


@answers(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Keep the upper triangle."""
    rows, columns = shape_of(m)[-2:]
    return where_row(np.tri(rows, columns, k - 1, bool), 0.0, m)


@answers(np.copy)
def copy(a: Any) -> Any:
    """Return the same node: nodes are never written to."""
    return +a


# Choosing and sorting. ----------------------------------------------------------------------------


@answers(np.where)
def where(condition: Any, x: Any, y: Any) -> Any:
    """Choose element by element."""
    return where_row(plain(condition), x, y)


@answers(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Choose by the first condition that holds."""
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where_row(plain(condition), choice, result)
    return result


@answers(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Keep between bounds."""
    low = -np.inf if a_min is None else a_min
    high = np.inf if a_max is None else a_max
    return clip_row(a, low, high)


@answers(np.sort)
def sort(a: Any, axis: int | None = -1) -> Any:
    """Sort; every element keeps its own derivative."""
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    order = np.argsort(plain(a), axis=axis, kind="stable")
    result: Any = FUNCTIONS[np.take_along_axis](a, order, axis)
    return result


@answers(np.median)
def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the middle element, or the mean of the two in the middle."""
    return quantile(a, 0.5, axis, keepdims)


@answers(np.quantile)
def quantile(a: Any, q: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Interpolate between sorted elements; one quantile at a time."""
    axes, full = _axes(a, axis), shape_of(a)
    rest = [i for i in range(len(full)) if i not in axes]
    x = sort(reshape(transpose(a, (*axes, *rest)), (-1, *[full[i] for i in rest])), 0)
    place = q * (shape_of(x)[0] - 1)
    low = int(np.floor(place))
    high = min(low + 1, shape_of(x)[0] - 1)
    result = getitem(x, low) * (1 - (place - low)) + getitem(x, high) * (place - low)
    return (
        reshape(result, [1 if i in axes else n for i, n in enumerate(full)]) if keepdims else result
    )


@answers(np.percentile)
def percentile(a: Any, q: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a quantile given in per cent."""
    return quantile(a, q / 100, axis, keepdims)


@answers(np.interp)
def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Interpolate linearly between points; constant outside them."""
    knots = plain(xp)
    i = np.clip(np.searchsorted(knots, plain(x), side="right") - 1, 0, len(knots) - 2)
    x0, x1, f0, f1 = xp[i], xp[i + 1], fp[i], fp[i + 1]
    inside = f0 + (f1 - f0) * ((x - x0) / (x1 - x0))
    right = where_row(plain(x) > knots[-1], fp[-1], inside)
    return where_row(plain(x) < knots[0], fp[0], right)


@answers(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial, the highest power first."""
    result: Any = 0.0
    for i in range(shape_of(p)[0]):
        result = result * x + p[i]
    return result


@answers(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolve two vectors."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    if m > n:
        a, v, n, m = v, a, m, n
    padded = concatenate([np.zeros(m - 1), a, np.zeros(m - 1)])
    windows = np.arange(n + m - 1)[:, None] + np.arange(m)[None, :]
    full = matmul(getitem(padded, windows), getitem(v, slice(None, None, -1)))
    if mode == "full":
        return full
    size = n if mode == "same" else n - m + 1
    start = (m - 1) // 2 if mode == "same" else m - 1
    return getitem(full, slice(start, start + size))


@answers(np.sinc)
def sinc_(x: Any) -> Any:
    """Return sin(πx)/(πx), smooth at 0."""
    return special.sinc(x)


@answers(np.nan_to_num)
def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    """Replace nan by a number, which does not depend on it."""
    return where_row(np.isnan(plain(x)), nan, x)


@answers(np.nansum)
def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Add up what is not nan."""
    return sum_over(nan_to_num(a), axis, keepdims)


@answers(np.nanmean)
def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Average what is not nan."""
    count = np.sum(~np.isnan(plain(a)), axis=axis, keepdims=keepdims)
    return nansum(a, axis, keepdims) / count


@answers(np.nanmax)
def nanmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the largest of what is not nan."""
    return max_over(nan_to_num(a, -np.inf), axis, keepdims)


@answers(np.nanmin)
def nanmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest of what is not nan."""
    return min_over(nan_to_num(a, np.inf), axis, keepdims)


@answers(np.nanprod)
def nanprod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Multiply what is not nan."""
    return prod(nan_to_num(a, 1.0), axis, keepdims)


@answers(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None) -> Any:
    """Add up what is not nan, from the start to each element."""
    return cumsum_(nan_to_num(a), axis)


@answers(np.nanvar)
def nanvar(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the variance of what is not nan."""
    there = ~np.isnan(plain(a))
    deviation = where_row(there, nan_to_num(a) - nanmean(a, axis, True), 0.0)
    count = np.sum(there, axis=axis, keepdims=keepdims)
    return sum_over(deviation * deviation, axis, keepdims) / (count - ddof)


@answers(np.nanstd)
def nanstd(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Return the root of the variance of what is not nan."""
    return np.sqrt(nanvar(a, axis, ddof, keepdims))


@answers(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0.0) -> Any:
    """Surround with constants, or with elements of the array itself."""
    numbers = np.arange(np.prod(shape_of(array), dtype=int)).reshape(shape_of(array))
    if mode != "constant":
        return getitem(reshape(array, (-1,)), np.pad(numbers, pad_width, mode))  # type: ignore[call-overload]
    places = np.pad(numbers, pad_width, constant_values=-1)
    padded = getitem(reshape(array, (-1,)), np.maximum(places, 0))
    return where_row(places >= 0, padded, constant_values)


@answers(np.partition)
def partition(a: Any, kth: Any, axis: int = -1) -> Any:
    """Put the k-th smallest element in its place, the smaller ones before it."""
    order = np.argpartition(plain(a), kth, axis)
    result: Any = FUNCTIONS[np.take_along_axis](a, order, axis)
    return result


@answers(np.gradient)
def gradient(f: Any, dx: float = 1.0, axis: int = -1) -> Any:
    """Return slopes by central differences, one-sided at the ends, along one axis."""
    if len(shape_of(f)) > 1 and axis is None:
        raise RuleError("np.gradient of a node needs its axis")
    y = np.moveaxis(f, axis, -1)
    first = (y[..., 1:2] - y[..., :1]) / dx
    inner = (y[..., 2:] - y[..., :-2]) / (2 * dx)
    last = (y[..., -1:] - y[..., -2:-1]) / dx
    return np.moveaxis(concatenate([first, inner, last], len(shape_of(y)) - 1), -1, axis)


@answers(np.ediff1d)
def ediff1d(ary: Any) -> Any:
    """Subtract neighbours of the flattened array."""
    return diff(ravel(ary))


@answers(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector as columns."""
    powers = np.arange(shape_of(x)[0] if N is None else N)
    return reshape(x, (-1, 1)) ** (powers if increasing else powers[::-1])


@answers(np.cov)
def cov(m: Any) -> Any:
    """Return the covariances of rows."""
    deviation = m - mean(m, -1, True)
    return matmul(deviation, transpose(deviation, None)) / (shape_of(m)[-1] - 1)


@answers(np.corrcoef)
def corrcoef(x: Any) -> Any:
    """Return the correlations of rows."""
    c = cov(x)
    scale = np.sqrt(diagonal(c))
    return c / outer(scale, scale)


# Linear algebra. ----------------------------------------------------------------------------------

FUNCTIONS[np.linalg.inv] = lambda a: inv(a)
FUNCTIONS[np.linalg.det] = lambda a: det(a)
FUNCTIONS[np.linalg.cholesky] = lambda a: cholesky(a)
FUNCTIONS[np.linalg.trace] = lambda x, /, *, offset=0: trace(x, offset)


FUNCTIONS[np.linalg.outer] = lambda x1, x2, /: outer(x1, x2)
FUNCTIONS[np.linalg.matmul] = lambda x1, x2, /: matmul(x1, x2)
FUNCTIONS[np.linalg.cross] = lambda x1, x2, /: cross(x1, x2)
FUNCTIONS[np.linalg.tensordot] = lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes)
FUNCTIONS[np.linalg.diagonal] = lambda x, /, *, offset=0: diagonal(x, offset, -2, -1)
FUNCTIONS[np.linalg.matrix_transpose] = lambda x, /: swapaxes(x, -1, -2)
FUNCTIONS[np.linalg.vecdot] = lambda x1, x2, /, *, axis=-1: sum_over(x1 * x2, axis, False)
FUNCTIONS[np.linalg.vector_norm] = lambda x, /, *, axis=None, keepdims=False, ord=2: norm(
    ravel(x) if axis is None else x, ord, axis, keepdims
)


@answers(np.linalg.pinv)
def pinv(a: Any) -> Any:
    """Return the inverse of a matrix of full rank, in the sense of least squares."""
    tall = shape_of(a)[-2] >= shape_of(a)[-1]
    flipped = swapaxes(a, -1, -2)
    square = matmul(flipped, a) if tall else matmul(a, flipped)
    return matmul(inv(square), flipped) if tall else matmul(flipped, inv(square))


@answers(np.linalg.solve)
def solve_(a: Any, b: Any) -> Any:
    """Solve a linear system; a vector is one column."""
    if len(shape_of(b)) == 1:
        return reshape(solve(a, reshape(b, (-1, 1))), (-1,))
    return solve(a, b)


@answers(np.linalg.slogdet)
def slogdet(a: Any) -> tuple[Any, Any]:
    """Return the sign, a plain number, and the logarithm of the size of the determinant."""
    return np.linalg.slogdet(plain(a))[0], logabsdet(a)


@answers(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a norm of vectors, or the Frobenius norm of a matrix; at 0 its derivative is 0."""
    vector = len(_axes(x, axis)) == 1
    if ord in (None, "fro") or (ord == 2 and vector):
        square = sum_over(x * x, axis, keepdims)
        zero = plain(square) == 0
        return where_row(zero, 0.0, np.sqrt(where_row(zero, 1.0, square)))
    if not vector:
        raise RuleError(f"np.linalg.norm of a node has no rule for matrices with ord={ord!r}")
    size = np.abs(x)
    if ord == np.inf:
        return max_over(size, axis, keepdims)
    if ord == -np.inf:
        return min_over(size, axis, keepdims)
    return sum_over(size**ord, axis, keepdims) ** (1 / ord)


@answers(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """Multiply a matrix with itself."""
    if n < 0:
        return matrix_power(inv(a), -n)
    result: Any = np.eye(shape_of(a)[-1])
    while n:
        result = matmul(result, a) if n % 2 else result
        a, n = matmul(a, a), n // 2
    return result


@answers(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """Multiply several matrices."""
    result = arrays[0]
    for array in arrays[1:]:
        result = matmul(result, array)
    return result


# Methods and attributes. --------------------------------------------------------------------------


def _index(self: Any, index: Any) -> Any:
    if not shape_of(self):
        raise TypeError(f"{self!r} is a single number, not an array")
    return getitem(self, map_leaves(plain, index) if isinstance(index, tuple) else plain(index))


def _length(self: Any) -> int:
    if not shape_of(self):
        raise TypeError(f"{self!r} is a single number, not an array")
    return shape_of(self)[0]


def _iterate(self: Any) -> Any:
    return (getitem(self, i) for i in range(_length(self)))


def _shape_method(function: Function) -> Function:
    def method(self: Any, *given: Any, **kwargs: Any) -> Any:
        one = len(given) == 1 and not isinstance(given[0], int)
        return function(self, given[0] if one else given or None, **kwargs)

    return method


METHODS: dict[str, Any] = {
    name: FUNCTIONS[getattr(np, name)]
    for name in (
        *("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "dot", "trace"),
        *("diagonal", "ravel", "swapaxes", "squeeze", "repeat", "take", "clip", "copy", "sort"),
    )
}
METHODS |= {
    "reshape": _shape_method(reshape_),
    "transpose": _shape_method(transpose_),
    "flatten": ravel,
    "argmax": lambda self, axis=None: plain(self).argmax(axis),
    "argmin": lambda self, axis=None: plain(self).argmin(axis),
    "argsort": lambda self, axis=-1: plain(self).argsort(axis),
    "any": lambda self, axis=None: plain(self).any(axis),
    "all": lambda self, axis=None: plain(self).all(axis),
    "shape": property(shape_of),
    "ndim": property(lambda self: len(shape_of(self))),
    "size": property(lambda self: int(np.prod(shape_of(self), dtype=int))),
    "dtype": property(lambda self: np.result_type(plain(self))),
    "T": property(lambda self: transpose(self, None)),
    "__getitem__": _index,
    "__len__": _length,
    "__iter__": _iterate,
    "__array_function__": array_function,
    "__matmul__": matmul,
    "__rmatmul__": lambda self, other: matmul(other, self),
}


# scipy.special has ufuncs of its own; those that a row or a short program answers, by name.
_SPECIAL_PROGRAMS: dict[str, Function] = {
    "erf": special.erf,
    "erfc": special.erfc,
    "gamma": special.gamma,
    "gammaln": special.lgamma,
    "loggamma": special.lgamma,
    "psi": special.digamma,
    "digamma": special.digamma,
    "expit": elementary.sigmoid,
    "exp2": elementary.exp2,
    "expm1": elementary.expm1,
    "log1p": elementary.log1p,
    "cbrt": elementary.cbrt,
    "exp10": lambda x: 10.0**x,
    "logit": lambda x: np.log(x / (1 - x)),
    "log_expit": lambda x: -elementary.softplus(-x),
    "xlogy": lambda x, y: where_row(plain(x) == 0, 0.0, x * np.log(y)),
    "xlog1py": lambda x, y: where_row(plain(x) == 0, 0.0, x * np.log1p(y)),
    "entr": lambda x: where_row(plain(x) == 0, 0.0, -x * np.log(x)),
    "rel_entr": lambda x, y: x * np.log(x / y),
    "kl_div": lambda x, y: x * np.log(x / y) - x + y,
    "ndtr": lambda x: special.erfc(-x / np.sqrt(2)) / 2,
    "beta": lambda a, b: np.exp(_betaln(a, b)),
    "betaln": lambda a, b: _betaln(a, b),
}


def _betaln(a: Any, b: Any) -> Any:
    return special.lgamma(a) + special.lgamma(b) - special.lgamma(a + b)


def install() -> None:
    """Give nodes NumPy's methods and attributes."""
    for name, method in METHODS.items():
        setattr(Traced, name, method)
    SPECIAL.update(_SPECIAL_PROGRAMS)


install()
