"""NumPy's ufuncs on nodes: calls with keywords, reduce, accumulate, outer, reduceat."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.elements import call_made_ufunc
from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.reductions import (
    axes_of,
    cumprod,
    cumsum_,
    flatten_axes,
    max_,
    min_,
    prod,
    sum_,
)
from simpleautodiff.arrays.registry import (
    SPECIAL_UFUNCS,
    Function,
    as_array,
    no_rule,
    to_dtype,
    write_result,
)
from simpleautodiff.arrays.writes.put_functions import write_at
from simpleautodiff.core.level import Traced, Written, take_current, to_plain
from simpleautodiff.core.primitive import Kink
from simpleautodiff.errors import InputError, LostDerivativeError, RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import as_condition, where as where_row
from simpleautodiff.rules.decisions import as_operand, note_answer
from simpleautodiff.rules.row import UFUNCS, add_kinks
from simpleautodiff.rules.scalar.arithmetic import floor_divide, mod, mul, power
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.rules.scalar.piecewise import absolute, sign, trunc

_IGNORED = ("casting", "order", "subok")


def _float_power(x: Any, y: Any) -> Any:
    """Raise to a power, in at least 64 bits."""
    wide = np.result_type(to_plain(x), to_plain(y), np.float64)
    return power(*[to_dtype(u, wide) if hasattr(u, "dtype") else u for u in (x, y)])


def _frexp(x: Any) -> tuple[Any, Any]:
    """Split into a mantissa between 1/2 and 1 and a power of two, which is locally constant."""
    exponent = evaluate_plainly(lambda x: np.frexp(x)[1], x)
    return _ldexp(x, -exponent, _split), exponent


_split = add_kinks(
    mul, Kink("|x| a power of two", lambda x, factor: abs(x * factor) == 0.5, "as to its right")
)


def evaluate_plainly(function: Function, *args: Any) -> Any:
    """Evaluate on plain values; for a batch, on those of each example."""
    args = tuple(map(to_plain, args))
    level: Any = next((x.level for x in args if isinstance(x, Traced)), None)
    return function(*args) if level is None else level.elementwise(function, args)


def _ldexp(x: Any, n: Any, times: Function = mul) -> Any:
    if dtype_of(n).kind not in "biu":
        raise InputError(
            f"np.ldexp needs integers for exponents; write x * 2.0**n for others{cite_line()}"
        )
    factor = 2.0 ** to_plain(n)
    return times(x, factor.astype(dtype_of(x)) if hasattr(factor, "astype") else factor)


def _fmod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of x."""
    return where_row(as_operand(x) < 0, -mod(-x, absolute(y)), mod(x, absolute(y)))


def _heaviside(x: Any, y: Any) -> Any:
    """Return 0 below 0, 1 above it, and y at it."""
    return where_row(as_operand(x) == 0, y, (sign(x) + 1) / 2)


def _modf(x: Any) -> tuple[Any, Any]:
    """Split into a fractional part and an integer part, which is locally constant."""
    return _fmod(x, 1.0), trunc(x)


def _nextafter(x: Any, y: Any) -> Any:
    """Return the next number towards another; its derivative is that of the first."""
    return x + (evaluate_plainly(np.nextafter, x, y) - to_plain(x))


def _check_axes(name: str, lengths: str, x1: Any, x2: Any) -> None:
    """Reject arrays whose last axes do not fit: axes with the same letter need the same length."""
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
IMPLEMENTATIONS: dict[Any, Function] = {  # some are new in NumPy 2.1 and 2.2
    getattr(np, name): implementation
    for name, implementation in _NAMED.items()
    if hasattr(np, name)
}
UFUNCS.update(IMPLEMENTATIONS)
_ROUNDED_OTHERWISE = {
    getattr(np, name, None) for name in ("float_power", "vecdot", "matvec", "vecmat")
}
_GIVEN = {np.power, np.reciprocal}  # for some arguments
_REDUCTIONS: dict[Any, Function] = {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: max_,
    np.minimum: min_,
}
_CUMULATIVE: dict[Any, Function] = {np.add: cumsum_, np.multiply: cumprod}


def is_plain(ufunc: Any) -> bool:
    """Tell whether a ufunc has a bool result, or one without a derivative, such as np.spacing."""
    return ufunc is np.spacing or not {"d->?", "dd->?"}.isdisjoint(ufunc.types)


_NESTED = {list, tuple}
_ROWS: dict[Any, Function] = {}  # what calls the row of a ufunc, where it has one


