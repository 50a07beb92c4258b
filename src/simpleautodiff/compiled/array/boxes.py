"""Results that consist of pieces of other arrays, each of which fills a box of indices.

A loop reads the pieces where they are (see `loops.Access`): nothing is joined in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.array.classify import LAYERS
from simpleautodiff.compiled.array.gather import choice
from simpleautodiff.compiled.array.view_accesses import Shape, View, apply_view
from simpleautodiff.compiled.recording.trace_program import Line, Ref, find_refs
from simpleautodiff.rules.array.indexing import is_basic

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

Box = tuple[tuple[int, int], ...]  # (start, stop) along every axis
Boxes = list[tuple[Box, View]]
FEW_PLACES = 4  # up to so many indices are boxes of one element each


def find_boxes_scatter(plan: LoopSchedule, line: Line) -> Boxes:
    """Return the one box that elements are scattered into; [] if they are not adjacent."""
    x, index, shape = line.args
    return _box_at(plan.views[x], index, tuple(shape))


def find_boxes_set_item(plan: LoopSchedule, line: Line) -> Boxes:
    """Return the array before the write, and over it the boxes that are written."""
    x, value, index = line.args
    written = plan.view_as(value, line.dtype)
    if is_basic(index):
        over = _box_at(written, index, line.shape)
    else:
        over = list(_boxes_of_places(written, index, line.shape))
    if not over or _is_covered(line.shape, [box for box, _ in over]):
        return over
    return [*_below(plan, x, line), *over]


def _below(plan: LoopSchedule, x: Any, line: Line) -> Boxes:
    """Return the boxes of the array that is written to; zeros need none."""
    known = plan.known(x) if type(x) is not Ref else None
    if known and known.number == 0 and not np.signbit(known.number):
        return []
    view = plan.view_as(x, line.dtype)
    if view.root in plan.read_once and plan.how[view.root] == LAYERS and view.is_whole:
        return list(plan.layers[view.root])
    full = View(view.root, line.shape, view.offset, view.within(line.shape))
    return [(tuple([(0, n) for n in line.shape]), full)]


def _is_covered(shape: Shape, found: list[Box]) -> bool:
    """Tell whether adjacent boxes along one axis cover all that is under them."""
    for axis, size in enumerate(shape):
        others = [(0, n) for k, n in enumerate(shape) if k != axis]
        across = sorted([box[axis] for box in found if [*box[:axis], *box[axis + 1 :]] == others])
        end = 0
        for first, last in across:
            end = max(end, last) if first <= end else end
        if end == size:
            return True
    return False


def _box_at(view: View, index: Any, shape: Shape) -> Boxes:
    """Return the box that a basic index selects, and the elements in it; [] if it has gaps."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(part is None for part in parts):
        return []
    if ... in parts:
        at = parts.index(...)
        parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    box = []
    for part, n in zip(parts, shape, strict=True):
        single = not isinstance(part, slice)
        first, last, step = slice(part % n, part % n + 1).indices(n) if single else part.indices(n)
        if step != 1 or last <= first:
            return []
        box.append((first, last))
    sizes = tuple([last - first for first, last in box])
    kept = tuple([n for n, part in zip(sizes, parts, strict=True) if isinstance(part, slice)])
    if len(view.shape) > len(kept):
        return []
    along = iter(view.within(kept))
    strides = tuple([next(along) if isinstance(part, slice) else 0 for part in parts])
    return [(tuple(box), View(view.root, sizes, view.offset, strides))]


def _boxes_of_places(view: View, index: Any, shape: Shape) -> Iterator[tuple[Box, View]]:
    """Yield a box for each element, or subarray, that a short array of indices selects."""
    chosen = choice(index, len(shape)) if next(find_refs(index), None) is None else None
    if chosen is None:
        return
    parts = np.broadcast_arrays(*[np.asarray(part) for part in chosen.parts])
    rest = shape[len(parts) :]
    full = (*parts[0].shape, *rest)
    if parts[0].size > FEW_PLACES or len(view.shape) > len(full):
        return
    strides = view.within(full)
    for at in np.ndindex(parts[0].shape):
        first = [int(part[at]) % n for part, n in zip(parts, shape, strict=False)]
        box = [*[(k, k + 1) for k in first], *[(0, n) for n in rest]]
        offset = view.offset + sum(k * step for k, step in zip(at, strides, strict=False))
        own = (*[0] * len(first), *strides[len(at) :])
        yield tuple(box), View(view.root, (*[1] * len(first), *rest), offset, own)


def find_boxes_concatenate(plan: LoopSchedule, line: Line) -> Boxes:
    """Return one box for each joined array."""
    (axis, ends), *parts = line.args
    found = []
    for k, part in enumerate(parts):
        view = plan.view(part)
        box = [(0, n) for n in line.shape]
        box[axis] = ends[k], ends[k + 1]
        found.append((tuple(box), view))
    return found


def find_boxes_roll(plan: LoopSchedule, line: Line) -> Boxes:
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
    """Yield the target and the source of each piece of a rolled array."""
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
