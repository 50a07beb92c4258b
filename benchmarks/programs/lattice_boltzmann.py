"""Lattice Boltzmann: nine populations collide and stream around a cylinder."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((8, 6, 2), (48, 24, 30))  # points along and across, steps
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])


def f(inflow: Any, length: int, steps: int) -> Any:
    """Return the momentum along the channel; the speeds of the inflow are given across it."""
    width = len(inflow)
    y, x = np.mgrid[0:width, 0:length]
    cylinder = (x - length / 4) ** 2 + (y - width / 2) ** 2 < (width / 5) ** 2
    populations = WEIGHTS[:, None, None] * np.ones((9, width, length))
    for _ in range(steps):
        for i in range(9):
            populations[i] = np.roll(populations[i], (CY[i], CX[i]), axis=(0, 1))
        bounced = populations[OPPOSITE][:, cylinder]
        rho = np.sum(populations, axis=0)
        ux = np.sum(CX[:, None, None] * populations, axis=0) / rho
        uy = np.sum(CY[:, None, None] * populations, axis=0) / rho
        ux[:, 0] = inflow
        along = CX[:, None, None] * ux + CY[:, None, None] * uy
        squares = ux**2 + uy**2
        resting = rho * WEIGHTS[:, None, None]
        equilibrium = resting * (1 + 3 * along + 4.5 * along**2 - 1.5 * squares)
        populations = populations + (equilibrium - populations) / 0.6
        populations[:, cylinder] = bounced
    return np.sum(CX[:, None, None] * populations)


def example(size: tuple[int, int, int]) -> tuple[Any, ...]:
    length, width, steps = size
    return 0.1 * np.sin(np.linspace(0.1, 3.0, width)), length, steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(inflow: Any, length: int, steps: int) -> Any:
        width = len(inflow)
        y, x = np.mgrid[0:width, 0:length]
        cylinder = (x - length / 4) ** 2 + (y - width / 2) ** 2 < (width / 5) ** 2
        cx, cy, weights = (w[:, None, None] for w in (CX, CY, WEIGHTS))

        def step(_: int, populations: Any) -> Any:
            moved = [jnp.roll(populations[i], (CY[i], CX[i]), axis=(0, 1)) for i in range(9)]
            populations = jnp.stack(moved)
            rho = jnp.sum(populations, axis=0)
            ux = jnp.sum(cx * populations, axis=0) / rho
            uy = jnp.sum(cy * populations, axis=0) / rho
            ux = ux.at[:, 0].set(inflow)
            along = cx * ux + cy * uy
            equilibrium = rho * weights * (1 + 3 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2))
            collided = populations + (equilibrium - populations) / 0.6
            return jnp.where(cylinder, populations[OPPOSITE], collided)

        start = weights * jnp.ones((9, width, length))
        return jnp.sum(cx * jax.lax.fori_loop(0, steps, step, start))

    return f
