"""The layer of each vertex, and the order in each layer: few crossings, by local search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from simpleautodiff.display.figures.layout.crossings import (
    STARTS,
    Columns,
    Link,
    arrange,
    count_crossings,
)

SMALL, VERY_SMALL = 30, 15  # vertices up to which other layers are tried, too
MAX_TRIES = 200  # other layers that are tried before the search ends


class Layering(NamedTuple):
    """The layers in order, with the lanes of long edges; and the path of each edge."""

    layer: dict[str, int]
    columns: Columns
    chains: dict[Link, list[str]]

    def links(self) -> Iterator[Link]:
        """Yield the neighbours along each edge."""
        for chain in self.chains.values():
            yield from pairwise(chain)


def assign_layers(
    vertices: Sequence[str], edges: Sequence[Link], inputs_late: bool = False
) -> dict[str, int]:
    """Return the layer of each vertex: inputs in the first, the others as late as costs nothing.

    With `inputs_late`, an input stands beside its first use.

    Examples
    --------
    >>> assign_layers(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    {'a': 0, 'b': 1, 'c': 2, 'd': 3}
    """
    parents, children = _find_neighbours(vertices, edges)
    layer: dict[str, int] = {}
    for name in vertices:
        layer[name] = max((layer[parent] + 1 for parent in parents[name]), default=0)
    for name in reversed(vertices):
        if not (parents[name] or inputs_late):
            continue
        if len(children[name]) >= max(len(parents[name]), 1):
            layer[name] = min(layer[child] for child in children[name]) - 1
    return layer


def _find_neighbours(
    vertices: Sequence[str], edges: Sequence[Link]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    parents: dict[str, list[str]] = {name: [] for name in vertices}
    children: dict[str, list[str]] = {name: [] for name in vertices}
    for tail, head in dict.fromkeys(edges):
        parents[head].append(tail)
        children[tail].append(head)
    return parents, children


def make_layering(
    vertices: Sequence[str],
    edges: Sequence[Link],
    thorough: bool = True,
    inputs_late: bool = False,
) -> Layering:
    r"""Assign vertices to layers and order them.

    In a small graph a vertex, or an input, moves to another layer if that saves crossings; not if
    the layout is to be quick rather than `thorough`.

    Examples
    --------
    >>> make_layering(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "c")]).columns
    [['a'], ['b', 'a\nc\n1'], ['c']]
    """
    layer = assign_layers(vertices, edges, inputs_late)
    best, least = _arrange(layer, edges)
    better = thorough and len(vertices) <= SMALL
    while least and better:
        better = False
        for other in islice(_try_moves(vertices, edges, best.layer), MAX_TRIES):
            if _arrange(other, edges, 0)[1] < least:
                best, least = _arrange(other, edges)
                better = True
                break
    return best


def _try_moves(
    vertices: Sequence[str], edges: Sequence[Link], layer: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Yield the layers after one move; for very small graphs, then after two."""
    yield from _try_single_moves(vertices, edges, layer)
    if len(vertices) <= VERY_SMALL:
        for other in _try_single_moves(vertices, edges, layer):
            yield from _try_single_moves(vertices, edges, other)


def _arrange(
    layer: dict[str, int], edges: Sequence[Link], starts: int = STARTS
) -> tuple[Layering, int]:
    chains = {edge: _make_chain(*edge, layer) for edge in edges}
    columns: Columns = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for name, place in layer.items():
        columns[place].append(name)
    for (tail, _), chain in chains.items():
        for i, lane in enumerate(chain[1:-1], layer[tail] + 1):
            columns[i].append(lane)
    links = [link for chain in chains.values() for link in pairwise(chain)]
    columns = arrange(columns, links, starts)
    return Layering(layer, columns, chains), count_crossings(columns, links)


def _make_chain(tail: str, head: str, layer: dict[str, int]) -> list[str]:
    """Return the path of an edge: its tail, a lane in each layer between, its head."""
    between = range(layer[tail] + 1, layer[head])
    return [tail, *[f"{tail}\n{head}\n{i}" for i in between], head]


def _try_single_moves(
    vertices: Sequence[str], edges: Sequence[Link], layer: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Yield the layers with one vertex moved: within its range, or later with all below it."""
    parents, children = _find_neighbours(vertices, edges)
    for name in vertices:
        if not children[name]:
            continue
        first = max((layer[parent] + 1 for parent in parents[name]), default=0)
        for place in range(first, min(layer[child] for child in children[name])):
            if place != layer[name]:
                yield layer | {name: place}
    for name in vertices:
        later = {name: layer[name] + 1}
        for other in vertices:  # in topological order
            least = max((later.get(parent, -1) for parent in parents[other]), default=-1) + 1
            if least > layer[other]:
                later[other] = least
        yield layer | later
