"""Total variation: an image is freed from noise by descent; it is the noisy one that varies."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((6, 3), (64, 40))  # pixels each way, steps


def f(noisy: Any, clean: Any, steps: int) -> Any:
    """Return how far from the clean image the result is."""
    u = noisy
    for _ in range(steps):
        dx, dy = np.zeros_like(u), np.zeros_like(u)
        dx[:, :-1] = u[:, 1:] - u[:, :-1]
        dy[:-1, :] = u[1:, :] - u[:-1, :]
        size = np.sqrt(dx**2 + dy**2 + 1e-2)
        px, py = dx / size, dy / size
        divergence = px + py
        divergence[:, 1:] -= px[:, :-1]
        divergence[1:, :] -= py[:-1, :]
        u = u + 0.1 * (0.3 * divergence - (u - noisy))
    return np.mean((u - clean) ** 2)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    pixels, steps = size
    y, x = np.mgrid[0:pixels, 0:pixels] / pixels
    clean = ((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1).astype(float)
    return clean + 0.2 * np.random.default_rng(14).normal(size=clean.shape), clean, steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(noisy: Any, clean: Any, steps: int) -> Any:
        def step(_: int, u: Any) -> Any:
            dx = jnp.pad(u[:, 1:] - u[:, :-1], ((0, 0), (0, 1)))
            dy = jnp.pad(u[1:, :] - u[:-1, :], ((0, 1), (0, 0)))
            size = jnp.sqrt(dx**2 + dy**2 + 1e-2)
            px, py = dx / size, dy / size
            divergence = px + py - jnp.pad(px[:, :-1], ((0, 0), (1, 0)))
            divergence = divergence - jnp.pad(py[:-1, :], ((1, 0), (0, 0)))
            return u + 0.1 * (0.3 * divergence - (u - noisy))

        return jnp.mean((jax.lax.fori_loop(0, steps, step, noisy) - clean) ** 2)

    return f
