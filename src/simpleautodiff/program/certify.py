"""Enclose the values and derivatives of a function over a box, and prove their signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simpleautodiff.errors import ArgumentError
from simpleautodiff.transforms.grad import value_and_grad
from simpleautodiff.values.interval import Interval
from simpleautodiff.values.pytree import flatten, map_leaves


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is true everywhere in a box: intervals that contain the value and each derivative."""

    value: Interval
    derivatives: tuple[Any, ...]

    @property
    def sign(self) -> int | None:
        """The sign of the value in the whole box: 1, -1 or 0; None if it is not proven."""
        return self.value.sign

    @property
    def signs(self) -> tuple[Any, ...]:
        """The sign of the derivative in each argument; 1 says that the function increases."""
        signs: tuple[Any, ...] = map_leaves(lambda interval: interval.sign, self.derivatives)
        return signs


def certify(f: Callable[..., Any], box: Any, pieces: int = 1) -> Certificate:
    """Enclose the value and the derivatives of `f` over a box, and prove their signs.

    Every number that `f` or a derivative takes in the box is in the intervals that are returned,
    rounding included; they may be wider than needed. Where a branch is not the same in the whole
    box, or a function leaves its domain, a `DomainError` says so. Rules of your own, and
    `stop_gradient`, are believed.

    Parameters
    ----------
    f
        A function of numbers, or of lists and dicts of numbers, that returns one number.
    box
        For each argument a pair (lo, hi), an `Interval`, or a list or dict of them.
    pieces
        Into how many boxes to divide; more give narrower intervals, and decide more branches.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> proof = ad.certify(lambda x: x * ad.exp(-x), [(0.0, 0.5)], pieces=8)
    >>> proof.signs, proof.value.hi < 0.35
    ((1,), True)
    """
    if not isinstance(box, (list, tuple)) or pieces < 1:
        raise ArgumentError(f"certify(f, [(lo, hi), ...], pieces=1): got {box!r}, {pieces!r}")
    leaves, rebuild = flatten(tuple([_as_intervals(side) for side in box]))
    for leaf in leaves:
        if not isinstance(leaf, Interval):
            raise ArgumentError(f"a side of the box is a pair (lo, hi); got {leaf!r}")
    slope = value_and_grad(f, tuple(range(len(box))))
    values: list[Interval] = []
    slopes: list[list[Interval]] = []
    for piece in _divide(leaves, pieces):
        value, gradient = slope(*rebuild(iter(piece)))
        derivatives = list(map(_interval, flatten(gradient)[0]))
        middle = [Interval(side.mid) for side in piece]
        center = slope(*rebuild(iter(middle)))[0]
        for side, point, derivative in zip(piece, middle, derivatives, strict=True):
            center = center + derivative * (side - point)  # the mean value theorem
        values.append(_interval(value).meet(_interval(center)))
        slopes.append(derivatives)
    total = [_join(column) for column in zip(*slopes, strict=True)]
    return Certificate(_join(values), rebuild(iter(total)))


def _as_intervals(side: Any) -> Any:
    """Replace pairs of numbers by intervals."""
    if (
        isinstance(side, tuple)
        and len(side) == 2
        and all(isinstance(x, (int, float)) for x in side)
    ):
        return Interval(*side)
    if isinstance(side, (list, tuple)):
        return type(side)([_as_intervals(part) for part in side])
    return {k: _as_intervals(v) for k, v in side.items()} if isinstance(side, dict) else side


def _divide(sides: list[Interval], pieces: int) -> list[list[Interval]]:
    """Divide a box into several, the widest side of the widest box first."""
    boxes = [sides]
    while len(boxes) < pieces:
        box = max(boxes, key=lambda box: max(side.width for side in box))
        boxes = [other for other in boxes if other is not box]
        widest = max(range(len(box)), key=lambda i: box[i].width)
        lo, mid, hi = box[widest].lo, box[widest].mid, box[widest].hi
        for half in (Interval(lo, mid), Interval(mid, hi)):
            boxes.append([*box[:widest], half, *box[widest + 1 :]])
    return boxes


def _interval(x: Any) -> Interval:
    return x if isinstance(x, Interval) else Interval(x)


def _join(intervals: Any) -> Interval:
    first, *others = intervals
    for other in others:
        first = first.hull(other)
    return first  # type: ignore[no-any-return]
