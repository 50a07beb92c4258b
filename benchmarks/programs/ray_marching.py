"""Ray marching: an image of a scene that is given by distances, in where its spheres are."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((4, 5), (48, 24))  # pixels each way, steps


def distance(points: Any, spheres: Any) -> Any:
    """Return how far points are from a floor and some spheres."""
    nearest = points[..., 1] + 1.0
    for x, y, z, radius in spheres:
        centre = np.array([x, y, z])
        away = np.sqrt(np.sum((points - centre) ** 2, axis=-1)) - radius
        nearest = np.minimum(nearest, away)
    return nearest


def f(spheres: Any, pixels: int, steps: int) -> Any:
    """Return the mean depth of the image, smoothly cut off."""
    y, x = np.mgrid[1 : -1 : pixels * 1j, -1 : 1 : pixels * 1j]
    rays = np.stack([x, y, np.ones_like(x)], axis=-1)
    rays = rays / np.sqrt(np.sum(rays**2, axis=-1, keepdims=True))
    depth = np.zeros((pixels, pixels))
    for _ in range(steps):
        points = depth[..., None] * rays + np.array([0.0, 0.2, -3.0])
        depth = depth + distance(points, spheres)
    return np.mean(np.tanh(depth / 5.0))


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    spheres = [[0.0, 0.0, 1.0, 0.8], [1.2, -0.4, 0.3, 0.5], [-1.3, -0.3, 0.6, 0.6]]
    return np.array(spheres), *size


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def distance(points: Any, spheres: Any) -> Any:
        nearest = points[..., 1] + 1.0
        for k in range(len(spheres)):
            squares = jnp.sum((points - spheres[k, :3]) ** 2, axis=-1)
            nearest = jnp.minimum(nearest, jnp.sqrt(squares) - spheres[k, 3])
        return nearest

    def f(spheres: Any, pixels: int, steps: int) -> Any:
        y, x = np.mgrid[1 : -1 : pixels * 1j, -1 : 1 : pixels * 1j]
        rays = np.stack([x, y, np.ones_like(x)], axis=-1)
        rays = rays / np.sqrt(np.sum(rays**2, axis=-1, keepdims=True))

        def step(_: int, depth: Any) -> Any:
            points = depth[..., None] * rays + np.array([0.0, 0.2, -3.0])
            return depth + distance(points, spheres)

        depth = jax.lax.fori_loop(0, steps, step, jnp.zeros((pixels, pixels)))
        return jnp.mean(jnp.tanh(depth / 5.0))

    return f
