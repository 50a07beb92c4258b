"""Arrays as indices: the distance in memory of each selected element.

For `x[index]`, or `x[rows, columns]`, integers say at which distance in memory each selected part
begins; the axes behind the index are unchanged. Indices that are constant are computed once; others
at every call, and their bounds are checked before anything is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.array.view_accesses import Shape, View, find_buffer_indices
from simpleautodiff.compiled.recording.trace_program import Line, Ref, find_refs
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


class Distances:
    """The line that computes distances in memory from indices of the first axes."""

    name = "distances"

    def __init__(self, sizes: Shape, strides: Shape) -> None:
        self.sizes, self.strides = sizes, strides


class Choice(NamedTuple):
    """An index of the first axes only: constants, and results of other lines."""

    parts: tuple[Any, ...]
    behind: int  # how many axes follow


def choice(index: Any, rank: int) -> Choice | None:
    """Return an index as one of the first axes only; None if it is something else.

    Examples
    --------
    >>> choice((np.array([1, 2]), slice(None)), 2)
    Choice(parts=(array([1, 2]),), behind=1)
    >>> print(choice((slice(None), np.array([1, 2])), 2))
    None
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    while parts and (parts[-1] is ... or _is_all(parts[-1])):
        parts.pop()
    if len(parts) == 1 and isinstance(parts[0], np.ndarray) and parts[0].dtype == bool:
        parts = list(parts[0].nonzero())
    fits = parts and all(type(part) is Ref or _is_whole(part) for part in parts)
    return Choice(tuple(parts), rank - len(parts)) if fits and len(parts) <= rank else None


def put_indices_first(plan: LoopSchedule, line: Line) -> Line | None:
    """Return an index of later axes, `x[:, index]`, as one of the first: its last line.

    Axes are transposed before and after, which moves nothing. None if it is something else.
    """
    x, index, *rest = line.args
    parts = list(index) if isinstance(index, tuple) else [index]
    ahead = next((k for k, part in enumerate(parts) if not _is_all(part)), 0)
    if not ahead:
        return None
    shape = tuple(rest[0]) if rest else plan.lines[x].shape
    chosen = choice(tuple(parts[ahead:]), len(shape) - ahead)
    if chosen is None:
        return None
    count, dtype = len(chosen.parts), line.dtype
    order = (*range(ahead, ahead + count), *range(ahead), *range(ahead + count, len(shape)))
    turned = tuple([shape[axis] for axis in order])
    full = plan.lines[x].shape if rest else line.shape
    block = len(full) - (len(shape) - count)  # how many axes the indices have
    first = (*range(ahead, ahead + block), *range(ahead), *range(ahead + block, len(full)))
    before = tuple([full[axis] for axis in first])
    source, moved, result = (first, before, turned) if rest else (order, turned, before)
    x = plan.append(Line(TABLE["transpose"], (x, source), {}, moved, plan.lines[x].dtype))
    args = (x, chosen.parts, turned) if rest else (x, chosen.parts)
    place = plan.append(line._replace(args=args, shape=result))
    back = tuple(np.argsort(order if rest else first).tolist())
    return Line(TABLE["transpose"], (place, back), {}, line.shape, dtype)


def index_along(lines: Sequence[Line], line: Line) -> Line | None:
    """Return `np.take_along_axis` as an index of all axes; None if that is not possible."""
    given = line.named_arguments()
    x, index, axis = given["arr"], given["indices"], given["axis"]
    if axis is None or next(find_refs(index), None) is None:
        return None
    shape = lines[index].shape
    grid: list[Any] = [np.arange(n) for n in shape]
    parts = list(np.ix_(*grid))
    full = lines[x].shape if type(x) is Ref else np.shape(x)
    axis %= len(shape)
    if any(n != m for k, (n, m) in enumerate(zip(full, shape, strict=True)) if k != axis):
        return None
    parts[axis] = index
    return line._replace(what=TABLE["getitem"], args=(x, tuple(parts)), kwargs={})


def _is_all(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _is_whole(part: Any) -> bool:
    if isinstance(part, (list, np.ndarray)):
        return next(find_refs(part), None) is None and np.asarray(part).dtype.kind in "iu"
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)


def find_distances(index: Any, view: View, size: int) -> tuple[Any, int]:
    """Return the distances that a constant index selects, and how many axes follow."""
    chosen = choice(index, len(view.shape))
    if chosen is None:
        return find_buffer_indices(view, size, index) - view.offset, 0
    far: Any = np.int64(0)
    for part, n, step in zip(chosen.parts, view.shape, view.strides, strict=False):
        numbers = np.asarray(part, np.int64)
        far = far + np.where(numbers < 0, numbers + n, numbers) * step
    return np.ascontiguousarray(far), chosen.behind


def are_distinct(distances: Any) -> bool:
    """Tell whether no element is selected twice.

    Examples
    --------
    >>> are_distinct(np.array([[4, 2], [0, 3]])), are_distinct(np.array([4, 2, 4]))
    (True, False)
    """
    if not distances.size:
        return True
    low = distances.min()
    seen = np.zeros(distances.max() - low + 1, bool)
    seen[distances - low] = True  # sorting them takes several hundred times as long
    return bool(np.count_nonzero(seen) == distances.size)
