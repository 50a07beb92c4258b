"""Robot arm: where the hand of seven joints is along a motion, against where it should be."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (3, 40)  # points of the motion
LENGTHS = (0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126)
TWISTS = (-np.pi / 2, np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, np.pi / 2, 0.0)


def joint(angle: Any, length: float, twist: float) -> Any:
    """Return the 4 x 4 matrix of a joint by Denavit and Hartenberg."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [
            [c, -s * ct, s * st, 0.05 * c],
            [s, c * ct, -c * st, 0.05 * s],
            [0.0, st, ct, length],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def hand(angles: Any) -> Any:
    pose = np.eye(4)
    for angle, length, twist in zip(angles, LENGTHS, TWISTS, strict=True):
        pose = pose @ joint(angle, length, twist)
    return pose[:3, 3]


def f(motion: Any, targets: Any) -> Any:
    """Return the squared distances from the targets, and what is jerky in the motion."""
    total = 0.0
    for angles, target in zip(motion, targets, strict=True):
        total += np.sum((hand(angles) - target) ** 2)
    return total + 0.01 * np.sum(np.diff(motion, axis=0) ** 2)


def example(points: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(0)
    return chance.normal(size=(points, 7)), chance.normal(size=(points, 3))


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def joint(angle: Any, length: float, twist: float) -> Any:
        c, s, ct, st = jnp.cos(angle), jnp.sin(angle), np.cos(twist), np.sin(twist)
        rows = [[c, -s * ct, s * st, 0.05 * c], [s, c * ct, -c * st, 0.05 * s]]
        return jnp.array([*rows, [0.0, st, ct, length], [0.0, 0.0, 0.0, 1.0]])

    def hand(angles: Any) -> Any:
        pose = jnp.eye(4)
        for k in range(7):
            pose = pose @ joint(angles[k], LENGTHS[k], TWISTS[k])
        return pose[:3, 3]

    def f(motion: Any, targets: Any) -> Any:
        total = jnp.sum((jax.vmap(hand)(motion) - targets) ** 2)
        return total + 0.01 * jnp.sum(jnp.diff(motion, axis=0) ** 2)

    return f
