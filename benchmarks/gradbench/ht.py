"""ht: hand tracking. Residuals of the points seen on a hand, and their dense Jacobian.

The Jacobian has a column for each of the 26 parameters of the pose. Where points lie within
triangles, each has two coordinates of its own; since no residual depends on those of another
point, all share two columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import simpleautodiff as ad

FINGERS, BONES, PARAMETERS = 5, 22, 26
STILL = 1e-4  # a turn by less is none


class Hand(NamedTuple):
    """The model, and what was seen of it."""

    parents: tuple[int, ...]
    base_relatives: Any
    inverse_base_absolutes: Any
    base_positions: Any
    weights: Any
    mirrored: bool
    chosen: Any  # the vertices that are seen
    corners: Any  # of each point, among them: one vertex, or the three of a triangle
    points: Any


def rotation(theta: Any) -> Any:
    """Return the matrix of a turn about an axis."""
    square = np.sum(theta * theta)
    if square < STILL**2:
        return np.eye(3)
    angle = np.sqrt(square)
    x, y, z = theta / angle
    across = np.array([[0.0 * x, -z, y], [z, 0.0 * x, -x], [-y, x, 0.0 * x]])
    return np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * (across @ across)


def finger_turns(theta: Any) -> Any:
    """Return a 4 x 4 matrix for each bone: about x, then about z."""
    angle_x, angle_z = np.zeros(BONES), np.zeros(BONES)
    for finger in range(FINGERS):
        first, given = 4 * finger + 2, theta[6 + 4 * finger : 10 + 4 * finger]
        angle_x[first], angle_z[first] = given[0], given[1]
        angle_x[first + 1], angle_x[first + 2] = given[2], given[3]
    cx, sx, cz, sz = np.cos(angle_x), np.sin(angle_x), np.cos(angle_z), np.sin(angle_z)
    turns = np.zeros((BONES, 4, 4))
    turns[:, 0, 0], turns[:, 0, 1], turns[:, 0, 2] = cz, -sz * cx, sz * sx
    turns[:, 1, 0], turns[:, 1, 1], turns[:, 1, 2] = sz, cz * cx, -cz * sx
    turns[:, 2, 1], turns[:, 2, 2], turns[:, 3, 3] = sx, cx, 1.0
    return turns


def transforms(theta: Any, hand: Hand) -> Any:
    """Return the 4 x 4 matrix of each bone, each along the chain of its parents."""
    relatives = hand.base_relatives @ finger_turns(theta)
    absolutes: list[Any] = []
    for bone, parent in enumerate(hand.parents):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    return np.stack(absolutes) @ hand.inverse_base_absolutes


def vertices(theta: Any, hand: Hand) -> Any:
    """Return where the vertices of the skin are that are seen: a weighted mean over the bones."""
    chosen = hand.chosen
    weighted = hand.weights[chosen][:, :, None] * hand.base_positions[chosen][:, None, :]
    columns = transforms(theta, hand)[:, :3, :].transpose(0, 2, 1).reshape(4 * BONES, 3)
    skin = weighted.reshape(len(chosen), 4 * BONES) @ columns
    if hand.mirrored:
        skin = skin * np.array([-1.0, 1.0, 1.0])
    return skin @ rotation(theta[:3]).T + theta[3:6]


def residuals(theta: Any, us: Any, hand: Hand) -> Any:
    """Return the difference between points seen and points of the skin, one after another."""
    corners = vertices(theta, hand)[hand.corners]
    if us is None:
        skin = corners[:, 0]
    else:
        u, v = us[:, :1], us[:, 1:]
        skin = u * corners[:, 0] + v * corners[:, 1] + (1 - u - v) * corners[:, 2]
    return (hand.points - skin).reshape(-1)


def shifted(shift: Any, theta: Any, us: Any, hand: Hand) -> Any:
    """Return the residuals after all u, all v and the pose have been shifted."""
    if us is None:
        return residuals(theta + shift, us, hand)
    return residuals(theta + shift[2:], us + shift[:2], hand)


def jacobian(theta: Any, us: Any, hand: Hand) -> Any:
    """Return the derivatives of the residuals in the shift."""
    size = PARAMETERS if us is None else PARAMETERS + 2
    return ad.jacfwd(shifted)(np.zeros(size), theta, us, hand)


FUNCTIONS = {"objective": ad.jit(residuals), "jacobian": ad.jit(jacobian)}


def read(given: Any) -> tuple[Any, ...]:
    """Make the pose, the coordinates within triangles if there are any, and the hand."""
    data, model = given["data"], given["data"]["model"]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    arrays = {name: np.array(model[name], dtype=float) for name in names}
    us = np.array(given["us"], dtype=float) if len(given["us"]) else None
    seen = np.array(data["correspondences"])
    corners = seen[:, None] if us is None else np.array(model["triangles"])[seen]
    chosen, places = np.unique(corners, return_inverse=True)
    hand = Hand(
        parents=tuple(model["parents"]),
        mirrored=bool(model["is_mirrored"]),
        chosen=chosen,
        corners=places.reshape(corners.shape),
        points=np.array(data["points"], dtype=float),
        **arrays,
    )
    return np.array(given["theta"], dtype=float), us, hand


def workloads(quick: bool = False, folder: str | None = None) -> Iterator[tuple[str, Any]]:
    """Return hands: those of the files in a folder, or made up ones, small and big."""
    if folder is not None:
        for path in sorted(Path(folder).glob("*/hand*.txt")):
            yield f"{path.parent.name}/{path.stem}", from_file(path)
        return
    for name, skin in (("small", 544),) if quick else (("small", 544), ("big", 10_000)):
        for count in (100,) if quick else (100, 800):
            yield f"complicated_{name}_c{count}", generate(skin, count)


def generate(skin: int, count: int, simple: bool = False) -> dict[str, Any]:
    """Make up a hand whose bones are turned at random, and points near its skin."""
    chance = np.random.default_rng(31337)
    parents = [-1, *(0 if k % 4 == 1 else k - 1 for k in range(1, BONES - 1)), 0]
    relatives = np.tile(np.eye(4), (BONES, 1, 1))
    relatives[:, :3, :3] = np.linalg.qr(chance.normal(size=(BONES, 3, 3)))[0]
    relatives[:, :3, 3] = chance.normal(size=(BONES, 3)) / 4
    absolutes: list[Any] = []
    for bone, parent in enumerate(parents):
        own = relatives[bone]
        absolutes.append(own if parent < 0 else absolutes[parent] @ own)
    weights = np.zeros((skin, BONES))
    for row in weights:
        row[chance.choice(BONES, size=4, replace=False)] = chance.dirichlet(np.ones(4))
    triangles = chance.integers(min(skin, 544), size=(1084, 3))
    model = {
        "bone_count": BONES,
        "bone_names": [f"bone{k}" for k in range(BONES)],
        "parents": parents,
        "base_relatives": relatives.tolist(),
        "inverse_base_absolutes": np.linalg.inv(np.stack(absolutes)).tolist(),
        "base_positions": np.c_[chance.normal(size=(skin, 3)), np.ones(skin)].tolist(),
        "weights": weights.tolist(),
        "triangles": triangles.tolist(),
        "is_mirrored": False,
    }
    data = {
        "correspondences": chance.integers(min(skin, 544), size=count).tolist(),
        "points": chance.normal(size=(count, 3)).tolist(),
        "model": model,
    }
    us = [] if simple else chance.dirichlet(np.ones(3), size=count)[:, :2].tolist()
    return {"theta": (chance.normal(size=PARAMETERS) / 4).tolist(), "us": us, "data": data}


def from_file(path: Path) -> dict[str, Any]:
    """Read a file of the suite's, and the model in the folder beside it."""
    lines = path.read_text().split("\n")
    count, _ = map(int, lines[0].split())
    seen = [line.split() for line in lines[1 : count + 1]]
    rest = [[*map(float, line.split())] for line in lines[count + 1 :] if line.strip()]
    us = [line for line in rest if len(line) == 2]
    theta = [line[0] for line in rest if len(line) == 1]
    data = {
        "correspondences": [int(line[0]) for line in seen],
        "points": [[*map(float, line[1:])] for line in seen],
        "model": model_from(path.parent / "model"),
    }
    return {"theta": theta, "us": us, "data": data}


def model_from(folder: Path) -> dict[str, Any]:
    """Read the bones, the skin and the triangles of a model."""

    def table(name: str) -> list[list[str]]:
        lines = (folder / name).read_text().splitlines()
        return [line.split(":") for line in lines if line.strip()]

    bones, skin = table("bones.txt"), table("vertices.txt")
    matrices = np.array([[*map(float, bone[2:34])] for bone in bones]).reshape(-1, 2, 4, 4)
    weights = np.zeros((len(skin), len(bones)))
    for row, fields in zip(weights, skin, strict=True):
        for k in range(int(fields[8])):
            row[int(fields[9 + 2 * k])] = float(fields[10 + 2 * k])
    return {
        "bone_count": len(bones),
        "bone_names": [bone[0] for bone in bones],
        "parents": [int(bone[1]) for bone in bones],
        "base_relatives": matrices[:, 0].tolist(),
        "inverse_base_absolutes": matrices[:, 1].tolist(),
        "base_positions": [[*map(float, fields[:3]), 1.0] for fields in skin],
        "weights": weights.tolist(),
        "triangles": [[*map(int, fields[:3])] for fields in table("triangles.txt")],
        "is_mirrored": False,
    }
