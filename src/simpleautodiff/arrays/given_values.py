"""Replace the value of an implementation by NumPy's own, where the two would round differently.

While a function of NumPy is differentiated, it runs as an implementation made of primitives. Some
of these round differently from NumPy. The result of such a function gets the value, and the memory
layout, that NumPy computes from the plain arguments; its derivative is that of the implementation.
A tape that is translated into source code also holds the call, which is evaluated again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.rules.array.dtypes import astype, dtype_of
from simpleautodiff.rules.array.repeated_values import (
    find_lowest_level,
    is_derivative,
    is_turned,
)
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import Function, is_complex
from simpleautodiff.values.pytree import flatten, map_leaves


def _always(*args: Any, **kwargs: Any) -> bool:
    return True


def _if_complex(*args: Any, **kwargs: Any) -> bool:
    return any(is_complex(to_plain(leaf)) for leaf in flatten((args, kwargs))[0])


def _if_complex_or_half(*args: Any, **kwargs: Any) -> bool:
    leaves = [to_plain(leaf) for leaf in flatten((args, kwargs))[0]]
    return any(is_complex(x) or getattr(x, "dtype", None) == np.float16 for x in leaves)


def unless_double(x: Any, *args: Any, **kwargs: Any) -> bool:
    """Tell whether numbers are of another precision than 64 bits."""
    return np.result_type(to_plain(x)) not in (np.float64, np.complex128)


def _if_number(*args: Any, **kwargs: Any) -> bool:
    return any(not np.ndim(to_plain(arg)) for arg in args)


def _if_numpys_number(*args: Any) -> bool:
    """Tell whether x**y has a NumPy scalar as operand, which `np.power` rounds differently."""
    return any(isinstance(to_plain(arg), np.generic) for arg in args) and _if_number(*args)


def _if_number_or_stack(*args: Any, **kwargs: Any) -> bool:
    return any(np.ndim(to_plain(arg)) not in (1, 2) for arg in args)


def _if_values_alone(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> bool:
    return not compute_uv


def _if_computed(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> bool:
    """Tell whether np.pad computes numbers, rather than copy given ones."""
    return mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap") or bool(kwargs)


def _if_upper(a: Any, upper: bool = False) -> bool:
    return upper


def _if_hermitian(*args: Any, hermitian: bool = False, **kwargs: Any) -> bool:
    return hermitian or len(args) > 2


# The functions whose implementations round differently, and for which arguments.
ROUNDED_OTHERWISE: dict[Any, Function] = {
    **dict.fromkeys((np.prod, np.nanprod, np.cumprod, np.nancumprod, np.vander), _always),
    **dict.fromkeys((np.nansum, np.nanmean, np.nanvar, np.nanstd), _always),
    **dict.fromkeys((np.sinc, np.i0, np.cov, np.corrcoef, np.average, np.gradient), _always),
    **dict.fromkeys((np.quantile, np.percentile, np.nanquantile, np.nanpercentile), _always),
    **dict.fromkeys((np.interp, np.correlate, np.poly, np.polydiv, np.polyfit), _always),
    **dict.fromkeys((np.linspace, np.geomspace, np.cross, np.linalg.cross), _always),
    **dict.fromkeys((np.bincount, np.histogram2d, np.histogramdd), _always),
    **dict.fromkeys((np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm), _always),
    **dict.fromkeys((np.linalg.cond, np.linalg.slogdet, np.linalg.matrix_power), _always),
    **dict.fromkeys(
        (np.linalg.multi_dot, np.linalg.lstsq, np.linalg.eigvals, np.linalg.qr), _always
    ),
    **dict.fromkeys((np.linalg.svdvals, np.linalg.vecdot), _always),
    **dict.fromkeys((np.emath.power, np.emath.arccos, np.emath.arcsin, np.emath.logn), _always),
    **dict.fromkeys((np.fft.irfft, np.fft.irfft2, np.fft.irfftn, np.fft.rfftn), _always),
    **dict.fromkeys((np.fft.rfft2, np.fft.ihfft, np.fft.hfft), _always),
    **dict.fromkeys((np.fft.fft, np.fft.ifft, np.fft.fft2, np.fft.ifft2), unless_double),
    **dict.fromkeys((np.fft.fftn, np.fft.ifftn, np.fft.rfft), unless_double),
    **dict.fromkeys((np.convolve, np.polymul), _always),
    np.reciprocal: _if_complex,
    **dict.fromkeys((np.var, np.std), _if_complex_or_half),
    np.linalg.cholesky: _if_upper,
    np.pad: _if_computed,
    np.power: _if_numpys_number,
    np.dot: _if_number_or_stack,
    np.inner: _if_number,
    np.linalg.pinv: _if_hermitian,
    np.linalg.svd: _if_values_alone,
}
for _name in ("cumulative_prod",):  # since NumPy 2.1
    if hasattr(np, _name):
        ROUNDED_OTHERWISE[getattr(np, _name)] = _always


class Call(NamedTuple):
    """A call of NumPy's function with nodes of one tape; `part` selects one of its results."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    part: int | None


@dataclass(frozen=True, eq=False, slots=True)
class GivenValue:
    """A value, and the call that computes it in generated code."""

    value: Any
    call: Call | None


give_value: Wrapping = row(
    "give_value",
    1,
    ZERO,
    value=lambda x, given: given.value,
    numpy=(),
    settings=(1,),
    text="{0}",
    latex="{0}",
    arrays=True,
    reason="the same number, rounded otherwise",
    listed=False,
)


