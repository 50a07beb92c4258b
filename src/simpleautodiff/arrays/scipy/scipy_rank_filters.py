"""The rank filters of scipy.ndimage on nodes: each result is one element of its neighbourhood.

Minima, maxima, medians and percentiles, and grey morphology, which is made of minima and maxima.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import Function, implements_scipy
from simpleautodiff.arrays.scipy.scipy_ndimage import (
    EDGES,
    check_no_output,
    gaussian_filter,
    mirror_origin,
    repeat_per_axis,
)
from simpleautodiff.arrays.scipy.scipy_signal import floats
from simpleautodiff.errors import ArgumentError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of


def _find_footprint(rank: int, size: Any, footprint: Any, axes: tuple[int, ...]) -> Any:
    """Return which elements around each one belong to its neighbourhood."""
    if footprint is None and size is None:
        raise InputError(f"a filter needs its size or its footprint{cite_line()}")
    if footprint is None:
        footprint = np.ones(repeat_per_axis(size, len(axes)), bool)
    footprint = np.asarray(footprint, bool)
    if list(axes) != sorted(axes):
        raise RuleError(f"rank filters of nodes take axes in rising order, not {axes}{cite_line()}")
    wide = [footprint.shape[axes.index(k)] if k in axes else 1 for k in range(rank)]
    return footprint.reshape(wide)


def _read_neighbours(x: Any, footprint: Any, mode: str, cval: Any, origin: Any, axes: Any) -> Any:
    """Return the neighbourhoods of all elements, along a new last axis."""
    if mode not in EDGES:
        raise ArgumentError(f"mode is one of {', '.join(EDGES)}, not {mode!r}{cite_line()}")
    shape = shape_of(x)
    count = int(np.prod(shape))
    shifts = np.zeros(len(shape), int)
    shifts[list(axes)] = repeat_per_axis(origin, len(axes))
    starts = [n // 2 + int(shift) for n, shift in zip(footprint.shape, shifts, strict=True)]
    widths = [(s, n - 1 - s) for n, s in zip(footprint.shape, starts, strict=True)]
    settings: dict[str, Any] = {"constant_values": count} if EDGES[mode] == "constant" else {}
    places = np.pad(np.arange(count).reshape(shape), widths, EDGES[mode], **settings)  # type: ignore[call-overload]
    windows = np.lib.stride_tricks.sliding_window_view(places, footprint.shape)
    flat = reshape(x, (count,))
    if settings:
        flat = concatenate([flat, np.full(1, cval, float)])
    return getitem(flat, windows[..., footprint])


def _take_rank(neighbours: Any, rank: int) -> Any:
    """Return the elements of a rank among their neighbours."""
    count = shape_of(neighbours)[-1]
    if rank in (0, count - 1):
        return np.min(neighbours, axis=-1) if rank == 0 else np.max(neighbours, axis=-1)
    return np.sort(neighbours, axis=-1)[..., rank]


def _filter_by_rank(
    rank: Any,
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Filter by a rank that depends on how many neighbours there are."""
    check_no_output(output)
    x = floats(input)
    which = axes_of(x, axes)
    there = _find_footprint(len(shape_of(x)), size, footprint, which)
    neighbours = _read_neighbours(x, there, mode, cval, origin, which)
    return _take_rank(neighbours, rank(int(there.sum())))


def _make_filter(rank: Function) -> Function:
    return lambda input, *args, **kwargs: _filter_by_rank(rank, input, *args, **kwargs)


