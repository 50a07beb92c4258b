"""All derivatives of all results: Jacobians and Hessians, of numbers and of arrays.

The rows of the Jacobian of an array are swept together, as a batch; a bound on its memory divides
the batch into chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.batch_level import Batch, BatchLevel, unbatch
from simpleautodiff.arrays.batch.opaque import mark_structural_zeros
from simpleautodiff.arrays.shaping import concatenate_
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.arguments import Argnums, select
from simpleautodiff.transforms.complex_derivative import from_directions
from simpleautodiff.transforms.grad import named
from simpleautodiff.transforms.pickling import remembered
from simpleautodiff.transforms.recorded_call import Graph
from simpleautodiff.transforms.results import plain_results
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.pytree import flatten

F = Callable[..., Any]
CHUNK = 2**27  # bytes that a batch of sweeps may take for the largest of the values


@remembered
def jacobian(
    f: F,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    chunk_size: int | None = None,
    argnum: Argnums | None = None,
) -> F:
    """Return the function that gives all derivatives of all results of `f`.

    The Jacobian has the structure of the result, with the structure of the argument in each place.
    `f` runs once; then one sweep per input (`mode="forward"`) or per output (`mode="reverse"`)
    follows. `"auto"` takes the smaller number of sweeps. Sweeps for the elements of an array are
    done together, `chunk_size` at a time; without it, as many as keep the memory moderate.
    `argnum` is the same as `argnums`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacobian(lambda x: [x[0] * x[1], x[0] + x[1], x[1]])([2.0, 5.0])
    [[5.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode is 'auto', 'forward' or 'reverse'; got {mode!r}")
    argnums = argnums if argnum is None else argnum

    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        with engine.recording:
            graph = Graph(f, select(f, argnums, args, kwargs), has_aux)
        value, results = plain_results(graph.result, graph.tape, f)
        fewer_inputs = _count(graph.inputs) < _count(results)
        forward = mode == "forward" or (mode == "auto" and fewer_inputs)
        rows = (_rows_forward if forward else _rows_reverse)(graph, results, chunk_size)
        _, rebuild = flatten(value)
        matrix = rebuild(graph.arguments(row) for row in rows)
        return (matrix, graph.aux) if has_aux else matrix

    return named(jacobian_of_f, "jacobian", f)


def _count(numbers: list[Any]) -> int:
    """Count single numbers: one for each element of an array."""
    return sum(math.prod(shape_of(number)) for number in numbers)


def _rows_reverse(graph: Graph, results: list[Any], chunk_size: int | None) -> list[list[Any]]:
    """Sweep back for each element of each result."""
    rows = []
    for result in results:
        swept = _swept(graph, result, chunk_size, lambda unit, r=result: graph.slopes(r, unit))
        full = shape_of(result)
        pairs = zip(swept, graph.inputs, strict=True)
        rows.append([_shaped(part, (*full, *shape_of(node))) for part, node in pairs])
    return rows


def _rows_forward(graph: Graph, results: list[Any], chunk_size: int | None) -> list[list[Any]]:
    """Sweep forward for each element of each input."""
    columns = []
    for wrt in graph.inputs:
        swept = _swept(graph, wrt, chunk_size, lambda unit, w=wrt: _along(graph, w, unit, results))
        full = shape_of(wrt)
        if full:
            swept = [np.moveaxis(part, 0, -1) for part in swept]
        pairs = zip(swept, results, strict=True)
        columns.append([_shaped(part, (*shape_of(result), *full)) for part, result in pairs])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in results]


def _along(graph: Graph, wrt: Any, unit: Any, results: list[Any]) -> list[Any]:
    """Return the derivatives of all results in one element of an input."""

    def push(seed: Any) -> list[Any]:
        return graph.push([seed if node is wrt else None for node in graph.inputs], results)

    if not is_complex(plain(wrt)):
        return push(unit)
    both = zip(push(unit), push(unit * 1j), results, strict=True)
    return [from_directions(one, other, result, graph.f) for one, other, result in both]


def _swept(graph: Graph, of: Any, chunk_size: int | None, sweep: F) -> list[Any]:
    """Sweep for every element of `of`, in chunks; the elements are along the first axis."""
    if not shape_of(of):
        return sweep(1)  # type: ignore[no-any-return]
    parts = []
    for units in _units(plain(of), chunk_size or _chunk(graph)):
        level = BatchLevel(len(units))
        with level:
            swept = sweep(Batch(mark_structural_zeros(units, of), level))
        parts.append([unbatch(column, 0, level) for column in swept])
    return [
        concatenate_(column, 0) if len(column) > 1 else column[0]
        for column in zip(*parts, strict=True)
    ]


def _chunk(graph: Graph) -> int:
    """Return how many sweeps to do at a time."""
    largest = max(math.prod(shape_of(node)) for node in graph.tape)
    return max(1, CHUNK // (8 * max(largest, 1)))


def _units(like: Any, chunk: int) -> Iterator[Any]:
    """Yield the seeds that pick out each element, chunk by chunk: zeros with a single 1."""
    size = math.prod(like.shape)
    for start in range(0, max(size, 1), chunk):
        count = min(chunk, size - start)
        units = np.zeros((count, size), like.dtype)
        units[np.arange(count), start + np.arange(count)] = 1
        yield units.reshape(count, *like.shape)


def _shaped(part: Any, new: tuple[int, ...]) -> Any:
    """Return derivatives in the shape of the result, then of the input; an array of its own."""
    part = reshape(part, new) if shape_of(part) != new else part
    if isinstance(part, np.ndarray) and not part.flags.writeable:
        return part.copy()
    return part


@remembered
def jacfwd(
    f: F, argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> F:
    """Return the Jacobian of `f`, one forward sweep per input; see `jacobian`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacfwd(lambda x: (x, x * x))(3.0)
    (1.0, 6.0)
    """
    return jacobian(f, argnums, has_aux, mode="forward", chunk_size=chunk_size)


@remembered
def jacrev(
    f: F, argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> F:
    """Return the Jacobian of `f`, one reverse sweep per output; see `jacobian`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacrev(lambda x: x[0] * x[1])([2.0, 5.0])
    [5.0, 2.0]
    """
    return jacobian(f, argnums, has_aux, mode="reverse", chunk_size=chunk_size)


@remembered
def hessian(
    f: F,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    argnum: Argnums | None = None,
) -> F:
    """Return the function that gives all second derivatives of `f`: forward over reverse.

    `argnum` is the same as `argnums`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hessian(lambda x: x[0] ** 2 * x[1])([2.0, 5.0])
    [[10.0, 4.0], [4.0, 0.0]]
    """
    argnums = argnums if argnum is None else argnum
    slopes = jacrev(f, argnums, has_aux, chunk_size=chunk_size)
    return named(jacfwd(slopes, argnums, has_aux, chunk_size=chunk_size), "hessian", f)
