"""Distances of scipy.stats between samples, by their distribution functions, on nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array, implements_scipy
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import shape_of


@implements_scipy("stats.wasserstein_distance")
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the area between two distribution functions."""
    apart, widths = _compare(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * widths)


@implements_scipy("stats.energy_distance")
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the root of twice the integral of the squared difference of distribution functions."""
    apart, widths = _compare(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2 * np.sum(apart**2 * widths))


def _compare(u: Any, v: Any, u_weights: Any, v_weights: Any) -> tuple[Any, Any]:
    """Return the difference of two distribution functions between all values, and its widths."""
    u, v = as_array(u), as_array(v)
    points = np.sort(concatenate([u, v]))
    parts = [_distribution(x, w, points[:-1]) for x, w in ((u, u_weights), (v, v_weights))]
    return parts[0] - parts[1], np.diff(points)


def _distribution(values: Any, weights: Any, points: Any) -> Any:
    """Return the part of the weights at values up to each point."""
    order = np.argsort(values)
    below = np.searchsorted(getitem(values, order), points, "right")
    if weights is None:
        return below / shape_of(values)[0]
    sums = concatenate([np.zeros(1), np.cumsum(getitem(as_array(weights), order))])
    return getitem(sums, below) / sums[-1]
