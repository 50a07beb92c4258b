"""Distribution functions of scipy.stats at the ends of a support: their slope is the one inside.

SciPy's code gives the constants 0 and 1 at the ends of a support. The slope inside is the density
there. So the integral of the density from the end to x, whose value is 0, is added at an end; for
further derivatives by Gauss's rule, which is exact for the first four.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY, THROUGH_SCIPY
from simpleautodiff.arrays.newton import order_of
from simpleautodiff.arrays.registry import Function, can_decide
from simpleautodiff.core.level import to_plain
from simpleautodiff.rules.array.decompositions import find_examples
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.values.functions import optional

POINTS = (0.5 - math.sqrt(1 / 12), 0.5 + math.sqrt(1 / 12))  # of Gauss's rule on the unit interval


def _integrate_from_ends(law: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the integral of the density from an end to x, where x is that end; 0 elsewhere."""
    shapes, loc, scale = law._parse_args(*args, **kwargs)
    z = (x - loc) / scale
    total: Any = 0.0
    for end, inwards in zip(law._get_support(*shapes), (1, -1), strict=True):
        there = to_plain(z) == to_plain(end)
        if np.all(np.isinf(to_plain(end))) or not _may_hold(there):
            continue
        step = where_row(there, z - end, 0.0)
        if not _has_density(law):
            part = law._cdf(end + step, *shapes)
            total = total + where_row(there, part - to_plain(part), 0.0)
            continue
        if order_of((z, shapes)) < 2:
            density = law.pdf(to_plain(end), *map(to_plain, shapes))
        else:
            density = sum(law.pdf(end + step * point, *shapes) for point in POINTS) / 2
        known, steep = np.isfinite(to_plain(density)), to_plain(density) == math.inf
        root = inwards * power(where_row(there & steep, inwards * step, 1.0), 0.5)
        part = where_row(steep, root, step * where_row(known, density, 0.0))
        total = total + where_row(there, part, 0.0)
    return total


def _has_density(law: Any) -> bool:
    base = optional("scipy.stats", "a distribution").rv_continuous
    return type(law)._pdf is not base._pdf or type(law)._logpdf is not base._logpdf


def fix_infinite(x: Any, function: Function = lambda x: x) -> Any:
    """Return the function of x, or x where it is infinite: a constant, as no parameter moves it."""
    plain = to_plain(x)
    infinite = np.isinf(plain)
    if not _may_hold(infinite):
        return function(x)
    return where_row(infinite, plain, function(where_row(infinite, 0.0, x)))


def _may_hold(condition: Any) -> bool:
    """Tell whether a condition holds somewhere, as far as is known."""
    if can_decide(condition):
        return bool(np.any(condition))
    examples = find_examples(condition)
    return examples is None or bool(np.any(examples))


def _make_function(method: str, sign: int) -> Function:
    """Return a distribution function, with SciPy's own method inside of the support."""

    def function(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        base = optional("scipy.stats", method).rv_continuous
        inside = inspect.unwrap(getattr(base, method))(self, x, *args, **kwargs)
        return inside + sign * _integrate_from_ends(self, x, args, kwargs)

    return function


for _method, _sign in (("cdf", 1), ("sf", -1)):
    SCIPY[f"stats.rv_continuous.{_method}"] = _make_function(_method, _sign)
    THROUGH_SCIPY.add(f"stats.rv_continuous.{_method}")
