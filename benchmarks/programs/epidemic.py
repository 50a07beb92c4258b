"""Epidemic: a model of four compartments, fitted to counts of new cases."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (5, 200)  # days


def f(p: Any, counts: Any) -> Any:
    """Return the negative logarithm of the likelihood, as Poisson has it."""
    beta, sigma, gamma, first = np.exp(p)
    people = 1e5
    s, e, i, r = people - first, 0.0, first, 0.0
    total = 0.0
    for count in counts:
        cases = 0.0
        for _ in range(4):
            infected, sick, well = beta * s * i / people / 4, sigma * e / 4, gamma * i / 4
            s, e, i, r = s - infected, e + infected - sick, i + sick - well, r + well
            cases += sick
        total += cases - count * np.log(cases)
    return total


def example(days: int) -> tuple[Any, ...]:
    counts = np.round(40 * np.exp(-(((np.arange(days) - days / 2) / days * 5) ** 2))) + 1.0
    return np.log([0.5, 0.25, 0.2, 20.0]), counts


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(p: Any, counts: Any) -> Any:
        beta, sigma, gamma, first = jnp.exp(p)
        people = 1e5

        def day(state: Any, count: Any) -> Any:
            cases = 0.0
            for _ in range(4):
                s, e, i, r = state
                infected, sick, well = beta * s * i / people / 4, sigma * e / 4, gamma * i / 4
                state = (s - infected, e + infected - sick, i + sick - well, r + well)
                cases += sick
            return state, cases - count * jnp.log(cases)

        zero = jnp.zeros(())
        return jnp.sum(jax.lax.scan(day, (people - first, zero, first, zero), counts)[1])

    return f
