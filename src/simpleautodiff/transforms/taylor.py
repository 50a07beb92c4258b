"""Taylor series of functions: all coefficients at once, of numbers, arrays and structures."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.errors import ArgumentError
from simpleautodiff.transforms.arguments import Selection, check_function
from simpleautodiff.transforms.grad import run_jets
from simpleautodiff.transforms.recorded_call import check_argument
from simpleautodiff.transforms.results import rebuild_like
from simpleautodiff.transforms.seeds import check_tuples, match_leaves
from simpleautodiff.values.functions import to_type_of
from simpleautodiff.values.pytree import flatten_numbers, map_leaves

F = Callable[..., Any]


def taylor(f: F, x: Any, order: int, direction: Any = None) -> list[Any]:
    """Return the Taylor coefficients c of f(x + t direction) = c[0] + c[1] t + c[2] t² + ...

    Each of the `order` + 1 coefficients has the structure of the result of `f`. `x` is a number, an
    array or a structure of them; without a `direction` all its numbers have the direction 1.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.taylor(ad.exp, 0.0, 4) == [1, 1, 1 / 2, 1 / 6, 1 / 24]
    True
    >>> ad.taylor(lambda p: {"area": p["a"] * p["b"]}, {"a": 2.0, "b": 3.0}, 2)
    [{'area': 6.0}, {'area': 5.0}, {'area': 1.0}]
    """
    if not hasattr(order, "__index__") or order < 0:
        raise ArgumentError(f"the order of a series is 0, 1, 2, ...; got {order!r}")
    numbers, rebuild = flatten_numbers((x,))
    none = rebuild(iter([0 * number for number in numbers]))[0]
    first = rebuild(iter([0 * number + 1 for number in numbers]))[0]
    first = first if direction is None else direction
    terms = [first, *[none] * (operator.index(order) - 1)][: operator.index(order)]
    value, orders = _expand(f, (x,), (terms,))
    scaled = [
        map_leaves(functools.partial(divide, n=n), tree) for n, tree in enumerate(orders, start=1)
    ]
    return [value, *scaled]


def divide(derivative: Any, n: int) -> Any:
    """Divide the n-th derivative by n!, in its own number type."""
    return to_type_of(derivative / math.factorial(n), derivative)


def jet(f: F, primals: Any, series: Any, factorial_scaled: bool = True) -> tuple[Any, Any]:
    """Return the Taylor series of `f` along a curve, as `jax.experimental.jet.jet` does.

    Parameters
    ----------
    primals
        The arguments at t = 0.
    series
        For each argument the list of its derivatives in t: the first, the second, ...
    factorial_scaled
        False says that `series`, and what is returned, are Taylor coefficients: the n-th derivative
        divided by n!.

    Returns
    -------
    The value, and in its structure for each number the list of its derivatives.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> value, (first, second) = ad.jet(lambda x: x * x, (3.0,), ((1.0, 0.0),))
    >>> value, first, second
    (9.0, 6.0, 2.0)
    """
    check_tuples("jet", primals, series)
    lengths = {len(terms) if isinstance(terms, (list, tuple)) else None for terms in series}
    if len(primals) != len(series) or len(lengths) != 1 or not lengths.isdisjoint({None, 0}):
        raise ArgumentError(
            "jet takes for each argument a list of derivatives, all of the same length: "
            f"jet(f, (x, y), ([x1, x2], [y1, y2])); got {series!r}"
        )
    if not factorial_scaled:
        series = [[_scale(t, math.factorial(n)) for n, t in enumerate(s, 1)] for s in series]
    value, orders = _expand(f, tuple(primals), series)
    if not factorial_scaled:
        orders = [map_leaves(functools.partial(divide, n=n), t) for n, t in enumerate(orders, 1)]
    columns = zip(*[flatten_numbers((tree,))[0] for tree in orders], strict=True)
    return value, rebuild_like(value, [list(column) for column in columns])


def _scale(tree: Any, factor: int) -> Any:
    return map_leaves(lambda x: factor * x, tree)


def _expand(f: F, primals: tuple[Any, ...], series: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the value of `f`, and its derivatives of every order along the curve of a series."""
    check_function(f)
    orders = [tuple(terms) for terms in zip(*series, strict=True)]
    if not orders:
        return f(*primals), []
    leaves, rebuild = flatten_numbers(primals)
    terms = [match_leaves(order, primals, "the series") for order in orders]
    level = JetLevel(len(orders))
    jets = [
        Jet(check_argument(leaf, f), [check_argument(x, f) for x in higher], level)
        for leaf, higher in zip(leaves, zip(*terms, strict=True), strict=True)
    ]
    value, derivatives, _ = run_jets(f, Selection(rebuild(iter(jets))), level, has_aux=False)
    return value, derivatives
