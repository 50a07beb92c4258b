"""The graph of a page in every state of folding that the page can show: one view for each.

A view is laid out as figures are. A page cannot lay out graphs, so the views that it may need are
made beforehand, as many as there is time for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simpleautodiff.display.figures.layout.layered_layout import lay_out
from simpleautodiff.display.figures.picture import Edge, Picture, TextLine, Vertex
from simpleautodiff.display.folding.fold import Box, Folded, describe_amount, fold
from simpleautodiff.program.program import MOST_BY_DISTANCE, Program
from simpleautodiff.program.watched_work import go_through

MOST_DRAWN = 60  # more boxes than this cannot be read on a screen
FIRST_VIEW_SIZES = (32, 24, 16, 12, 8)  # boxes of the first view: as many as can be read
READABLE = 0.9  # of the full size
SMALL_SCREEN = (700.0, 500.0)  # the size of a graph on a small screen
WORK = 20_000  # about half a second of laying out
HALF = (48.0, 30.0)  # of a box, in pixels
TURN = (114 / 86, 88 / 144)  # how a layout is stretched when it is turned to run downwards
Unfolded = frozenset[Box]


@dataclass
class Views:
    """All views of a program by the set of boxes that are unfolded; the first is folded most.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     for _ in range(500):
    ...         x = ad.sin(x) * x
    ...     return x + 1
    >>> [len(folded) for folded in Views(ad.trace(f, 0.5)).found.values()][:3]
    [3, 7, 11]
    """

    program: Program
    found: dict[Unfolded, Folded] = field(default_factory=dict)
    around: dict[Box, Box] = field(default_factory=dict)  # the box that a box was unfolded from

    def __post_init__(self) -> None:
        """Unfold one box after the other, in breadth-first order."""
        self.found[frozenset()] = _find_first_view(self.program)
        left = WORK - self._unfold_everything()
        for opened, folded in (queue := list(self.found.items())):
            for box in _folds(folded):
                key = opened | {box}
                size = len(folded) + len(box.inside) - 1
                if key not in self.found and size <= MOST_DRAWN and _work(size) <= left:
                    left -= _work(size)
                    queue.append((key, self._unfold(opened, box)))

    def _unfold(self, opened: Unfolded, box: Box) -> Folded:
        self.around |= dict.fromkeys(box.inside, box)
        self.found[opened | {box}] = self.found[opened].unfold(box)
        return self.found[opened | {box}]

    def _unfold_everything(self) -> int:
        """Unfold everything, if that can be drawn; return how much work it is."""
        opened: Unfolded = frozenset()
        kept = dict(self.found)
        while len(self.program) <= MOST_DRAWN and (folds := _folds(self.found[opened])):
            self._unfold(opened, folds[0])
            opened |= {folds[0]}
        self.found = kept | {opened: self.found[opened]}
        return _work(len(self.found[opened])) if opened else 0

    def _outside(self, box: Box) -> Unfolded:
        """Return the boxes that must be unfolded for a box to be visible."""
        outer = self.around.get(box)
        return frozenset() if outer is None else self._outside(outer) | {outer}

    def _view_after_unfolding(self, opened: Unfolded, box: Box) -> Unfolded | None:
        """Return the view after unfolding a box: with what is unfolded already, or alone."""
        ways = (opened | {box}, self._outside(box) | {box})
        return next((way for way in ways if way in self.found), None)

    def _view_after_folding(self, opened: Unfolded, box: Box) -> Unfolded | None:
        """Return the view after folding a box again, with all that is in it; if need be, more."""
        rest = frozenset(one for one in opened if box not in (one, *self._outside(one)))
        return next((way for way in (rest, self._outside(box)) if way in self.found), None)

    def document(self, index: dict[Any, int]) -> dict[str, Any]:
        """Return the views as the page stores them: boxes once, and for each view their positions.

        A box is a range of `order`, which has the nodes in order of execution.
        """
        steps = [node for node in self.program.execution if node.primitive is not None]
        rank = {node: i for i, node in enumerate([*self.program.inputs, *steps])}
        boxes = list(dict.fromkeys(box for view in self.found.values() for box in view.boxes))
        opened = [box for key in self.found for box in key if box not in boxes]
        boxes += dict.fromkeys(opened)
        number = {box: i for i, box in enumerate(boxes)}
        place = {key: i for i, key in enumerate(self.found)}
        names = _name_boxes(self.program, boxes)
        views = [self._view(key, number, place) for key in go_through(list(self.found), "views")]
        return {
            "box": [2 * HALF[0], 2 * HALF[1]],
            "turn": TURN,
            "order": [index[node] for node in rank],
            "boxes": [_box(box, names[box], rank[box.nodes[0]]) for box in boxes],
            "views": views,
        }

    def _view(
        self, opened: Unfolded, number: dict[Box, int], place: dict[Unfolded, int]
    ) -> dict[str, Any]:
        folded = self.found[opened]
        ways = {number[box]: self._view_after_unfolding(opened, box) for box in _folds(folded)}
        back = {number[box]: self._view_after_folding(opened, box) for box in opened}
        return _place_boxes(folded, number, thorough=not opened) | {
            "unfold": {box: place[way] for box, way in ways.items() if way is not None},
            "fold": sorted([box, place[way]] for box, way in back.items() if way is not None),
        }

    def singles(self) -> Iterable[Any]:
        """Yield the nodes that are boxes of their own in some view."""
        return {b.nodes[0] for view in self.found.values() for b in view.boxes if b.single}


def _work(size: int) -> int:
    """Estimate the work to lay out a view with so many boxes."""
    return 500 + size**2


def _find_first_view(program: Program) -> Folded:
    """Return the view a page begins with: as little folded as a small screen allows.

    A small program is shown whole. It is numbered by distance, so that the steps of a box would not
    follow one another in the table.
    """
    best = fold(program, legible=FIRST_VIEW_SIZES[0])
    if len(program) <= MOST_BY_DISTANCE:
        return best
    for legible in FIRST_VIEW_SIZES[1:]:
        if _scale(best) >= READABLE:
            break
        other = fold(program, legible=legible)
        if len(other) > len(program.inputs) + 2 and _scale(other) > _scale(best):
            best = other
    return best


def _scale(folded: Folded) -> float:
    """Return the scale at which a view fits a small screen, across or down."""
    width, height = _place_boxes(folded, {box: i for i, box in enumerate(folded.boxes)}, False)[
        "size"
    ]
    across = min(SMALL_SCREEN[0] / width, SMALL_SCREEN[1] / height)
    return float(
        max(across, min(SMALL_SCREEN[0] / (height * TURN[0]), SMALL_SCREEN[1] / (width * TURN[1])))
    )


def _folds(folded: Folded) -> list[Box]:
    return [box for box in folded.boxes if not box.single]


def _box(box: Box, name: str, start: int) -> dict[str, Any]:
    record: dict[str, Any] = {"start": start, "size": len(box.nodes)}
    if box.single:
        return record
    return record | {
        "title": box.title,
        "name": name,
        "kind": box.kind,
        "amount": describe_amount(box),
        "times": box.times,
    }


def _name_boxes(program: Program, boxes: Sequence[Box]) -> dict[Box, str]:
    """Return what each box is called; different ones are not all called the explored function."""
    names = {box: "" if box.single else _name_box(program, box) for box in boxes}
    steps = [program.calls.get(node, ()) for node in program.execution if node.primitive]
    explored = next((calls[0].function for calls in steps if calls), "")
    own = [box for box, name in names.items() if name and name == explored]
    return names | dict.fromkeys(own if len({box.title for box in own}) > 1 else [], "")


def _name_box(program: Program, box: Box) -> str:
    """Return what a box is called: the innermost function that all of its steps belong to.

    For a loop these are the steps of one pass. A line of the function that is explored is called
    by the variable that it assigns. Empty if nothing is known.
    """
    body = box.parts[0] if box.kind == "loop" else box
    first, last = (program.calls.get(body.nodes[i], ()) for i in (0, -1))
    shared = [a.function for a, b in zip(first, last, strict=False) if a == b]
    if box.kind == "inputs" or not shared:
        return ""
    if box.kind == "line" and len(shared) == 1:
        return program.variables.get(box.nodes[-1], "")
    return "" if shared[-1].startswith("<") else shared[-1]


def _place_boxes(folded: Folded, number: dict[Box, int], thorough: bool) -> dict[str, Any]:
    name = {box: str(number[box]) for box in folded.boxes}
    vertices = tuple(
        Vertex(name[box], TextLine(name[box]), shape="box", size=HALF) for box in folded.boxes
    )
    edges = tuple(Edge(name[tail], name[head]) for tail, head in folded.edges)
    layout = lay_out(Picture(vertices, edges, ""), thorough, inputs_late=True)
    return {
        "size": [round(layout.width), round(layout.height)],
        "boxes": [
            [number[box], *map(_round_length, layout.positions[name[box]])] for box in folded.boxes
        ],
        "edges": [
            [number[tail], number[head], [_round_length(n) for point in route for n in point]]
            for (tail, head), route in zip(folded.edges, layout.routes, strict=True)
        ],
    }


def _round_length(length: float) -> float:
    """Round to tenths of a pixel, as an integer where possible."""
    tenths = round(length, 1)
    return int(tenths) if tenths == int(tenths) else tenths
