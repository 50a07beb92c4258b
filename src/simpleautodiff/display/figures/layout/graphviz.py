"""Layouts of larger graphs by Graphviz, if pygraphviz is installed; otherwise by our own."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

from simpleautodiff.display.figures.layout.layered_layout import MARGIN, Layout, Point, lay_out
from simpleautodiff.display.figures.picture import Picture, Vertex

GRAPHVIZ_SIZE = 60  # vertices from which Graphviz is used
_INCH = 72.0


def best_layout(picture: Picture) -> Layout:
    """Lay out a picture: by Graphviz if it is large and pygraphviz installed, else by our own."""
    if len(picture.vertices) > GRAPHVIZ_SIZE and importlib.util.find_spec("pygraphviz"):
        return lay_out_by_graphviz(picture)
    return lay_out(picture)


def lay_out_by_graphviz(picture: Picture) -> Layout:
    """Lay out a picture by Graphviz' dot, through pygraphviz."""
    pygraphviz = importlib.import_module("pygraphviz")
    graph = pygraphviz.AGraph(directed=True, strict=False, rankdir="LR", ranksep="0.5")
    for i, vertex in enumerate(picture.vertices):
        wide, up, down = vertex.extent
        size = {"width": 2 * wide / _INCH, "height": 2 * max(up, down) / _INCH}
        graph.add_node(str(i), shape="box", fixedsize="true", label="", **size)
    number = {vertex.name: str(i) for i, vertex in enumerate(picture.vertices)}
    for k, edge in enumerate(picture.edges):
        ends = (edge.head, edge.tail) if edge.back else (edge.tail, edge.head)
        graph.add_edge(*[number[name] for name in ends], key=str(k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Graphviz, about labels that are not there
        graph.layout(prog="dot")
    return _read(picture, graph, number)


def _read(picture: Picture, graph: Any, number: dict[str, str]) -> Layout:
    """Read Graphviz' result: flip it, as its y axis points up, and move it into the frame."""
    left, bottom, right, top = map(float, graph.graph_attr["bb"].split(","))

    def move(text: str) -> Point:
        x, y = text.split(",")
        return round(float(x) - left + MARGIN, 2), round(top - float(y) + MARGIN, 2)

    positions = {name: move(graph.get_node(i).attr["pos"]) for name, i in number.items()}
    vertices = {vertex.name: vertex for vertex in picture.vertices}
    routes = []
    for k, edge in enumerate(picture.edges):
        tail, head = (edge.head, edge.tail) if edge.back else (edge.tail, edge.head)
        line = graph.get_edge(number[tail], number[head], key=str(k)).attr["pos"]
        points = [move(text) for text in line.split() if text[0] not in "es"]
        route = _extend_to_outline(
            vertices[tail], positions[tail], points, vertices[head], positions[head]
        )
        routes.append(route[::-1] if edge.back else route)
    return Layout(positions, routes, right - left + 2 * MARGIN, top - bottom + 2 * MARGIN)


def _extend_to_outline(
    tail: Vertex, start: Point, points: list[Point], head: Vertex, end: Point
) -> list[Point]:
    """Extend a curve, which ends at the room of a vertex, to its outline."""
    first = start[0] + tail.body[0], start[1]
    last = end[0] - head.body[0], end[1]
    return [*_straight_curve(first, points[0]), *points[1:], *_straight_curve(points[-1], last)[1:]]


def _straight_curve(a: Point, b: Point) -> list[Point]:
    """Return a straight line as a curve."""
    dx, dy = (b[0] - a[0]) / 3, (b[1] - a[1]) / 3
    return [a, (a[0] + dx, a[1] + dy), (a[0] + 2 * dx, a[1] + 2 * dy), b]
