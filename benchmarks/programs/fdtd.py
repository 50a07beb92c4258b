"""FDTD in one dimension: a wave of light meets glass; the fields leap over each other."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((20, 80), (200, 300))  # cells, steps


def f(permittivity: Any, steps: int) -> Any:
    """Return the energy that has passed a detector."""
    cells = len(permittivity)
    ez, hy = np.zeros(cells), np.zeros(cells)
    seen = 0.0
    for step in range(steps):
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:] += 0.5 / permittivity[1:] * (hy[1:] - hy[:-1])
        ez[cells // 5] += np.exp(-(((step - 30) / 10) ** 2))
        ez[0] = 0.0
        seen = seen + ez[4 * cells // 5] ** 2
    return seen


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    cells, steps = size
    x = np.linspace(0.0, 1.0, cells)
    return 1.0 + 1.5 * (np.abs(x - 0.5) < 0.1), steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(permittivity: Any, steps: int) -> Any:
        cells = len(permittivity)
        factor = 0.5 / permittivity[1:]

        def leap(state: Any, step: Any) -> Any:
            ez, hy = state
            hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1]))
            ez = ez.at[1:].add(factor * (hy[1:] - hy[:-1]))
            ez = ez.at[cells // 5].add(jnp.exp(-(((step - 30) / 10) ** 2)))
            ez = ez.at[0].set(0.0)
            return (ez, hy), ez[4 * cells // 5] ** 2

        zero = jnp.zeros(cells)
        return jnp.sum(jax.lax.scan(leap, (zero, zero), jnp.arange(steps))[1])

    return f
