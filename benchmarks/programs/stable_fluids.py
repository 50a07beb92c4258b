"""Stable fluids: smoke is carried along by a flow that is kept free of sources."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((8, 2, 3), (32, 6, 15))  # points each way, steps, relaxations


def carry(q: Any, u: Any, v: Any, dt: float) -> Any:
    """Follow the flow back, and read between the four points around."""
    n = q.shape[0]
    j, i = np.meshgrid(np.arange(n), np.arange(n))
    x, y = np.clip(j - dt * u, 0.0, n - 1.001), np.clip(i - dt * v, 0.0, n - 1.001)
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = x - x0, y - y0
    upper = (1 - s) * q[y0, x0] + s * q[y0, x0 + 1]
    lower = (1 - s) * q[y0 + 1, x0] + s * q[y0 + 1, x0 + 1]
    return (1 - t) * upper + t * lower


def project(u: Any, v: Any, relaxations: int) -> Any:
    """Take the gradient of a pressure away, so that as much flows in as out."""
    divergence = (np.roll(u, -1, 1) - np.roll(u, 1, 1) + np.roll(v, -1, 0) - np.roll(v, 1, 0)) / 2
    p = np.zeros_like(divergence)
    for _ in range(relaxations):
        around = np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1)
        p = (around - divergence) / 4
    u = u - (np.roll(p, -1, 1) - np.roll(p, 1, 1)) / 2
    return u, v - (np.roll(p, -1, 0) - np.roll(p, 1, 0)) / 2


def f(flow: Any, smoke: Any, steps: int, relaxations: int) -> Any:
    """Return how far the smoke is from where it was."""
    (u, v), q = flow, smoke
    for _ in range(steps):
        u, v = project(u, v, relaxations)
        u, v, q = carry(u, u, v, 0.3), carry(v, u, v, 0.3), carry(q, u, v, 0.3)
    return np.sum((q - smoke) ** 2)


def example(size: tuple[int, int, int]) -> tuple[Any, ...]:
    n, steps, relaxations = size
    chance = np.random.default_rng(11)
    y, x = np.mgrid[0:n, 0:n] / n
    return chance.normal(size=(2, n, n)), np.sin(5 * x) * np.cos(4 * y), steps, relaxations


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def carry(qs: Any, u: Any, v: Any, dt: float) -> Any:
        n = u.shape[0]
        j, i = np.meshgrid(np.arange(n), np.arange(n))
        x, y = jnp.clip(j - dt * u, 0.0, n - 1.001), jnp.clip(i - dt * v, 0.0, n - 1.001)
        x0, y0 = jnp.floor(x).astype(int), jnp.floor(y).astype(int)
        s, t = x - x0, y - y0
        upper = (1 - s) * qs[:, y0, x0] + s * qs[:, y0, x0 + 1]
        lower = (1 - s) * qs[:, y0 + 1, x0] + s * qs[:, y0 + 1, x0 + 1]
        return (1 - t) * upper + t * lower

    def f(flow: Any, smoke: Any, steps: int, relaxations: int) -> Any:
        def around(p: Any) -> Any:
            return jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1)

        def step(state: Any, _: None) -> Any:
            u, v, q = state
            across, up = (
                jnp.roll(u, -1, 1) - jnp.roll(u, 1, 1),
                jnp.roll(v, -1, 0) - jnp.roll(v, 1, 0),
            )
            divergence = (across + up) / 2
            relax = lambda _, p: (around(p) - divergence) / 4  # noqa: E731
            p = jax.lax.fori_loop(0, relaxations, relax, jnp.zeros_like(u))
            u = u - (jnp.roll(p, -1, 1) - jnp.roll(p, 1, 1)) / 2
            v = v - (jnp.roll(p, -1, 0) - jnp.roll(p, 1, 0)) / 2
            return tuple(carry(jnp.stack([u, v, q]), u, v, 0.3)), None

        q = jax.lax.scan(step, (flow[0], flow[1], smoke), None, length=steps)[0][2]
        return jnp.sum((q - smoke) ** 2)

    return f
