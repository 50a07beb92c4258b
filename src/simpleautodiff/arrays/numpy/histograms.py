"""Histograms with weights that are nodes: sums of weights by the bins of plain points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import implements, no_rule
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import scatter
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over


def _sum_by_bin(
    name: str, points: Sequence[Any], edges: Sequence[Any], w: Any, density: Any
) -> Any:
    """Sum weights by bin; points outside all bins do not count."""
    if any(isinstance(x, Traced) for x in points) or not isinstance(w, Traced):
        raise no_rule(name)
    if math.prod(shape_of(w)) != len(points[0]):
        raise InputError(
            f"{name} needs a weight for each of {len(points[0])} points, not weights of shape "
            f"{shape_of(w)}{cite_line()}"
        )
    shape = tuple(len(edge) - 1 for edge in edges)
    indices, inside = [], np.ones(len(points[0]), bool)
    for x, edge in zip(points, edges, strict=True):
        index = np.searchsorted(edge, x, side="right") - 1 - (x == edge[-1])
        inside &= (index >= 0) & (index < len(edge) - 1)
        indices.append(index)
    kept = tuple(index[inside] for index in indices)
    total = scatter(reshape(w, (-1,))[np.flatnonzero(inside)], kept, shape)
    if not density:
        return total
    sizes: Any = 1.0
    for edge in edges:
        sizes = np.multiply.outer(sizes, np.diff(edge))
    return total / (sizes.astype(dtype_of(total)) * sum_over(total, None, False))


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Sum weights by the intervals that plain points are in."""
    if isinstance(a, Traced):
        raise no_rule("np.histogram")
    points = np.ravel(a)
    edges = np.histogram_bin_edges(points, bins, range)
    return _sum_by_bin("np.histogram", [points], [edges], weights, density), edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """Sum weights by the rectangles that plain points are in."""
    if isinstance(x, Traced) or isinstance(y, Traced):
        raise no_rule("np.histogram2d")
    points: list[Any] = [np.asarray(x), np.asarray(y)]
    edges = np.histogram2d(points[0], points[1], bins, range)[1:]
    return _sum_by_bin("np.histogram2d", points, edges, weights, density), *edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Sum weights by the boxes that plain points, one per matrix row, are in."""
    if isinstance(sample, Traced):
        raise no_rule("np.histogramdd")
    edges = np.histogramdd(sample, bins, range)[1]
    rows = isinstance(sample, np.ndarray)
    points = [*(np.atleast_2d(sample.T) if rows else np.asarray(sample))]
    return _sum_by_bin("np.histogramdd", points, edges, weights, density), edges