def give_values(result: Any, function: Function, args: Any, kwargs: Any, near: bool = False) -> Any:
    """Return the result of an implementation with the values that `function` gives.

    With `near`, values that differ by more than rounding are not given: they are other vectors of a
    repeated value, to which the derivatives of the result do not belong.
    """
    leaves, rebuild = flatten(result)
    levels = [find_lowest_level(leaf) for leaf in leaves]
    given = [level for level in levels if level is not None]
    if not given:
        return _give_dtypes(result, function, args, kwargs)
    rounded: Any = ROUNDED_OTHERWISE.get(function, _always)
    gives = all(_is_written(level) or is_derivative(level) for level in given)
    turned = any(map(is_turned, given))
    if not gives or turned or not rounded(*args, **kwargs):
        return result
    try:
        plainly = function(*map_leaves(_plain, args), **map_leaves(_plain, kwargs))
    except (ValueError, TypeError):
        return result  # the implementation takes more arguments
    values = flatten(plainly)[0]
    if near and not all(map(_is_near, leaves, values)):
        return result
    calls: list[Call | None] = [None] * len(values)
    if _is_written(given[0]):
        several = isinstance(plainly, (tuple, list))
        if several and len(plainly) != len(values):
            return result  # nested structures
        args, kwargs = map_leaves(lambda x: _find_on_level(x, given[0]), (args, kwargs))
        parts = range(len(values)) if several else [None]
        calls = [Call(function, args, kwargs, part) for part in parts]
    triples = zip(leaves, values, calls, strict=True)
    return rebuild(iter([_give(leaf, value, call) for leaf, value, call in triples]))


def _is_near(leaf: Any, value: Any) -> bool:
    own, value = np.asarray(_plain(leaf)), np.asarray(value)
    if own.shape != value.shape or value.dtype.kind not in "fc":
        return True
    size = np.max(np.abs(value), initial=0.0)
    return np.allclose(own, value, 0.0, size * np.finfo(value.dtype).eps ** 0.5, equal_nan=True)


def _give_dtypes(result: Any, function: Function, args: Any, kwargs: Any) -> Any:
    """Return a batch, or several, in the dtypes that `function` gives to one example."""
    if not any(map(_is_narrow, flatten((args, kwargs))[0])):
        return result
    try:
        with np.errstate(all="ignore"):
            outline = function(*map_leaves(_outline, args), **map_leaves(_outline, kwargs))
    except (ValueError, TypeError):
        return result  # ones are no example for this function
    (leaves, rebuild), outlines = flatten(result), flatten(outline)[0]
    if len(leaves) != len(outlines):
        return result
    return rebuild(iter([_convert(*pair) for pair in zip(leaves, outlines, strict=True)]))


def _is_narrow(x: Any) -> bool:
    """Tell whether x is a batch of numbers of another precision than 64 bits."""
    x = _plain(x)
    return getattr(x, "opaque", False) and unless_double(x)


def _outline(x: Any) -> Any:
    """Return ones in place of a batch, in the shape and the dtype of one example."""
    x = _plain(x)
    return np.ones(x.shape, x.dtype)[()] if getattr(x, "opaque", False) else x


def _convert(leaf: Any, outline: Any) -> Any:
    dtype = dtype_of(outline)
    same = not isinstance(leaf, Traced) or dtype.kind != dtype_of(leaf).kind
    return leaf if same or dtype == dtype_of(leaf) else astype(leaf, dtype)


def align_phases(vectors: Any, function: Function) -> Any:
    """Return eigenvectors with the signs, or phases, that `function` gives them.

    Vectors of repeated values remain as they are if it takes another basis of their space.
    """
    level = find_lowest_level(vectors)
    if not is_derivative(level) or is_turned(level):
        return vectors
    overlap = np.sum(np.conj(to_plain(vectors)) * function(), axis=-2, keepdims=True)
    size = np.abs(overlap)
    same = 1 - size <= 100 * size.shape[-1] * np.finfo(size.dtype).eps
    return vectors * np.where(same, overlap / np.where(same, size, 1), 1)


def _is_written(level: Any) -> bool:
    """Tell whether a level is a tape that is translated into source code."""
    return getattr(level, "written", False)


def _find_on_level(x: Any, level: Any) -> Any:
    """Return the node of a level inside a value of a higher level."""
    x = take_current(x)
    while isinstance(x, Traced) and x.level is not level:
        x = x.value
    return x


def _plain(x: Any) -> Any:
    """Return the number or the array of a node; an array that remembers a condition forgets it."""
    plain = to_plain(take_current(x))
    return np.asarray(plain) if isinstance(plain, np.ndarray) else plain


def _give(leaf: Any, value: Any, call: Call | None) -> Any:
    """Return a node with another value, unless it has that value already."""
    if not isinstance(leaf, Traced):
        return leaf
    own, value = np.asarray(to_plain(leaf)), np.asarray(value)
    same = own.dtype == value.dtype and own.tobytes() == value.tobytes()
    same = same and (own.size < 2 or own.strides == value.strides)  # sums follow the layout
    if same or own.shape != value.shape:
        return leaf
    number = (
        float(value) if type(to_plain(leaf)) is float and own.dtype == value.dtype else value[()]
    )
    return give_value(leaf, GivenValue(number, call))
