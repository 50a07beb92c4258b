"""Finite differences as derivatives of functions that cannot be recorded, with error estimates."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.writes.versions import MAKING
from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import ArgumentError, DifferenceWarning, ResultError, cite_line
from simpleautodiff.rules.array.shapes import reshape
from simpleautodiff.transforms.arguments import check_function, name_of
from simpleautodiff.transforms.packing import PackedInputs, PackedResults, is_number
from simpleautodiff.values.pytree import flatten, map_leaves
from simpleautodiff.values.scoped import scoped

F = Callable[..., Any]
_SHRINK = (1.0, 1 / 32, 1 / 1024)  # smaller steps to try if the first is too long
_TINY = 1e-100  # the complex step subtracts nothing, so it can be tiny

_SMALLEST = np.finfo(float).tiny


class DifferenceReport(NamedTuple):
    """The cost of the derivatives of a black box so far, and the estimated error of the last."""

    calls: int  # of the function
    points: int  # at which the function was evaluated
    error: float  # the largest of the last Jacobian, relative to the derivative or to value/input


def black_box(
    f: F,
    *,
    method: str = "differences",
    batched: bool = False,
    noise: float | None = None,
    scale: float = 1.0,
    tolerance: float | None = None,
    cache: int = 1024,
) -> BlackBox:
    """Return `f`, which only takes plain numbers, such that derivatives of it can be taken.

    `f` may be compiled, call `float`, or run another program. Its arguments and results are real
    numbers, arrays and structures of them; what is no node is passed on as it is.

    Parameters
    ----------
    method
        "differences": central ones with two steps, extrapolated, so four points per input, and more
        where the steps turn out to be too long. "complex": the complex step, one point per input,
        exact to rounding, for an `f` that is analytic and takes complex numbers.
    batched
        Say that `f` evaluates many points in one call: every number and array among its arguments
        and results has one more axis, in front.
    noise
        The relative error of the values of `f`, from which the steps follow; by default that of
        rounding in the dtype of the results. For a program that prints six digits, 1e-6.
    scale
        The change of an input that matters, where the input is smaller than that.
    tolerance
        Above which relative error of a derivative to warn; by default what `noise` allows.
    cache
        At how many points values and Jacobians are remembered.

    The error that is estimated is that of the differences before they are extrapolated. Derivatives
    of derivatives are differences of differences, each of which costs about a fifth of the digits.

    Examples
    --------
    >>> import math
    >>> import simpleautodiff as ad
    >>> gamma = ad.black_box(math.gamma)
    >>> print(f"{ad.grad(lambda x: ad.log(gamma(x)))(3.0):.9f} {ad.digamma(3.0):.9f}")
    0.922784335 0.922784335
    >>> gamma.report.points, gamma.report.error < 1e-6
    (5, True)
    """
    check_function(f)
    if method not in ("differences", "complex"):
        raise ArgumentError(f"method is 'differences' or 'complex'; got {method!r}")
    return BlackBox(f, method == "complex", batched, noise, scale, tolerance, cache)


class BlackBox:
    """A function with differences as its derivatives; `report` tells their cost and error."""

    def __init__(
        self,
        f: F,
        analytic: bool,
        batched: bool,
        noise: float | None,
        scale: float,
        tolerance: float | None,
        cache: int,
    ) -> None:
        functools.update_wrapper(self, f)
        self.f, self.analytic, self.batched = f, analytic, batched
        self.noise, self.scale, self.tolerance = noise, scale, tolerance
        self.report = DifferenceReport(0, 0, 0.0)
        self._cache = _Cache(cache)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the function; on nodes, record it as one step."""
        inputs = PackedInputs((args, kwargs), f"the black box {name_of(self.f)}")
        if not inputs.shapes:
            return map_leaves(_copy_array, self.evaluate([(args, kwargs)])[0])
        call = _Call(self, inputs)
        return call.results.split(apply(call.row(0), inputs.join()))

    def evaluate(self, given: list[Any]) -> list[Any]:
        """Return the results for some arguments, from as few calls as possible."""
        keys = [_make_key(arguments) for arguments in given]
        missing = {
            key: args for key, args in zip(keys, given, strict=True) if key not in self._cache
        }
        runs = self._run_together if self.batched else self._run_each
        found = dict(zip(missing, runs(list(missing.values()), len(given) == 1), strict=True))
        results = [found[key] if key in found else self._cache[key] for key in keys]
        for key, result in found.items():
            self._cache.add(key, result)
        return results

    def _run_each(self, given: list[Any], strictly: bool) -> list[Any]:
        self._count(len(given), len(given))
        run = _run if strictly else _run_or_none
        # it may write to its arguments, and use the memory of its results again
        copies = [map_leaves(_copy_array, arguments) for arguments in given]
        return [map_leaves(_copy_array, run(self.f, *arguments)) for arguments in copies]

    def _run_together(self, given: list[Any], _strictly: bool) -> list[Any]:
        """Stack the arguments of all points, call once, and split the results."""
        if not given:
            return []
        self._count(1, len(given))
        columns = zip(*[flatten(one)[0] for one in given], strict=True)
        stacked = [np.stack(x) if is_number(x[0]) else x[0] for x in columns]
        args, kwargs = flatten(given[0])[1](iter(stacked))
        leaves, rebuild = flatten(self.f(*args, **kwargs))
        for leaf in leaves:
            if np.shape(leaf)[:1] != (len(given),):
                raise ResultError(
                    f"the black box {name_of(self.f)} was given {len(given)} points at once and "
                    f"returned an array of shape {np.shape(leaf)}; its first axis is to be "
                    f"{len(given)}. A function of one point goes without batched=True"
                )
        return [rebuild(iter([leaf[i] for leaf in leaves])) for i in range(len(given))]

    def _count(self, calls: int, points: int) -> None:
        old = self.report
        self.report = DifferenceReport(old.calls + calls, old.points + points, old.error)

    def judge(self, error: float, noise: float, order: int) -> None:
        """Enter the error of a Jacobian in the report; warn if it is too large."""
        self.report = self.report._replace(error=error)
        allowed = 4 * noise**0.4 if self.tolerance is None else self.tolerance
        if not error <= allowed:
            warnings.warn(
                f"derivatives of order {order} of the black box {name_of(self.f)} may be off by "
                f"{error:.1e}, relatively: it has a kink, or varies faster than the steps, or its "
                f"values have fewer digits. Say so by scale= or noise={cite_line()}",
                DifferenceWarning,
                stacklevel=2,
            )

    def differentiate(self, call: _Call, x: Any, order: int) -> Any:
        """Return the Jacobian at x of the derivatives of an order, by central differences."""
        value = call.compute(x, order)
        kind = np.result_type(value, x, np.float16)
        noise = float(np.finfo(kind).eps) if self.noise is None else self.noise
        noise = noise ** (0.8**order)
        size = np.maximum(np.abs(x), self.scale)
        best = np.full((len(value), len(x)), np.nan, kind)
        error = np.full(best.shape, np.inf)
        value_size = np.abs(value)[:, None]
        for shrink in _SHRINK:
            h = noise**0.2 * shrink * size
            wide, bend = self._take_differences(call, x, h, order)
            narrow, less = self._take_differences(
                call, x, h / 3**0.5, order
            )  # h/2 could hide rounding
            slope = (3 * narrow - wide) / 2
            rough = np.abs(bend - 3 * less + 4 * value[:, None]) / 2  # almost 0 if f is smooth
            guess = np.abs(slope - narrow) + np.maximum(noise * value_size, rough) / h
            lost = (slope == 0) & (np.abs(best) > 0)  # steps too small to change the values
            guess = np.where(lost, np.inf, guess)
            relative = guess / np.maximum(np.maximum(np.abs(slope), value_size / size), _SMALLEST)
            better = relative < error
            best, error = np.where(better, slope, best), np.where(better, relative, error)
            worst = float(np.max(error, initial=0.0))
            if worst <= noise**0.4:
                break
        self.judge(worst, noise, order + 1)
        return best

    def _take_differences(self, call: _Call, x: Any, h: Any, order: int) -> tuple[Any, Any]:
        """Return differences with one step for each input, as columns, and the sums."""
        steps = np.diag(h.astype(x.dtype))
        points = np.concatenate([x + steps, x - steps])
        values = np.array(call.compute_all(list(points), order))
        right, left = values[: len(x)], values[len(x) :]
        width = np.diag(points[: len(x)] - points[len(x) :])
        return ((right - left) / width[:, None]).T, (right + left).T

    def step_complex(self, call: _Call, x: Any, order: int) -> Any:
        """Return the Jacobian at x from the imaginary parts of the values beside it."""
        if order:  # nested complex steps would need a second imaginary unit
            return self.differentiate(call, x, order)
        values = np.array(call.compute_all(list(x + 1j * _TINY * np.eye(len(x))), 0))
        if values.size and not np.iscomplexobj(values):
            raise ResultError(
                f"the black box {name_of(self.f)} returned real numbers for complex ones: it is "
                'not analytic, so the complex step says nothing. Use method="differences"'
            )
        return values.imag.T / _TINY


