"""Heston paths: the price of an option by simulation, with a volatility that varies."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((50, 4), (2000, 50))  # paths, steps


def f(p: Any, first: Any, second: Any) -> Any:
    """Return the mean of what the option pays."""
    price, kappa, theta, xi, rho = p
    steps, paths = first.shape
    dt = 1.0 / steps
    s, v = price * np.ones(paths), theta * np.ones(paths)
    for z1, z2 in zip(first, second, strict=True):
        positive = np.maximum(v, 0.0)
        w = rho * z1 + np.sqrt(1 - rho**2) * z2
        s = s * np.exp((0.02 - positive / 2) * dt + np.sqrt(positive * dt) * z1)
        v = v + kappa * (theta - positive) * dt + xi * np.sqrt(positive * dt) * w
    return np.exp(-0.02) * np.mean(np.maximum(s - 100.0, 0.0))


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    paths, steps = size
    chance = np.random.default_rng(3)
    draws = chance.normal(size=(2, steps, paths))
    return np.array([100.0, 2.0, 0.09, 0.3, -0.6]), draws[0], draws[1]


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(p: Any, first: Any, second: Any) -> Any:
        price, kappa, theta, xi, rho = p
        steps, paths = first.shape
        dt = 1.0 / steps

        def step(state: Any, draws: Any) -> Any:
            s, v = state
            z1, z2 = draws
            positive, deviation = jnp.maximum(v, 0.0), jnp.sqrt(jnp.where(v > 0, v, 1.0) * dt)
            deviation = jnp.where(v > 0, deviation, 0.0)  # or the derivative is 0 times infinity
            w = rho * z1 + jnp.sqrt(1 - rho**2) * z2
            s = s * jnp.exp((0.02 - positive / 2) * dt + deviation * z1)
            return (s, v + kappa * (theta - positive) * dt + xi * deviation * w), None

        start = (price * jnp.ones(paths), theta * jnp.ones(paths))
        s = jax.lax.scan(step, start, (first, second))[0][0]
        return jnp.exp(-0.02) * jnp.mean(jnp.maximum(s - 100.0, 0.0))

    return f
