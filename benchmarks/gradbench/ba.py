"""ba: bundle adjustment. The residuals of all observations, and their sparse Jacobian."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import simpleautodiff as ad

CAMERA, POINT = 11, 3
ROW = CAMERA + POINT + 1  # what a residual depends on; the last is its weight


class Scene(NamedTuple):
    """Cameras, points, weights, what was seen, and which camera saw which point."""

    cameras: Any
    points: Any
    weights: Any
    features: Any
    camera_of: Any
    point_of: Any


def rotate(turn: Any, point: Any) -> Any:
    """Turn a point about an axis, by as much as the axis is long."""
    square = np.sum(turn * turn)
    still = square == 0
    angle = np.sqrt(np.where(still, 1.0, square))
    axis = turn / angle
    cosine, across = np.cos(angle), np.linalg.cross(axis, point)
    turned = point * cosine + across * np.sin(angle) + axis * (np.sum(axis * point) * (1 - cosine))
    return np.where(still, point + np.linalg.cross(turn, point), turned)


def residual(inputs: Any, feature: Any) -> Any:
    """Return how far from where it was seen a camera projects a point."""
    camera, point, weight = inputs[:CAMERA], inputs[CAMERA:-1], inputs[-1]
    seen = rotate(camera[0:3], point - camera[3:6])
    flat = seen[0:2] / seen[2]
    square = np.sum(flat * flat)
    bent = flat * (1 + camera[9] * square + camera[10] * square * square)
    return weight * (bent * camera[6] + camera[7:9] - feature)


def of_weight(weight: Any) -> Any:
    """Return the residual that keeps weights near 1."""
    return 1 - weight * weight


def gather(scene: Scene) -> Any:
    """Return the 15 numbers of each observation, row after row."""
    parts = (scene.cameras[scene.camera_of], scene.points[scene.point_of], scene.weights[:, None])
    return np.concatenate(parts, axis=1)


rows_of_residuals = ad.jit(ad.vmap(residual))
rows_of_jacobian = ad.jit(ad.vmap(ad.jacobian(residual)))
weight_residuals = ad.jit(ad.vmap(of_weight))
weight_slopes = ad.jit(ad.vmap(ad.grad(of_weight)))


def objective(scene: Scene) -> tuple[Any, Any]:
    """Return the residuals of all observations, and those of their weights."""
    return rows_of_residuals(gather(scene), scene.features), weight_residuals(scene.weights)


def jacobian(scene: Scene) -> tuple[Any, Any, Any]:
    """Return the Jacobian in compressed rows: where each begins, the columns, and the values."""
    n, m, p = len(scene.cameras), len(scene.points), len(scene.weights)
    first_point, first_weight = CAMERA * n, CAMERA * n + POINT * m
    entries, dense = np.arange(p), 2 * p * ROW
    values, columns = np.empty(dense + p), np.empty(dense + p, dtype=np.int64)
    values[:dense] = rows_of_jacobian(gather(scene), scene.features).reshape(-1)
    values[dense:] = weight_slopes(scene.weights)
    table = columns[:dense].reshape(p, 2, ROW)
    table[:, :, :CAMERA] = (CAMERA * scene.camera_of[:, None] + np.arange(CAMERA))[:, None, :]
    of_points = first_point + POINT * scene.point_of[:, None] + np.arange(POINT)
    table[:, :, CAMERA:-1] = of_points[:, None, :]
    table[:, :, -1] = (first_weight + entries)[:, None]
    columns[dense:] = first_weight + entries
    rows = np.concatenate([ROW * np.arange(2 * p), np.arange(dense, dense + p + 1)])
    return rows, columns, values


FUNCTIONS = {"objective": objective, "jacobian": jacobian}


def read(given: Any) -> tuple[Any, ...]:
    """Make as many cameras, points and observations as there are to be."""
    n, m, p = given["n"], given["m"], given["p"]
    numbers = np.arange(p)
    scene = Scene(
        cameras=np.tile(np.array(given["cam"], dtype=float), (n, 1)),
        points=np.tile(np.array(given["x"], dtype=float), (m, 1)),
        weights=np.full(p, float(given["w"])),
        features=np.tile(np.array(given["feat"], dtype=float), (p, 1)),
        camera_of=numbers % n,
        point_of=numbers % m,
    )
    return (scene,)


def write(name: str, value: Any) -> Any:
    """Write the first entries, and the last."""
    if name == "objective":
        errors, of_weights = value
        count = len(of_weights)
        return {
            "reproj_error": {"elements": errors[0].tolist(), "repeated": count},
            "w_err": {"element": float(of_weights[0]), "repeated": count},
        }
    parts = dict(zip(("rows", "cols", "vals"), value, strict=True))
    return {key: [*part[:30].tolist(), part[-1].item()] for key, part in parts.items()}


SIZES = ((49, 7776, 31843), (21, 11315, 36455), (161, 48126, 182072), (372, 47423, 204472))
CAM = (0.015, -0.0128, -0.0044, -0.034, -0.107, 1.12, 399.75, 0.0, 0.0, -3.1e-07, 5.9e-13)


def workloads(quick: bool = False, folder: str | None = None) -> Iterator[tuple[str, Any]]:
    """Return scenes: those of the files in a folder, or of their sizes with our own camera."""
    if folder is not None:
        for path in sorted(Path(folder).glob("ba*.txt")):
            yield path.stem, from_file(path)
        return
    for number, (n, m, p) in enumerate(SIZES[:1] if quick else SIZES, 1):
        given = {"cam": list(CAM), "x": [-0.6, 0.57, -4.1], "w": 0.417, "feat": [-33.0, 26.0]}
        yield f"ba{number}_n{n}_m{m}_p{p}", {"n": n, "m": m, "p": p, **given}


def from_file(path: Path) -> dict[str, Any]:
    """Read a file of the suite's."""
    sizes, cam, x, w, feat = path.read_text().splitlines()[:5]
    n, m, p = map(int, sizes.split())
    arrays = {"cam": cam, "x": x, "feat": feat}
    read_arrays = {key: [*map(float, text.split())] for key, text in arrays.items()}
    return {"n": n, "m": m, "p": p, "w": float(w), **read_arrays}