def _find_row(ufunc: Any) -> Function | None:
    """Return the function that calls the row of a ufunc, if it has one, and remember it."""
    wrapping: Any = UFUNCS.get(ufunc)
    if not hasattr(wrapping, "primitive"):
        return None
    if ufunc in _GIVEN:
        return _ROWS.setdefault(
            ufunc, lambda *inputs: give_values(wrapping(*inputs), ufunc, inputs, {})
        )
    return _ROWS.setdefault(ufunc, wrapping)


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Handle a ufunc, or one of its methods, that has a node among its arguments."""
    if method == "__call__" and not kwargs and len(inputs) < 3:  # nearly all calls
        wrapping = _ROWS.get(ufunc) or _find_row(ufunc)
        if wrapping is not None and _NESTED.isdisjoint(map(type, inputs)):
            return wrapping(*inputs)
    library = "np" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    name = f"{library}.{ufunc.__name__}"
    if "(vectorized)" in ufunc.__name__ and method == "__call__" and not kwargs:
        return call_made_ufunc(ufunc, *[as_array(take_current(x)) for x in inputs])
    if method == "at" and isinstance(inputs[0], (Traced, Written)):
        return write_at(ufunc, *inputs)
    if method == "at":
        raise LostDerivativeError(
            f"{name}.at writes into an array. Make it with y = np.zeros_like(x) or y = x.copy(), "
            f"then write {name}.at(y, ...){cite_line()}"
        )
    given = [as_array(take_current(x)) for x in inputs]
    out = kwargs.pop("out", None)
    if is_plain(ufunc) and ufunc not in _REDUCTIONS:
        if method == "__call__" and not kwargs and out is None and ufunc in UFUNCS:
            return UFUNCS[ufunc](*given)  # so that levels can note the comparison
        function = getattr(ufunc, method)
        answer = function(*map(to_plain, given), **_with_out(kwargs, out))
        return answer if ufunc is np.spacing else note_answer(answer, function, *given, **kwargs)
    if (UFUNCS.get(ufunc) or SPECIAL_UFUNCS.get(ufunc.__name__)) is None:
        raise no_rule(name)
    kwargs = {key: value for key, value in kwargs.items() if key not in _IGNORED}
    if method == "__call__":
        result = _call(ufunc, given, out, dict(kwargs))
    else:
        result = _UFUNC_METHODS[method](ufunc, *given, **kwargs)
        result = write_result(result, out, f"{name}.{method}")
    rounded = ufunc in _ROUNDED_OTHERWISE or library == "scipy.special"
    if out is None and (rounded or method not in ("__call__", "outer")):
        return give_values(result, getattr(ufunc, method), inputs, kwargs)
    return result


def _with_out(kwargs: dict[str, Any], out: Any) -> dict[str, Any]:
    return kwargs if out is None else {**kwargs, "out": out}


def _call(ufunc: Any, inputs: list[Any], out: Any, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc; where `where` is false the result is taken from `out`, or 0."""
    where, dtype = kwargs.pop("where", True), kwargs.pop("dtype", None)
    wrapping = UFUNCS.get(ufunc) or SPECIAL_UFUNCS[ufunc.__name__]
    if ufunc.signature and list(kwargs) == ["axes"]:
        wrapping = _move_core_axes(ufunc, wrapping, kwargs.pop("axes"))
    if kwargs and (ufunc not in IMPLEMENTATIONS or "axes" in kwargs):
        raise RuleError(
            f"np.{ufunc.__name__} of a node has no derivative rule for the argument "
            f"{' and '.join(kwargs)}{cite_line()}"
        )
    if dtype is not None:
        inputs = [to_dtype(x, dtype) for x in inputs]
    with np.errstate(all=None if where is True else "ignore"):
        result = wrapping(*inputs, **kwargs)
    if where is not True:
        before = 0.0 if out is None else take_current(out[0])
        result = where_row(as_condition(to_plain(where)), result, before)
    return write_result(result, out, f"np.{ufunc.__name__}")


