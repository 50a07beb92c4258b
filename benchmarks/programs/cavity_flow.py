"""Cavity flow: a lid drives a viscous fluid; pressure by relaxation, edges by assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((9, 2, 3), (33, 10, 10))  # points each way, steps, relaxations
DT = 0.001


def relax(p: Any, source: Any, dx: float, count: int) -> Any:
    for _ in range(count):
        new = p.copy()
        around = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
        new[1:-1, 1:-1] = around / 4 - dx**2 / 4 * source
        new[:, -1] = new[:, -2]
        new[0, :] = new[1, :]
        new[:, 0] = new[:, 1]
        new[-1, :] = 0.0
        p = new
    return p


def f(lid: Any, viscosity: float, steps: int, relaxations: int) -> Any:
    """Return the energy of the fluid; the speed of the lid is given point by point."""
    n = len(lid)
    dx = 2.0 / (n - 1)
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    u[-1, :] = lid
    for _ in range(steps):
        ux, uy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
        vx, vy = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        p = relax(p, (ux + vy) / DT - ux**2 - 2 * uy * vx - vy**2, dx, relaxations)
        new_u, new_v = u.copy(), v.copy()
        for new, w, slope in (
            (new_u, u, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * dx)),
            (new_v, v, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * dx)),
        ):
            inner = w[1:-1, 1:-1]
            carried = u[1:-1, 1:-1] * (inner - w[1:-1, :-2]) + v[1:-1, 1:-1] * (
                inner - w[:-2, 1:-1]
            )
            around = w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1] - 4 * inner
            new[1:-1, 1:-1] = inner - DT * (carried / dx + slope - viscosity * around / dx**2)
        u, v = new_u, new_v
    return np.sum(u**2 + v**2)


def example(size: tuple[int, int, int]) -> tuple[Any, ...]:
    points, steps, relaxations = size
    return np.sin(np.linspace(0.0, np.pi, points)), 0.1, steps, relaxations


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(lid: Any, viscosity: float, steps: int, relaxations: int) -> Any:
        n = len(lid)
        dx = 2.0 / (n - 1)

        def slopes(w: Any) -> tuple[Any, Any]:
            across, up = w[1:-1, 2:] - w[1:-1, :-2], w[2:, 1:-1] - w[:-2, 1:-1]
            return across / (2 * dx), up / (2 * dx)

        def around(w: Any) -> Any:
            return w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1]

        def relax(p: Any, source: Any) -> Any:
            p = p.at[1:-1, 1:-1].set(around(p) / 4 - dx**2 / 4 * source)
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0)

        def step(state: Any, _: None) -> Any:
            u, v, p = state
            (ux, uy), (vx, vy) = slopes(u), slopes(v)
            source = (ux + vy) / DT - ux**2 - 2 * uy * vx - vy**2
            p = jax.lax.fori_loop(0, relaxations, lambda _, p: relax(p, source), p)

            def moved(w: Any, slope: Any) -> Any:
                inner = w[1:-1, 1:-1]
                carried = u[1:-1, 1:-1] * (inner - w[1:-1, :-2])
                carried += v[1:-1, 1:-1] * (inner - w[:-2, 1:-1])
                spread = viscosity * (around(w) - 4 * inner) / dx**2
                return w.at[1:-1, 1:-1].set(inner - DT * (carried / dx + slope - spread))

            px, py = slopes(p)
            return (moved(u, px), moved(v, py), p), None

        zero = jnp.zeros((n, n))
        u, v, _ = jax.lax.scan(step, (zero.at[-1, :].set(lid), zero, zero), None, length=steps)[0]
        return jnp.sum(u**2 + v**2)

    return f
