"""Hidden Markov model: the forward pass, in the table of transitions."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((3, 8), (8, 400))  # states, observations


def f(logits: Any, emission: Any, seen: Any) -> Any:
    """Return the logarithm of the likelihood; each row of the table is scaled as it is filled."""
    weights = np.exp(logits)
    transition = weights / np.sum(weights, axis=1, keepdims=True)
    alpha = np.zeros((len(seen), len(logits)))
    alpha[0] = emission[:, seen[0]] / len(logits)
    total = 0.0
    for t in range(1, len(seen)):
        alpha[t] = (alpha[t - 1] @ transition) * emission[:, seen[t]]
        scale = np.sum(alpha[t])
        alpha[t] = alpha[t] / scale
        total = total + np.log(scale)
    return total


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    states, count = size
    chance = np.random.default_rng(6)
    emission = chance.dirichlet(np.ones(5), size=states)
    return chance.normal(size=(states, states)), emission, chance.integers(5, size=count)


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(logits: Any, emission: Any, seen: Any) -> Any:
        transition = jax.nn.softmax(logits, axis=1)

        def step(alpha: Any, symbol: Any) -> Any:
            alpha = (alpha @ transition) * emission[:, symbol]
            scale = jnp.sum(alpha)
            return alpha / scale, jnp.log(scale)

        first = emission[:, seen[0]] / len(logits)
        return jnp.sum(jax.lax.scan(step, first, seen[1:])[1])

    return f
