"""Gray-Scott: two substances react and spread, on a torus."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((8, 3), (64, 50))  # points each way, steps


def laplacian(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def f(v: Any, steps: int) -> Any:
    """Return how uneven the second substance is at the end."""
    u = 1.0 - v
    for _ in range(steps):
        reaction = u * v**2
        u, v = (
            u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u),
            v + 0.08 * laplacian(v) + reaction - 0.1 * v,
        )
    return np.var(v)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    points, steps = size
    return np.random.default_rng(2).uniform(0.0, 0.5, size=(points, points)), steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def laplacian(u: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return around - 4 * u

    def f(v: Any, steps: int) -> Any:
        def step(_: int, state: Any) -> Any:
            u, v = state
            reaction = u * v**2
            new_u = u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u)
            return new_u, v + 0.08 * laplacian(v) + reaction - 0.1 * v

        return jnp.var(jax.lax.fori_loop(0, steps, step, (1.0 - v, v))[1])

    return f
