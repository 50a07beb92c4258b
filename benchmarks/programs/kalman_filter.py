"""Kalman filter: the likelihood of positions that were measured, in the noise and the damping."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (10, 300)  # measurements


def f(p: Any, measured: Any) -> Any:
    """Return the negative logarithm of the likelihood."""
    dt = 0.1
    move = np.array([[1.0, dt], [0.0, 1.0 - p[0] * dt]])
    noise = p[1] ** 2 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    look = np.array([[1.0, 0.0]])
    x, covariance = np.zeros(2), np.eye(2)
    total = 0.0
    for z in measured:
        x = move @ x
        covariance = move @ covariance @ move.T + noise
        innovation = z - look @ x
        spread = look @ covariance @ look.T + p[2] ** 2
        gain = covariance @ look.T @ np.linalg.inv(spread)
        x = x + gain @ innovation
        covariance = (np.eye(2) - gain @ look) @ covariance
        total += 0.5 * (np.log(2 * np.pi * spread[0, 0]) + innovation[0] ** 2 / spread[0, 0])
    return total


def example(count: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(1)
    return np.array([0.3, 0.7, 0.5]), np.cumsum(chance.normal(size=count)) * 0.1


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(p: Any, measured: Any) -> Any:
        dt = 0.1
        move = jnp.array([[1.0, dt], [0.0, 1.0 - p[0] * dt]])
        noise = p[1] ** 2 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])

        def step(state: Any, z: Any) -> Any:
            x, covariance = state
            x = move @ x
            covariance = move @ covariance @ move.T + noise
            innovation, spread = z - x[0], covariance[0, 0] + p[2] ** 2
            gain = covariance[:, 0] / spread
            x = x + gain * innovation
            covariance = covariance - jnp.outer(gain, covariance[0])
            return (x, covariance), 0.5 * (jnp.log(2 * np.pi * spread) + innovation**2 / spread)

        return jnp.sum(jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), measured)[1])

    return f
