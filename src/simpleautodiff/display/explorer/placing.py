"""Where the nodes of a graph are drawn: in layers, by distance from the inputs; deterministic.

Coordinates are abstract: layer 0, 1, 2, ... along the computation, and a place across it. The page
turns them into points, from left to right or from top to bottom as there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

ROUNDS = 8
Edge = tuple[int, int]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Placing:
    """A point (layer, place) for each node, and for each edge the points it passes between them."""

    points: list[Point]
    routes: dict[Edge, list[Point]]


def place(size: int, edges: Sequence[Edge]) -> Placing:
    """Place nodes 0, ..., size - 1, which stand in topological order.

    Examples
    --------
    >>> place(3, [(0, 1), (0, 2), (1, 2)]).points
    [(0.0, 0.0), (1.0, -0.5), (2.0, 0.0)]
    """
    edges = list(dict.fromkeys(edges))
    layer = _layers(size, edges)
    chains = _chains(size, edges, layer)
    total = size + sum(len(chain) for chain in chains.values())
    layers: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    links: list[tuple[list[int], list[int]]] = [([], []) for _ in range(total)]
    for i in range(size):
        layers[layer[i]].append(i)
    for (start, end), chain in chains.items():
        for depth, dummy in enumerate(chain, layer[start] + 1):
            layers[depth].append(dummy)
        path = [start, *chain, end]
        for above, below in pairwise(path):
            links[above][1].append(below)
            links[below][0].append(above)
    across = _across(layers, links, total)
    points = [(float(layer[i]), across[i]) for i in range(size)]
    routes = {
        (a, b): [(float(d), across[dummy]) for d, dummy in enumerate(chain, layer[a] + 1)]
        for (a, b), chain in chains.items()
    }
    return Placing(points, routes)


def _layers(size: int, edges: Sequence[Edge]) -> list[int]:
    """Return the length of the longest path to each node; inputs stand next to their first use."""
    layer = [0] * size
    first: dict[int, int] = {}
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        layer[end] = max(layer[end], layer[start] + 1)
    ends = {end for _, end in edges}
    for start, end in edges:
        first[start] = min(first.get(start, layer[end]), layer[end])
    for i in range(size):
        if i not in ends and i in first:
            layer[i] = first[i] - 1
    return layer


def _chains(size: int, edges: Sequence[Edge], layer: Sequence[int]) -> dict[Edge, list[int]]:
    """Give each edge one invisible node in every layer that it passes."""
    chains: dict[Edge, list[int]] = {}
    free = size
    for start, end in edges:
        count = max(layer[end] - layer[start] - 1, 0)
        chains[start, end] = list(range(free, free + count))
        free += count
    return chains


def _across(
    layers: list[list[int]], links: list[tuple[list[int], list[int]]], total: int
) -> list[float]:
    """Order each layer by the middle of its neighbours, back and forth; keep the best order."""
    rank = [0.0] * total
    best: tuple[int, list[list[int]]] = (-1, layers)
    for turn in range(ROUNDS + 1):
        for row in layers:
            for i, node in enumerate(row):
                rank[node] = i - (len(row) - 1) / 2
        count = _crossings(layers, links, rank)
        if best[0] < 0 or count < best[0]:
            best = (count, [list(row) for row in layers])
        side = turn % 2
        for row in layers if side == 0 else reversed(layers):
            middle = {node: _middle(links[node][side], rank, rank[node]) for node in row}
            row.sort(key=middle.__getitem__)
            for i, node in enumerate(row):
                rank[node] = i - (len(row) - 1) / 2
    return _settle(best[1], links, total)


def _middle(neighbours: Sequence[int], rank: Sequence[float], default: float) -> float:
    return sum(rank[n] for n in neighbours) / len(neighbours) if neighbours else default


def _crossings(
    layers: list[list[int]], links: list[tuple[list[int], list[int]]], rank: Sequence[float]
) -> int:
    count = 0
    for row in layers:
        ends = sorted((rank[node], rank[child]) for node in row for child in links[node][1])
        for i, (a, b) in enumerate(ends):
            count += sum(1 for c, d in ends[i + 1 :] if a < c and d < b)
    return count


def _settle(
    layers: list[list[int]], links: list[tuple[list[int], list[int]]], total: int
) -> list[float]:
    """Pull every node towards its neighbours, keeping the order and one unit between nodes."""
    at = [0.0] * total
    for row in layers:
        for i, node in enumerate(row):
            at[node] = i - (len(row) - 1) / 2
    for turn in range(ROUNDS):
        for row in layers if turn % 2 == 0 else reversed(layers):
            wanted = [_middle(links[n][0] + links[n][1], at, at[n]) for n in row]
            for node, place_ in zip(row, _apart(wanted), strict=True):
                at[node] = round(place_, 3)
    return at


def _apart(wanted: Sequence[float]) -> list[float]:
    """Return places as near to those wanted as one unit between neighbours allows.

    Neighbours that are too near become one block, which stands at the mean of its wishes.
    """
    blocks: list[tuple[float, int]] = []  # the sum of (wish - offset), and how many
    for i, wish in enumerate(wanted):
        total, count = wish - i, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    places: list[float] = []
    for total, count in blocks:
        places += [total / count + len(places) + j for j in range(count)]
    return places