def _reduce(ufunc: Any, x: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """Reduce along axes."""
    dtype = kwargs.pop("dtype", None)
    x = x if dtype is None else to_dtype(x, dtype)
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    if ufunc in _REDUCTIONS:
        return _REDUCTIONS[ufunc](x, axis, **kwargs)
    keepdims, result = kwargs.pop("keepdims", False), kwargs.pop("initial", None)
    ufunc.reduce(np.ones((1,) * len(shape_of(x))), axis)  # NumPy rejects several axes for some
    parts, kept_shape = flatten_axes(x, axis)
    if kwargs:
        raise RuleError(
            f"np.{ufunc.__name__}.reduce of a node has no derivative rule for the argument "
            f"{' and '.join(kwargs)}; select the elements first: x[mask]{cite_line()}"
        )
    if not shape_of(parts)[0]:
        raise RuleError(
            f"np.{ufunc.__name__}.reduce of a node needs axes that are not empty{cite_line()}"
        )
    if ufunc in _AT_ONCE and shape_of(parts)[0] > _LONG:
        parts = [_AT_ONCE[ufunc](ufunc, parts)]
    for part in parts:
        result = part if result is None else ufunc(result, part)
    return reshape(result, kept_shape) if keepdims else result


def _reduce_logaddexp(ufunc: Any, parts: Any) -> Any:
    """Return logaddexp, or logaddexp2, of all parts at once.

    The largest parts contribute exp(0) = 1 each: subtracting 1 for each of them from the sum, and
    adding all but one of these again, preserves the last digits of a sum slightly above 1.
    """
    exp, unit = (np.exp, 1.0) if ufunc is np.logaddexp else (np.exp2, math.log(2))
    largest = np.max(to_plain(parts), axis=0)
    at = to_plain(parts) == largest
    largest = np.where(np.isfinite(largest), largest, 0).astype(dtype_of(parts))
    with np.errstate(all="ignore"):  # as NumPy's own does for infinite numbers
        more = sum_over(exp(parts - largest) - at.astype(dtype_of(parts)), 0, False)
        ones = np.sum(at, axis=0).astype(dtype_of(parts)) - 1
        return np.log1p(more + ones) / unit + largest


def _reduce_by_halves(ufunc: Any, parts: Any) -> Any:
    """Reduce by an associative and commutative ufunc: the first half with the second."""
    while (count := shape_of(parts)[0]) > 1:
        half = count // 2
        pairs = ufunc(getitem(parts, slice(half)), getitem(parts, slice(half, 2 * half)))
        parts = concatenate([pairs, getitem(parts, slice(2 * half, None))]) if count % 2 else pairs
    return getitem(parts, 0)


def _accumulate_by_doubling(ufunc: Any, x: Any, axis: int) -> Any:
    """Accumulate by doubling: combine ranges of 2 elements, then of 4, and so on."""
    results, step = np.moveaxis(x, axis, 0), 1
    while step < (count := shape_of(results)[0]):
        before, here = getitem(results, slice(count - step)), getitem(results, slice(step, None))
        results = concatenate([getitem(results, slice(step)), ufunc(before, here)])
        step *= 2
    return np.moveaxis(results, 0, axis)


_LONG = 16  # elements: fewer are combined one after the other, as in NumPy
_VERY_LONG = 256  # elements: doubling computes more of them, in fewer steps
_AT_ONCE: dict[Any, Function] = {
    np.logaddexp: _reduce_logaddexp,
    np.logaddexp2: _reduce_logaddexp,
    np.hypot: _reduce_by_halves,
    np.fmax: _reduce_by_halves,
    np.fmin: _reduce_by_halves,
}
_DOUBLING = {*_AT_ONCE, np.maximum, np.minimum}


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Return the results of reduce for all prefixes of the array."""
    x = x if dtype is None else to_dtype(x, dtype)
    if ufunc in _CUMULATIVE:
        return _CUMULATIVE[ufunc](x, axis)
    if ufunc in _DOUBLING and shape_of(x)[axis] > _VERY_LONG:
        return _accumulate_by_doubling(ufunc, x, axis)
    results: list[Any] = []
    for part in np.moveaxis(x, axis, 0):
        results.append(ufunc(results[-1], part) if results else part)
    return np.stack(results, axes_of(x, axis)[0])


def _move_core_axes(ufunc: Any, wrapping: Function, axes: Any) -> Function:
    """Return a ufunc of vectors or matrices that finds them in other axes than the last ones."""
    *given, new = (axis if isinstance(axis, tuple) else (axis,) for axis in axes)
    if len(axes) == ufunc.nin:  # the results are scalars
        given, new = [*given, new], ()

    def implementation(*inputs: Any) -> Any:
        pairs = zip(inputs, given, strict=True)
        moved = [np.moveaxis(x, at, range(-len(at), 0)) for x, at in pairs]
        return np.moveaxis(wrapping(*moved), range(-len(new), 0), new)

    return implementation


def _outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """Apply to every pair of elements."""
    wide = reshape(a, (*shape_of(a), *[1] * len(shape_of(b))))
    return ufunc(wide, b, **kwargs)


def _reduceat(ufunc: Any, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Reduce the slices between indices; where these do not increase, take one element."""
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


_UFUNC_METHODS: dict[str, Function] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "reduceat": _reduceat,
}
