"""Long programs in tables: the middle passes of a loop are one line.

The boxes are those of `fold`. A table shows the steps that are boxes of their own, and of every
other box its last step, which is its result; the rest is one row that says how much it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from simpleautodiff.core.node import Node
from simpleautodiff.display.folding.fold import Box, fold
from simpleautodiff.display.folding.once_per_program import once_per_program
from simpleautodiff.program.program import Program

Row = TypeVar("Row")
MAX_ROWS = 60  # steps of a program that is shown as it is
MIN_GAP = 3  # rows from which a gap saves any
MAX_TITLE = 40  # characters of what is repeated
MAX_OUTPUTS = 12  # outputs that are never folded


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is not shown: its name, and the box that hides it."""

    name: str
    box: Box


@once_per_program
def hide_steps(program: Program) -> Mapping[Node, Box]:
    """Return the steps of a long program that a table does not show, each with its box.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     for _ in range(500):
    ...         x = ad.sin(x) * 1.5
    ...     return x
    >>> program = ad.trace(f, 0.5)
    >>> [step.name for step, node in zip(program.steps, program.nodes) if node not in
    ...  hide_steps(program)]
    ['x', 'v1', 'v2', 'v998', 'v999', 'v1000']
    """
    if len(program) <= MAX_ROWS:
        return {}
    kept = set(program.outputs[:MAX_OUTPUTS])
    hidden = {
        node: box
        for box in _open_boxes(fold(program, legible=MAX_ROWS).boxes)
        for node in box.nodes[box.kind == "inputs" : -1]
        if node not in kept
    }
    for skipped, some in groupby(program.nodes, hidden.__contains__):
        run = list(some)
        if skipped and len(run) < MIN_GAP:
            for node in run:
                del hidden[node]
    return hidden


def _open_boxes(boxes: list[Box]) -> list[Box]:
    """Unfold boxes from above while there is room; of a loop, its first and its last pass."""
    waiting, done, room = boxes[::-1], list[Box](), MAX_ROWS - len(boxes)
    between = set[int]()  # the passes of a loop that stay folded
    while waiting:
        box = waiting.pop()
        more = len(box.inside) - 1
        if box.single or box.kind == "inputs" or id(box) in between or more > room:
            done.append(box)
            continue
        room -= more
        waiting += reversed(box.inside)
        if box.kind == "loop":
            between |= {id(part) for part in box.inside if part.mark == box.mark}
    return done


def close_gaps(rows: Iterable[Row | SkippedRow], close: Callable[[str], Row]) -> tuple[Row, ...]:
    """Replace each run of skipped rows by one row, which `close` makes from its text."""
    found: list[Row] = []
    for skipped, some in groupby(rows, lambda row: isinstance(row, SkippedRow)):
        if skipped:
            found.append(close(_describe_gap([row for row in some if isinstance(row, SkippedRow)])))
        else:
            found += [row for row in some if not isinstance(row, SkippedRow)]
    return tuple(found)


def _describe_gap(rows: list[SkippedRow]) -> str:
    """Say how many rows there are, from where to where, and what they repeat."""
    first, last = rows[0].name, rows[-1].name
    count = f"{len(rows):,} row{'s' * (len(rows) > 1)} folded: {first}"
    span = f"{count} … {last}" if first != last else count
    box = rows[0].box
    if box.kind in ("steps", "inputs") or any(row.box is not box for row in rows):
        return span
    title = "; ".join(box.title.splitlines())
    title = title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}…"
    return f"{span} ({title}, ×{box.times:,})" if box.times > 1 else f"{span} ({title})"
