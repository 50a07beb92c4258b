"""Optional annotations of a picture: the user's own names, and local derivatives on the edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.node import Node
from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
from simpleautodiff.display.folding.fold import Folded
from simpleautodiff.display.notation import labels
from simpleautodiff.errors import ArgumentError
from simpleautodiff.values.functions import shape

NAME_OPTIONS = ("numbered", "both")
EDGE_OPTIONS = ("plain", "derivatives")


def check_annotations(names: str, edges: str) -> None:
    """Reject unknown options."""
    for option, given, choices in (("names", names, NAME_OPTIONS), ("edges", edges, EDGE_OPTIONS)):
        if given not in choices:
            told = " or ".join(map(repr, choices))
            raise ArgumentError(f"{option} is {told}; got {given!r}")


def add_variables(picture: Picture, folded: Folded) -> Picture:
    """Write the user's own name of a step below it, if there is one."""
    steps = _find_singles(folded)

    def name_vertex(vertex: Vertex) -> Vertex:
        own = folded.program.variables.get(steps[vertex.name], "") if vertex.name in steps else ""
        below = (*vertex.below, TextLine(labels.shorten(own), "quiet", code=True))
        return replace(vertex, below=below) if own else vertex

    return replace(picture, vertices=tuple(map(name_vertex, picture.vertices)))


def add_derivatives(picture: Picture, folded: Folded) -> Picture:
    """Write on each edge between two steps its local derivative.

    The text is a vertex in the middle of its edge, so that the layout leaves room for it.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> print(ad.figure(ad.trace(lambda x: ad.sin(x), 0.0), "plain", edges="derivatives"))
    ┌───┐                      ┌────┐
    │ x ├──── cos(x) = 1 ─────▶│ v1 ├───▶ y = f(x)
    └───┘                      └────┘
    """
    steps = _find_singles(folded)
    vertices = list(picture.vertices)
    edges: list[Edge] = []
    hidden = set(picture.hidden)
    count: Counter[tuple[str, str]] = Counter()
    for edge in picture.edges:
        if edge.back or edge.tail not in steps or edge.head not in steps:
            edges.append(edge)
            continue
        twin = count[edge.tail, edge.head]
        count[edge.tail, edge.head] += 1
        slope = _write_slope(folded, steps[edge.tail], steps[edge.head], twin)
        name = f"{edge.tail}→{edge.head}→{twin}"
        tone = "faded" if edge.tone == "faded" else ""
        vertices.append(Vertex(name, slope, shape="label", tone=tone))
        edges += _split_edge(edge, name)
        hidden |= {name} if hidden & {edge.tail, edge.head} else set()
    in_order = tuple(_walk_in_order(vertices, edges))
    return replace(picture, vertices=in_order, edges=tuple(edges), hidden=frozenset(hidden))


def _split_edge(edge: Edge, middle: str) -> list[Edge]:
    return [replace(edge, head=middle, bare=True), replace(edge, tail=middle)]


def _walk_in_order(vertices: list[Vertex], edges: list[Edge]) -> Iterator[Vertex]:
    """Yield the vertices in topological order: each label before the vertex its edge goes to."""
    label = {vertex.name: vertex for vertex in vertices if vertex.shape == "label"}
    into: dict[str, list[Vertex]] = {}
    for edge in edges:
        if edge.tail in label:
            into.setdefault(edge.head, []).append(label[edge.tail])
    for vertex in vertices:
        if vertex.shape != "label":
            yield from into.get(vertex.name, ())
            yield vertex


def _find_singles(folded: Folded) -> dict[str, Node]:
    return {folded.name(box): box.nodes[0] for box in folded.boxes if box.single}


def _write_slope(folded: Folded, tail: Node, head: Node, twin: int) -> TextLine:
    """Write ∂head/∂tail in symbols and as a number: ``cos(x2) = 0.284``."""
    k = [i for i, arg in enumerate(head.args) if arg is tail][twin]
    derivative = dict(head.local_derivatives())[k]
    if derivative is ZERO:
        return TextLine("0", "quiet")
    symbols = labels.write_slope(folded.program, head, k, derivative)
    if type(derivative) is Linear or shape(derivative):
        return TextLine.of(symbols, tone="quiet")
    number = labels.write_brief(derivative)
    told = TextLine.of(symbols, f" = {number}" * (symbols.text != number), tone="quiet")
    return told if len(told.text) <= labels.MAX_LABEL else TextLine(number, "quiet")
