"""Views: the offset and the strides of the elements of an array in a buffer.

A view is not computed: its row is applied to a dummy array of bytes, and the strides of NumPy's
result say where its elements are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.rules.array.indexing import is_basic

Shape = tuple[int, ...]


class View(NamedTuple):
    """Some elements of the result of a line, which is contiguous in memory."""

    root: int
    shape: Shape
    offset: int
    strides: Shape  # in elements, like the offset

    def within(self, shape: Shape) -> Shape:
        """Return the strides of the view broadcast to a shape.

        Examples
        --------
        >>> View(0, (3, 1), 0, (1, 1)).within((2, 3, 4))
        (0, 1, 0)
        """
        missing = len(shape) - len(self.shape)
        own = [0 if n == 1 else step for n, step in zip(self.shape, self.strides, strict=True)]
        return (0,) * missing + tuple(own)

    @property
    def is_whole(self) -> bool:
        """Whether the view has all elements, contiguously."""
        return self.offset == 0 and have_same_strides(
            self.shape, self.strides, find_strides(self.shape)
        )


def find_strides(shape: Shape) -> Shape:
    """Return the strides of a contiguous array.

    Examples
    --------
    >>> find_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])


def have_same_strides(shape: Shape, one: Shape, other: Shape) -> bool:
    """Tell whether strides reach the same elements; along an axis of length 1 all do."""
    return all(n == 1 or a == b for n, a, b in zip(shape, one, other, strict=True))


def whole(root: int, shape: Shape) -> View:
    """Return the view of all elements."""
    return View(root, shape, 0, find_strides(shape) if shape else ())


def apply_view(name: str, args: Sequence[Any], view: View, size: int) -> View | None:
    """Return the view that a row makes of a view, or None if it is not a view.

    Parameters
    ----------
    name, args
        The row, and its arguments after the first.
    view
        Its first argument.
    size
        How many elements the buffer has.

    Examples
    --------
    >>> apply_view("transpose", [None], whole(0, (2, 3)), 6)
    View(root=0, shape=(3, 2), offset=0, strides=(1, 3))
    >>> print(apply_view("reshape", [(6,)], View(0, (3, 2), 0, (1, 3)), 6))
    None
    """
    apply = _VIEWS.get(name)
    if apply is None or size == 0 or 0 in view.shape:
        return None
    memory, array = dummy(view, size)
    part = apply(array, *args)
    if part is None or part.size == 0 or not 0 <= _start(part) - _start(memory) < size:
        return None
    return View(view.root, part.shape, _start(part) - _start(memory), part.strides)


def is_view(name: str) -> bool:
    """Tell whether a row may be a view of its first argument."""
    return name in _VIEWS


def dummy(view: View, size: int) -> tuple[Any, Any]:
    """Return a dummy array of bytes, and the view of it."""
    memory = np.empty(size, np.int8)
    array = np.lib.stride_tricks.as_strided(memory[view.offset :], view.shape, view.strides)
    return memory, array


def find_buffer_indices(view: View, size: int, index: Any) -> Any:
    """Return the indices in the buffer of the elements that an index selects from a view."""
    numbers = np.arange(size)[view.offset :]
    steps = tuple([8 * step for step in view.strides])
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(numbers, view.shape, steps)[index])


def _start(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _apply_index(array: Any, index: Any) -> Any:
    if not is_basic(index):
        return None
    parts = index if isinstance(index, tuple) else (index,)
    return array[parts if any(part is ... for part in parts) else (*parts, ...)]


_VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, new: x.reshape(new),
    "transpose": np.transpose,
    "broadcast_to": np.broadcast_to,
    "getitem": _apply_index,
}


def collapse_axes(
    shape: Shape, ways: Sequence[Shape], cut: Collection[int] = ()
) -> tuple[list[list[int]], list[Shape]]:
    """Return groups of axes that can be joined: the same elements in the same order.

    Parameters
    ----------
    shape
        The shape that is iterated over; axes of length 1 are left out.
    ways
        The strides of everything that is read and written; those of the groups are returned.
    cut
        Axes that must not be joined with the one before.

    Examples
    --------
    >>> collapse_axes((2, 3, 1, 4), [(12, 4, 0, 1), (0, 0, 0, 1)])
    ([[0, 1], [3]], [(4, 1), (0, 1)])
    """
    groups: list[list[int]] = []
    kept: list[list[int]] = [[] for _ in ways]
    for axis, n in enumerate(shape):
        if n == 1 and axis not in cut:
            continue
        joins = groups and axis not in cut
        joins = joins and all(own[-1] == way[axis] * n for own, way in zip(kept, ways, strict=True))
        if joins:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        for own, way in zip(kept, ways, strict=True):
            own[-1:] = [way[axis]] if joins else [*own[-1:], way[axis]]
    return groups, [tuple(own) for own in kept]


def find_matrix_layout(view: View) -> tuple[bool, int] | None:
    """Return whether a matrix is stored by columns, and its leading stride.

    For a vector: its stride. None if BLAS does not know the layout.
    """
    if len(view.shape) == 1:
        step = view.strides[0] if view.shape[0] > 1 else 1
        return (False, step) if step > 0 else None
    (rows, columns), (down, along) = view.shape, view.strides
    if (columns == 1 or along == 1) and (rows == 1 or down >= columns):
        return False, down if rows > 1 else columns
    if (rows == 1 or down == 1) and (columns == 1 or along >= rows):
        return True, along if columns > 1 else rows
    return None


def matrix_of(view: View) -> View:
    """Return the first matrix of a stack."""
    return View(view.root, view.shape[-2:], view.offset, view.strides[-2:])


def apart(view: View) -> int | None:
    """Return the distance between the matrices of a stack; None if it is not constant.

    Examples
    --------
    >>> apart(whole(0, (2, 3, 4, 5))), apart(whole(0, (4, 5)))
    (20, 0)
    >>> print(apart(View(0, (2, 3, 4, 5), 0, (20, 40, 5, 1))))
    None
    """
    stack = [(n, step) for n, step in zip(view.shape[:-2], view.strides[:-2], strict=True) if n > 1]
    regular = all(far == near * n for (_, far), (n, near) in pairwise(stack))
    return (stack[-1][1] if stack else 0) if regular else None


def squeeze(shape: Shape) -> Shape:
    """Return a shape without axes of length 1."""
    return tuple([n for n in shape if n != 1])
