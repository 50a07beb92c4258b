"""The functions of scipy.signal on nodes: convolutions and filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import Function, as_array, implements_scipy, is_batch
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import ArgumentError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.convolution import (
    convolve_all,
    moving_sum,
    recursion,
    reverse_axes,
)
from simpleautodiff.rules.array.dtypes import dtype_of, real_dtype
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.values.functions import optional


def scipy_signal(name: str) -> Any:
    """Return a function of scipy.signal, which is imported on first use."""
    return getattr(optional("scipy.signal", f"{name} of an array"), name)


def floats(x: Any) -> Any:
    """Convert to floating or complex numbers."""
    x = as_array(x)
    return x if isinstance(x, Traced) or dtype_of(x).kind in "fc" else np.asarray(x, float)


# Convolutions. ------------------------------------------------------------------------------------


def _trim_to_mode(full: Any, first: Any, second: Any, mode: str, even: int = 0) -> Any:
    """Return the centre of a full convolution, or the part where the two overlap fully.

    If the second has an `even` length, the centre may begin one element later.
    """
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ArgumentError(f"mode is 'full', 'same' or 'valid', not {mode!r}{cite_line()}")
    pairs = [*zip(shape_of(first), shape_of(second), strict=True)]
    if mode == "same":
        kept = [((m - 1 + even) // 2, n) for n, m in pairs]
    else:
        kept = [(min(n, m) - 1, abs(n - m) + 1) for n, m in pairs]
    return getitem(full, tuple(slice(start, start + size) for start, size in kept))


@implements_scipy("signal.convolve")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays of the same rank."""
    a, b = floats(in1), floats(in2)
    if len(shape_of(a)) != len(shape_of(b)):
        raise ArgumentError(
            f"a convolution takes arrays of the same rank, not of the shapes {shape_of(a)} and "
            f"{shape_of(b)}{cite_line()}"
        )
    return _trim_to_mode(convolve_all(a, b, method), a, b, mode) if shape_of(a) else a * b


@implements_scipy("signal.correlate")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays: convolve with the reversed conjugate of the second."""
    return convolve(in1, reverse_axes(conj(floats(in2))), mode, method)


@implements_scipy("signal.fftconvolve", "signal.oaconvolve")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays by Fourier transforms, along all axes."""
    if axes is not None and {*axes_of(in1, axes)} != {*range(len(shape_of(in1)))}:
        raise RuleError(
            "scipy.signal.fftconvolve of a node has no rule for some of the axes; "
            f"np.fft.ifft(np.fft.fft(a, n) * np.fft.fft(b, n)) has one{cite_line()}"
        )
    return convolve(in1, in2, mode, "fft")


_PADDED = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


@implements_scipy("signal.convolve2d")
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolve two matrices; beyond its edges the first is 0, periodic, or mirrored."""
    return _trim_to_mode(_convolve_with_edges(in1, in2, mode, boundary, fillvalue), in1, in2, mode)


def _convolve_with_edges(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """Return the full convolution of matrices, of which the first is extended beyond its edges."""
    if boundary not in _PADDED:
        raise ArgumentError(f"boundary is 'fill', 'wrap' or 'symm', not {boundary!r}{cite_line()}")
    if mode == "valid" or (boundary == "fill" and not fillvalue):
        return convolve(in1, in2)
    widths = [(m - 1, m - 1) for m in shape_of(as_array(in2))]
    settings = {"constant_values": fillvalue} if boundary == "fill" else {}
    around = np.pad(floats(in1), widths, _PADDED[boundary], **settings)  # type: ignore[call-overload]
    return convolve(around, in2, "valid")


@implements_scipy("signal.correlate2d")
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate two matrices: convolve with the reversed conjugate of the second."""
    turned = reverse_axes(conj(floats(in2)))
    return _trim_to_mode(
        _convolve_with_edges(in1, turned, mode, boundary, fillvalue), in1, in2, mode, even=1
    )


# Filters. -----------------------------------------------------------------------------------------


