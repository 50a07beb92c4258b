"""All derivatives of all results: Jacobians and Hessians, of numbers and of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simpleautodiff.arguments import Argnums, select
from simpleautodiff.dispatch.shaping import stack
from simpleautodiff.errors import ArgumentError
from simpleautodiff.recording import paused_gc, plain_results
from simpleautodiff.rules.shapes import reshape, shape_of
from simpleautodiff.structure import flatten
from simpleautodiff.traced import plain
from simpleautodiff.transform import Graph, named

F = Callable[..., Any]


def jacobian(f: F, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto") -> F:
    """Return the function that gives all derivatives of all results of `f`.

    The Jacobian has the structure of the result, with the structure of the argument in each place.
    `f` runs once; then one sweep per input (`mode="forward"`) or per output (`mode="reverse"`)
    follows. `"auto"` takes the smaller number of sweeps.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacobian(lambda x: [x[0] * x[1], x[0] + x[1], x[1]])([2.0, 5.0])
    [[5.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode is 'auto', 'forward' or 'reverse'; got {mode!r}")

    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        with paused_gc:
            graph = Graph(f, select(f, argnums, args, kwargs), has_aux)
        value, results = plain_results(graph.result, graph.tape, f)
        fewer_inputs = _count(graph.inputs) < _count(results)
        forward = mode == "forward" or (mode == "auto" and fewer_inputs)
        rows = (_rows_forward if forward else _rows_reverse)(graph, results)
        _, rebuild = flatten(value)
        matrix = rebuild(graph.arguments(row) for row in rows)
        return (matrix, graph.aux) if has_aux else matrix

    return named(jacobian_of_f, "jacobian", f)


def _count(numbers: list[Any]) -> int:
    """Count single numbers: one for each element of an array."""
    return sum(math.prod(shape_of(number)) for number in numbers)


def _rows_reverse(graph: Graph, results: list[Any]) -> list[list[Any]]:
    """Sweep back once for each element of each result."""
    rows = []
    for result in results:
        swept = [graph.pull([(result, seed)]) for seed in _units(result)]
        full = shape_of(result)
        rows.append(
            [
                _stacked([row[k] for row in swept], 0, (*full, *shape_of(node)), full)
                for k, node in enumerate(graph.inputs)
            ]
        )
    return rows


def _rows_forward(graph: Graph, results: list[Any]) -> list[list[Any]]:
    """Sweep forward once for each element of each input."""
    columns = []
    for wrt in graph.inputs:
        swept = [
            graph.push([seed if node is wrt else None for node in graph.inputs], results)
            for seed in _units(wrt)
        ]
        full = shape_of(wrt)
        columns.append(
            [
                _stacked([row[k] for row in swept], -1, (*shape_of(result), *full), full)
                for k, result in enumerate(results)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in results]


def _units(like: Any) -> Iterator[Any]:
    """Yield the seeds that pick out each element: 1, or arrays of zeros with a single 1."""
    number = plain(like)
    if not shape_of(number):
        yield 1
    for index in np.ndindex(*shape_of(number)) if shape_of(number) else ():
        unit = np.zeros_like(number)
        unit[index] = 1
        yield unit


def _stacked(parts: list[Any], axis: int, new: tuple[int, ...], of: tuple[int, ...]) -> Any:
    """Join the derivatives of each element into one array; a single number stays as it is."""
    if not of:
        return parts[0]
    if not parts:
        return np.zeros(new)
    return reshape(stack(parts, axis), new)


def jacfwd(f: F, argnums: Argnums = 0, has_aux: bool = False) -> F:
    """Return the Jacobian of `f`, one forward sweep per input; see `jacobian`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacfwd(lambda x: (x, x * x))(3.0)
    (1.0, 6.0)
    """
    return jacobian(f, argnums, has_aux, mode="forward")


def jacrev(f: F, argnums: Argnums = 0, has_aux: bool = False) -> F:
    """Return the Jacobian of `f`, one reverse sweep per output; see `jacobian`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacrev(lambda x: x[0] * x[1])([2.0, 5.0])
    [5.0, 2.0]
    """
    return jacobian(f, argnums, has_aux, mode="reverse")


def hessian(f: F, argnums: Argnums = 0, has_aux: bool = False) -> F:
    """Return the function that gives all second derivatives of `f`: forward over reverse.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hessian(lambda x: x[0] ** 2 * x[1])([2.0, 5.0])
    [[10.0, 4.0], [4.0, 0.0]]
    """
    return named(jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux), "hessian", f)
