"""Compare derivatives with differences, and forward with reverse mode; find the wrong rule."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import ArgumentError, AutodiffError, CheckError, ResultError
from simpleautodiff.program.recorded_run import trace
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.program.wrong_rules import blame, find_resolution
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.finite_difference import complex_step, estimate_derivative
from simpleautodiff.transforms.grad import derivative, grad
from simpleautodiff.transforms.kinks import is_at_kink
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.outside_domain import is_finite
from simpleautodiff.values.pytree import flatten, paths

F = Callable[..., Any]
_DIRECTIONS = 10  # with more inputs than this, random directions are checked


@dataclass(frozen=True, slots=True)
class Check:
    """One derivative computed by several methods; `error` is that of the differences.

    Differences with a large error (near a kink, or for a function that varies very fast) show
    nothing; then only forward and reverse mode are compared.
    """

    direction: tuple[float, ...]
    order: int
    forward: float
    reverse: float
    reference: float
    method: str
    error: float


def check_grad(f: F, *args: Any, order: int = 1, tolerance: float = 1e-7) -> list[Check]:
    """Compare the derivatives of `f` at `args`: forward mode, reverse mode, and without rules.

    Without rules means the complex step where every operation is analytic, and extrapolated
    differences elsewhere. For orders above 1 the reference differentiates the derivative one order
    lower. Each element of the inputs, which may be arrays and nested structures, is checked with
    each element of the results; if there are more than ten, random directions and random sums are.
    Of complex numbers the real and the imaginary part are. Where `f` computes in float32, the
    tolerance is what differences resolve there.

    Raises
    ------
    CheckError
        If two methods disagree. The message names the primitive, the node and the source line whose
        rule is wrong, if there is one.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> for check in ad.check_grad(lambda x, y: ad.log(x) + x * y - ad.sin(y), 2.0, 5.0):
    ...     print(check.method, round(check.forward, 3), round(check.reverse, 3))
    complex step 5.5 5.5
    complex step 1.716 1.716
    """
    if not isinstance(order, int) or order < 1:
        raise ArgumentError(f"the order of a check is 1, 2, ...; got {order!r}")
    point = _Point(f, args)
    result = f(*point.move(0.0, ()))
    split = [is_complex(to_plain(leaf)) for leaf in flatten(result)[0]]
    outputs = sum(map(_count, _real_parts(result, split)))
    if not outputs:
        raise ResultError(f"{name_of(f)} returned nothing to check; did it forget to return?")
    analytic = order == 1 and not point.is_complex and is_analytic(f, point.move(0.0, ()))
    tolerance = max(tolerance, _find_resolution(f, point.move(0.0, ())))
    checks = []
    pairs = list(product(_choose_directions(point.size), _choose_directions(outputs)))
    for direction, weights in go_through(pairs, "derivatives"):

        def along(t: Any, direction: Any = direction, weights: Any = weights) -> Any:
            return _combine(_real_parts(f(*point.move(t, direction)), split), weights)

        check = _check_along(along, direction, order, analytic, point.scale(direction))
        _judge(check, f, point, tolerance)
        checks.append(check)
    return checks


class _Point:
    """The point at which a function is checked: one number for each element of each array.

    A complex number is two: its real part and its imaginary part.
    """

    def __init__(self, f: F, args: tuple[Any, ...]) -> None:
        leaves, self._rebuild = flatten(args)
        if not leaves:
            raise ArgumentError(f"check_grad needs a point: check_grad({name_of(f)}, x, ...)")
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind not in "iufc":
                raise ArgumentError(f"check_grad needs a point of numbers, got {leaf!r}")
        self.is_complex = any(map(is_complex, leaves))
        kinds = [complex if is_complex(leaf) else float for leaf in leaves]
        self._leaves: list[Any] = [
            leaf.astype(kind) if np.ndim(leaf) else kind(leaf)
            for leaf, kind in zip(leaves, kinds, strict=True)
        ]
        self.size = sum(map(_count_parts, leaves))
        self._paths = paths(args)

    def move(self, t: Any, direction: tuple[float, ...]) -> Any:
        """Return the arguments, moved by t in a direction; what does not move stays plain."""
        moved, begin = [], 0
        for leaf in self._leaves:
            part = direction[begin : begin + _count_parts(leaf)]
            begin += _count_parts(leaf)
            step: Any = _as_numbers(np.array(part), leaf) if any(part) else 0.0
            moved.append(leaf + t * step if any(part) else leaf)
        return self._rebuild(iter(moved))

    def scale(self, direction: tuple[float, ...]) -> float:
        """Return the size of the smallest number that moves."""
        numbers = np.concatenate([_split_parts(leaf) for leaf in self._leaves])
        sizes = [abs(x) for x, d in zip(numbers.tolist(), direction, strict=True) if d and x]
        return min(sizes, default=1.0)

    def name(self, index: int) -> str:
        """Return the name of one element: `input 1`, `input 2['w'][0, 3]`."""
        which = 0
        while index >= _count_parts(self._leaves[which]):
            index -= _count_parts(self._leaves[which])
            which += 1
        leaf = self._leaves[which]
        part, index = divmod(index, _count(leaf))
        argument, _, rest = self._paths[which][1:].partition("]")
        place = [int(i) for i in np.unravel_index(index, np.shape(leaf))]
        of = ("the real part of ", "the imaginary part of ")[part] if is_complex(leaf) else ""
        return f"{of}input {int(argument) + 1}{rest}{place or ''}"


def _count_parts(leaf: Any) -> int:
    return _count(leaf) * (2 if is_complex(leaf) else 1)


def _split_parts(leaf: Any) -> Any:
    """Return the numbers of a leaf as a vector, of complex ones the real and imaginary parts."""
    flat = np.ravel(leaf)
    return np.concatenate([flat.real, flat.imag]) if is_complex(leaf) else flat


def _as_numbers(parts: Any, leaf: Any) -> Any:
    """Return a vector of parts as numbers like a leaf: what `_split_parts` undoes."""
    flat = parts[: _count(leaf)] + 1j * parts[_count(leaf) :] if is_complex(leaf) else parts
    return flat.reshape(leaf.shape) if np.ndim(leaf) else flat.tolist()[0]


def _count(leaf: Any) -> int:
    return int(np.prod(shape_of(leaf)))


def _combine(leaves: list[Any], weights: tuple[float, ...]) -> Any:
    """Return one element of a result, or the weighted sum of all."""
    total, begin = None, 0
    for leaf in leaves:
        part = weights[begin : begin + _count(leaf)]
        begin += _count(leaf)
        if not any(part):
            continue
        if not shape_of(leaf):
            term = leaf if part == (1.0,) else part[0] * leaf
        elif sum(map(bool, part)) == 1:
            term = np.ravel(leaf)[part.index(1.0)]
        else:
            term = np.sum(np.reshape(part, shape_of(leaf)) * leaf)
        total = term if total is None else total + term
    return total


def _real_parts(result: Any, split: list[bool]) -> list[Any]:
    """Return the leaves of a result, of those to `split` the real and the imaginary parts."""
    parts: list[Any] = []
    for leaf, apart in zip(flatten(result)[0], split, strict=True):
        parts += [np.real(leaf), np.imag(leaf)] if apart else [leaf]
    return parts


def _choose_directions(size: int) -> list[tuple[float, ...]]:
    if size <= _DIRECTIONS:
        return [tuple(float(i == j) for j in range(size)) for i in range(size)]
    generator = random.Random(size)
    return [tuple(generator.gauss(0, 1) for _ in range(size)) for _ in range(_DIRECTIONS)]


def _check_along(
    along: F, direction: tuple[float, ...], order: int, analytic: bool, scale: float
) -> Check:
    nested = along
    for _ in range(order):
        nested = grad(nested)
    forward, reverse = derivative(along, order)(0.0), nested(0.0)
    if analytic:
        step = complex_step(along, 0.0)
        if _is_close(step, forward, 1e-10 * abs(forward)):
            return Check(direction, order, forward, reverse, step, "complex step", 0.0)
    reference, error = estimate_derivative(derivative(along, order - 1), 0.0, scale)
    if analytic and _is_close(step, reference, 1e-6 * abs(step) + error):
        return Check(direction, order, forward, reverse, step, "complex step", 0.0)
    return Check(direction, order, forward, reverse, reference, "differences", error)


def is_analytic(f: F, args: tuple[Any, ...]) -> bool:
    """Tell whether every operation of `f` is analytic and works on complex numbers."""
    try:
        program = trace(f, *args)
        steps = [(node.primitive, node.values()) for node in program.nodes if node.primitive]
        if any(not row.holomorphic or _meets_kink(row, values) for row, values in steps):
            return False
        if not all(np.all(np.isfinite(node.value)) for node in program.nodes):
            return False
        if any(is_complex(node.value) for node in program.outputs):
            return False  # its real and imaginary parts, which are compared, are not analytic
        leaves, rebuild = flatten(args)
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # loses a part
            results = flatten(f(*rebuild(iter([leaf + 0j for leaf in leaves]))))[0]
    except (AutodiffError, ArithmeticError, TypeError, ValueError, RuntimeWarning):
        return False
    return all(np.iscomplexobj(result) for result in results)


def _find_resolution(f: F, args: tuple[Any, ...]) -> float:
    """Return what differences resolve, relatively, with the fewest digits that `f` computes in."""
    try:
        return find_resolution([node.value for node in trace(f, *args).nodes])
    except (AutodiffError, TypeError):
        return 0.0


def _meets_kink(row: Primitive, values: tuple[Any, ...]) -> bool:
    """Tell whether a derivative is a choice, for arrays at any element."""
    return any(is_at_kink(row, kink, values) for kink in row.kinks)


def _judge(check: Check, f: F, point: _Point, tolerance: float) -> None:
    sizes = [abs(x) for x in (check.reference, check.forward, check.reverse) if is_finite(x)]
    scale = max(sizes, default=0.0)
    floor = 1e-12  # below this, differences of numbers near 1 are only rounding
    conclusive = check.error <= 1e-3 * scale + floor
    bound = tolerance * scale + 10 * check.error + floor
    same_modes = _is_close(check.forward, check.reverse, tolerance * scale + floor)
    if same_modes and (not conclusive or _is_close(check.forward, check.reference, bound)):
        return
    raise CheckError(
        f"the derivative of {name_of(f)} in the direction {_name_direction(check, point)}, order "
        f"{check.order}: forward {check.forward!r}, reverse {check.reverse!r}, "
        f"{check.method} {check.reference!r}. "
        f"{blame(f, *point.move(0.0, ()), order=check.order)}"
    )


def _is_close(a: Any, b: Any, bound: float) -> bool:
    return bool(abs(a - b) <= bound) or a == b


def _name_direction(check: Check, point: _Point) -> str:
    if sorted(check.direction) == [0.0] * (len(check.direction) - 1) + [1.0]:
        return f"of {point.name(check.direction.index(1.0))}"
    return "drawn at random"
