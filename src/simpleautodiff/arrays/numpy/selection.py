"""Selecting elements: by conditions, by indices, between bounds; functions along axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.arrays.elements import join_results
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    as_array,
    can_decide,
    decide,
    implements,
    is_batch,
)
from simpleautodiff.arrays.shaping import move_by_index
from simpleautodiff.arrays.writes.writing import OTHER_VIEWS
from simpleautodiff.core.level import take_current, to_concrete, to_plain
from simpleautodiff.errors import ArgumentError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import getitem, set_item
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import as_condition, where as where_row
from simpleautodiff.rules.decisions import as_operand
from simpleautodiff.rules.scalar import special
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.rules.scalar.piecewise import clip as clip_row, maximum, minimum, rint, trunc

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
    result = join_results(results, outer, "np.apply_along_axis")
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