SCIPY["ndimage.minimum_filter"] = _make_filter(lambda count: 0)
SCIPY["ndimage.maximum_filter"] = _make_filter(lambda count: count - 1)
SCIPY["ndimage.median_filter"] = _make_filter(lambda count: count // 2)


@implements_scipy("ndimage.rank_filter")
def rank_filter(input: Any, rank: int, *args: Any, **kwargs: Any) -> Any:
    """Take the neighbour of a rank; negative ones count from the largest."""
    return _filter_by_rank(lambda count: rank % count, input, *args, **kwargs)


@implements_scipy("ndimage.percentile_filter")
def percentile_filter(input: Any, percentile: float, *args: Any, **kwargs: Any) -> Any:
    """Take the neighbour at a percentile."""
    part = percentile + 100.0 if percentile < 0 else percentile

    def rank(count: int) -> int:
        return count - 1 if part == 100.0 else int(float(count) * part / 100.0)

    return _filter_by_rank(rank, input, *args, **kwargs)


def _make_1d_filter(rank: Function) -> Function:
    """Return a filter along one axis."""

    def apply(
        input: Any,
        size: int,
        axis: int = -1,
        output: Any = None,
        mode: str = "reflect",
        cval: float = 0.0,
        origin: int = 0,
    ) -> Any:
        return _filter_by_rank(rank, input, size, None, output, mode, cval, origin, axes=axis)

    return apply


SCIPY["ndimage.minimum_filter1d"] = _make_1d_filter(lambda count: 0)
SCIPY["ndimage.maximum_filter1d"] = _make_1d_filter(lambda count: count - 1)


# Grey morphology. ---------------------------------------------------------------------------------


def _make_morphology(sign: int) -> Function:
    """Return dilation (sign 1), the largest of neighbours + structure, or erosion (sign -1)."""

    def apply(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        structure: Any = None,
        output: Any = None,
        mode: str = "reflect",
        cval: float = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        check_no_output(output)
        x = floats(input)
        which = axes_of(x, axes)
        if footprint is None and structure is not None:
            footprint = np.ones(shape_of(structure), bool)
        there = _find_footprint(len(shape_of(x)), size, footprint, which)
        heights = None if structure is None else reshape(floats(structure), there.shape)
        if sign > 0:  # dilation reads the neighbours on the other side
            there = np.flip(there)
            heights = None if heights is None else np.flip(heights)
            origin = mirror_origin(origin, [there.shape[axis] for axis in which])
        neighbours = _read_neighbours(x, there, mode, cval, origin, which)
        if heights is not None:
            neighbours = neighbours + sign * getitem(heights, there)
        return np.max(neighbours, axis=-1) if sign > 0 else np.min(neighbours, axis=-1)

    return apply


dilate, erode = _make_morphology(1), _make_morphology(-1)


def _combine(combination: Function) -> Function:
    """Return a function of an array and what it is dilated and eroded with."""

    def apply(input: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        x = floats(input)
        return combination(
            x,
            lambda y: dilate(y, size, *args, **kwargs),
            lambda y: erode(y, size, *args, **kwargs),
        )

    return apply


SCIPY.update(
    {
        "ndimage.grey_dilation": dilate,
        "ndimage.grey_erosion": erode,
        "ndimage.grey_opening": _combine(lambda x, dilate, erode: dilate(erode(x))),
        "ndimage.grey_closing": _combine(lambda x, dilate, erode: erode(dilate(x))),
        "ndimage.morphological_gradient": _combine(lambda x, dilate, erode: dilate(x) - erode(x)),
        "ndimage.morphological_laplace": _combine(
            lambda x, dilate, erode: dilate(x) + erode(x) - 2 * x
        ),
        "ndimage.white_tophat": _combine(lambda x, dilate, erode: x - dilate(erode(x))),
        "ndimage.black_tophat": _combine(lambda x, dilate, erode: erode(dilate(x)) - x),
    }
)


@implements_scipy("signal.medfilt")
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Take the median of neighbours; beyond the edges there are zeros."""
    x = floats(volume)
    size = 3 if kernel_size is None else kernel_size
    return SCIPY["ndimage.median_filter"](
        x, np.ravel(size)[()] if np.ndim(size) else size, mode="constant"
    )


@implements_scipy("signal.medfilt2d")
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Take the median of neighbours in a matrix; beyond the edges there are zeros."""
    return medfilt(input, kernel_size)


# Derivatives of Gaussians. ------------------------------------------------------------------------


def _differentiate(
    input: Any,
    sigma: Any,
    order: int,
    output: Any,
    mode: Any,
    cval: float,
    axes: Any,
    settings: Any,
) -> list[Any]:
    """Return the derivatives along each axis of an array smoothed along all of them."""
    x = floats(input)
    which = axes_of(x, axes)
    parts = []
    for axis, edge in zip(which, repeat_per_axis(mode, len(which)), strict=True):
        orders = [order if other == axis else 0 for other in which]
        parts.append(gaussian_filter(x, sigma, orders, output, edge, cval, axes=which, **settings))
    return parts


@implements_scipy("ndimage.gaussian_laplace")
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    **settings: Any,
) -> Any:
    """Return the sum of second derivatives of an array smoothed by a Gaussian."""
    return sum(_differentiate(input, sigma, 2, output, mode, cval, axes, settings))


@implements_scipy("ndimage.gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
    **settings: Any,
) -> Any:
    """Return the length of the gradient of an array smoothed by a Gaussian."""
    parts = _differentiate(input, sigma, 1, output, mode, cval, axes, settings)
    return np.linalg.norm(np.stack(parts), axis=0)
