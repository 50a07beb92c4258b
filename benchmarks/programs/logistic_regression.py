"""Logistic regression: the loss of weights on labelled rows, with a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((20, 4), (2000, 30))  # rows, features


def f(w: Any, rows: Any, labels: Any) -> Any:
    """Return the mean of the logarithms, and the penalty."""
    scores = rows @ w[:-1] + w[-1]
    probabilities = 1.0 / (1.0 + np.exp(-scores))
    losses = labels * np.log(probabilities) + (1 - labels) * np.log(1 - probabilities)
    return -np.mean(losses) + 0.01 * np.sum(w[:-1] ** 2)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    count, features = size
    chance = np.random.default_rng(5)
    rows = chance.normal(size=(count, features))
    labels = (rows[:, 0] + 0.5 * chance.normal(size=count) > 0).astype(float)
    return 0.1 * chance.normal(size=features + 1), rows, labels


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(w: Any, rows: Any, labels: Any) -> Any:
        scores = rows @ w[:-1] + w[-1]
        losses = jax.nn.softplus(scores) - labels * scores
        return jnp.mean(losses) + 0.01 * jnp.sum(w[:-1] ** 2)

    return f
