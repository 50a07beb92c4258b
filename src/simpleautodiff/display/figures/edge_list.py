"""Figures as a list of arrows, for terminals that are too narrow for a drawing."""

from __future__ import annotations

from simpleautodiff.display.figures.picture import Picture, Vertex


def list_edges(picture: Picture) -> str:
    """Write a picture as lines: each vertex, and where its arrows lead; then its sentences.

    Examples
    --------
    >>> from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
    >>> vertices = tuple(Vertex(name, TextLine(name)) for name in ("x1", "v1", "v2"))
    >>> edges = Edge("x1", "v1"), Edge("x1", "v2"), Edge("v1", "v2")
    >>> print(list_edges(Picture(vertices, edges, "two steps")))
    x1 ─▶ v1, v2
    v1 ─▶ v2
    v2
    """
    faces = {vertex.name: vertex.face.shown for vertex in picture.visible}
    heads: dict[str, list[str]] = {name: [] for name in faces}
    for edge in picture.edges:
        if not edge.back and edge.tail in faces and edge.head in faces:
            heads[edge.tail].append(faces[edge.head])
    lines = [
        f"{_describe(vertex)} ─▶ {', '.join(dict.fromkeys(heads[vertex.name]))}"
        if heads[vertex.name]
        else _describe(vertex)
        for vertex in picture.visible
        if heads[vertex.name] or vertex.shape != "none"
    ]
    return "\n".join([*lines, *(text for tone, text in picture.legend if tone == "words")])


def _describe(vertex: Vertex) -> str:
    """Write what a vertex shows, in one line."""
    badge = f"{vertex.badge}: " if vertex.badge else ""
    below = [line.shown for line in vertex.below if line.text != vertex.face.text]
    text = f"{badge}{vertex.face.shown}"
    for line in below:
        text += f" {line}" if line.startswith(("= ", "[")) else f", {line}"
    return text
