"""Images at any coordinates: map_coordinates, affine_transform and the like of scipy.ndimage."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.registry import Function, as_array, implements_scipy
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.scalar.information import cosdg, sindg
from simpleautodiff.values.functions import optional


def _fold(period: Function, shift: int) -> Function:
    """Return a function that maps indices outside of an axis to inside, by reflection."""

    def fold(i: Any, n: int) -> Any:
        whole = max(period(n), 1)
        i = np.mod(i, whole)
        return np.minimum(i, whole - shift - i)

    return fold


_MIRROR = _fold(lambda n: 2 * n - 2, 0)
_INDICES: dict[str, Function] = {  # the element used for one outside of the array
    "constant": _MIRROR,
    "mirror": _MIRROR,
    "reflect": _fold(lambda n: 2 * n, 1),
    "grid-wrap": np.mod,
    "nearest": lambda i, n: np.clip(i, 0, n - 1),
}


_EXTENDED = 12  # elements by which SciPy extends an array before it filters for mode "nearest"


@implements_scipy("ndimage.map_coordinates")
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Evaluate the spline through the elements of an array at coordinates."""
    if mode not in _INDICES or output is not None:
        raise RuleError(
            f"map_coordinates of a node has no rule for mode={mode!r}, output={output!r}: leave "
            f"out output, and take {', '.join(map(repr, _INDICES))}{cite_line()}"
        )
    coordinates = as_array(coordinates)
    if mode == "nearest" and prefilter and order > 1:  # as SciPy extends the array
        input, coordinates = np.pad(input, _EXTENDED, "edge"), coordinates + _EXTENDED
    elements = _filter(input, order, mode) if prefilter and order > 1 else input
    flat = reshape(elements, (-1,))
    axes = [getitem(coordinates, axis) for axis in range(shape_of(coordinates)[0])]
    places = [_weigh(x, n, order, mode) for x, n in zip(axes, shape_of(input), strict=True)]
    total: Any = 0.0
    for corner in itertools.product(*places):
        place = 0
        for (index, _), n in zip(corner, shape_of(input), strict=True):
            place = place * n + index
        term = getitem(flat, place)
        for _, weight in corner:
            term = term * weight
        total = total + term
    if mode != "constant":
        return total
    ends = zip(map(to_plain, axes), shape_of(input), strict=True)
    outside = functools.reduce(operator.or_, [(x < 0) | (x > n - 1) for x, n in ends])
    return where(outside, cval, total)


def _filter(x: Any, order: int, mode: str) -> Any:
    """Return the coefficients of the spline, which are linear in the elements along each axis."""
    spline_filter1d = optional("scipy.ndimage", "map_coordinates").spline_filter1d
    for axis, n in enumerate(shape_of(x)):
        matrix = spline_filter1d(np.eye(n), order, axis=0, mode=mode)
        x = np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
    return x


def _weigh(x: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """Return the indices of the elements near x along an axis, and their weights.

    The weights are the B-splines of the order, by the recursion of Cox and de Boor.
    """
    if mode == "nearest":
        x = np.clip(x, -order - 1, n + order)  # beyond, all elements are the one at the edge
    if not order:  # halfway between two elements outside, the one that is next inside counts
        x = where((to_plain(x) >= 0) & (to_plain(x) < n), x, _INDICES[mode](x, n))
    x = x if order % 2 else x + 0.5
    first = np.floor(to_plain(x))
    u, weights = x - first, [1.0 + 0 * x]
    for p in range(1, order + 1):
        padded = [0.0, *weights, 0.0]
        weights = [
            ((u + p - j) * padded[j] + (1 + j - u) * padded[j + 1]) / p for j in range(p + 1)
        ]
    start = first.astype(int) - order // 2
    return [(_INDICES[mode](start + j, n), weight) for j, weight in enumerate(weights)]


# Images moved, turned and scaled: the coordinates of each element of the result. ------------------


@implements_scipy("ndimage.affine_transform")
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Evaluate an image at `matrix @ o + offset` for each index o of the result."""
    rank, matrix = len(shape_of(input)), as_array(matrix)
    if len(shape_of(matrix)) == 2 and shape_of(matrix)[1] == rank + 1:  # homogeneous coordinates
        offset, matrix = matrix[:rank, rank], matrix[:rank, :rank]
    indices = _make_indices(shape_of(input) if output_shape is None else tuple(output_shape))
    moved = matrix @ indices if len(shape_of(matrix)) == 2 else matrix[:, None] * indices
    places = moved + _make_column(offset)
    full = (rank, *(shape_of(input) if output_shape is None else output_shape))
    return map_coordinates(input, reshape(places, full), output, order, mode, cval, prefilter)


@implements_scipy("ndimage.shift")
def shift(input: Any, shift: Any, output: Any = None, *how: Any, **settings: Any) -> Any:
    """Move an image."""
    turn = np.ones(len(shape_of(input)))
    return affine_transform(input, turn, -_make_column(shift)[:, 0], None, output, *how, **settings)


@implements_scipy("ndimage.zoom")
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """Scale an image: the centres of its first and last elements stay where they are."""
    if grid_mode:
        raise RuleError(f"zoom of a node has no rule for grid_mode=True{cite_line()}")
    if prefilter and np.all(np.equal(zoom, 1)):
        return np.copy(input)  # as SciPy, without the rounding errors of the filter
    full = shape_of(input)
    new = tuple([round(n * z) for n, z in zip(full, np.broadcast_to(zoom, len(full)), strict=True)])
    scale = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(full, new, strict=True)]
    return affine_transform(input, scale, 0.0, new, output, order, mode, cval, prefilter)


@implements_scipy("ndimage.rotate")
def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Turn an image by an angle in degrees in the plane of two axes."""
    full = shape_of(input)
    if len(full) != 2:
        raise RuleError(
            f"rotate of a node turns one image at a time, not an array of shape {full}: call it "
            f"for each{cite_line()}"
        )
    cos, sin = cosdg(angle), sindg(angle)
    turn = stack([stack([cos, sin]), stack([-sin, cos])])
    corners = to_plain(turn) @ [[0, 0, full[0], full[0]], [0, full[1], 0, full[1]]]
    new = (np.ptp(corners, axis=1) + 0.5).astype(int) if reshape else np.array(full)
    offset = (np.array(full) - 1) / 2 - turn @ ((new - 1) / 2)
    return affine_transform(input, turn, offset, new, output, order, mode, cval, prefilter)


def _make_indices(full: tuple[int, ...]) -> Any:
    """Return the indices of all elements as columns."""
    return np.indices(full).reshape(len(full), -1)


def _make_column(offset: Any) -> Any:
    """Return a number for each axis, or one for all, as a column."""
    return reshape(as_array(offset), (-1, 1))
