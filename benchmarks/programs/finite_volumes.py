"""Finite volumes: a dam breaks, and shallow water flows (Rusanov's flux)."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((20, 5), (400, 100))  # cells, steps
G = 9.81


def flux(h: Any, q: Any) -> Any:
    return q, q**2 / h + G * h**2 / 2


def f(height: Any, steps: int) -> Any:
    """Return how much water has passed the last third."""
    cells = len(height)
    dx, dt = 1.0 / cells, 0.2 / cells / 5
    h, q = height, np.zeros(cells)
    for _ in range(steps):
        fh, fq = flux(h, q)
        speed = np.abs(q / h) + np.sqrt(G * h)
        fastest = np.maximum(speed[1:], speed[:-1])
        mass = (fh[1:] + fh[:-1]) / 2 - fastest * (h[1:] - h[:-1]) / 2
        momentum = (fq[1:] + fq[:-1]) / 2 - fastest * (q[1:] - q[:-1]) / 2
        h_new, q_new = h.copy(), q.copy()
        h_new[1:-1] -= dt / dx * (mass[1:] - mass[:-1])
        q_new[1:-1] -= dt / dx * (momentum[1:] - momentum[:-1])
        h, q = h_new, q_new
    return np.sum(h[2 * cells // 3 :] ** 2) * dx


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    cells, steps = size
    x = np.linspace(0.0, 1.0, cells)
    return np.where(x < 0.7, 2.0, 1.0) + 0.01 * np.sin(20 * x), steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(height: Any, steps: int) -> Any:
        cells = len(height)
        dx, dt = 1.0 / cells, 0.2 / cells / 5

        def step(_: int, state: Any) -> Any:
            h, q = state
            fq = q**2 / h + G * h**2 / 2
            speed = jnp.abs(q / h) + jnp.sqrt(G * h)
            fastest = jnp.maximum(speed[1:], speed[:-1])
            mass = (q[1:] + q[:-1]) / 2 - fastest * (h[1:] - h[:-1]) / 2
            momentum = (fq[1:] + fq[:-1]) / 2 - fastest * (q[1:] - q[:-1]) / 2
            h = h.at[1:-1].add(-dt / dx * (mass[1:] - mass[:-1]))
            q = q.at[1:-1].add(-dt / dx * (momentum[1:] - momentum[:-1]))
            return h, q

        h, _ = jax.lax.fori_loop(0, steps, step, (height, jnp.zeros(cells)))
        return jnp.sum(h[2 * cells // 3 :] ** 2) * dx

    return f
