"""Figures in box-drawing characters, for a terminal: boxes in layers, arrows between them.

A line that ends in ▶ is an edge; where two edges cross, the vertical one is drawn on top.
"""

from __future__ import annotations

from typing import NamedTuple

from simpleautodiff.display.figures.layout.crossings import arrange
from simpleautodiff.display.figures.layout.layering import assign_layers
from simpleautodiff.display.figures.picture import Picture, Vertex
from simpleautodiff.display.notation.line_breaks import count_columns

LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
_STROKES = " ╴╶─╵┘└┴╷┐┌┬│┤├┼"  # by the directions in which a stroke leaves its cell
_NEW, _FADED = ("╔═╗║╚╝", "┌┄┐┊└┘")
_PLAIN_FRAME = "┌─┐│└┘"
_TRIES = 200
_LEGENDS = {"reverse": "derivatives go back, against the arrows"}
Links = list[tuple[str, str]]


def sketch(picture: Picture) -> str:
    """Draw a picture in characters.

    Examples
    --------
    >>> from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
    >>> vertices = tuple(Vertex(name, TextLine(name)) for name in ("x1", "v1"))
    >>> print(sketch(Picture(vertices, (Edge("x1", "v1"),), "one step")))
    ┌────┐    ┌────┐
    │ x1 ├───▶│ v1 │
    └────┘    └────┘
    """
    return _Sketch(picture).text()


