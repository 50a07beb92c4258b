"""The linear filters of scipy.ndimage on nodes: correlations of an array extended at its edges.

The weights of a filter are its impulse response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import Function, implements_scipy
from simpleautodiff.arrays.scipy.scipy_signal import floats
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array.convolution import convolve_all, reverse_axes
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.functions import optional

EDGES = {  # scipy.ndimage's mode -> np.pad's
    **dict.fromkeys(("reflect", "grid-mirror"), "symmetric"),
    **dict.fromkeys(("wrap", "grid-wrap"), "wrap"),
    **dict.fromkeys(("constant", "grid-constant"), "constant"),
    "mirror": "reflect",
    "nearest": "edge",
}


def _filter(x: Any, weights: Any, mode: str, cval: float, origin: Any) -> Any:
    """Correlate with weights of the same rank, whose centre is shifted by `origin`."""
    if mode not in EDGES:
        raise ArgumentError(f"mode is one of {', '.join(EDGES)}, not {mode!r}{cite_line()}")
    sizes = shape_of(weights)
    starts = [
        n // 2 + int(shift)
        for n, shift in zip(sizes, repeat_per_axis(origin, len(sizes)), strict=True)
    ]
    widths = [(start, n - 1 - start) for n, start in zip(sizes, starts, strict=True)]
    settings = {"constant_values": cval} if EDGES[mode] == "constant" else {}
    around = np.pad(x, widths, EDGES[mode], **settings)  # type: ignore[call-overload]
    inside = zip(sizes, shape_of(x), strict=True)
    kept = tuple(slice(n - 1, n - 1 + m) for n, m in inside)
    return getitem(convolve_all(around, reverse_axes(weights), "auto"), kept)


def repeat_per_axis(given: Any, n: int) -> list[Any]:
    """Return a setting for each of n axes."""
    return list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given] * n


def _cast_weights(kernel: Any, x: Any) -> Any:
    """Convert plain weights to the dtype of x, so that float32 stays float32."""
    return kernel if isinstance(kernel, Traced) else np.asarray(kernel, real_dtype(x))


def check_no_output(output: Any) -> None:
    """Refuse to write the result of a filter into an array."""
    if output is not None:
        raise RuleError(f"filters of nodes have no rule for output={cite_line()}")


@implements_scipy("ndimage.correlate")
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
) -> Any:
    """Correlate an array with weights of the same rank."""
    check_no_output(output)
    x = floats(input)
    return _filter(x, _cast_weights(floats(weights), x), mode, cval, origin)


@implements_scipy("ndimage.convolve")
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
) -> Any:
    """Convolve an array with weights of the same rank: correlate with the reversed weights."""
    kernel = floats(weights)
    moved = mirror_origin(origin, shape_of(kernel))
    return correlate(input, reverse_axes(kernel), output, mode, cval, moved)


def mirror_origin(origin: Any, sizes: Sequence[int]) -> list[int]:
    """Return the origin of a filter whose neighbourhood, of these sizes, is turned around."""
    shifts = repeat_per_axis(origin, len(sizes))
    return [-shift - (n % 2 == 0) for n, shift in zip(sizes, shifts, strict=True)]


def _make_1d_filter(implementation: Function) -> Function:
    """Return a filter along one axis from a filter of arrays."""

    def apply(
        input: Any,
        weights: Any,
        axis: int = -1,
        output: Any = None,
        mode: str = "reflect",
        cval: float = 0.0,
        origin: int = 0,
    ) -> Any:
        x = floats(input)
        (axis,) = axes_of(x, axis)
        here = np.arange(len(shape_of(x))) == axis
        wide = reshape(floats(weights), [-1 if at else 1 for at in here])
        return implementation(x, wide, output, mode, cval, here * origin)

    return apply


convolve1d, correlate1d = _make_1d_filter(convolve), _make_1d_filter(correlate)
SCIPY["ndimage.convolve1d"], SCIPY["ndimage.correlate1d"] = convolve1d, correlate1d


def _impulse_response(name: str, rank: int, size: int, *args: Any, **kwargs: Any) -> Any:
    """Return the impulse response of a filter: its result for a single 1 among zeros."""
    one = np.zeros((size,) * rank)
    one[(size // 2,) * rank] = 1.0
    function = getattr(optional("scipy.ndimage", f"{name} of an array"), name)
    return function(one, *args, mode="constant", **kwargs)


@implements_scipy("ndimage.gaussian_filter1d")
def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Smooth along an axis with a Gaussian kernel."""
    if isinstance(sigma, Traced):
        raise RuleError(
            "a Gaussian filter has a derivative rule in its input alone; pass sigma.value"
            f"{cite_line()}"
        )
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    settings = {"order": order, "truncate": truncate, "radius": radius}
    kernel = _impulse_response("gaussian_filter1d", 1, 2 * reach + 1, sigma, **settings)
    return convolve1d(input, kernel, axis, output, mode, cval)


@implements_scipy("ndimage.gaussian_filter")
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Smooth along several axes with Gaussian kernels."""
    x = floats(input)
    which = axes_of(x, axes)
    each = [repeat_per_axis(given, len(which)) for given in (sigma, order, mode, radius)]
    for axis, s, k, edge, reach in zip(which, *each, strict=True):
        if isinstance(s, Traced) or s > 1e-15:
            x = gaussian_filter1d(x, s, axis, k, output, edge, cval, truncate, radius=reach)
    return x


@implements_scipy("ndimage.uniform_filter1d")
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Return moving averages along an axis."""
    return correlate1d(input, np.full(size, 1 / size), axis, output, mode, cval, origin)


@implements_scipy("ndimage.uniform_filter")
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return moving averages along several axes."""
    x = floats(input)
    which = axes_of(x, axes)
    each = [repeat_per_axis(given, len(which)) for given in (size, mode, origin)]
    for axis, n, edge, shift in zip(which, *each, strict=True):
        x = uniform_filter1d(x, n, axis, output, edge, cval, shift)
    return x


def _make_filter(name: str) -> Function:
    """Return a filter of three neighbours, given by its impulse response."""

    def apply(
        input: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0
    ) -> Any:
        x = floats(input)
        return convolve(x, _impulse_response(name, len(shape_of(x)), 3, axis), output, mode, cval)

    return apply


SCIPY["ndimage.sobel"] = _make_filter("sobel")
SCIPY["ndimage.prewitt"] = _make_filter("prewitt")


@implements_scipy("ndimage.laplace")
def laplace(input: Any, output: Any = None, mode: str = "reflect", cval: float = 0.0) -> Any:
    """Return the sum of the second differences along all axes."""
    x = floats(input)
    return convolve(x, _impulse_response("laplace", len(shape_of(x)), 3), output, mode, cval)
