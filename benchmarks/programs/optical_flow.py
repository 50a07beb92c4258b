"""Optical flow: the motion between two images, by the iteration of Horn and Schunck."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((8, 3), (64, 30))  # pixels each way, iterations


def mean_around(u: Any) -> Any:
    padded = np.pad(u, 1, mode="edge")
    return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4


def f(before: Any, after: Any, iterations: int) -> Any:
    """Return how much moves."""
    ix = np.gradient(before, axis=1)
    iy = np.gradient(before, axis=0)
    it = after - before
    u, v = np.zeros(before.shape), np.zeros(before.shape)
    for _ in range(iterations):
        u_mean, v_mean = mean_around(u), mean_around(v)
        change = (ix * u_mean + iy * v_mean + it) / (1.0 + ix**2 + iy**2)
        u, v = u_mean - ix * change, v_mean - iy * change
    return np.mean(np.sqrt(u**2 + v**2 + 1e-6))


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    pixels, iterations = size
    y, x = np.mgrid[0:pixels, 0:pixels] / pixels
    return np.sin(7 * x) * np.cos(5 * y), np.sin(7 * x - 0.3) * np.cos(5 * y + 0.2), iterations


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def mean_around(u: Any) -> Any:
        padded = jnp.pad(u, 1, mode="edge")
        return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4

    def f(before: Any, after: Any, iterations: int) -> Any:
        ix, iy, it = jnp.gradient(before, axis=1), jnp.gradient(before, axis=0), after - before

        def step(_: int, state: Any) -> Any:
            u_mean, v_mean = map(mean_around, state)
            change = (ix * u_mean + iy * v_mean + it) / (1.0 + ix**2 + iy**2)
            return u_mean - ix * change, v_mean - iy * change

        zero = jnp.zeros(before.shape)
        u, v = jax.lax.fori_loop(0, iterations, step, (zero, zero))
        return jnp.mean(jnp.sqrt(u**2 + v**2 + 1e-6))

    return f