class _Sketch:
    """A drawing in progress: rows for boxes and lanes, then strokes."""

    def __init__(self, picture: Picture) -> None:
        names = {vertex.name for vertex in picture.visible}
        self.legend = [_LEGENDS.get(tone, text) for tone, text in picture.legend if tone]
        self.vertices = {vertex.name: vertex for vertex in picture.visible}
        pairs = [(e.tail, e.head) for e in picture.edges if not e.back]
        pairs = [(a, b) for a, b in pairs if a in names and b in names]
        self.layer = assign_layers(list(self.vertices), pairs)
        self.links: Links = []
        self.columns = self._columns(pairs)
        self.row: dict[str, int] = {}
        self._place_rows()
        self.grid: dict[tuple[int, int], str] = {}
        self.strokes: dict[tuple[int, int], tuple[int, int]] = {}

    def _columns(self, pairs: Links) -> list[list[str]]:
        columns: list[list[str]] = [[] for _ in range(max(self.layer.values(), default=0) + 1)]
        for name, layer in self.layer.items():
            columns[layer].append(name)
        for a, b in pairs:
            last = a
            for i in range(self.layer[a] + 1, self.layer[b]):
                lane = f"{a}\n{i}"  # one lane serves all later targets of a node
                if lane not in columns[i]:
                    columns[i].append(lane)
                    self.links.append((last, lane))
                last = lane
            self.links.append((last, b))
        return arrange(columns, self.links)

    def _lines(self, name: str) -> list[str]:
        vertex = self.vertices[name]
        text = vertex.face.shown
        face = f"{vertex.badge}: {text}" if vertex.badge else text
        below = [line.shown for line in vertex.below if line.shown != face]
        if below and below[0].startswith("= "):  # v1 = log(x1), and more signs below that one
            indent = " " * (count_columns(face) + 1)
            rest = [indent + text if text.startswith("= ") else text for text in below[1:]]
            return _indent_rows([f"{face} {below[0]}", *rest])
        return _indent_rows([face, *below])

    def _height(self, name: str) -> int:
        """Return the height of a box: for its lines, and one row for each incoming arrow."""
        if name not in self.vertices:
            return 1
        return max(len(self._lines(name)), sum(b == name for _, b in self.links))

    def _place_rows(self) -> None:
        """Stack each layer, then move its boxes towards their neighbours."""
        for _ in range(4):
            for column in self.columns:
                self._stack(column, [(b, a) for a, b in self.links])
            for column in reversed(self.columns):
                self._stack(column, self.links)
        self._avoid_overlaps()
        lowest = min(self.row.values())
        self.row = {name: row - lowest + 1 for name, row in self.row.items()}

    def _avoid_overlaps(self) -> None:
        """Move a box down, and all below it, while two lines would overlap."""
        for _ in range(_TRIES):
            for i, column in enumerate(self.columns):
                _, stuck = self._plan(i).tracks()
                if stuck:
                    for name in column[column.index(stuck) :]:
                        self.row[name] += 1
                    break
            else:
                return

    def _stack(self, column: list[str], links: Links) -> None:
        """Place one layer from the top: each box near its links, or below the one before."""
        wanted = []
        for name in column:
            near = [self.row[b] + self._middle(b) for a, b in links if a == name and b in self.row]
            at = (
                round(sum(near) / len(near)) - self._middle(name) if near else self.row.get(name, 0)
            )
            wanted.append(at)
        needs = [self._height(name) + (3 if name in self.vertices else 1) for name in column]
        rows = _spread_rows(wanted, needs)
        self.row |= dict(zip(column, rows, strict=True))

    def _middle(self, name: str) -> int:
        return (self._height(name) - 1) // 2

    def text(self) -> str:
        """Draw the boxes, then the links of each gap."""
        x = 0
        for i, column in enumerate(self.columns):
            wide = max([0, *(self._width(name) for name in column if name in self.vertices)])
            ends = {name: self._draw_box(name, x, wide) for name in column}
            if i + 1 < len(self.columns):
                x = self._draw_gap(i, ends, x + wide)
        self._render_strokes()
        return "\n".join([*_lines_of(self.grid), *self.legend])

    def _width(self, name: str) -> int:
        return max(map(count_columns, self._lines(name))) + 4

    def _draw_box(self, name: str, x: int, wide: int) -> int:
        """Draw one box, or the horizontal line of a lane; return where it ends."""
        if name not in self.vertices:
            for column in range(x, x + wide):
                self._draw_stroke(self.row[name], column, LEFT | RIGHT, -1)
            return x + wide
        vertex, top = self.vertices[name], self.row[name]
        width, lines = self._width(name), self._lines(name)
        if vertex.shape in ("none", "label"):
            self._write(top, x + 1, lines[0])
            return x + count_columns(lines[0]) + (2 if vertex.shape == "label" else 1)
        self._draw_frame(vertex, top, x, width)
        above = (self._height(name) - len(lines)) // 2
        for i, line in enumerate(lines):
            self._write(top + above + i, x + 2, line)
        return x + width

    def _draw_frame(self, vertex: Vertex, top: int, x: int, width: int) -> None:
        style = {"new": _NEW, "faded": _FADED}.get(vertex.tone, _PLAIN_FRAME)
        a, level, b, side, c, d = list(style)
        bottom = top + self._height(vertex.name)
        self._write(top - 1, x, a + level * (width - 2) + b)
        self._write(bottom, x, c + level * (width - 2) + d)
        for row in range(top, bottom):
            self._write(row, x, side)
            self._write(row, x + width - 1, side)

    def _write(self, row: int, x: int, text: str) -> None:
        at = x - 1
        for letter in text:
            if count_columns(letter):
                at += 1
                self.grid[row, at] = letter
            else:
                self.grid[row, at] += letter  # an accent

    def _draw_stroke(self, row: int, x: int, directions: int, net: int) -> None:
        """Draw a part of a line; where two lines cross, the vertical one is drawn on top."""
        before, owner = self.strokes.get((row, x), (0, net))
        if before and owner != net:
            upright = directions if directions & (UP | DOWN) else before
            self.strokes[row, x] = (upright & (UP | DOWN), -2)
        else:
            self.strokes[row, x] = (before | directions, net)

    def _plan(self, i: int) -> _GapPlan:
        """Find the rows at which the links between two layers start and end."""
        here = set(self.columns[i])
        arriving: dict[str, list[str]] = {}
        for a, b in self.links:
            if a in here:
                arriving.setdefault(b, []).append(a)
        plan = _GapPlan({}, {}, [])
        for b, tails in arriving.items():
            order = sorted(tails, key=lambda a: self.row[a] + self._middle(a))
            first = self.row[b] + (self._height(b) - len(order)) // 2
            for row, a in enumerate(order, first):
                plan.reached.setdefault(a, []).append(row)
                plan.left[a] = self.row[a] + self._middle(a)
                plan.tips.extend([row] if self._has_tip(b) else [])
        return plan

    def _has_tip(self, name: str) -> bool:
        return name in self.vertices and self.vertices[name].shape != "label"

    def _draw_gap(self, i: int, ends: dict[str, int], start: int) -> int:
        """Route the links between two layers; return where the next one begins."""
        plan = self._plan(i)
        tracks, _ = plan.tracks()
        stop = start + 2 * max(tracks.values(), default=0) + 4
        for number, (a, rows) in enumerate(plan.reached.items()):
            source = ends[a], plan.left[a]
            self._draw_net(number, source, start + 1 + 2 * tracks[a], rows, stop)
        for row in plan.tips:
            self.grid[row, stop - 1] = "▶"
        return stop

    def _draw_net(
        self, number: int, source: tuple[int, int], track: int, rows: list[int], stop: int
    ) -> None:
        """Draw the line from one source to all its targets in the next layer."""
        x, row = source
        if (row, x - 1) in self.grid and self.grid[row, x - 1] in "│║":
            self.grid[row, x - 1] = "├" if self.grid[row, x - 1] == "│" else "╟"
        for column in range(x, track):
            self._draw_stroke(row, column, LEFT | RIGHT, number)
        low, high = min([row, *rows]), max([row, *rows])
        self._draw_stroke(row, track, LEFT, number)
        for at in range(low, high + 1):
            sides = (UP if at > low else 0) | (DOWN if at < high else 0)
            self._draw_stroke(at, track, sides | (RIGHT if at in rows else 0), number)
        for target in set(rows):
            for column in range(track + 1, stop):
                self._draw_stroke(target, column, LEFT | RIGHT, number)

    def _render_strokes(self) -> None:
        for place, (directions, _) in self.strokes.items():
            self.grid.setdefault(place, _STROKES[directions])


