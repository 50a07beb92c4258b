"""Results that are put together of pieces of other arrays, each of which fills a box of indices.

A loop reads them where they are (see `loops.Access`): nothing is put together in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from simpleautodiff.compiled.array.view_accesses import View, apply_view
from simpleautodiff.compiled.recording.trace_program import Line

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import Schedule

Boxes = list[tuple[tuple[tuple[int, int], ...], View]]


def find_boxes_scatter(plan: Schedule, line: Line) -> Boxes:
    """Return the one box that elements are put into; [] if they do not lie side by side."""
    x, index, shape = line.args
    view = plan.views[x]
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(part is None for part in parts):
        return []
    if ... in parts:
        at = parts.index(...)
        parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    box, strides, sizes, axis = [], [], [], 0
    for part, n in zip(parts, shape, strict=True):
        single = not isinstance(part, slice)
        first, last, step = slice(part % n, part % n + 1).indices(n) if single else part.indices(n)
        if step != 1 or (not single and view.shape[axis : axis + 1] != (last - first,)):
            return []
        box.append((first, last))
        sizes.append(last - first)
        strides.append(0 if single else view.strides[axis])
        axis += not single
    return [(tuple(box), View(view.root, tuple(sizes), view.offset, tuple(strides)))]


def find_boxes_concatenate(plan: Schedule, line: Line) -> Boxes:
    """Return one box for each array that is joined."""
    (axis, ends), *parts = line.args
    found = []
    for k, part in enumerate(parts):
        view = plan.view(part)
        box = [(0, n) for n in line.shape]
        box[axis] = ends[k], ends[k + 1]
        found.append((tuple(box), view))
    return found


def find_boxes_roll(plan: Schedule, line: Line) -> Boxes:
    """Return the boxes of the pieces that a rolled array is cut into."""
    found = []
    for target, source in roll_pieces(line):
        view = plan.views[line.args[0]]
        part = apply_view("getitem", (source,), view, plan.size(view.root))
        box = tuple([part.indices(n)[:2] for part, n in zip(target, line.shape, strict=True)])
        if part:
            found.append((box, part))
    return found


def roll_pieces(line: Line) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield where the pieces of a rolled array come to lie, and where they come from."""
    _, shifts, axes = line.args
    amounts = [0] * len(line.shape)
    for shift, axis in zip(np.atleast_1d(shifts), np.atleast_1d(axes), strict=True):
        amounts[axis] = (amounts[axis] + int(shift)) % line.shape[axis]
    halves = [
        [(slice(a, None), slice(None, n - a)), (slice(None, a), slice(n - a, None))] if a else
        [(slice(None), slice(None))]
        for a, n in zip(amounts, line.shape, strict=True)
    ]  # fmt: skip
    for pairs in itertools.product(*halves):
        yield tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs])
