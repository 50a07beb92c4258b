"""Figures as SVG: self-contained, light or dark as the reader's screen is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from html import escape

from simpleautodiff.display.figures.layout.layered_layout import Layout, Point
from simpleautodiff.display.figures.picture import (
    BOLD,
    CODE,
    FACE,
    LABEL,
    LEADING,
    RADIUS,
    Edge,
    Picture,
    TextLine,
    Vertex,
)
from simpleautodiff.display.notation.rich_text import SCRIPT_SIZE, split_runs

_SERIF = "'STIX Two Text','Latin Modern Roman','Times New Roman','Liberation Serif',serif"
_MONO = "'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"
# What is coloured: its property, its light colour, its dark colour.
_SVG_COLOURS = (
    ("paper", "fill", "#ffffff", "#15191e"),
    ("body", "stroke", "#2b3440", "#c9d3de"),
    ("body", "fill", "#ffffff", "#1d232b"),
    ("input", "fill", "#e8f0fa", "#1d3047"),
    ("output", "fill", "none", "none"),
    ("reached", "fill", "#fff3d6", "#43381a"),
    ("reached", "stroke", "#a86a00", "#e8b04a"),
    ("new", "fill", "#fdeaea", "#46201f"),
    ("new", "stroke", "#d01c1c", "#ff7b72"),
    ("box", "fill", "#f4f6f8", "#222a33"),
    ("faded", "stroke", "#c9ced5", "#3c444e"),
    ("faded", "fill", "#ffffff", "#15191e"),
    ("text", "fill", "#1b2129", "#e8edf2"),
    ("quiet", "fill", "#5b6673", "#a3afbb"),
    ("value", "fill", "#1b2129", "#e8edf2"),
    ("tangent", "fill", "#0a5cad", "#74b6ff"),
    ("adjoint", "fill", "#a83a00", "#ffa36b"),
    ("times", "fill", "#a86a00", "#e8b04a"),
    ("dim", "fill", "#a7aeb7", "#56606b"),
    ("edge", "stroke", "#4a5563", "#9aa6b2"),
    ("head", "fill", "#4a5563", "#9aa6b2"),
    ("edge-faded", "stroke", "#d5d9de", "#343c45"),
    ("head-faded", "fill", "#d5d9de", "#343c45"),
    ("edge-path", "stroke", "#0b7a4b", "#4fd39a"),
    ("head-path", "fill", "#0b7a4b", "#4fd39a"),
    ("edge-new", "stroke", "#d01c1c", "#ff7b72"),
    ("head-new", "fill", "#d01c1c", "#ff7b72"),
    ("edge-reverse", "stroke", "#a83a00", "#ffa36b"),
    ("head-reverse", "fill", "#a83a00", "#ffa36b"),
    ("badge", "fill", "#0b7a4b", "#4fd39a"),
    ("badge-text", "fill", "#ffffff", "#10151a"),
)
_FIXED = f"""
.ad-figure text{{font-family:{_SERIF};font-size:{LABEL:g}px;text-anchor:middle}}
.ad-figure .ad-face{{font-size:{FACE:g}px}}
.ad-figure .ad-code{{font-family:{_MONO};font-size:{CODE:g}px}}
.ad-figure .ad-legend{{text-anchor:start}}
.ad-figure .ad-i{{font-style:italic}}
{",".join(f".ad-figure .ad-{tone}" for tone in BOLD)}{{font-weight:600}}
.ad-figure .ad-body{{stroke-width:1.4}}
.ad-figure .ad-new,.ad-figure .ad-reached{{stroke-width:2}}
.ad-figure .ad-edge{{fill:none;stroke-width:1.3}}
.ad-figure .ad-edge-path,.ad-figure .ad-edge-new{{stroke-width:2.2}}
.ad-figure .ad-edge-reverse{{stroke-dasharray:5 3.5}}
.ad-figure .ad-badge-text{{font-size:11px;font-weight:700}}
"""
_TIP, _WING, _NOTCH = 9.5, 3.9, 2.6  # of an arrowhead
_LEGEND_ROW = 20.0


def svg(picture: Picture, layout: Layout) -> str:
    """Write a picture as SVG."""
    height = layout.height + _LEGEND_ROW * len(picture.legend)
    width = max(layout.width, _legend_width(picture))
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    kept = 'xml:space="preserve"'  # retain the spaces between the parts of a formula
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ad-figure" role="img" {kept} {size}>',
        f"<title>{escape(picture.title)}</title>",
        f"<desc>{escape(picture.description)}</desc>",
        f"<style>{write_style()}</style>",
        '<rect class="ad-paper" width="100%" height="100%" rx="6"/>',
    ]
    names = {vertex.name for vertex in picture.visible}
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        if edge.tail in names and edge.head in names:
            lines += _draw_edge(edge, route)
    for vertex in picture.visible:
        lines += _draw_vertex(vertex, layout.positions[vertex.name])
    lines += _draw_legend(picture, layout)
    return "\n".join([*lines, "</svg>", ""])


def write_style() -> str:
    """Return the style sheet of figures, for light and for dark screens."""
    day = "".join(
        f".ad-figure .ad-{what}{{{how}:{light}}}\n" for what, how, light, _ in _SVG_COLOURS
    )
    night = "".join(
        f".ad-figure .ad-{what}{{{how}:{dark}}}\n" for what, how, _, dark in _SVG_COLOURS
    )
    return f"\n{day}@media (prefers-color-scheme:dark){{\n{night}}}{_FIXED}"


def _number(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _draw_edge(edge: Edge, route: list[Point]) -> Iterator[str]:
    """Draw the curve up to its arrowhead, and the arrowhead."""
    tone = f" ad-edge-{edge.tone}" if edge.tone else ""
    head = f" ad-head-{edge.tone}" if edge.tone else ""
    end, direction = route[-1], _direction(route)
    if edge.bare:
        yield f'<path class="ad-edge{tone}" d="{_draw_curve(route)}"/>'
        return
    base = end[0] - direction[0] * (_TIP - _NOTCH), end[1] - direction[1] * (_TIP - _NOTCH)
    yield f'<path class="ad-edge{tone}" d="{_draw_curve([*route[:-1], base])}"/>'
    yield f'<path class="ad-head{head}" d="{_arrowhead(end, direction)}"/>'


def _draw_curve(points: list[Point]) -> str:
    start, *rest = (f"{_number(x)},{_number(y)}" for x, y in points)
    curves = " ".join(f"C{' '.join(rest[i : i + 3])}" for i in range(0, len(rest), 3))
    return f"M{start} {curves}"


def _direction(route: list[Point]) -> Point:
    (x0, y0), (x1, y1) = route[-2], route[-1]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    return (x1 - x0) / length, (y1 - y0) / length


def _arrowhead(tip: Point, direction: Point) -> str:
    (x, y), (dx, dy) = tip, direction
    back = x - dx * _TIP, y - dy * _TIP
    corners = [
        tip,
        (back[0] - dy * _WING, back[1] + dx * _WING),
        (back[0] + dx * _NOTCH, back[1] + dy * _NOTCH),
        (back[0] + dy * _WING, back[1] - dx * _WING),
    ]
    return "M" + " L".join(f"{_number(a)},{_number(b)}" for a, b in corners) + "Z"


def _draw_vertex(vertex: Vertex, place: Point) -> Iterator[str]:
    x, y = place
    yield f'<g data-name="{escape(vertex.name)}">'
    if vertex.hint:
        yield f"<title>{escape(vertex.hint)}</title>"
    yield from _body(vertex, place)
    wide, high = vertex.body
    if vertex.shape == "box":
        at = y - high + 9 + LEADING * 0.72
        for line in (vertex.face, *vertex.below):
            yield _text(line, x, at, vertex.tone)
            at += LEADING
    elif vertex.shape == "label":
        yield _text(vertex.face, x, y + LABEL * 0.33, vertex.tone)
    else:
        yield _text(vertex.face, x, y + FACE * 0.33, vertex.tone, face=True)
        at = y + high + 3 + LEADING * 0.8
        for line in vertex.below:
            yield _text(line, x, at, vertex.tone)
            at += LEADING
    if vertex.badge:
        bx, by = x + wide - 7, y - high + 6
        yield f'<circle class="ad-badge" cx="{_number(bx)}" cy="{_number(by)}" r="10"/>'
        where = f'x="{_number(bx)}" y="{_number(by + 3.8)}"'
        yield f'<text class="ad-badge-text" {where}>{escape(vertex.badge)}</text>'
    yield "</g>"


def _body(vertex: Vertex, place: Point) -> Iterator[str]:
    if vertex.shape in ("none", "label"):
        return
    (x, y), (wide, high) = place, vertex.body
    kind = " ad-box" if vertex.shape == "box" else ""
    tone = f"ad-body{kind}" + (f" ad-{vertex.tone}" if vertex.tone else "")
    if vertex.shape == "circle" and wide == RADIUS:
        yield f'<circle class="{tone}" cx="{_number(x)}" cy="{_number(y)}" r="{RADIUS:g}"/>'
        return
    corner = 7 if vertex.shape == "box" else high
    where = f'x="{_number(x - wide)}" y="{_number(y - high)}"'
    size = f'width="{_number(2 * wide)}" height="{_number(2 * high)}"'
    yield f'<rect class="{tone}" {where} {size} rx="{corner:g}"/>'


def _text(line: TextLine, x: float, y: float, tone: str = "", face: bool = False) -> str:
    kinds = ["ad-dim" if tone == "faded" else f"ad-{line.tone or 'text'}"]
    kinds += ["ad-face"] * face + ["ad-code"] * line.code
    size = FACE if face else LABEL
    body = escape(line.text) if line.code else _spans(line.text, size)
    return f'<text class="{" ".join(kinds)}" x="{_number(x)}" y="{_number(y)}">{body}</text>'


def _spans(text: str, size: float) -> str:
    """Write a formula: italic names, and subscripts and superscripts in small letters."""
    parts = []
    shift = 0.0
    for run in split_runs(text):
        wanted = -run.level * size * (0.22 if run.level < 0 else 0.35)
        attributes = ' class="ad-i"' if run.style == "italic" else ""
        if run.level:
            small = f"{size * SCRIPT_SIZE:.1f}"
            attributes += f' font-size="{small}" style="font-size:{small}px"'
        if wanted != shift:
            attributes += f' dy="{wanted - shift:.1f}"'
            shift = wanted
        body = escape(unicodedata.normalize("NFD", run.text))  # so ẋ is of the font that x is of
        parts.append(f"<tspan{attributes}>{body}</tspan>" if attributes else body)
    return "".join(parts)


def _legend_width(picture: Picture) -> float:
    return max((TextLine(text).width(LABEL) + 84 for _, text in picture.legend), default=0.0)


def _draw_legend(picture: Picture, layout: Layout) -> Iterator[str]:
    y = layout.height
    for tone, text in picture.legend:
        x = 18.0
        if tone not in ("text", "words"):
            ends = [(x + 34, y), (x, y)] if tone == "reverse" else [(x, y), (x + 34, y)]
            third = (ends[1][0] - ends[0][0]) / 3
            route = [ends[0], (ends[0][0] + third, y), (ends[0][0] + 2 * third, y), ends[1]]
            yield from _draw_edge(Edge("", "", tone), route)
            x += 44
        where = f'x="{_number(x)}" y="{_number(y + 4)}"'
        yield f'<text class="ad-text ad-legend" {where}>{_spans(text, LABEL)}</text>'
        y += _LEGEND_ROW
