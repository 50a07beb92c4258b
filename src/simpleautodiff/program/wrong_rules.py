"""Find the step of a function whose rule is wrong: each rule against differences of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import ZERO, filled, pull, push
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import REALS, Primitive
from simpleautodiff.core.sweep import fit
from simpleautodiff.program.program import Program
from simpleautodiff.program.recorded_run import trace
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar.piecewise import stop_gradient
from simpleautodiff.transforms.finite_difference import estimate_derivative
from simpleautodiff.transforms.grad import jvp
from simpleautodiff.transforms.kinks import is_at_kink
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.outside_domain import is_finite

_NO_ANSWER = (ArithmeticError, ValueError, TypeError, IndexError)  # outside of the domain
_FLOOR = 1e-12  # below this, differences of numbers near 1 are only rounding
_DECLARED = stop_gradient.primitive  # type: ignore[attr-defined]  # its slope is 0 by its meaning


class UntestedError(Exception):
    """A rule cannot be compared with differences at this point; the message says why."""


def blame(f: Callable[..., Any], *args: Any, order: int = 1) -> str:
    """Say which step of `f` at `args` has a wrong rule, on which line, with both numbers.

    Where none is wrong, say which could not be tested, if any.
    """
    program = trace(f, *args)
    untested: dict[str, None] = {}
    for node in program.nodes:
        for index, arg in enumerate(node.args):
            if type(arg) in NODES:
                try:
                    fault = find_fault(program, node, index, order)
                except UntestedError as why:
                    untested[f"{node.operator!r} ({program.names[node]}, {why})"] = None
                    continue
                if fault:
                    return fault
    if untested:
        return (
            f"No rule was found to be wrong, but not all could be tested here: {_list(untested)}. "
            "Try another point, or check these functions alone."
        )
    return (
        "Every local rule agrees with differences at its own arguments, so the function itself is "
        "the cause: a kink at this point, a value that changes from call to call, or differences "
        f"that cannot be trusted here.{_needs(program)}"
    )


def _list(untested: dict[str, None]) -> str:
    some = list(untested)[:5]
    return ", ".join(some) + f" and {len(untested) - 5} more" * (len(untested) > 5)


def _needs(program: Program) -> str:
    """Say which steps take arrays of a kind that a change of single elements may leave."""
    rows = {node.primitive for node in program.nodes if node.primitive and node.primitive.arrays}
    return "".join(
        f" {row.name!r} needs {row.domain.text}, and so must be what it is given."
        for row in sorted(rows, key=lambda row: row.name)
        if row.domain is not REALS
    )


def find_fault(program: Program, node: Node, index: int, order: int = 1) -> str:
    """Return a sentence if a rule and differences disagree, otherwise the empty string."""
    assert node.primitive is not None
    if node.primitive is _DECLARED:
        return ""
    try:
        found = _compare(node, index, order)
    except _NO_ANSWER as error:
        raise UntestedError(f"{type(error).__name__}: {error}") from error
    if found is None:
        return ""
    prefix, given, expected = found
    name, parent = program.names[node], program.names[node.args[index]]
    line = f", {program.lines[node]}" if node in program.lines else ""
    whole = shape_of(node.value) or shape_of(node.args[index].value)
    return (
        f"Wrong is {prefix}the rule of {node.operator!r}: {name} = "
        f"{node.primitive.call(node.values())} has ∂{name}/∂{parent} = {given!r} by its rule, "
        f"{expected!r} by differences{' in a random direction' if whole else ''}{line}"
    )


def _compare(node: Node, index: int, order: int) -> tuple[str, Any, Any] | None:
    """Return what is wrong with a rule, with its number and the right one; None if nothing is."""
    line = _Line(node, index)
    expected = line.differentiate(line.value)
    for prefix, given in (("", line.slope(0.0)), ("the way back of ", line.slope_back())):
        if not _agree(given, *expected, line.tolerance):
            return prefix, given, expected[0]
    if order > 1:
        expected = line.differentiate(line.slope)
        given = jvp(line.slope, (0.0,), (1.0,))[1]
        if not _agree(given, *expected, line.tolerance):
            return "the derivative of ", given, expected[0]
    return None


def _agree(given: Any, expected: float, error: float, tolerance: float) -> bool:
    """Tell whether a number is what differences say, where these say something."""
    scale = max(abs(expected), abs(given)) if is_finite(given) else abs(expected)
    if not error <= 1e-3 * scale + _FLOOR:
        raise UntestedError("differences say nothing")
    return bool(abs(given - expected) <= tolerance * scale + 10 * error + _FLOOR)


class _Line:
    """A primitive along a line through one of its arguments: a random sum of its values.

    For single numbers the line is that argument, and the sum the value.
    """

    def __init__(self, node: Node, index: int) -> None:
        assert node.primitive is not None
        self.row: Primitive = node.primitive
        self.values, self.index = tuple(map(_widen, node.values())), index
        x = self.values[index]
        if not np.all(np.isfinite(x)) or not np.all(np.isfinite(node.value)):
            raise UntestedError("numbers that are not finite")
        if any(is_at_kink(self.row, kink, self.values) for kink in self.row.kinks):
            raise UntestedError("at a kink")
        self.tolerance = max(1e-7, find_resolution([self.row.compute(*self.values)]))
        generator = np.random.default_rng(0)
        self.direction = _draw(generator, x)
        self.weights = _draw(generator, node.value)
        if self.row.arrays and self.row.domain is not REALS and not self._stays():
            self.direction = self.direction + np.conj(np.swapaxes(self.direction, -1, -2))
        sizes = np.abs(np.ravel(x))
        self.size = max(1.0, float(np.max(sizes, initial=0.0)))
        self.smallest = float(np.min(sizes[sizes > 0], initial=self.size))

    def _stays(self) -> bool:
        """Tell whether the domain extends along the line: not for symmetric matrices."""
        return bool(self.row.domain.contains(*self.move(1e-3)))

    def move(self, t: Any) -> tuple[Any, ...]:
        """Return the arguments at one place of the line."""
        i = self.index
        return (*self.values[:i], self.values[i] + t * self.direction, *self.values[i + 1 :])

    def value(self, t: float) -> Any:
        """Return the sum there."""
        return self._sum(self.weights * self.row.compute(*self.move(t)))

    def slope(self, t: Any) -> Any:
        """Return the change of the sum along the line, by the rule forward."""
        args = self.move(t)
        value = apply(self.row, *args)
        dot = push(self.row.partial(self.index, value, args), self.direction)
        return 0.0 if dot is ZERO else self._sum(self.weights * filled(fit(dot, value)))

    def slope_back(self) -> Any:
        """Return the same by the rule back: Σ of the adjoint in the direction."""
        value = self.row.compute(*self.values)
        bar = pull(self.row.partial(self.index, value, self.values), self.weights)
        if bar is ZERO:
            return 0.0
        return self._sum(filled(fit(bar, self.values[self.index])) * self.direction)

    def differentiate(self, function: Callable[[float], Any]) -> tuple[float, float]:
        """Return the derivative of a function along the line by differences, and its error."""
        scaled = estimate_derivative(
            lambda t: function(t * self.size), 0.0, self.smallest / self.size
        )
        return scaled[0] / self.size, scaled[1] / self.size

    def _sum(self, terms: Any) -> Any:
        total = np.sum(terms) if shape_of(terms) else terms
        return np.real(total) if is_complex(total) else total


def _draw(generator: Any, like: Any) -> Any:
    """Draw numbers of a shape; a single one is 1, or any complex number."""
    if not shape_of(like):
        return 0.8 + 0.6j if is_complex(like) else 1.0
    numbers = generator.normal(size=shape_of(like))
    return numbers + 1j * generator.normal(size=shape_of(like)) if is_complex(like) else numbers


def find_resolution(values: Iterable[Any]) -> float:
    """Return what differences resolve, relatively, with the fewest digits among some values."""
    kinds = [np.result_type(value) for value in values]
    floats = [kind for kind in kinds if kind.kind in "fc"]
    eps = max([float(np.finfo(kind).eps) for kind in floats], default=0.0)
    return 2 * eps ** (1 / 3) if eps > 1e-12 else 0.0


def _widen(x: Any) -> Any:
    """Return numbers of few digits with more, so that differences tell something."""
    kind = getattr(x, "dtype", None)
    few = isinstance(kind, np.dtype) and kind.kind in "fc" and np.finfo(kind).eps > 1e-12
    return x.astype(np.result_type(kind, np.float64)) if few else x
