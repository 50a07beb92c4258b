"""Adaptive Runge-Kutta: predators and prey, with steps as long as the error allows."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (0.5, 10.0)  # how long


def rates(y: Any, p: Any) -> Any:
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def f(p: Any, end: float) -> Any:
    """Return how many predators there are at the end."""
    t, h, y = 0.0, 0.1, np.array([1.0, 1.0])
    while t < end:
        h = min(h, end - t)
        k1 = rates(y, p)
        k2 = rates(y + h * k1 / 2, p)
        k3 = rates(y + 3 * h * k2 / 4, p)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = rates(new, p)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error < 1e-5:
            t, y = t + h, new
        h = h * min(2.0, max(0.3, 0.9 * (1e-5 / (error + 1e-15)) ** (1 / 3)))
    return y[1]


def example(end: float) -> tuple[Any, ...]:
    return np.array([1.1, 0.4, 0.1, 0.4]), end


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def rates(y: Any, p: Any) -> Any:
        return jnp.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def f(p: Any, end: float) -> Any:
        def step(state: Any) -> Any:
            t, h, y = state
            h = jnp.minimum(h, end - t)
            k1 = rates(y, p)
            k2 = rates(y + h * k1 / 2, p)
            k3 = rates(y + 3 * h * k2 / 4, p)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = rates(new, p)
            error = jnp.max(jnp.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
            good = error < 1e-5
            factor = jnp.clip(0.9 * (1e-5 / (error + 1e-15)) ** (1 / 3), 0.3, 2.0)
            return jnp.where(good, t + h, t), h * factor, jnp.where(good, new, y)

        first = (0.0, 0.1, jnp.array([1.0, 1.0]))
        return jax.lax.while_loop(lambda state: state[0] < end, step, first)[2][1]

    f.forward = True  # JAX cannot reverse such a loop
    return f