@implements_scipy("signal.lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ aₖ y[n-k] = Σ bₖ x[n-k]."""
    b, a, x = (floats(given) for given in (b, a, x))
    b, a = (reshape(given, (-1,)) for given in (b, a))
    if not is_batch(a) and to_plain(a)[0] == 0:
        raise InputError(
            "scipy.signal.lfilter divides by a[0], which is 0; leave the zeros before the first "
            f"number of a away{cite_line()}"
        )
    b, a = b / a[0], a / a[0]
    (axis,) = axes_of(x, axis)
    moved = np.moveaxis(x, axis, 0)
    n, rest = shape_of(moved)[0], shape_of(moved)[1:]
    columns = reshape(moved, (n, -1))
    right = moving_sum(b, columns)
    state = None if zi is None else reshape(np.moveaxis(floats(zi), axis, 0), (-1, *_flatten(rest)))
    y = recursion(a, right if state is None else _add_initial_state(right, state))
    result = np.moveaxis(reshape(y, (n, *rest)), 0, axis)
    if state is None:
        return result
    final = reshape(_final_state(b, a, columns, y, state), (shape_of(state)[0], *rest))
    return result, np.moveaxis(final, 0, axis)


def _flatten(shape: tuple[int, ...]) -> tuple[int]:
    return (math.prod(shape),)


def _add_initial_state(right: Any, state: Any) -> Any:
    """Add the initial state of the filter to the first elements."""
    n, order = shape_of(right)[0], shape_of(state)[0]
    none = np.zeros((max(n - order, 0), shape_of(right)[1]), dtype_of(right))
    return right + concatenate([getitem(state, slice(0, n)), none], 0)


def _final_state(b: Any, a: Any, x: Any, y: Any, state: Any) -> Any:
    """Return the final state of the filter: the tails of the two convolutions."""
    n, order = shape_of(x)[0], shape_of(state)[0]
    tails = []
    for numbers, columns in ((b, x), (a, y)):
        whole = convolve_all(columns, reshape(numbers, (-1, 1)), "auto")
        tail = getitem(whole, slice(n, None))
        none = np.zeros((order - shape_of(tail)[0], shape_of(x)[1]), dtype_of(x))
        tails.append(concatenate([tail, none], 0))
    left = getitem(state, slice(n, None))
    still = np.zeros((order - shape_of(left)[0], shape_of(x)[1]), dtype_of(x))
    return tails[0] - tails[1] + concatenate([left, still], 0)


@implements_scipy("signal.sosfilt")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by second-order sections, one after the other."""
    states = []
    for k, section in enumerate(floats(sos)):
        if zi is None:
            x = lfilter(section[:3], section[3:], x, axis)
        else:
            x, state = lfilter(section[:3], section[3:], x, axis, zi[k])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


@implements_scipy("signal.hilbert")
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """Return the analytic signal: negative frequencies dropped, positive ones doubled."""
    x = floats(x)
    (axis,) = axes_of(x, axis)
    n = shape_of(x)[axis] if N is None else N
    counts = np.zeros(n, real_dtype(x))
    counts[: n // 2 + 1] = 2
    counts[[0, -(n // 2)] if n % 2 == 0 else [0]] = 1
    wide = counts.reshape([-1 if i == axis else 1 for i in range(len(shape_of(x)))])
    return np.fft.ifft(np.fft.fft(x, n, axis=axis) * wide, axis=axis)


def _apply_by_matrix(function: Function, x: Any, axis: int) -> Any:
    """Apply a function that is linear along an axis, by its matrix."""
    x = floats(x)
    (axis,) = axes_of(x, axis)
    moved = np.moveaxis(x, axis, 0)
    n, rest = shape_of(moved)[0], shape_of(moved)[1:]
    matrix = function(np.eye(n)).astype(real_dtype(x))
    columns = matmul(matrix, reshape(moved, (n, -1)))
    return np.moveaxis(reshape(columns, (len(matrix), *rest)), 0, axis)


@implements_scipy("signal.detrend")
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract a line, or the mean, along an axis."""
    return _apply_by_matrix(lambda one: scipy_signal("detrend")(one, 0, type, bp), data, axis)


@implements_scipy("signal.resample")
def resample(x: Any, num: int, *, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """Resample to `num` points by Fourier transforms."""
    function = scipy_signal("resample")
    return _apply_by_matrix(lambda one: function(one, num, None, 0, window, domain), x, axis)


@implements_scipy("signal.savgol_filter")
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
) -> Any:
    """Smooth by polynomials fitted to a moving window along an axis."""
    given = (window_length, polyorder, deriv, 1.0, 0, mode)
    smooth = _apply_by_matrix(lambda one: scipy_signal("savgol_filter")(one, *given), x, axis)
    return smooth / delta**deriv


@implements_scipy("signal.filtfilt")
def filtfilt(b: Any, a: Any, x: Any, axis: int = -1, **settings: Any) -> Any:
    """Filter forward and backward; the filter coefficients are constants."""
    if isinstance(b, Traced) or isinstance(a, Traced):
        raise RuleError(
            "scipy.signal.filtfilt has a derivative rule in x alone; scipy.signal.lfilter has one "
            f"in b and a, too{cite_line()}"
        )
    function = scipy_signal("filtfilt")
    return _apply_by_matrix(lambda one: function(b, a, one, axis=0, **settings), x, axis)


@implements_scipy("signal.sosfiltfilt")
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, **settings: Any) -> Any:
    """Filter forward and backward by second-order sections, which are constants."""
    if isinstance(sos, Traced):
        raise RuleError(
            "scipy.signal.sosfiltfilt has a derivative rule in x alone; scipy.signal.sosfilt has "
            f"one in the sections, too{cite_line()}"
        )
    function = scipy_signal("sosfiltfilt")
    return _apply_by_matrix(lambda one: function(sos, one, axis=0, **settings), x, axis)