def _spread_rows(wanted: list[int], needs: list[int]) -> list[int]:
    """Return increasing rows close to the wanted ones, with the room that each needs."""
    blocks: list[tuple[float, int, list[int]]] = []  # where a block begins, its items' offsets
    for at, need in zip(wanted, needs, strict=True):
        start, size, offsets = float(at), need, [0]
        while blocks and blocks[-1][0] + blocks[-1][1] > start:
            before, length, earlier = blocks.pop()
            total = len(earlier) + len(offsets)
            start = (before * len(earlier) + (start - length) * len(offsets)) / total
            offsets = earlier + [offset + length for offset in offsets]
            size += length
        blocks.append((start, size, offsets))
    rows: list[int] = []
    bottom = -(10**9)
    for start, size, offsets in blocks:
        top = max(round(start), bottom)
        rows += [top + offset for offset in offsets]
        bottom = top + size
    return rows


class _GapPlan(NamedTuple):
    """The links between two layers: the row of each source, and the rows of its targets."""

    left: dict[str, int]
    reached: dict[str, list[int]]
    tips: list[int]  # the rows at which an arrow ends

    def tracks(self) -> tuple[dict[str, int], str]:
        """Give each source a vertical track such that no two lines overlap.

        A source on the row of another one's target must turn before that one does. Where two wait
        for each other, one of them is returned as well: it has to move.
        """
        waiting = sorted(self.left, key=lambda a: -self.left[a])
        tracks = {a: 0 for a in waiting if set(self.reached[a]) == {self.left[a]}}
        waiting = [a for a in waiting if a not in tracks]
        used, stuck = 0, ""
        while waiting:
            free = [a for a in waiting if not self._is_blocked(a, waiting)]
            stuck = stuck or ("" if free else waiting[0])
            for a in free or waiting[:1]:
                tracks[a] = used
                used += 1
                waiting.remove(a)
        return tracks, stuck

    def _is_blocked(self, a: str, waiting: list[str]) -> bool:
        return any(self.left[b] in self.reached[a] for b in waiting if b != a)


def _lines_of(grid: dict[tuple[int, int], str]) -> list[str]:
    bottom = max(row for row, _ in grid)
    rows: list[dict[int, str]] = [{} for _ in range(bottom + 1)]
    for (row, x), letter in grid.items():
        rows[row][x] = letter
    return ["".join(r.get(x, " ") for x in range(max(r, default=-1) + 1)).rstrip() for r in rows]


def _indent_rows(lines: list[str]) -> list[str]:
    """Write the rows of a matrix below its first one."""
    told: list[str] = []
    indent = 0
    for line in lines:
        row = line.startswith("[") and bool(told)
        indent = indent if row else count_columns(line.partition("[[")[0]) + 1
        told.append(" " * indent + line if row else line)
    return told
