"""Implied volatility: Newton's method for each price of a list, until all are found."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (5, 500)  # prices
SPOT, YEARS = 100.0, 0.75


def normal_cdf(x: Any) -> Any:
    """Return the area under the bell, by a formula of Abramowitz and Stegun."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = 0.31938153 + t * (
        -0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))
    )
    tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * t * series
    return np.where(x > 0, 1.0 - tail, tail)


def f(prices: Any, strikes: Any) -> Any:
    """Return the mean of the volatilities."""
    sigma = 0.3 * np.ones_like(prices)
    for _ in range(20):
        root = sigma * np.sqrt(YEARS)
        d1 = np.log(SPOT / strikes) / root + root / 2
        error = SPOT * normal_cdf(d1) - strikes * normal_cdf(d1 - root) - prices
        vega = SPOT * np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi) * np.sqrt(YEARS)
        sigma = sigma - error / vega
        if np.max(np.abs(error)) < 1e-8:
            break
    return np.mean(sigma)


def example(count: int) -> tuple[Any, ...]:
    strikes = np.linspace(80.0, 120.0, count)
    root = (0.2 + 0.1 * np.sin(strikes / 9)) * np.sqrt(YEARS)
    d1 = np.log(SPOT / strikes) / root + root / 2
    return SPOT * normal_cdf(d1) - strikes * normal_cdf(d1 - root), strikes


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def normal_cdf(x: Any) -> Any:
        t = 1.0 / (1.0 + 0.2316419 * jnp.abs(x))
        inner = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
        series = 0.31938153 + t * (-0.356563782 + t * inner)
        tail = jnp.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * t * series
        return jnp.where(x > 0, 1.0 - tail, tail)

    def f(prices: Any, strikes: Any) -> Any:
        def newton(sigma: Any) -> tuple[Any, Any]:
            root = sigma * np.sqrt(YEARS)
            d1 = jnp.log(SPOT / strikes) / root + root / 2
            error = SPOT * normal_cdf(d1) - strikes * normal_cdf(d1 - root) - prices
            vega = SPOT * jnp.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi) * np.sqrt(YEARS)
            return sigma - error / vega, jnp.max(jnp.abs(error)) < 1e-8

        def step(state: Any, _: None) -> Any:
            done = lambda state: state  # noqa: E731
            return jax.lax.cond(state[1], done, lambda state: newton(state[0]), state), None

        first = (0.3 * jnp.ones_like(prices), jnp.array(False))
        return jnp.mean(jax.lax.scan(step, first, None, length=20)[0][0])

    return f