class _Call:
    """One call of a black box: a function of the vector of all nodes among its arguments."""

    def __init__(self, box: BlackBox, inputs: PackedInputs) -> None:
        self.box, self.inputs = box, inputs
        self.results = PackedResults(f"the black box {name_of(box.f)}")
        self._jacobians: dict[Any, Any] = {}  # by order and point, for later sweeps

    def row(self, order: int) -> Primitive:
        """Make the primitive of all derivatives of an order, one after the other in a vector."""

        def rule(v: Any, x: Any) -> Linear:
            matrix = reshape(apply(self.row(order + 1), x), (-1, *x.shape))
            return Linear(lambda dot: matrix @ dot, lambda bar: bar @ matrix)

        name = name_of(self.box.f)
        compute = functools.partial(self.compute, order=order)
        batch = functools.partial(self._compute_batch, order) if self.box.batched else None
        what = "by differences of its values"
        return Primitive(name, (rule,), compute, name, name, what, arrays=True, batch=batch)

    def compute(self, x: Any, order: int = 0) -> Any:
        """Return all derivatives of an order at one point."""
        return self.compute_all([x], order)[0]

    def compute_all(self, points: list[Any], order: int) -> list[Any]:
        """Return all derivatives of an order at some points."""
        if order == 0:
            with scoped(MAKING, False):  # the black box is given plain numbers, and makes such
                results = self.box.evaluate(list(map(self.inputs.split, points)))
            return list(map(self._join, results))
        return [self._differentiate(point, order - 1) for point in points]

    def _differentiate(self, x: Any, order: int) -> Any:
        key = order, x.tobytes()
        if key not in self._jacobians:
            by = self.box.step_complex if self.box.analytic else self.box.differentiate
            self._jacobians[key] = np.ravel(by(self, x, order))
        return self._jacobians[key]

    def _compute_batch(self, order: int, size: int, which: Any, x: Any) -> Any:
        return np.stack(self.compute_all(list(x), order))

    def _join(self, result: Any) -> Any:
        if result is None and self.results.leaves:  # outside of the domain
            return np.full(sum(map(np.size, self.results.leaves)), np.nan)
        return self.results.join(result)


class _Cache(dict[Any, Any]):
    """Results by arguments, up to a number of entries; the oldest are dropped first."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def add(self, key: Any, result: Any) -> None:
        """Remember a result."""
        if result is not None:  # None: outside of the domain
            self[key] = map_leaves(_copy_array, result)
        while len(self) > self.room:
            del self[next(iter(self))]


def _make_key(tree: Any) -> Any:
    """Return a key that tells the arguments of one call from those of others."""
    return tuple(
        [
            (type(x), np.shape(x), np.asarray(x).tobytes()) if is_number(x) else _Same(x)
            for x in flatten(tree)[0]
        ]
    )


class _Same:
    """Equal to another only if both hold the same object."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


def _copy_array(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _run(f: F, args: Any, kwargs: Any) -> Any:
    return f(*args, **kwargs)


def _run_or_none(f: F, args: Any, kwargs: Any) -> Any:
    """Call a function at a neighbouring point; None if it has no value there."""
    try:
        return f(*args, **kwargs)
    except (ArithmeticError, ValueError):
        return None