@implements_scipy("signal.lfilter_zi")
def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the state that a filter has after a long step: it solves (I - Aᵀ) z = B."""
    b, a = np.atleast_1d(floats(b)), np.atleast_1d(floats(a))
    first = np.flatnonzero(to_plain(a))[0]
    a = a[first:]
    size = max(shape_of(a)[0], shape_of(b)[0])
    b, a = (concatenate([x, np.zeros(size - shape_of(x)[0])], 0) / a[0] for x in (b, a))
    shifts = np.eye(size - 1, k=1)
    rows = -a[1:, None] * np.eye(1, size - 1) + shifts
    return np.linalg.solve(np.eye(size - 1) - rows, b[1:] - a[1:] * b[0])


@implements_scipy("signal.upfirdn")
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: Any = 0,
) -> Any:
    """Insert zeros, filter along an axis, and keep every `down`-th number."""
    if mode not in ("constant", None) or cval:
        raise RuleError(
            f"scipy.signal.upfirdn of a node has no rule for mode={mode!r}{cite_line()}"
        )
    h, x = floats(h), floats(x)
    (axis,) = axes_of(x, axis)
    moved = np.moveaxis(x, axis, 0)
    n, rest = shape_of(moved)[0], shape_of(moved)[1:]
    columns = reshape(moved, (n, 1, -1))
    gaps = np.zeros((n, up - 1, shape_of(columns)[2]))
    spread = reshape(concatenate([columns, gaps], 1), (n * up, -1))[: (n - 1) * up + 1]
    filtered = convolve_all(spread, reshape(h, (-1, 1)), "auto")[::down]
    return np.moveaxis(reshape(filtered, (shape_of(filtered)[0], *rest)), 0, axis)


@implements_scipy("signal.resample_poly")
def resample_poly(x: Any, up: int, down: int, axis: int = 0, **settings: Any) -> Any:
    """Resample by a filter between inserted and dropped numbers."""
    function = scipy_signal("resample_poly")
    return _apply_by_matrix(lambda one: function(one, up, down, 0, **settings), x, axis)


@implements_scipy("signal.decimate")
def decimate(
    x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Any:
    """Filter along an axis, and keep every q-th number."""
    given = (q, n, ftype, 0, zero_phase)
    return _apply_by_matrix(lambda one: scipy_signal("decimate")(one, *given), x, axis)
