r"""Figures as TikZ in the paper's style: circles of 1.2 cm, Stealth arrows, labels below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from simpleautodiff.display.figures.layout.layered_layout import Layout, Point
from simpleautodiff.display.figures.picture import RADIUS, Edge, Picture, TextLine, Vertex
from simpleautodiff.display.notation.rich_text import latex_text, to_latex

_PIXELS = RADIUS / 0.6  # in a centimetre: a circle is 1.2 cm wide
_HEAD = r"""\documentclass[border=6pt]{standalone}
\usepackage{amsmath,tikz}
\usetikzlibrary{arrows.meta}
\definecolor{tangent}{HTML}{0A5CAD}
\definecolor{adjoint}{HTML}{A83A00}
\definecolor{path}{HTML}{0B7A4B}
\definecolor{reached}{HTML}{A86A00}
\begin{document}
\begin{tikzpicture}[
  vertex/.style={draw,circle,minimum size=1.2cm,inner sep=0pt},
  wide/.style={draw,rounded corners=0.6cm,minimum height=1.2cm,inner sep=0pt},
  box/.style={draw,rounded corners=2pt,align=center,font=\scriptsize,inner sep=0pt},
  end/.style={inner sep=0pt},
  input/.style={},
  note/.style={font=\scriptsize,align=center,anchor=north,inner sep=1pt},
  legend/.style={font=\scriptsize,anchor=west},
  badge/.style={circle,fill=path,text=white,font=\tiny\bfseries,minimum size=0.45cm,inner sep=0pt},
  new/.style={draw=red},
  reached/.style={draw=reached,thick},
  faded/.style={draw=gray!50,text=gray!60},
  edge/.style={-{Stealth[]}},
  edge-faded/.style={edge,gray!40},
  edge-new/.style={edge,red},
  edge-path/.style={edge,path,very thick},
  edge-reverse/.style={edge,dashed,adjoint}]
"""
_TAIL = "\\end{tikzpicture}\n\\end{document}\n"
_TIKZ_COLOURS = {"tangent": "tangent", "adjoint": "adjoint", "times": "reached", "quiet": "gray"}


def tikz(picture: Picture, layout: Layout) -> str:
    """Write a picture as a LaTeX document of its own; its `tikzpicture` can be used in another."""
    names = {vertex.name for vertex in picture.visible}
    lines = [f"% {picture.title}"]
    for vertex in picture.visible:
        lines += _write_vertex(vertex, layout.positions[vertex.name])
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        if edge.tail in names and edge.head in names:
            lines.append(_write_edge(edge, route))
    lines += _write_legend(picture, layout)
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def join_frames(documents: Sequence[str], layout: Layout) -> str:
    """Join documents of one figure each into one of several pages, all of the layout's size."""
    size = _write_position((layout.width, layout.height))
    frame = f"\\path (0,0) rectangle {size};\n\\end{{tikzpicture}}"
    bodies = [document.partition(r"\begin{document}")[2] for document in documents]
    drawings = [body.partition(r"\end{document}")[0].strip() for body in bodies]
    setup = documents[0].partition(r"\begin{document}")[0]
    setup = setup.replace("[border=6pt]{standalone}", "[border=6pt,multi=tikzpicture]{standalone}")
    joined = "\n\n".join(drawings).replace(r"\end{tikzpicture}", frame)
    return f"{setup}\\begin{{document}}\n{joined}\n\\end{{document}}\n"


def _write_position(point: Point) -> str:
    """Write a position in centimetres, with the y axis upwards."""
    return f"({_cm(point[0])},{_cm(-point[1])})"


def _cm(pixels: float) -> str:
    return f"{pixels / _PIXELS:.3f}".rstrip("0").rstrip(".").replace("-0.000", "0") or "0"


def _write_vertex(vertex: Vertex, place: Point) -> Iterator[str]:
    wide, high = vertex.body
    name = f"({re.sub(r'[^A-Za-z0-9]+', '-', vertex.name)})"
    style = ["vertex"]
    lines = [vertex.face]
    if vertex.shape == "box":
        style = ["box", f"minimum width={_cm(2 * wide)}cm", f"minimum height={_cm(2 * high)}cm"]
        lines += vertex.below
    elif vertex.shape == "none":
        style = ["end"]
    elif vertex.shape == "label":
        style = [r"font=\scriptsize", "inner sep=0pt"]
    elif wide > RADIUS:
        style = ["wide", f"minimum width={_cm(2 * wide)}cm"]
    style += [vertex.tone] if vertex.tone else []
    body = r"\\".join(_line(line) for line in lines)
    yield f"\\node[{','.join(style)}] {name} at {_write_position(place)} {{{body}}};"
    if vertex.below and vertex.shape != "box":
        faded = ",text=gray!60" if vertex.tone == "faded" else ""
        note = r"\\".join(_line(line) for line in vertex.below)
        below = place[0], place[1] + high + 3
        yield f"\\node[note{faded}] at {_write_position(below)} {{{note}}};"
    if vertex.badge:
        corner = place[0] + wide - 7, place[1] - high + 6
        yield f"\\node[badge] at {_write_position(corner)} {{{vertex.badge}}};"


def _line(line: TextLine) -> str:
    colour = _TIKZ_COLOURS.get(line.tone)
    return f"\\textcolor{{{colour}}}{{{line.latex}}}" if colour else line.latex


def _write_edge(edge: Edge, route: list[Point]) -> str:
    style = (f"edge-{edge.tone}" if edge.tone else "edge") + ",-" * edge.bare
    path = _write_position(route[0])
    for i in range(1, len(route), 3):
        first, second, end = map(_write_position, route[i : i + 3])
        path += f" .. controls {first} and {second} .. {end}"
    return f"\\draw[{style}] {path};"


def _write_legend(picture: Picture, layout: Layout) -> Iterator[str]:
    y = layout.height
    for tone, text in picture.legend:
        x = 18.0
        if tone not in ("text", "words"):
            ends = [(x, y), (x + 34, y)]
            start, end = ends[::-1] if tone == "reverse" else ends
            style = f"edge-{tone}" if tone else "edge"
            yield f"\\draw[{style}] {_write_position(start)} -- {_write_position(end)};"
            x += 36
        said = latex_text(text) if tone == "words" else _prose(text)
        yield f"\\node[legend] at {_write_position((x, y))} {{{said}}};"
        y += 20


def _prose(text: str) -> str:
    """Write words as words, and what looks like a name or a sign as a formula."""
    head, colon, formula = text.rpartition(": ")
    if colon:
        return f"{head}: ${to_latex(formula)}$"
    return f"${to_latex(text)}$" if "=" in text else text
