"""A layered layout, from left to right, which is deterministic.

Layers by the longest path from the inputs; few crossings by medians and exchanges of neighbours;
heights by least squares without overlap. Between layers an edge is a smooth curve, inside one it is
horizontal, so that it never runs through a label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from simpleautodiff.display.figures.layout.heights import Item, settle
from simpleautodiff.display.figures.layout.layering import make_layering
from simpleautodiff.display.figures.picture import Edge, Picture, Vertex

Point = tuple[float, float]
MARGIN, ROW_GAP, LANE_GAP = 18.0, 26.0, 16.0
LANES, TWINS = 13.0, 8.0  # between edges at one side of a vertex; between edges of one pair


@dataclass(frozen=True)
class Layout:
    """The positions of vertices (the centre of the circle), one route for each edge, and the size.

    A route is a point and then, three by three, the control points and ends of cubic curves.
    """

    positions: dict[str, Point]
    routes: list[list[Point]]
    width: float
    height: float


def lay_out(picture: Picture, thorough: bool = True, inputs_late: bool = False) -> Layout:
    """Lay out a picture; if not `thorough`, quickly, with perhaps a few more crossings.

    With `inputs_late`, an input stands beside its first use rather than in the first layer.

    Examples
    --------
    >>> from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
    >>> vertices = tuple(Vertex(name, TextLine(name)) for name in ("x1", "v1"))
    >>> layout = lay_out(Picture(vertices, (Edge("x1", "v1"),), "one step"))
    >>> layout.positions["x1"][0] < layout.positions["v1"][0]
    True
    >>> layout.positions["x1"][1] == layout.positions["v1"][1]
    True
    """
    return _LayoutPlan(picture, thorough, inputs_late).layout()


class _LayoutPlan:
    """A layout in progress: vertices and, where an edge passes a layer, its lanes."""

    def __init__(self, picture: Picture, thorough: bool, inputs_late: bool) -> None:
        self.picture = picture
        self.vertex = {vertex.name: vertex for vertex in picture.vertices}
        self.pairs = list(dict.fromkeys(_order_ends(edge) for edge in picture.edges))
        self.twins = {pair: 0 for pair in self.pairs}
        for edge in picture.edges:
            self.twins[_order_ends(edge)] += 1
        names = [v.name for v in picture.vertices]
        layering = make_layering(names, self.pairs, thorough, inputs_late)
        self.layer, self.columns, self.chains = layering
        self.links = list(layering.links())
        self.y = self._heights()
        self.x, self.bounds = self._across()

    def _heights(self) -> dict[str, float]:
        items = [[self._item(name) for name in column] for column in self.columns]
        links = [(a, b, self._pull(a, b)) for a, b in self.links]
        return settle(items, links, list(self.chains.values()))

    def _item(self, name: str) -> Item:
        if name in self.vertex:
            _, up, down = self.vertex[name].extent
            return Item(name, up + ROW_GAP / 2, down + ROW_GAP / 2)
        spread = TWINS * (self.twins[_read_ends(name)] - 1) / 2
        return Item(name, LANE_GAP / 2 + spread, LANE_GAP / 2 + spread)

    def _pull(self, a: str, b: str) -> float:
        """Return the weight of a link: long edges are straightened before short ones."""
        return (1.0, 2.0, 8.0)[(a not in self.vertex) + (b not in self.vertex)]

    def _across(self) -> tuple[dict[str, float], list[tuple[float, float]]]:
        """Return the centre of each column, and where it begins and ends."""
        x: dict[str, float] = {}
        bounds = []
        left = 0.0
        for i, column in enumerate(self.columns):
            half = max([0.0, *(self.vertex[n].extent[0] for n in column if n in self.vertex)])
            x |= {name: left + half for name in column}
            bounds.append((left, left + 2 * half))
            left += 2 * half + self._gap(i)
        return x, bounds

    def _gap(self, layer: int) -> float:
        """Return the room between two layers: more where edges are steep."""
        here = set(self.columns[layer])
        climbs = [abs(self.y[a] - self.y[b]) for a, b in self.links if a in here]
        return min(48 + 0.25 * max(climbs, default=0.0), 130.0)

    def _ports(self, name: str, incoming: bool) -> dict[tuple[str, str], float]:
        """Spread the edges at one side of a vertex, in the order in which they arrive."""
        near = {}
        for pair, chain in self.chains.items():
            if chain[-1 if incoming else 0] == name:
                near[pair] = self.y[chain[-2 if incoming else 1]]
        order = sorted(near, key=lambda pair: (near[pair], self.pairs.index(pair)))
        wide = [TWINS * (self.twins[pair] - 1) for pair in order]
        total = sum(wide) + LANES * max(len(order) - 1, 0)
        scale = min(1.0, 1.3 * self.vertex[name].body[1] / total) if total else 1.0
        ports, at = {}, -total / 2
        for pair, own in zip(order, wide, strict=True):
            ports[pair] = (at + own / 2) * scale
            at += own + LANES
        return ports

    def layout(self) -> Layout:
        """Assemble positions and routes, with a margin around them."""
        out = {name: self._ports(name, False) for name in self.vertex}
        into = {name: self._ports(name, True) for name in self.vertex}
        count = dict.fromkeys(self.pairs, 0)
        routes = []
        for edge in self.picture.edges:
            pair = _order_ends(edge)
            shift = TWINS * (count[pair] - (self.twins[pair] - 1) / 2)
            count[pair] += 1
            leaves, arrives = out[pair[0]][pair] + shift, into[pair[1]][pair] + shift
            route = self._route(pair, leaves, arrives, shift)
            routes.append(route[::-1] if edge.back else route)
        return self._add_margin(routes)

    def _route(
        self, pair: tuple[str, str], leaves: float, arrives: float, shift: float
    ) -> list[Point]:
        chain = self.chains[pair]
        start, end = self.vertex[pair[0]], self.vertex[pair[1]]
        at = self.x[start.name] + _find_reach(start, leaves), self.y[start.name] + leaves
        route = [at]
        for a, b in pairwise(chain):
            offset = arrives if b == chain[-1] else shift
            _level(route, self.bounds[self._layer_of(a)][1])
            x0, y0 = route[-1]
            x1, y1 = self.bounds[self._layer_of(b)][0], self.y[b] + offset
            bend = (x1 - x0) * 0.5
            route += [(x0 + bend, y0), (x1 - bend, y1), (x1, y1)]
        _level(route, self.x[end.name] - _find_reach(end, arrives))
        return route

    def _layer_of(self, name: str) -> int:
        return self.layer[name] if name in self.layer else int(name.rpartition("\n")[2])

    def _add_margin(self, routes: list[list[Point]]) -> Layout:
        boxes = [self._box(vertex) for vertex in self.picture.vertices]
        ys = [y for route in routes for _, y in route]
        top = min([*(box[1] for box in boxes), *ys], default=0.0)
        bottom = max([*(box[3] for box in boxes), *ys], default=0.0)
        right = max((box[2] for box in boxes), default=0.0)
        dx, dy = MARGIN, MARGIN - top

        def move(point: Point) -> Point:
            return round(point[0] + dx, 2), round(point[1] + dy, 2)

        positions = {name: move((self.x[name], self.y[name])) for name in self.vertex}
        moved_routes = [[move(point) for point in route] for route in routes]
        return Layout(positions, moved_routes, right + 2 * MARGIN, bottom - top + 2 * MARGIN)

    def _box(self, vertex: Vertex) -> tuple[float, float, float, float]:
        x, y = self.x[vertex.name], self.y[vertex.name]
        wide, up, down = vertex.extent
        return x - wide, y - up, x + wide, y + down


def _order_ends(edge: Edge) -> tuple[str, str]:
    return (edge.head, edge.tail) if edge.back else (edge.tail, edge.head)


def _read_ends(lane: str) -> tuple[str, str]:
    tail, head, _ = lane.split("\n")
    return tail, head


def _find_reach(vertex: Vertex, offset: float) -> float:
    """Return how far the outline of a vertex is from its centre, `offset` above or below it."""
    wide, high = vertex.body
    if vertex.shape != "circle" or abs(offset) >= high:
        return wide
    return wide - high + math.sqrt(high * high - offset * offset)


def _level(route: list[Point], x: float) -> None:
    """Continue a route horizontally."""
    (x0, y), third = route[-1], (x - route[-1][0]) / 3
    if abs(third) > 0.01:
        route += [(x0 + third, y), (x0 + 2 * third, y), (x, y)]
