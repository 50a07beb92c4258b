"""kmeans: the direction of Newton's method for the cost of k-means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import simpleautodiff as ad


def by_broadcasting(centroids: Any, points: Any) -> Any:
    """Return the sum of the squared distances to the nearest centroid, from all distances."""
    squares = np.sum((points[:, None, :] - centroids[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squares, axis=1))


def by_product(centroids: Any, points: Any) -> Any:
    """Return the same; |p - c|² is |p|² + |c|² - 2 p·c, so that one product has all of them."""
    across = points @ centroids.T
    squares = np.sum(centroids**2, axis=1) - 2 * across
    return np.sum(points**2) + np.sum(np.min(squares, axis=1))


def by_nearest(centroids: Any, points: Any) -> Any:
    """Return the same; which is nearest has no derivative, so only its distance is needed."""
    squares = np.sum(centroids**2, axis=1) - 2 * (points @ centroids.T)
    nearest = np.argmin(squares, axis=1)
    return np.sum((points - centroids[nearest]) ** 2)


def derivative(cost: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the direction: the gradient, divided by the Hessian, which is diagonal."""

    def direction(centroids: Any, points: Any) -> Any:
        def slope(at: Any) -> Any:
            return ad.grad(cost)(at, points)

        gradient, curvature = ad.jvp(slope, (centroids,), (np.ones(centroids.shape),))
        return gradient / curvature

    return direction


FORMS = {"nearest": by_nearest, "product": by_product, "broadcasting": by_broadcasting}
FUNCTIONS = {"cost": ad.jit(by_nearest), "dir": ad.jit(derivative(by_nearest))}


def read(given: Any) -> tuple[Any, ...]:
    """Make both tables."""
    return np.array(given["centroids"], dtype=float), np.array(given["points"], dtype=float)


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return points in a cube; the last ones are the centroids."""
    chance = np.random.RandomState(31337)
    sizes = [(k, n, d) for k in (10, 100, 1000) for n in (1000, 10_000) for d in (8, 16)]
    sizes.sort(key=lambda size: size[0] * size[1] * size[2])
    for k, n, d in sizes[:4] if quick else sizes:
        points = chance.rand(n, d)
        given = {"points": points.tolist(), "centroids": points[-k:].tolist()}
        yield f"k={k} n={n} d={d}", given
