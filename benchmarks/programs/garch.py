"""GARCH: the likelihood of daily returns, whose variance follows a recursion."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (10, 1000)  # days


def f(p: Any, returns: Any) -> Any:
    """Return the negative logarithm of the likelihood."""
    mean, omega, alpha, beta = p
    variance = np.zeros(len(returns))
    variance[0] = np.var(returns)
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * (returns[t - 1] - mean) ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * variance) + (returns - mean) ** 2 / variance)


def example(days: int) -> tuple[Any, ...]:
    returns = np.random.default_rng(13).standard_t(5, size=days)
    return np.array([0.05, 0.1, 0.08, 0.85]), returns


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(p: Any, returns: Any) -> Any:
        mean, omega, alpha, beta = p

        def step(variance: Any, before: Any) -> Any:
            new = omega + alpha * (before - mean) ** 2 + beta * variance
            return new, new

        first = jnp.var(returns)
        later = jax.lax.scan(step, first, returns[:-1])[1]
        variance = jnp.concatenate([first[None], later])
        return 0.5 * jnp.sum(jnp.log(2 * np.pi * variance) + (returns - mean) ** 2 / variance)

    return f
