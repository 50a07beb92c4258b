"""Spring network: points joined by springs fall, and forces are collected where springs end."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((3, 3), (12, 60))  # points each way, steps


def f(rest: Any, ends: Any, start: Any, steps: int) -> Any:
    """Return how low the net hangs; the lengths of the springs at rest are given."""
    dt, x, v = 0.01, start, np.zeros_like(start)
    i, j = ends[:, 0], ends[:, 1]
    for _ in range(steps):
        along = x[j] - x[i]
        length = np.sqrt(np.sum(along**2, axis=1))
        pull = (200.0 * (length - rest) / length)[:, None] * along
        force = np.zeros_like(x)
        np.add.at(force, i, pull)
        np.add.at(force, j, -pull)
        force[:, 1] -= 9.81
        v = 0.98 * (v + dt * force)
        v[0] = 0.0
        x = x + dt * v
    return np.mean(x[:, 1])


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    side, steps = size
    numbers = np.arange(side * side).reshape(side, side)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    ends = np.concatenate([across, down])
    y, x = np.mgrid[0:side, 0:side]
    start = np.stack([x.ravel(), -y.ravel()], axis=1) * 1.02
    return np.ones(len(ends)), ends, start, steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(rest: Any, ends: Any, start: Any, steps: int) -> Any:
        dt, i, j = 0.01, ends[:, 0], ends[:, 1]

        def step(_: int, state: Any) -> Any:
            x, v = state
            along = x[j] - x[i]
            length = jnp.sqrt(jnp.sum(along**2, axis=1))
            pull = (200.0 * (length - rest) / length)[:, None] * along
            force = jnp.zeros_like(x).at[i].add(pull).at[j].add(-pull)
            v = 0.98 * (v + dt * force.at[:, 1].add(-9.81))
            v = v.at[0].set(0.0)
            return x + dt * v, v

        x, _ = jax.lax.fori_loop(0, steps, step, (start, jnp.zeros_like(start)))
        return jnp.mean(x[:, 1])

    return f
