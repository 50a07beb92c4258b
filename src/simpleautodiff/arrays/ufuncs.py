"""NumPy's ufuncs on nodes: calls with their keywords, reduce, accumulate, outer, reduceat."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.reductions import (
    axes_of,
    cumprod,
    cumsum_,
    flattened,
    max_,
    min_,
    prod,
    sum_,
)
from simpleautodiff.arrays.registry import SPECIAL, Function, as_array, no_rule, to_dtype, written
from simpleautodiff.arrays.writes.put_functions import write_at
from simpleautodiff.core.level import Traced, Written, plain, unwrapped
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import InputError, LostDerivativeError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.row import UFUNCS, add_kinks
from simpleautodiff.rules.scalar.arithmetic import floor_divide, mod, mul, power
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.rules.scalar.piecewise import absolute, sign, trunc

_IGNORED = ("casting", "order", "subok")


def _float_power(x: Any, y: Any) -> Any:
    """Raise to a power, with 64 bits at least."""
    wide = np.result_type(plain(x), plain(y), np.float64)
    return power(*[to_dtype(u, wide) if hasattr(u, "dtype") else u for u in (x, y)])


def _frexp(x: Any) -> tuple[Any, Any]:
    """Split into a number between 1/2 and 1 and a power of two, which does not change."""
    exponent = _plainly(lambda x: np.frexp(x)[1], x)
    return _ldexp(x, -exponent, _split), exponent


_split = add_kinks(
    mul, Kink("|x| a power of two", lambda x, factor: abs(x * factor) == 0.5, "as to its right")
)


def _plainly(function: Function, *args: Any) -> Any:
    """Ask for plain numbers, of a batch for those of each example."""
    args = tuple(map(plain, args))
    level: Any = next((x.level for x in args if isinstance(x, Traced)), None)
    return function(*args) if level is None else level.elementwise(function, args)


def _ldexp(x: Any, n: Any, times: Function = mul) -> Any:
    if dtype_of(n).kind not in "biu":
        raise InputError(
            f"np.ldexp needs whole numbers for exponents; write x * 2.0**n for others{cite_line()}"
        )
    factor = 2.0 ** plain(n)
    return times(x, factor.astype(dtype_of(x)) if hasattr(factor, "astype") else factor)


def _fmod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of x."""
    return where_row(plain(x) < 0, -mod(-x, absolute(y)), mod(x, absolute(y)))


def _heaviside(x: Any, y: Any) -> Any:
    """Return 0 below 0, 1 above it, and y at it."""
    return where_row(plain(x) == 0, y, (sign(x) + 1) / 2)


def _modf(x: Any) -> tuple[Any, Any]:
    """Split off the whole part, which does not change by a little."""
    return _fmod(x, 1.0), trunc(x)


def _nextafter(x: Any, y: Any) -> Any:
    """Return the next number towards another; it moves with the first."""
    return x + (_plainly(np.nextafter, x, y) - plain(x))


def _check_axes(name: str, lengths: str, x1: Any, x2: Any) -> None:
    """Refuse arrays whose last axes do not fit: those that a letter names have one length."""
    known: dict[str, int] = {}
    for letters, shape in zip(lengths.split(","), (shape_of(x1), shape_of(x2)), strict=True):
        ends = [known.setdefault(c, n) for c, n in zip(letters[::-1], shape[::-1], strict=False)]
        if len(shape) < len(letters) or ends != [*shape[::-1]][: len(ends)]:
            raise InputError(
                f"{name} needs arrays with the last axes {lengths.replace(',', ' and ')}, where "
                f"each letter is a length, not of shape {shape_of(x1)} and {shape_of(x2)}"
                f"{cite_line()}"
            )


