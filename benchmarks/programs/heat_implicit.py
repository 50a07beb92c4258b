"""Heat, implicitly: each step solves a tridiagonal system, by the algorithm of Thomas."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((6, 2), (60, 20))  # points, steps


def thomas(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
    n = len(right)
    c, d, x = np.zeros(n), np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
    x[n - 1] = d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def f(conductivity: Any, start: Any, steps: int) -> Any:
    """Return how uneven the temperature is after some steps."""
    r = 0.5 * conductivity
    lower, upper = -r.copy(), -r.copy()
    lower[0], upper[-1] = 0.0, 0.0
    temperature = start
    for _ in range(steps):
        temperature = thomas(lower, 1 + 2 * r, upper, temperature)
    return np.sum(np.diff(temperature) ** 2)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    points, steps = size
    x = np.linspace(0.0, 1.0, points)
    return 1.0 + 0.5 * np.sin(9 * x), np.exp(-20 * (x - 0.4) ** 2), steps


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def thomas(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
        def down(state: Any, row: Any) -> Any:
            low, middle, up, b = row
            pivot = middle - low * state[0]
            new = (up / pivot, (b - low * state[1]) / pivot)
            return new, new

        def back(x: Any, row: Any) -> Any:
            x = row[1] - row[0] * x
            return x, x

        rows = jax.lax.scan(down, (0.0, 0.0), (lower, diagonal, upper, right))[1]
        return jax.lax.scan(back, 0.0, rows, reverse=True)[1]

    def f(conductivity: Any, start: Any, steps: int) -> Any:
        r = 0.5 * conductivity
        lower, upper = (-r).at[0].set(0.0), (-r).at[-1].set(0.0)
        step = lambda _, right: thomas(lower, 1 + 2 * r, upper, right)  # noqa: E731
        return jnp.sum(jnp.diff(jax.lax.fori_loop(0, steps, step, start)) ** 2)

    return f
