"""Images at any coordinates: scipy.ndimage.map_coordinates on nodes."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import Function, implements_scipy
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
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
        x = np.clip(x, 0, n - 1)
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
