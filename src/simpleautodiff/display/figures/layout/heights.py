"""The heights of the vertices of each layer: close to their neighbours, without overlap.

In one layer this is least squares with a fixed order and minimum distances, which is solved exactly
by pooling: vertices that would overlap are moved as one block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

HEIGHT_ROUNDS = 16


class Item(NamedTuple):
    """A vertex or lane of a layer, with the room it needs above and below its centre."""

    name: str
    up: float
    down: float


def settle(
    columns: Sequence[Sequence[Item]],
    links: Sequence[tuple[str, str, float]],
    chains: Sequence[Sequence[str]] = (),
) -> dict[str, float]:
    """Return the height of each item; links pull their ends together, by their weights.

    The inner items of a chain are put on one level if there is room for that.

    Examples
    --------
    >>> settle([[Item("a", 1, 1), Item("b", 1, 1)], [Item("c", 1, 1)]],
    ...         [("a", "c", 1.0), ("b", "c", 1.0)])
    {'a': 0.0, 'b': 2.0, 'c': 1.0}
    """
    before: dict[str, list[tuple[str, float]]] = {}
    after: dict[str, list[tuple[str, float]]] = {}
    for a, b, pull in links:
        before.setdefault(b, []).append((a, pull))
        after.setdefault(a, []).append((b, pull))
    y: dict[str, float] = {}
    for column in columns:
        _settle_layer(column, y, [before])
    for i in range(HEIGHT_ROUNDS):
        last = i >= HEIGHT_ROUNDS // 2
        for column in reversed(columns):
            _settle_layer(column, y, [after, before] if last else [after])
        for column in columns:
            _settle_layer(column, y, [before, after] if last else [before])
    _straighten(columns, chains, y)
    top = min(y.values(), default=0.0)
    return {name: height - top for name, height in y.items()}


def _straighten(
    columns: Sequence[Sequence[Item]], chains: Sequence[Sequence[str]], y: dict[str, float]
) -> None:
    """Put the lanes of each long edge on one level, if possible that of one of its ends."""
    where = {item.name: (i, k) for i, column in enumerate(columns) for k, item in enumerate(column)}
    for chain in chains:
        lanes = chain[1:-1]
        if not lanes:
            continue
        low, high = -math.inf, math.inf
        for name in lanes:
            i, k = where[name]
            column = columns[i]
            if k:
                low = max(low, y[column[k - 1].name] + column[k - 1].down + column[k].up)
            if k + 1 < len(column):
                high = min(high, y[column[k + 1].name] - column[k + 1].up - column[k].down)
        if low <= high:
            mean = sum(y[name] for name in lanes) / len(lanes)
            wanted = min(y[chain[0]], y[chain[-1]], key=lambda end: abs(end - mean))
            y |= dict.fromkeys(lanes, min(max(wanted, low), high))


def _settle_layer(
    column: Sequence[Item],
    y: dict[str, float],
    sides: Sequence[dict[str, list[tuple[str, float]]]],
) -> None:
    """Place one layer, with the others fixed."""
    wanted, weights = [], []
    least = 0.0
    shifts = [0.0]
    for above, below in pairwise(column):
        least += above.down + below.up
        shifts.append(least)
    for item, shift in zip(column, shifts, strict=True):
        near = [(y[o], pull) for side in sides for o, pull in side.get(item.name, []) if o in y]
        weight = sum(pull for _, pull in near)
        at = sum(h * pull for h, pull in near) / weight if weight else y.get(item.name, shift)
        wanted.append(at - shift)
        weights.append(weight or 0.01)
    for item, shift, height in zip(column, shifts, _pool_increasing(wanted, weights), strict=True):
        y[item.name] = height + shift


def _pool_increasing(wanted: list[float], weights: list[float]) -> list[float]:
    """Return the increasing numbers closest to the wanted ones: neighbours are pooled."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, mass, count = blocks.pop()
            total = mass + block[1]
            block = ((mean * mass + block[0] * block[1]) / total, total, count + block[2])
        blocks.append(block)
    return [mean for mean, _, count in blocks for _ in range(count)]