def vecdot(x1: Any, x2: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """Multiply vectors along an axis."""
    x1, x2 = (np.moveaxis(x, axis, -1) if shape_of(x) else x for x in (x1, x2))
    _check_axes("np.vecdot", "n,n", x1, x2)
    result = sum_over(conj(x1) * x2, -1, False)
    return np.expand_dims(result, axis) if keepdims else result


def _matvec(x1: Any, x2: Any) -> Any:
    _check_axes("np.matvec", "mn,n", x1, x2)
    return getitem(matmul(x1, reshape(x2, (*shape_of(x2), 1))), (..., 0))


def _vecmat(x1: Any, x2: Any) -> Any:
    _check_axes("np.vecmat", "m,mn", x1, x2)
    line = conj(reshape(x1, (*shape_of(x1)[:-1], 1, shape_of(x1)[-1])))
    return getitem(matmul(line, x2), (..., 0, slice(None)))


_NAMED: dict[str, Function] = {
    "float_power": _float_power,
    "fmod": _fmod,
    "frexp": _frexp,
    "heaviside": _heaviside,
    "ldexp": _ldexp,
    "modf": _modf,
    "nextafter": _nextafter,
    "divmod": lambda x, y: (floor_divide(x, y), mod(x, y)),
    "vecdot": vecdot,
    "matvec": _matvec,
    "vecmat": _vecmat,
}
PROGRAMS: dict[Any, Function] = {  # some came with NumPy 2.1 and 2.2
    getattr(np, name): program for name, program in _NAMED.items() if hasattr(np, name)
}
UFUNCS.update(PROGRAMS)
_REDUCING: dict[Any, Function] = {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: max_,
    np.minimum: min_,
}
_RUNNING: dict[Any, Function] = {np.add: cumsum_, np.multiply: cumprod}


def is_plain(ufunc: Any) -> bool:
    """Tell whether a ufunc answers yes or no, or with a distance of neighbouring numbers."""
    return ufunc is np.spacing or not {"d->?", "dd->?"}.isdisjoint(ufunc.types)


_NESTED = (list, tuple)


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a ufunc, or one of its methods, with a node among its arguments."""
    if method == "__call__" and not kwargs:
        wrapping = UFUNCS.get(ufunc)
        lists = type(inputs[0]) in _NESTED or type(inputs[-1]) in _NESTED
        if hasattr(wrapping, "primitive") and not (lists or len(inputs) > 2):
            return wrapping(*inputs)  # type: ignore[misc]  # nearly all calls
    library = "np" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    name = f"{library}.{ufunc.__name__}"
    if "(vectorized)" in ufunc.__name__:
        raise RuleError(
            "a ufunc made by np.frompyfunc gives objects, not numbers; np.vectorize(f)(x) takes "
            f"nodes{cite_line()}"
        )
    if method == "at" and isinstance(inputs[0], (Traced, Written)):
        return write_at(ufunc, *inputs)
    if method == "at":
        raise LostDerivativeError(
            f"{name}.at writes into an array. Make it with y = np.zeros_like(x) or y = x.copy(), "
            f"then write {name}.at(y, ...){cite_line()}"
        )
    given = [as_array(unwrapped(x)) for x in inputs]
    out = kwargs.pop("out", None)
    if is_plain(ufunc) and ufunc not in _REDUCING:
        return getattr(ufunc, method)(*map(plain, given), **_with_out(kwargs, out))
    if (UFUNCS.get(ufunc) or SPECIAL.get(ufunc.__name__)) is None:
        raise no_rule(name)
    kwargs = {key: value for key, value in kwargs.items() if key not in _IGNORED}
    if method == "__call__":
        return _called(ufunc, given, out, kwargs)
    return written(_METHODS[method](ufunc, *given, **kwargs), out, f"{name}.{method}")


def _with_out(kwargs: dict[str, Any], out: Any) -> dict[str, Any]:
    return kwargs if out is None else {**kwargs, "out": out}


def _called(ufunc: Any, inputs: list[Any], out: Any, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc: `where` keeps what stands in `out`, or 0, at the other elements."""
    where, dtype = kwargs.pop("where", True), kwargs.pop("dtype", None)
    wrapping = UFUNCS.get(ufunc) or SPECIAL[ufunc.__name__]
    if ufunc.signature and list(kwargs) == ["axes"]:
        wrapping = _along(ufunc, wrapping, kwargs.pop("axes"))
    if kwargs and (ufunc not in PROGRAMS or "axes" in kwargs):
        raise RuleError(
            f"np.{ufunc.__name__} of a node has no derivative rule for the argument "
            f"{' and '.join(kwargs)}{cite_line()}"
        )
    if dtype is not None:
        inputs = [to_dtype(x, dtype) for x in inputs]
    with np.errstate(all=None if where is True else "ignore"):
        result = wrapping(*inputs, **kwargs)
    if where is not True:
        before = 0.0 if out is None else unwrapped(out[0])
        result = where_row(plain(where), result, before)
    return written(result, out, f"np.{ufunc.__name__}")


def _reduce(ufunc: Any, x: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """Take elements together along axes."""
    dtype = kwargs.pop("dtype", None)
    x = x if dtype is None else to_dtype(x, dtype)
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    if ufunc in _REDUCING:
        return _REDUCING[ufunc](x, axis, **kwargs)
    keepdims, result = kwargs.pop("keepdims", False), kwargs.pop("initial", None)
    ufunc.reduce(np.ones((1,) * len(shape_of(x))), axis)  # NumPy refuses several, of some
    parts, kept_shape = flattened(x, axis)
    if kwargs or not shape_of(parts)[0]:
        raise RuleError(
            f"np.{ufunc.__name__}.reduce of a node takes axes that are not empty, and "
            f"initial={cite_line()}"
        )
    if ufunc in _AT_ONCE and shape_of(parts)[0] > _LONG:
        parts = [_AT_ONCE[ufunc](ufunc, parts)]
    for part in parts:
        result = part if result is None else ufunc(result, part)
    return reshape(result, kept_shape) if keepdims else result


def _log_of_sum(ufunc: Any, parts: Any) -> Any:
    """Return what logaddexp, or logaddexp2, gives for all parts at once.

    Those that are the largest are powers of 0: taking 1 of each off the sum, and adding all but one
    of these again, keeps the last digits of a sum that is hardly more than 1.
    """
    exp, unit = (np.exp, 1.0) if ufunc is np.logaddexp else (np.exp2, math.log(2))
    largest = np.max(plain(parts), axis=0)
    at = plain(parts) == largest
    largest = np.where(np.isfinite(largest), largest, 0).astype(dtype_of(parts))
    with np.errstate(all="ignore"):  # as NumPy's own, of infinite numbers
        more = sum_over(exp(parts - largest) - at.astype(dtype_of(parts)), 0, False)
        ones = np.sum(at, axis=0).astype(dtype_of(parts)) - 1
        return np.log1p(more + ones) / unit + largest


def _by_halves(ufunc: Any, parts: Any) -> Any:
    """Take elements together whose order does not matter: the first half with the second."""
    while (count := shape_of(parts)[0]) > 1:
        half = count // 2
        pairs = ufunc(getitem(parts, slice(half)), getitem(parts, slice(half, 2 * half)))
        parts = concatenate([pairs, getitem(parts, slice(2 * half, None))]) if count % 2 else pairs
    return getitem(parts, 0)


def _by_doubling(ufunc: Any, x: Any, axis: int) -> Any:
    """Return what all starts give: of stretches of 2 elements, of 4 by two of these, and so on."""
    results, step = np.moveaxis(x, axis, 0), 1
    while step < (count := shape_of(results)[0]):
        before, here = getitem(results, slice(count - step)), getitem(results, slice(step, None))
        results = concatenate([getitem(results, slice(step)), ufunc(before, here)])
        step *= 2
    return np.moveaxis(results, 0, axis)


_LONG = 16  # elements: fewer are taken together one after the other, as NumPy does
_VERY_LONG = 256  # elements: doubling computes more of them, in fewer steps
_AT_ONCE: dict[Any, Function] = {
    np.logaddexp: _log_of_sum,
    np.logaddexp2: _log_of_sum,
    np.hypot: _by_halves,
    np.fmax: _by_halves,
    np.fmin: _by_halves,
}
_DOUBLING = {*_AT_ONCE, np.maximum, np.minimum}


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Return what reduce gives for all starts of the array."""
    x = x if dtype is None else to_dtype(x, dtype)
    if ufunc in _RUNNING:
        return _RUNNING[ufunc](x, axis)
    if ufunc in _DOUBLING and shape_of(x)[axis] > _VERY_LONG:
        return _by_doubling(ufunc, x, axis)
    results: list[Any] = []
    for part in np.moveaxis(x, axis, 0):
        results.append(ufunc(results[-1], part) if results else part)
    return np.stack(results, axes_of(x, axis)[0])


def _along(ufunc: Any, wrapping: Function, axes: Any) -> Function:
    """Let a ufunc of vectors or matrices find them in other axes than the last ones."""
    *given, new = (axis if isinstance(axis, tuple) else (axis,) for axis in axes)
    if len(axes) == ufunc.nin:  # the results are numbers
        given, new = [*given, new], ()

    def program(*inputs: Any) -> Any:
        pairs = zip(inputs, given, strict=True)
        moved = [np.moveaxis(x, at, range(-len(at), 0)) for x, at in pairs]
        return np.moveaxis(wrapping(*moved), range(-len(new), 0), new)

    return program


def _outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """Apply to every pair of elements."""
    wide = reshape(a, (*shape_of(a), *[1] * len(shape_of(b))))
    return ufunc(wide, b, **kwargs)


def _reduceat(ufunc: Any, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Reduce the slices between indices; where they do not grow, take the one element."""
    moved = np.moveaxis(x if dtype is None else to_dtype(x, dtype), axis, 0)
    starts = [int(i) for i in np.asarray(indices)]
    n = shape_of(moved)[0]
    if not all(0 <= i < n for i in starts):
        raise InputError(
            f"np.{ufunc.__name__}.reduceat: {starts} are not all places among {n}{cite_line()}"
        )
    stops = [*starts[1:], n]
    parts = [
        _reduce(ufunc, getitem(moved, slice(i, max(j, i + 1))), 0)
        for i, j in zip(starts, stops, strict=True)
    ]
    return np.moveaxis(np.stack(parts), 0, axis)


_METHODS: dict[str, Function] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "reduceat": _reduceat,
}
