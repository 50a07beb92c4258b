"""Right-hand sides that jump: where along the solution, and whether the jump moves.

A jump of the right-hand side bends the solution. If its time depends on what is differentiated, as
in y' = 1 if t < s else 3, the derivative has a part that no derivative of the right-hand side has.

Jumps are looked for within each step of the solver. Of five values at equal distances the fourth
difference is taken: when the distance is halved, it becomes 16 times smaller for a smooth function,
2 times for one with a kink, and remains for one that jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_LEAST = 1e-5  # of the largest value: a smaller jump is not looked for
_LEFT = 0.01  # of the fourth difference: where less is left of it, nothing jumps
_NARROW = 1e-7  # of the step: what changes within less jumps
_ENDS = 1e-6  # of the step: the solution may begin and end where the right-hand side jumps
_SAME = 0.1  # of a jump: what changes less by a small shift stays
_ULPS = 8 * np.finfo(float).eps
_FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0])

Slope = Callable[[float, int], Any]  # the right-hand side along the solution: its time, its step


def follow(right: Callable[..., Any], path: Slope, z: Any) -> Slope:
    """Return a right-hand side along a path; nan where it has no value."""

    def slope(t: float, step: int) -> Any:
        y = path(t, step)
        try:
            with np.errstate(all="ignore"):
                return np.asarray(right(t, y, z), dtype=float)
        except (ArithmeticError, ValueError):  # of the module math
            return np.full(np.shape(y), np.nan)

    return slope


def find_jumps(slope: Slope, ends: Any) -> Iterator[tuple[float, float, int, Any]]:
    """Yield the jumps along a solution: the times around, the step, and which elements jump.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.plug.switches import find_jumps
    >>> slope = lambda t, step: np.array([np.exp(t) + (t > 0.7), abs(t - 1.2)])
    >>> [(round(left, 6), step) for left, _, step, _ in find_jumps(slope, [0.0, 1.0, 2.0])]
    [(0.7, 0)]
    """
    samples = [_sample(slope, *_leave_ends(ends, i), i) for i in range(len(ends) - 1)]
    if not samples:
        return
    values = np.array(samples)
    with np.errstate(all="ignore"):
        sizes = np.max(np.where(np.isfinite(values), np.abs(values), 0.0), axis=(0, 1))
        sizes = np.where(sizes == 0, 1.0, sizes)
        least = np.max(np.abs(_FOURTH @ values) / sizes, axis=1)
    for i in np.flatnonzero(least > _LEAST).tolist():
        left, right = _leave_ends(ends, i)
        narrow = max(_NARROW * abs(right - left), _ULPS * max(abs(left), abs(right)))
        parts = [(left, right, samples[i])]
        while parts:
            left, right, five = parts.pop()
            jumps = np.abs(_FOURTH @ five) / sizes > max(_LEAST, _LEFT * least[i])
            if not np.any(jumps):
                continue
            if abs(right - left) <= narrow:
                yield left, right, i, jumps
                continue
            middle, quarter = (left + right) / 2, (right - left) / 8
            for low, high, three in ((middle, right, five[2:]), (left, middle, five[:3])):
                two = [slope(low + quarter, i), slope(high - quarter, i)]
                parts.append((low, high, np.array([three[0], two[0], three[1], two[1], three[2]])))


def _leave_ends(ends: Any, i: int) -> tuple[float, float]:
    """Return the times of a step, without the ends of the whole solution."""
    left, right = float(ends[i]), float(ends[i + 1])
    little = _ENDS * (right - left)
    return left + little * (i == 0), right - little * (i == len(ends) - 2)


def _sample(slope: Slope, left: float, right: float, i: int) -> Any:
    return np.array([slope(left + k / 4 * (right - left), i) for k in range(4)] + [slope(right, i)])


def jump_stays(here: Slope, there: Slope, jump: tuple[float, float, int, Any]) -> bool:
    """Tell whether another right-hand side jumps as one does, between the same two times."""
    left, right, step, which = jump
    little = np.copysign(_ULPS * max(abs(left), abs(right)), right - left)
    rises = [f(right + little, step) - f(left - little, step) for f in (here, there)]
    height, other = (rise[which] for rise in rises)
    return not np.any(np.abs(other - height) > _SAME * np.abs(height))
