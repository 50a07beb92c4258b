"""N bodies: leapfrog steps under gravity, all pairs, with a softened distance."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((3, 4), (16, 100))  # bodies, steps


def acceleration(x: Any, mass: Any) -> Any:
    total = np.zeros_like(x)
    for i in range(len(x)):
        away = x - x[i]
        squares = np.sum(away**2, axis=1) + 0.01
        others = np.arange(len(x)) != i
        total[i] = np.sum((mass / squares**1.5)[others, None] * away[others], axis=0)
    return total


def f(velocity: Any, position: Any, mass: Any, steps: int) -> Any:
    """Return how far apart the bodies are at the end."""
    dt, x, v = 0.01, position, velocity
    a = acceleration(x, mass)
    for _ in range(steps):
        v = v + dt / 2 * a
        x = x + dt * v
        a = acceleration(x, mass)
        v = v + dt / 2 * a
    return np.sum((x - np.mean(x, axis=0)) ** 2)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    bodies, steps = size
    chance = np.random.default_rng(8)
    place, speed = chance.normal(size=(2, bodies, 3))
    return 0.1 * speed, place, chance.uniform(0.5, 1.5, size=bodies), steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def acceleration(x: Any, mass: Any) -> Any:
        away = x[None, :, :] - x[:, None, :]
        squares = jnp.sum(away**2, axis=2) + 0.01
        return jnp.einsum("ij,ijk->ik", mass / squares**1.5, away)

    def f(velocity: Any, position: Any, mass: Any, steps: int) -> Any:
        dt = 0.01

        def step(_: int, state: Any) -> Any:
            x, v, a = state
            v = v + dt / 2 * a
            x = x + dt * v
            a = acceleration(x, mass)
            return x, v + dt / 2 * a, a

        start = (position, velocity, acceleration(position, mass))
        x, _, _ = jax.lax.fori_loop(0, steps, step, start)
        return jnp.sum((x - jnp.mean(x, axis=0)) ** 2)

    return f
