"""Page rank: the weights of links, and how high they put one page (power iteration)."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (5, 80)  # pages


def f(weights: Any) -> Any:
    """Return the rank of the first page."""
    pages = len(weights)
    links = np.exp(weights)
    links = links / links.sum(axis=0)
    rank = np.ones(pages) / pages
    for _ in range(100):
        new = 0.85 * links @ rank + 0.15 / pages
        change = np.abs(new - rank).sum()
        rank = new
        if change < 1e-10:
            break
    return np.log(rank[0])


def example(pages: int) -> tuple[Any, ...]:
    return (np.random.default_rng(15).normal(size=(pages, pages)),)


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(weights: Any) -> Any:
        pages = len(weights)
        links = jax.nn.softmax(weights, axis=0)

        def step(state: Any, _: None) -> Any:
            rank, done = state
            new = 0.85 * links @ rank + 0.15 / pages
            small = jnp.sum(jnp.abs(new - rank)) < 1e-10
            return (jnp.where(done, rank, new), done | small), None

        start = (jnp.ones(pages) / pages, jnp.array(False))
        return jnp.log(jax.lax.scan(step, start, None, length=30)[0][0][0])

    return f
