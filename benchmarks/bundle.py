"""Bundle adjustment: the Jacobian of a camera's residual, for all observations at once.

A camera is three numbers of rotation, three of its centre, the focal length, two of the principal
point and two of radial distortion; with a point and a weight that makes 15 inputs and two results.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

OBSERVATIONS = 36_455
CAMERAS, POINTS = 49, 7776
INPUTS, LANES = 15, 8
TYPICAL = (
    *(-0.758453, -1.109613, -0.845551, 34.556073, 39.676747, 53.881673, 419.194514, 5.864426),
    *(-8.518870, 0.087812, 0.002739, 7.203245, 0.001144, 3.023326, 0.417022, 271.760969),
    834.209256,
)


class Observations(NamedTuple):
    """What was seen, row after row."""

    inputs: Any  # camera, point and weight
    features: Any  # where the point was seen

    def blocks(self) -> tuple[Any, Any, Any]:
        """Return the same padded to full vectors: inputs, features, and both in blocks of eight."""
        rows = np.arange(-(-len(self.inputs) // LANES) * LANES) % len(self.inputs)
        inputs, features = self.inputs[rows], self.features[rows]
        both = np.concatenate([inputs, features], axis=1).reshape(-1, LANES, INPUTS + 2)
        return inputs, features, np.ascontiguousarray(both.transpose(0, 2, 1))


class Scene(NamedTuple):
    """The same as tables of cameras and points, with the numbers of those that meet."""

    cameras: Any
    points: Any
    camera_of: Any
    point_of: Any
    weights: Any
    features: Any

    def observations(self) -> Observations:
        """Return the table that the numbers stand for."""
        rows = (self.cameras[self.camera_of], self.points[self.point_of], self.weights[:, None])
        return Observations(np.concatenate(rows, axis=1), self.features)


def residual(xp: Any, camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return how far from where it was seen a camera projects a point."""
    turn, centre, focus = camera[0:3], camera[3:6], camera[6]
    angle = xp.sqrt(xp.sum(turn * turn))
    axis = turn / angle
    cosine, sine = xp.cos(angle), xp.sin(angle)
    from_centre = point - centre
    along = axis * (xp.sum(axis * from_centre) * (1 - cosine))
    seen = from_centre * cosine + xp.linalg.cross(axis, from_centre) * sine + along
    flat = seen[0:2] / seen[2]
    square = xp.sum(flat * flat)
    bent = flat * (1 + camera[9] * square + camera[10] * square * square)
    return weight * (bent * focus + camera[7:9] - feature)


def residual_of(xp: Any) -> Any:
    """Return the residual as a function of one vector of 15, and of where the point was seen."""
    return lambda x, feature: residual(xp, x[0:11], x[11:14], x[14], feature)


def _near(shape: tuple[int, ...], typical: Any, chance: np.random.Generator) -> Any:
    return np.array(typical) * (1 + 0.01 * chance.standard_normal(shape))


@cache
def scene(observations: int = OBSERVATIONS) -> Scene:
    """Return a scene that was made up, near one that was not."""
    chance = np.random.default_rng(0)
    return Scene(
        cameras=_near((CAMERAS, 11), TYPICAL[:11], chance),
        points=_near((POINTS, 3), TYPICAL[11:14], chance),
        camera_of=chance.integers(CAMERAS, size=observations),
        point_of=chance.integers(POINTS, size=observations),
        weights=_near((observations,), TYPICAL[14], chance),
        features=_near((observations, 2), TYPICAL[15:], chance),
    )


def jacobian_by_steps(observations: Observations) -> Any:
    """Differentiate by small imaginary steps, which is exact to the last digits."""
    inputs, features = observations
    found = np.empty((len(inputs), 2, INPUTS))
    for k in range(INPUTS):
        moved = inputs.astype(complex).T
        moved[k] += 1e-30j
        found[:, :, k] = residual_columns(moved, features.T).imag.T / 1e-30
    return found


def residual_columns(x: Any, feature: Any) -> Any:
    """Return the residuals of many observations, one in each column."""
    turn, from_centre = x[0:3], x[11:14] - x[3:6]
    angle = np.sqrt(np.sum(turn * turn, axis=0))
    axis = turn / angle
    along = axis * (np.sum(axis * from_centre, axis=0) * (1 - np.cos(angle)))
    across = np.cross(axis, from_centre, axis=0)
    seen = from_centre * np.cos(angle) + across * np.sin(angle) + along
    flat = seen[0:2] / seen[2]
    square = np.sum(flat * flat, axis=0)
    bent = flat * (1 + x[9] * square + x[10] * square * square)
    return x[14] * (bent * x[6] + x[7:9] - feature)
