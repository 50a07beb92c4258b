"""Histograms with weights that are nodes: sums of weights by the places of plain points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import answers, no_rule
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import scatter
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over


def _counted(name: str, points: Sequence[Any], edges: Sequence[Any], w: Any, density: Any) -> Any:
    """Add up weights by the boxes that points are in; those outside all boxes do not count."""
    if any(isinstance(x, Traced) for x in points) or not isinstance(w, Traced):
        raise no_rule(name)
    if math.prod(shape_of(w)) != len(points[0]):
        raise InputError(
            f"{name} needs a weight for each of {len(points[0])} points, not weights of shape "
            f"{shape_of(w)}{cite_line()}"
        )
    shape = tuple(len(edge) - 1 for edge in edges)
    places, inside = [], np.ones(len(points[0]), bool)
    for x, edge in zip(points, edges, strict=True):
        place = np.searchsorted(edge, x, side="right") - 1 - (x == edge[-1])
        inside &= (place >= 0) & (place < len(edge) - 1)
        places.append(place)
    kept = tuple(place[inside] for place in places)
    total = scatter(reshape(w, (-1,))[np.flatnonzero(inside)], kept, shape)
    if not density:
        return total
    sizes: Any = 1.0
    for edge in edges:
        sizes = np.multiply.outer(sizes, np.diff(edge))
    return total / (sizes.astype(dtype_of(total)) * sum_over(total, None, False))


@answers(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Add up weights by the intervals that plain points are in."""
    if isinstance(a, Traced):
        raise no_rule("np.histogram")
    points = np.ravel(a)
    edges = np.histogram_bin_edges(points, bins, range)
    return _counted("np.histogram", [points], [edges], weights, density), edges


@answers(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """Add up weights by the rectangles that plain points are in."""
    if isinstance(x, Traced) or isinstance(y, Traced):
        raise no_rule("np.histogram2d")
    points: list[Any] = [np.asarray(x), np.asarray(y)]
    edges = np.histogram2d(points[0], points[1], bins, range)[1:]
    return _counted("np.histogram2d", points, edges, weights, density), *edges


@answers(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Add up weights by the boxes that plain points, the rows of a matrix, are in."""
    if isinstance(sample, Traced):
        raise no_rule("np.histogramdd")
    edges = np.histogramdd(sample, bins, range)[1]
    rows = isinstance(sample, np.ndarray)
    points = [*(np.atleast_2d(sample.T) if rows else np.asarray(sample))]
    return _counted("np.histogramdd", points, edges, weights, density), edges
