"""The figure of a sparse Jacobian: its pattern in colours, the seed matrix, and their product.

Columns of one colour have no row in common, so one forward sweep with the tangents of a column of
the seed matrix finds all their entries: each number of the product is one entry of the Jacobian.
Where the rows need fewer colours, reverse sweeps are seeded instead, and the seeds stand left.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from simpleautodiff.display.figures.drawing import Drawing
from simpleautodiff.display.figures.svg import write_style
from simpleautodiff.errors import ArgumentError
from simpleautodiff.transforms.sparse import color_columns, color_symmetric

_MOST = 200  # rows or columns that are drawn
_TONES = (  # of a colour: its fill on a light screen, on a dark one, and its TikZ name
    ("#bcd9f5", "#1f4a78", "blue!30"),
    ("#fbd3a5", "#7a4a10", "orange!40"),
    ("#bfe6c4", "#1d5b2c", "green!30"),
    ("#f3bcc6", "#7a2336", "red!25"),
    ("#d6c7f2", "#4a3480", "violet!30"),
    ("#f2e79a", "#665a0c", "yellow!50"),
    ("#b7e4e4", "#155a5c", "cyan!30"),
    ("#dcd3c6", "#5a4c3a", "brown!30"),
)
_GAP, _HEAD, _SIDE, _MARGIN = 44.0, 22.0, 30.0, 16.0  # around the panels, in pixels


@dataclass(frozen=True, slots=True)
class Panel:
    """One matrix of the figure: what it is called, its lines, and its cells (colour, text)."""

    name: str
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[int, int], tuple[int, str]]


def name_color(color: int) -> str:
    """Return the letters of a colour: A, B, ..., Z, A1, B1, ...

    Examples
    --------
    >>> name_color(1), name_color(27)
    ('B', 'B1')
    """
    return chr(ord("A") + color % 26) + (str(color // 26) if color >= 26 else "")


class SparsityFigure(Drawing):
    """A pattern with its colours, the seed matrix, and the compressed matrix of their product.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> pattern = ad.sparsity(lambda x: x[1:] * x[:-1])(np.ones(4))
    >>> print(ad.figure(pattern))
    6 of 12 entries by 2 forward sweeps instead of 4
    <BLANKLINE>
    J   x1  x2  x3  x4      S   A  B      JS  A   B
    y1  B   A   .   .       x1  .  1      y1  x2  x1
    y2  .   A   B   .   ×   x2  1  .  =   y2  x2  x3
    y3  .   .   B   A       x3  .  1      y3  x4  x3
                            x4  1  .
    """

    def __init__(self, pattern: Any, symmetric: bool = False) -> None:
        if max(pattern.shape) > _MOST or not min(pattern.shape):
            raise ArgumentError(
                f"a pattern of 1 to {_MOST} rows and columns is drawn; this one is of shape "
                f"{pattern.shape}: draw a part of it, pattern[:{_MOST}, :{_MOST}]"
            )
        self.pattern = (pattern + pattern.T if symmetric else pattern).tocsr().astype(bool)
        self.symmetric = symmetric
        columns = (color_symmetric if symmetric else color_columns)(self.pattern)
        rows = columns if symmetric else color_columns(self.pattern.T.tocsr())
        self.forward = bool(max(columns) <= max(rows))
        self.colors = [int(color) for color in (columns if self.forward else rows)]
        self.sweeps = max(self.colors) + 1

    @property
    def title(self) -> str:
        """How many sweeps find how many entries."""
        m, n = self.pattern.shape
        every, mode = (n, "forward") if self.forward else (m, "reverse")
        sweeps = f"{self.sweeps} {mode} sweep{'s' * (self.sweeps != 1)}"
        return f"{self.pattern.nnz} of {m * n} entries by {sweeps} instead of {every}"

    @property
    def panels(self) -> list[Panel]:
        """The matrices, as they are multiplied; the last one is their product."""
        m, n = self.pattern.shape
        xs = [f"x{j + 1}" for j in range(n)]
        ys = [f"{'g' if self.symmetric else 'y'}{i + 1}" for i in range(m)]
        letters = [name_color(color) for color in range(self.sweeps)]
        entries = self._entries()
        whole = Panel("H" if self.symmetric else "J", ys, xs, self._color_entries(entries))
        seeds = {(k, color): (color, "1") for k, color in enumerate(self.colors)}
        if self.forward:
            found = self._compress([(i, self.colors[j], xs[j]) for i, j in entries])
            product = Panel(f"{whole.name}S", ys, letters, found)
            return [whole, Panel("S", xs, letters, seeds), product]
        found = self._compress([(self.colors[i], j, ys[i]) for i, j in entries])
        turned = {(color, k): cell for (k, color), cell in seeds.items()}
        return [Panel("S", letters, ys, turned), whole, Panel("SJ", letters, xs, found)]

    def _entries(self) -> list[tuple[int, int]]:
        rows, columns = self.pattern.nonzero()
        return sorted(zip(map(int, rows), map(int, columns), strict=True))

    def _color_entries(self, entries: list[tuple[int, int]]) -> dict[Any, tuple[int, str]]:
        colors = {(i, j): self.colors[j if self.forward else i] for i, j in entries}
        return {place: (color, name_color(color)) for place, color in colors.items()}

    def _compress(self, found: list[tuple[int, int, str]]) -> dict[Any, tuple[int, str]]:
        """Return the cells of the product: whose entry each is; + where several are added up."""
        cells: dict[tuple[int, int], tuple[int, str]] = {}
        for i, j, name in found:
            color = j if self.forward else i
            cells[i, j] = color, "+" if (i, j) in cells else name
        return cells

    def text(self, width: int | None = None) -> str:
        """Return the figure as text: the matrices side by side, or one below the other."""
        blocks = [_write_panel(panel) for panel in self.panels]
        height = max(map(len, blocks))
        signs = ["×", "=", ""]
        wide = [
            "".join(
                f"{block[row] if row < len(block) else '':{len(block[0])}}"
                f"{sign if row == height // 2 else ' ':^6}"
                for block, sign in zip(blocks, signs, strict=True)
            ).rstrip()
            for row in range(height)
        ]
        if width is not None and max(map(len, wide)) > width:
            wide = "\n\n".join(
                "\n".join(line.rstrip() for line in block) for block in blocks
            ).split("\n")
        return "\n".join([self.title, "", *wide])

    def svg(self) -> str:
        """Return the figure as self-contained SVG."""
        size = self._cell_size()
        x, parts, height = _MARGIN, [], 0.0
        for panel, sign in zip(self.panels, ("×", "=", ""), strict=True):
            parts += _draw_panel(panel, x, size)
            x += _SIDE + size * len(panel.columns)
            if sign:
                parts.append(
                    _write_text(
                        x + _GAP / 2, _sign_height(self.panels, size), sign, "ad-face ad-text"
                    )
                )
                x += _GAP
            height = max(height, size * len(panel.rows))
        width, full = x + _MARGIN, height + 2 * _HEAD + 2 * _MARGIN + 8
        parts.append(_write_text(width / 2, full - _MARGIN, self.title, "ad-quiet"))
        box = f'width="{width:.0f}" height="{full:.0f}" viewBox="0 0 {width:.0f} {full:.0f}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="ad-figure" role="img" {box}>',
                f"<title>{escape(self.title)}</title>",
                f"<desc>{escape(self.text())}</desc>",
                f"<style>{write_style()}{_write_tones()}</style>",
                '<rect class="ad-paper" width="100%" height="100%" rx="6"/>',
                *parts,
                "</svg>",
                "",
            ]
        )

    def _cell_size(self) -> float:
        largest = max(max(len(panel.rows), len(panel.columns)) for panel in self.panels)
        return 30.0 if largest <= 16 else 20.0 if largest <= 40 else 6.0

    def tikz(self) -> str:
        """Return the figure as a LaTeX document; its `tikzpicture` can be used in another."""
        lines, x = [], 0.0
        middle = -max(len(panel.rows) for panel in self.panels) / 2
        for panel, sign in zip(self.panels, (r"\times", "=", ""), strict=True):
            lines += _draw_in_tikz(panel, x)
            x += len(panel.columns)
            if sign:
                lines.append(rf"\node at ({x + 0.6:g},{middle:g}) {{${sign}$}};")
                x += 2.0
        body = "\n".join(lines)
        return (
            "\\documentclass[border=6pt]{standalone}\n\\usepackage{tikz}\n\\begin{document}\n"
            f"\\begin{{tikzpicture}}[x=6mm,y=6mm,font=\\scriptsize]\n% {self.title}\n{body}\n"
            "\\end{tikzpicture}\n\\end{document}\n"
        )


def _write_panel(panel: Panel) -> list[str]:
    """Write a matrix as lines of one length."""
    body = [
        [panel.cells.get((i, j), (0, "."))[1] for j in range(len(panel.columns))]
        for i in range(len(panel.rows))
    ]
    grid = [
        [panel.name, *panel.columns],
        *[[row, *cells] for row, cells in zip(panel.rows, body, strict=True)],
    ]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True))
        for line in grid
    ]


def _write_tones() -> str:
    day = "".join(
        f".ad-figure .ad-tone{k}{{fill:{light}}}\n" for k, (light, _, _) in enumerate(_TONES)
    )
    night = "".join(
        f".ad-figure .ad-tone{k}{{fill:{dark}}}\n" for k, (_, dark, _) in enumerate(_TONES)
    )
    line = ".ad-figure .ad-cell{stroke-width:.6;stroke:#9aa6b2;fill:none}\n"
    return f"{day}{line}@media (prefers-color-scheme:dark){{\n{night}}}\n"


def _sign_height(panels: list[Panel], size: float) -> float:
    return _MARGIN + _HEAD + size * max(len(panel.rows) for panel in panels) / 2


def _write_text(x: float, y: float, text: str, tone: str = "ad-text") -> str:
    return f'<text class="{tone}" x="{x:.1f}" y="{y:.1f}" dy=".35em">{escape(text)}</text>'


def _draw_panel(panel: Panel, x: float, size: float) -> list[str]:
    """Draw a matrix with its left edge at x: the colours, a grid over them, and the labels."""
    left, top = x + _SIDE, _MARGIN + _HEAD
    m, n = len(panel.rows), len(panel.columns)
    lines = [
        f'<rect class="ad-tone{color % len(_TONES)}" x="{left + j * size:.1f}" '
        f'y="{top + i * size:.1f}" width="{size:.1f}" height="{size:.1f}"/>'
        for (i, j), (color, _) in panel.cells.items()
    ]
    grid = [f"M{left + j * size:.1f},{top:.1f}v{m * size:.1f}" for j in range(n + 1)]
    grid += [f"M{left:.1f},{top + i * size:.1f}h{n * size:.1f}" for i in range(m + 1)]
    lines.append(f'<path class="ad-cell" d="{"".join(grid)}"/>')
    lines.append(_write_text(left - _SIDE / 2, _MARGIN + _HEAD / 2, panel.name, "ad-face ad-text"))
    if size < 16:
        return lines
    half = size / 2
    for (i, j), (_, text) in panel.cells.items():
        lines.append(_write_text(left + j * size + half, top + i * size + half, text))
    for j, name in enumerate(panel.columns):
        lines.append(_write_text(left + j * size + half, _MARGIN + _HEAD / 2, name, "ad-quiet"))
    for i, name in enumerate(panel.rows):
        lines.append(_write_text(left - _SIDE / 2, top + i * size + half, name, "ad-quiet"))
    return lines


def _draw_in_tikz(panel: Panel, x: float) -> list[str]:
    m, n = len(panel.rows), len(panel.columns)
    lines = [
        rf"\fill[{_TONES[color % len(_TONES)][2]}] ({x + j:g},{-i}) rectangle +(1,-1);"
        for (i, j), (color, _) in panel.cells.items()
    ]
    lines.append(rf"\draw[gray,thin] ({x:g},{-m}) grid ({x + n:g},0);")
    labels = [(i, j, text) for (i, j), (_, text) in panel.cells.items()]
    labels += [(-1, j, name) for j, name in enumerate(panel.columns)]
    labels += [(i, -1, name) for i, name in enumerate(panel.rows)]
    labels.append((-1, -1, panel.name))
    return lines + [
        rf"\node at ({x + j + 0.5:g},{-i - 0.5:g}) {{${_write_symbol(text)}$}};"
        for i, j, text in labels
    ]


def _write_symbol(text: str) -> str:
    """Write a label in LaTeX: x1 as x with an index."""
    letters = text.rstrip("0123456789")
    number = text[len(letters) :]
    return f"{letters}_{{{number}}}" if letters and number else text
