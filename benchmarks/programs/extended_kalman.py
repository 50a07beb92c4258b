"""Extended Kalman filter: a vehicle that sees beacons, in the noise it is thought to have."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (5, 150)  # measurements
BEACONS = ((3.0, 4.0), (-2.0, 5.0), (4.0, -3.0))


def f(p: Any, controls: Any, ranges: Any) -> Any:
    """Return the negative logarithm of the likelihood of the ranges."""
    dt, x, covariance = 0.1, np.array([0.0, 0.0, 0.5]), 0.1 * np.eye(3)
    q = np.diag(np.array([p[0], p[0], p[1]]) ** 2)
    r = p[2] ** 2 * np.eye(len(BEACONS))
    total = 0.0
    for (speed, turn), measured in zip(controls, ranges, strict=True):
        heading = x[2]
        x = x + dt * np.array([speed * np.cos(heading), speed * np.sin(heading), turn])
        jacobian = np.eye(3)
        jacobian[0, 2] = -dt * speed * np.sin(heading)
        jacobian[1, 2] = dt * speed * np.cos(heading)
        covariance = jacobian @ covariance @ jacobian.T + q
        expected, slopes = np.zeros(len(BEACONS)), np.zeros((len(BEACONS), 3))
        for k, (bx, by) in enumerate(BEACONS):
            expected[k] = np.sqrt((x[0] - bx) ** 2 + (x[1] - by) ** 2)
            slopes[k, 0] = (x[0] - bx) / expected[k]
            slopes[k, 1] = (x[1] - by) / expected[k]
        innovation = measured - expected
        spread = slopes @ covariance @ slopes.T + r
        gain = covariance @ slopes.T @ np.linalg.inv(spread)
        total += 0.5 * (innovation @ np.linalg.solve(spread, innovation))
        total += 0.5 * np.log(np.linalg.det(spread))
        x = x + gain @ innovation
        covariance = (np.eye(3) - gain @ slopes) @ covariance
    return total


def example(count: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(10)
    controls = np.c_[1.0 + 0.1 * chance.normal(size=count), 0.3 * chance.normal(size=count)]
    return np.array([0.05, 0.02, 0.3]), controls, chance.uniform(3.0, 6.0, size=(count, 3))


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    beacons = np.array(BEACONS)

    def f(p: Any, controls: Any, ranges: Any) -> Any:
        dt = 0.1
        q, r = jnp.diag(jnp.array([p[0], p[0], p[1]]) ** 2), p[2] ** 2 * jnp.eye(len(beacons))

        def step(state: Any, given: Any) -> Any:
            x, covariance = state
            (speed, turn), measured = given
            c, s = jnp.cos(x[2]), jnp.sin(x[2])
            x = x + dt * jnp.array([speed * c, speed * s, turn])
            rows = [[1.0, 0.0, -dt * speed * s], [0.0, 1.0, dt * speed * c], [0.0, 0.0, 1.0]]
            jacobian = jnp.array(rows)
            covariance = jacobian @ covariance @ jacobian.T + q
            away = x[:2] - beacons
            expected = jnp.sqrt(jnp.sum(away**2, axis=1))
            slopes = jnp.concatenate(
                [away / expected[:, None], jnp.zeros((len(beacons), 1))], axis=1
            )
            innovation = measured - expected
            spread = slopes @ covariance @ slopes.T + r
            solved = jnp.linalg.solve(spread, jnp.c_[slopes @ covariance, innovation])
            loss = 0.5 * (innovation @ solved[:, 3]) + 0.5 * jnp.linalg.slogdet(spread)[1]
            gain = solved[:, :3].T
            return (x + gain @ innovation, (jnp.eye(3) - gain @ slopes) @ covariance), loss

        start = (jnp.array([0.0, 0.0, 0.5]), 0.1 * jnp.eye(3))
        return jnp.sum(jax.lax.scan(step, start, (controls, ranges))[1])

    return f
