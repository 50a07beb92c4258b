"""Integrands that jump: where, and whether the jump moves with what is differentiated.

∫ f(x, z) dx grows in z as f does, and at each jump of f by its height times its speed. The second
part is in no derivative of f, so an integral over a moving jump has to be split there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import DomainError, cite_line
from simpleautodiff.plug.inputs import F, plain_solver

_JUMP = 1e-6  # of the largest value: a rise by less counts as continuous
_STEEP = 3  # as many of the steepest places are looked at, and of those unlike what is beside them
_FINE = 1e-3  # of the whole: places that are nearer to each other were searched for
_SHIFT = 1e-6  # of the parameters, relative: a jump that stays at its place does not feel it


def find_steep_place(f: F, a: float, b: float, z: Any) -> float:
    """Return where f(x, z) changes on a scale that `quad` has to search for; nan for nowhere.

    Its derivative in z may be 0 but for there, so that `quad` would not find that. If f jumps at a
    place that depends on z, an error is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.plug.jumps import find_steep_place
    >>> find_steep_place(lambda x, z: z[0] * x, 0.0, 1.0, np.array([2.0]))
    nan
    >>> round(find_steep_place(lambda x, z: z[0] * (x < 0.3), 0.0, 1.0, np.array([2.0])), 2)
    0.3
    >>> find_steep_place(lambda x, z: 1.0 * (x < z[0]), 0.0, 1.0, np.array([0.3]))
    Traceback (most recent call last):
    ...
    simpleautodiff.errors.DomainError: the integrand jumps at 0.3, a place that moves ...
    """
    weights = np.cos(np.arange(np.size(f(_between(a, b), z))))  # one number stands for all
    samples: dict[float, float] = {}

    def height(x: float, z: Any) -> float:
        value = f(x, z)
        return float(value if not np.ndim(value) else np.sum(weights * np.ravel(value)))

    def sample(x: float) -> float:
        samples[x] = height(x, z)
        return samples[x]

    plain_solver("integrate", "quad")(sample, a, b, full_output=1)
    steep = math.nan
    for left, right, place in _find_steep(lambda x: height(x, z), samples):
        if left < right and _moves(height, left, right, z):
            raise DomainError(
                f"the integrand jumps at {right:.6g}, a place that moves with what is "
                "differentiated, and the derivative of the integrand does not have the jump's "
                "part. Integrate to the jump and from it: quad(f, a, b, points=[jump]), or two "
                f"integrals with the jump as a limit{cite_line()}"
            )
        steep = place if math.isnan(steep) else steep
    places = sorted(samples)
    searched = len(places) > 1 and np.min(np.diff(places)) <= _FINE * abs(b - a)
    return steep if searched and not math.isinf(a) and not math.isinf(b) else math.nan


def _between(a: float, b: float) -> float:
    """Return a number between two limits, which may be infinite."""
    low, high = (max(-1e3, min(1e3, limit)) for limit in (a, b))
    return low + 0.37 * (high - low)


def _find_steep(f: Callable[[float], float], samples: dict[float, float]) -> Any:
    """Yield the steepest places of f, from its values at some places: the interval of a jump.

    The interval is empty where f does not jump. The third number is where half of the rise is.
    """
    places = np.array(sorted(samples))
    values = np.array([samples[x] for x in places])
    least = _JUMP * np.max(np.abs(values), initial=0.0)
    rises, widths = np.diff(values), np.diff(places)
    with np.errstate(all="ignore"):
        slopes = rises / widths
        beside = np.pad(slopes, 1, mode="reflect" if slopes.size > 1 else "edge")
        usual = np.median([beside[:-2], slopes, beside[2:]], axis=0)  # itself in a smooth part
        steepest = [np.argsort(-np.abs(slopes - trend)) for trend in (0 * usual, usual)]
    for order, trend in zip(steepest, (0 * usual, usual), strict=True):
        over = np.abs(rises - trend * widths)
        for i in [i for i in order if over[i] > least][:_STEEP]:
            yield _search(f, places[i : i + 2], values[i : i + 2], float(trend[i]), least)


def _search(
    f: Callable[[float], float], places: Any, values: Any, trend: float, least: float
) -> tuple[float, float, float]:
    """Halve an interval where f rises by more than its trend, down to neighbouring floats."""
    (left, right), (low, high) = map(float, places), map(float, values)
    high -= trend * (right - left)
    begin, rise, place = left, abs(high - low), (left + right) / 2
    while left < (middle := (left + right) / 2) < right and abs(high - low) > least:
        value = f(middle) - trend * (middle - begin)
        if abs(value - low) > abs(high - value):
            right, high = middle, value
        else:
            left, low = middle, value
        place = right if abs(high - low) > rise / 2 else place
    return left if abs(high - low) > least else right, right, place


def _moves(f: F, left: float, right: float, z: Any) -> bool:
    """Tell whether a jump between two places is elsewhere for other parameters."""
    z = np.asarray(z, dtype=float)
    shift = _SHIFT * (1 + np.abs(z)) * np.cos(0.5 + np.arange(z.size))
    half = abs(f(right, z) - f(left, z)) / 2
    return any(
        abs(f(x, z + way) - f(x, z)) > half for x in (left, right) for way in (shift, -shift)
    )


def find_inside(f: F, limit: float, other: float, z: Any) -> float:
    """Return how far to go from a limit to be where f is integrated: 0, unless f jumps there."""
    if math.isinf(limit) or limit == other:
        return 0.0
    inside = float(np.nextafter(limit, other))
    at, beside = (np.asarray(f(x, z), dtype=float) for x in (limit, inside))
    if not np.all(np.isfinite(at)) or np.allclose(at, beside, rtol=_JUMP, atol=0.0):
        return 0.0
    return inside - limit
