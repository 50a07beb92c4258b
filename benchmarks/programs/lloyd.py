"""k-means: Lloyd's iteration, in where the points are; clusters are chosen by masks."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((12, 2, 2), (500, 4, 5))  # points, clusters, iterations


def f(points: Any, clusters: int, iterations: int) -> Any:
    """Return the sum of the squared distances to the nearest centre."""
    centres = points[:clusters]
    for _ in range(iterations):
        squares = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        labels = np.argmin(squares, axis=1)
        centres = np.array([points[labels == k].mean(axis=0) for k in range(clusters)])
    squares = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squares, axis=1))


def example(size: tuple[int, int, int]) -> tuple[Any, ...]:
    count, clusters, iterations = size
    chance = np.random.default_rng(9)
    middles = 3.0 * chance.normal(size=(clusters, 2))
    points = np.tile(middles, (count // clusters, 1)) + chance.normal(size=(count, 2))
    return points, clusters, iterations


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(points: Any, clusters: int, iterations: int) -> Any:
        def squares(centres: Any) -> Any:
            return jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)

        def step(_: int, centres: Any) -> Any:
            members = jax.nn.one_hot(jnp.argmin(squares(centres), axis=1), clusters)
            return members.T @ points / jnp.sum(members, axis=0)[:, None]

        centres = jax.lax.fori_loop(0, iterations, step, points[:clusters])
        return jnp.sum(jnp.min(squares(centres), axis=1))

    return f
