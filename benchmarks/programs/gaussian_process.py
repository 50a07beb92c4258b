"""Gaussian process: the likelihood of data, in the logarithms of the kernel's three numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (10, 100)  # points


def f(p: Any, x: Any, y: Any) -> Any:
    """Return the negative logarithm of the marginal likelihood."""
    length, scale, noise = np.exp(p)
    squares = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    kernel = scale**2 * np.exp(-squares / (2 * length**2)) + noise**2 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return y @ weights / 2 + np.sum(np.log(np.diag(factor))) + len(x) / 2 * np.log(2 * np.pi)


def example(points: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(4)
    x = chance.uniform(-2.0, 2.0, size=(points, 2))
    y = np.sin(3 * x[:, 0]) * x[:, 1] + 0.1 * chance.normal(size=points)
    return np.log([0.7, 1.2, 0.2]), x, y


def in_jax() -> Any:
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve

    def f(p: Any, x: Any, y: Any) -> Any:
        length, scale, noise = jnp.exp(p)
        squares = jnp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
        kernel = scale**2 * jnp.exp(-squares / (2 * length**2)) + noise**2 * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(kernel)
        weights = cho_solve((factor, True), y)
        logs = jnp.sum(jnp.log(jnp.diag(factor)))
        return y @ weights / 2 + logs + len(x) / 2 * np.log(2 * np.pi)

    return f
