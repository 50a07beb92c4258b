"""Selecting elements: by conditions, by indices, between bounds; functions along axes."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    as_array,
    can_decide,
    decide,
    implements,
    is_batch,
    to_dtype,
    widen,
)
from simpleautodiff.arrays.shaping import add_axes, lay_out, move_by_index
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.writing import OTHER_VIEWS, make_like, outline_of
from simpleautodiff.core.level import Traced, take_current, to_concrete, to_plain
from simpleautodiff.errors import ArgumentError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import getitem, set_item
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of
from simpleautodiff.rules.branches import as_condition, where as where_row
from simpleautodiff.rules.decisions import as_operand
from simpleautodiff.rules.scalar import special
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.rules.scalar.piecewise import clip as clip_row, maximum, minimum, rint, trunc
from simpleautodiff.values.pytree import flatten

FUNCTIONS[np.sinc] = lambda x: special.sinc(x)
if hasattr(np, "fix"):  # deprecated since NumPy 2.5
    FUNCTIONS[np.fix] = lambda x: trunc(x)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Select element by element; without choices, return the indices where the condition holds."""
    if x is None and y is None:
        return np.nonzero(as_operand(condition))
    chosen = to_plain(as_array(condition))
    chosen = chosen if getattr(chosen, "dtype", None) == np.bool_ else chosen != 0
    return where_row(chosen, as_array(x), as_array(y))


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Select by the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ArgumentError(
            f"np.select needs as many choices as conditions: {len(choicelist)} for {len(condlist)}"
        )
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Apply to each element the function of the last condition that holds; 0 where none does."""
    single = not isinstance(condlist, (list, tuple)) or isinstance(condlist[0], (bool, np.bool_))
    condlist = [condlist] if single and shape_of(x) else condlist
    conditions = [as_condition(to_plain(c)) != 0 for c in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(np.stack(conditions), axis=0))
    result: Any = np.zeros(shape_of(x), dtype_of(x))
    if not shape_of(x) and not any(map(is_batch, conditions)):
        held = [function for there, function in zip(conditions, funclist, strict=True) if there]
        return result if not held else held[-1](x, *args, **kw) if callable(held[-1]) else held[-1]
    for condition, function in zip(conditions, funclist, strict=True):
        part = x if is_batch(condition) else getitem(x, condition)
        if part is x and callable(function):
            _check_elementwise(function, args, kw)
        with np.errstate(all="ignore" if part is x else None):
            value = function(part, *args, **kw) if callable(function) else function
        if is_batch(condition):  # the examples select different elements
            result = where_row(condition, value, result)
        else:
            result = set_item(result, value, condition)
    return result


def _check_elementwise(function: Any, args: Any, kw: Any) -> None:
    """Reject a function that combines elements: which they are differs between examples."""
    halves = np.array([-1.7, 0.6, 2.3]), np.array([0.2, -0.4, 1.3])
    with np.errstate(all="ignore"):
        whole, *parts = (
            _broadcast_result(function(u, *args, **kw), u) for u in (np.r_[halves], *halves)
        )
    if not np.allclose(whole, np.concatenate(parts, axis=-1), equal_nan=True):
        raise RuleError(
            "np.piecewise with a function that looks at several elements (their sum, say) cannot "
            f"be run for many examples at once; write np.where(condition, f(x), g(x)){cite_line()}"
        )


def _broadcast_result(result: Any, u: Any) -> Any:
    """Return the result of a function for each element: a scalar stands for all of them."""
    array = to_concrete(result)
    alone = np.ndim(array) and not shape_of(result)  # one scalar for each example of a batch
    return (array[..., None] if alone else array) + np.zeros(u.shape)


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    """Limit to an interval."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is None and high is None:
        return a
    if high is None:
        return maximum(a, as_array(low))
    return minimum(a, as_array(high)) if low is None else clip_row(a, as_array(low), as_array(high))


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0) -> Any:
    """Round to decimals; the result is locally constant."""
    factor = 10.0 ** abs(operator.index(decimals))
    if not decimals:
        return rint(a)
    return rint(a * factor) / factor if decimals > 0 else rint(a / factor) * factor


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return the real part if all imaginary parts are close to 0."""
    return real(a) if decide(is_nearly_real, a, tol) else a


def _view_if_close(a: Any, tol: float = 100) -> Any:
    """Return the real part of a writable array, or itself, as np.real_if_close does."""
    return a.writable().real if decide(is_nearly_real, take_current(a), tol) else a


OTHER_VIEWS[np.real_if_close] = _view_if_close


def is_nearly_real(a: Any, tol: float) -> Any:
    """Tell whether np.real_if_close drops the imaginary parts."""
    return np.bool_(np.isrealobj(np.real_if_close(a, tol)))


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition holds."""
    flat = reshape(as_array(arr), (-1,))
    return getitem(flat, np.flatnonzero(to_plain(condition)))


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """Return the slices where a condition holds."""
    return move_by_index(
        lambda numbers: np.compress(to_plain(condition), numbers, axis), as_array(a)
    )


