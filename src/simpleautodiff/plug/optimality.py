"""Minima that SciPy has found, as functions of what their problem depends on.

At a minimum the slope of the Lagrangian is 0, and so are the constraints that hold it back. That is
an equation for the minimum and its multipliers, and Newton steps from the solution carry the
derivatives (see `arrays.newton`). Which constraints are active is decided in plain numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simpleautodiff.arrays.newton import newton_steps
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import DomainError, cite_line
from simpleautodiff.plug.implicit import keeps_slope, newton_step
from simpleautodiff.plug.inputs import F, as_vector
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.transforms.grad import grad
from simpleautodiff.transforms.jacobian import jacobian
from simpleautodiff.transforms.packing import reshape_to

_NEAR = 1e-4  # a constraint is near if it is this small, relative to x
_PUSHES = 1e-7  # a constraint is active if it is near and its multiplier is larger, by the slope
_FAR = 1e-2  # the minimum is further than this, relative to x: the solver did not arrive
_CLOSE = 1e-9  # Newton's method has converged when its step is this small
_STALLED = 1e-6  # or when it does not get smaller any more, of badly scaled problems
_STEPS = 30


def as_number(value: Any) -> Any:
    """Return a value of one element, in whatever shape, as one number."""
    value = as_vector(value)
    return reshape(value, ()) if shape_of(value) else value


@dataclass
class Minimisation:
    """What is minimised, under constraints lower ≤ f(x) ≤ upper; x has its own shape."""

    objective: F
    constraints: list[tuple[F, Any, Any]] = field(default_factory=list)

    def measure(self, x: Any) -> Any:
        """Return how far x is inside of each limit: a vector of lower and upper sides in turn."""
        sides = []
        for f, lower, upper in self.constraints:
            value = reshape(as_vector(f(x)), (-1,))
            sides += [
                reshape(np.subtract(value, as_vector(lower)), (-1,)),
                reshape(np.subtract(as_vector(upper), value), (-1,)),
            ]
        return concatenate(sides) if sides else np.zeros(0)

    def equations(self, shape: tuple[int, ...], active: Any) -> F:
        """Return the conditions of the minimum, a function of x and the multipliers, joined."""
        size = math.prod(shape)

        def lagrangian(x: Any, multipliers: Any) -> Any:
            x = reshape_to(x, shape)
            value = as_number(self.objective(x))
            if not self.constraints:
                return value
            return value - np.sum(multipliers * where(active, self.measure(x), 0.0))

        def conditions(both: Any) -> Any:
            x, multipliers = both[:size], both[size:]
            slope = grad(lagrangian)(x, multipliers)
            if not self.constraints:
                return slope
            left = where(active, self.measure(reshape_to(x, shape)), multipliers)
            return concatenate([slope, left])

        return conditions


def settle(problem: Minimisation, x: Any, name: str) -> tuple[Any, Any, Any]:
    """Return the exact minimum beside x with its multipliers, which constraints are active, and x.

    All are plain numbers. A solver stops at a tolerance; from there Newton's method converges.
    """
    if x is None:
        raise DomainError(f"{name} found no solution, so it has no derivative{cite_line()}")
    x = np.asarray(x, dtype=float)
    multipliers, active = _find_active(problem, x)
    conditions = problem.equations(x.shape, active)
    both = np.concatenate([x.ravel(), multipliers])
    last = np.inf
    for _ in range(_STEPS):
        step = newton_step(conditions, both, ())
        both = both - step
        size = np.max(np.abs(step) / (1 + np.abs(both)), initial=0.0)
        if size <= _CLOSE or size >= last:
            break
        last = size
    moved = np.abs(both[: x.size] - x.ravel()) / (1 + np.abs(x.ravel()))
    arrived = size <= _STALLED and np.max(moved, initial=0.0) <= _FAR
    if not (arrived and keeps_slope(conditions, both + step, step)):
        raise DomainError(
            f"{name} did not arrive at a minimum whose curvature is finite and not 0, "
            f"so the minimum has no derivative{cite_line()}"
        )
    return both, active, x


def _find_active(problem: Minimisation, x: Any) -> tuple[Any, Any]:
    """Return the multipliers of the constraints, and which of them hold the minimum back."""
    if not problem.constraints:
        return np.zeros(0), np.zeros(0, bool)

    def flat(point: Any) -> Any:
        return problem.measure(reshape_to(point, x.shape))

    slope = np.ravel(grad(lambda point: as_number(problem.objective(point)))(x))
    inside, slopes = flat(x.ravel()), jacobian(flat)(x.ravel())
    equal, second = _find_equalities(problem, x)
    active = equal | ((np.abs(inside) <= _NEAR * (1 + np.max(np.abs(x), initial=0.0))) & ~second)
    multipliers = np.zeros(len(inside))
    while True:
        multipliers[:] = 0.0
        multipliers[active] = np.linalg.lstsq(slopes[active].T, slope)[0]
        idle = active & ~equal & (multipliers <= _PUSHES * (1 + np.max(np.abs(slope))))
        if not np.any(idle):
            return multipliers, active
        active &= ~idle


def _find_equalities(problem: Minimisation, x: Any) -> tuple[Any, Any]:
    """Tell which sides are equations, and which are the second sides of these."""
    equal, second = [], []
    for f, lower, upper in problem.constraints:
        ones = np.ones(np.size(f(x)), bool)
        same = ones & np.ravel(np.asarray(lower) == np.asarray(upper))
        equal += [same, ~ones]
        second += [~ones, same]
    return np.concatenate(equal), np.concatenate(second)


def follow(problem: Minimisation, both: Any, active: Any, x: Any, held: list[Any]) -> Any:
    """Return the plain minimum x with its derivatives in the nodes that the problem holds."""
    conditions, size = problem.equations(shape_of(x), active), math.prod(shape_of(x))
    start = both
    for _ in newton_steps(held):
        step = newton_step(conditions, both, ())
        both = both - (step - to_plain(step))
    moved = reshape_to((both - start)[:size], shape_of(x))
    return x + moved