@implements(np.choose)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Take each element from the array whose index is in `a`."""
    arrays = [as_array(c) for c in choices]
    index = _bound_indices(to_plain(as_array(a)), len(arrays), mode)
    result = arrays[-1]
    for k, chosen in enumerate(arrays[:-1] or arrays):
        result = where_row(index == k, chosen, result)
    return result


def _bound_indices(index: Any, n: int, mode: str) -> Any:
    """Return indices below n: those outside are rejected, wrapped or clipped."""
    if mode == "wrap":
        return index % n
    outside = (index < 0) | (index >= n)
    if mode == "raise" and np.any(outside if can_decide(index) else to_concrete(outside)):
        raise InputError(
            f"np.choose has the choices 0 to {n - 1}; got {to_concrete(index)}{cite_line()}"
        )
    return np.clip(index, 0, n - 1)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Drop zeros at the ends; which elements these are is locally constant."""
    return getitem(filt, _find_nonzero_part(filt, trim, axis))


def _view_nonzero_part(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    return filt.writable()[_find_nonzero_part(take_current(filt), trim, axis)]


OTHER_VIEWS[np.trim_zeros] = _view_nonzero_part


def _find_nonzero_part(filt: Any, trim: str, axis: Any) -> tuple[slice, ...]:
    index = []
    for i, n in enumerate(shape_of(filt)):
        others = tuple(j for j in range(len(shape_of(filt))) if j != i)
        there = np.flatnonzero(np.any(to_plain(filt) != 0, axis=others))
        chosen = axis is None or i in axes_of(filt, axis)
        first = there[0] if len(there) and chosen and "f" in trim.lower() else 0
        last = there[-1] + 1 if len(there) and chosen and "b" in trim.lower() else n
        index.append(slice(int(first), int(last if len(there) or not chosen else 0)))
    return tuple(index)


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Apply a function to every vector along an axis."""
    (axis,) = axes_of(arr, axis)
    moved = np.moveaxis(arr, axis, -1)
    outer = shape_of(moved)[:-1]
    results = [func1d(moved[index], *args, **kwargs) for index in np.ndindex(*outer)]
    new = shape_of(results[0])
    result = reshape(stack(results), (*outer, *new))
    rank = len(outer)
    order = (*range(axis), *range(rank, rank + len(new)), *range(axis, rank))
    return np.transpose(result, order)


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Any:
    """Apply a reduction to one axis after the other, keeping the axes."""
    for axis in np.atleast_1d(axes):
        reduced = func(a, int(axis))
        lost = len(shape_of(reduced)) < len(shape_of(a))
        a = np.expand_dims(reduced, int(axis)) if lost else reduced
    return a


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """Return the argument of complex numbers."""
    turned = np.arctan2(imag(z), real(z))
    return turned * (180 / np.pi) if deg else turned


# Arrays made from nodes. --------------------------------------------------------------------------


def _steps(num: int, endpoint: bool, like: Any, rank: int) -> Any:
    if operator.index(num) < 0:
        raise InputError(f"the number of points is 0, 1, 2, ..., not {num}{cite_line()}")
    steps = np.arange(num) / max(num - 1 if endpoint else num, 1)
    return steps.astype(dtype_of(like)).reshape((-1,) + (1,) * rank)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return evenly spaced numbers."""
    start, stop = start + 0.0 * stop, stop + 0.0 * start
    steps = _steps(num, endpoint, start, len(shape_of(start)))
    points = np.moveaxis(start * (1 - steps) + stop * steps, 0, axis)
    points = _as_asked(points, dtype)
    gap = (stop - start) / max(num - 1 if endpoint else num, 1)
    return (points, gap) if retstep else points


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return powers with evenly spaced exponents."""
    return _as_asked(base ** linspace(start, stop, num, endpoint, axis=axis), dtype)


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return numbers with equal ratios."""
    if not is_batch(start) and not is_batch(stop) and not np.all(to_plain(start) * to_plain(stop)):
        raise InputError(f"np.geomspace has no ratios from, or to, 0{cite_line()}")
    start, stop = widen(start), widen(stop)
    ratio = stop / start
    steps = _steps(num, endpoint, ratio, len(shape_of(ratio)))
    return _as_asked(np.moveaxis(start * ratio**steps, 0, axis), dtype)


def _as_asked(x: Any, dtype: Any) -> Any:
    """Return an array in the dtype that was asked for, if any."""
    return x if dtype is None else to_dtype(x, dtype)


_SEQUENCES = (list, tuple, deque)


@implements(np.array)
def array_(object: Any, dtype: Any = None, ndmin: int = 0, order: Any = None) -> Any:
    """Join nodes: np.array([a, b], like=a); copy what is an array already.

    An array of plain numbers can be written to, and indexed by indices that differ between the
    examples of a batch.
    """
    object = take_current(object)
    result = array(object, dtype, 0, order)
    plain = issubclass(type(result), np.ndarray)
    copied = plain or (result is object and shape_of(result))
    return add_axes(FUNCTIONS[np.copy](result) if copied else result, ndmin)


@implements(np.asarray, np.asanyarray)
def array(object: Any, dtype: Any = None, ndmin: int = 0, order: Any = None) -> Any:
    """Join nested lists of nodes."""
    if issubclass(type(object), _SEQUENCES):
        parts, lengths = _flatten_lists(object)
        result = stack(parts)
        result = reshape(result, (*lengths, *shape_of(result)[1:])) if len(lengths) > 1 else result
    else:
        result = as_array(object)
    result = result if dtype is None else result.astype(dtype, copy=False)
    return add_axes(lay_out(result, order), ndmin)


def _flatten_lists(nested: Any) -> tuple[list[Any], list[int]]:
    """Return what nested lists hold, and the length of the lists at each depth."""
    parts, lengths = list(nested), [len(nested)]
    while (kinds := set(map(type, parts))) and all(map(_is_sequence, kinds)):
        (length, *others) = {len(part) for part in parts}
        if others:
            raise ArgumentError(
                f"lists of different lengths ({', '.join(map(str, sorted([length, *others])))}) "
                f"make no array{cite_line()}"
            )
        lengths.append(length)
        parts = [each for part in parts for each in part]
    if any(map(_is_sequence, kinds)):
        parts = [array(part) if _is_sequence(type(part)) else part for part in parts]
    return parts, lengths


def _is_sequence(kind: type) -> bool:
    return issubclass(kind, _SEQUENCES)


def new_array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Make an array of numbers or nodes: `array` of simpleautodiff.numpy.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> import simpleautodiff.numpy as np
    >>> ad.jacobian(lambda x: np.array([x, x**2]))(3.0)
    array([1., 6.])
    """
    if any(isinstance(leaf, Traced) for leaf in flatten(object)[0]):
        result = array(object, dtype, kwargs.get("ndmin", 0))
        return +result if result is object else result  # a new array, as in NumPy
    return np.array(object, dtype, **kwargs)


def new_full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Fill a new array with a number or a node: `full` of simpleautodiff.numpy.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> import simpleautodiff.numpy as np
    >>> ad.jacobian(lambda x: np.full(2, x**2))(3.0)
    array([6., 6.])
    """
    if isinstance(fill_value, Traced):
        return full(shape, fill_value, dtype)
    return np.full(shape, fill_value, dtype, **kwargs)


_plain_full_like = make_like(np.full_like)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", shape: Any = None
) -> Any:
    """Fill a writable array of the shape of `a` with a number or a node."""
    if not isinstance(fill_value, Traced):
        return _plain_full_like(a, fill_value, dtype=dtype, order=order, shape=shape)
    made = np.empty_like(outline_of(a), bool, order, shape=shape)
    filled: Any = broadcast_to(fill_value, made.shape)
    array = Writable(filled if dtype is None else filled.astype(dtype))
    array.layout = made
    return array


@implements(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    """Fill a new array: np.full(shape, x, like=x)."""
    return full_like(np.empty(shape), fill_value, dtype, order)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector as columns."""
    if N is not None and operator.index(N) < 0:
        raise InputError(f"np.vander has 0, 1, 2, ... columns, not {N}{cite_line()}")
    x = widen(x)
    powers = np.arange(shape_of(x)[0] if N is None else N)
    powers = powers if increasing else powers[::-1]
    return reshape(x, (-1, 1)) ** powers.astype(dtype_of(x))


@implements(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any) -> Any:
    """Broadcast an array to a larger shape."""
    array = as_array(array)
    return broadcast_to(array, np.broadcast_to(np.empty(shape_of(array), bool), shape).shape)
