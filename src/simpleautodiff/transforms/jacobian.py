"""All derivatives of all results: Jacobians and Hessians, of numbers and of arrays.

The sweeps for all elements of an array are one batch of sweeps, in chunks that bound its memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.batch_level import Batch, BatchLevel, unbatch
from simpleautodiff.arrays.batch.opaque import mark_structural_zeros
from simpleautodiff.arrays.join_arrays import concatenate_
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import to_concrete, to_plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import Bundle, reshape, shape_of
from simpleautodiff.rules.branches import Masked
from simpleautodiff.transforms.arguments import Argnums, select
from simpleautodiff.transforms.black_box import black_box
from simpleautodiff.transforms.complex_derivative import combine_directions
from simpleautodiff.transforms.elimination import eliminate_vertices
from simpleautodiff.transforms.grad import name_after
from simpleautodiff.transforms.kinks import KINK_TAPES, note_sweep
from simpleautodiff.transforms.pickling import remember_recipe
from simpleautodiff.transforms.recorded_call import RecordedCall, as_number, copy_overlapping
from simpleautodiff.transforms.results import unwrap_results
from simpleautodiff.values.functions import is_complex

F = Callable[..., Any]
_MODES = ("auto", "forward", "reverse", "elimination", "differences", "complex")
CHUNK_BYTES = 2**23  # memory of a batch of sweeps for the largest value: it stays in the cache


@remember_recipe
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

    The Jacobian has the structure of the result, with each of its numbers replaced by the structure
    of the argument. `f` runs once; then one sweep per input (`mode="forward"`) or per output
    (`mode="reverse"`) follows. `"auto"` takes the smaller number of sweeps. Sweeps for the elements
    of an array are done together, `chunk_size` at a time; by default as many as fit into a moderate
    amount of memory.
    `argnum` is the same as `argnums`.

    `"elimination"` eliminates the vertices of the graph between inputs and results, those with the
    fewest paths first, in programs of single numbers; `eliminate` shows the steps.

    `"differences"` and `"complex"` look at the values of `f` alone, which may call `float` or
    compiled code: central differences, or the complex step; see `black_box`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.jacobian(lambda x: [x[0] * x[1], x[0] + x[1], x[1]])([2.0, 5.0])
    [[5.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    """
    if mode not in _MODES:
        raise ArgumentError(f"mode is {', '.join(map(repr, _MODES))}; got {mode!r}")
    argnums = argnums if argnum is None else argnum
    if mode in ("differences", "complex"):
        if has_aux:
            raise ArgumentError(f"mode={mode!r} takes the values of f; leave has_aux out")
        f = black_box(f, method=mode)

    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        with engine.recording() as use, use:
            recorded = RecordedCall(f, select(f, argnums, args, kwargs), has_aux)
        _, results, rebuild = unwrap_results(recorded.result, recorded.tape, f)
        fewer_inputs = _count_numbers(recorded.inputs) < _count_numbers(results)
        forward = mode == "forward" or (mode == "auto" and fewer_inputs)
        sweep = _sweep_forward if forward else _sweep_reverse
        parts = (_eliminate if mode == "elimination" else sweep)(recorded, results, chunk_size)
        if len(parts) > 1:  # two results may have one derivative
            numbers = iter(copy_overlapping([x for part in parts for x in part]))
            parts = [[next(numbers) for _ in part] for part in parts]
        matrix = rebuild([recorded.rebuild_arguments(part) for part in parts])
        return (matrix, recorded.aux) if has_aux else matrix

    return name_after(jacobian_of_f, "jacobian", f)


def _count_numbers(numbers: list[Any]) -> int:
    """Count the numbers in a list of numbers and arrays."""
    return sum(math.prod(shape_of(number)) for number in numbers)


def _sweep_reverse(
    recorded: RecordedCall, results: list[Any], chunk_size: int | None
) -> list[list[Any]]:
    """Sweep back for each element of each result; return a list per result, of one per input."""
    derivatives = []
    for result in results:
        swept = _sweep_elements(
            recorded, result, chunk_size, lambda unit, r=result: recorded.gradients(r, unit)
        )
        full = shape_of(result)
        pairs = zip(swept, recorded.inputs, strict=True)
        derivatives.append([_give_shape(part, (*full, *shape_of(node))) for part, node in pairs])
    return derivatives


def _sweep_forward(
    recorded: RecordedCall, results: list[Any], chunk_size: int | None
) -> list[list[Any]]:
    """Sweep forward for each element of each input; return a list per result, of one per input."""
    columns = []
    for wrt in recorded.inputs:
        swept = _sweep_elements(
            recorded, wrt, chunk_size, lambda unit, w=wrt: _push_element(recorded, w, unit, results)
        )
        full = shape_of(wrt)
        if full:
            swept = [np.moveaxis(part, 0, -1) for part in swept]
        pairs = zip(swept, results, strict=True)
        columns.append([_give_shape(part, (*shape_of(result), *full)) for part, result in pairs])
    return [list(part) for part in zip(*columns, strict=True)] if columns else [[] for _ in results]


def _eliminate(recorded: RecordedCall, results: list[Any], _: int | None) -> list[list[Any]]:
    """Eliminate the vertices between inputs and results; return a list per result."""
    if KINK_TAPES:
        note_sweep(recorded.tape, [result for result in results if recorded.has_recorded(result)])
    rows = eliminate_vertices(recorded.tape, recorded.inputs, results)
    return [
        [as_number(each, node.value) for each, node in zip(row, recorded.inputs, strict=True)]
        for row in rows
    ]


def _push_element(recorded: RecordedCall, wrt: Any, unit: Any, results: list[Any]) -> list[Any]:
    """Return the derivatives of all results with respect to one element of an input."""

    def push(seed: Any) -> list[Any]:
        return recorded.push([seed if node is wrt else None for node in recorded.inputs], results)

    if not is_complex(to_plain(wrt)):
        return push(unit)
    both = zip(push(unit), push(unit * 1j), results, strict=True)
    return [combine_directions(one, other, result, recorded.f) for one, other, result in both]


def _sweep_elements(recorded: RecordedCall, of: Any, chunk_size: int | None, sweep: F) -> list[Any]:
    """Sweep for every element of `of`, in chunks; the first axis of the result is the element."""
    if not shape_of(of):
        return sweep(1)  # type: ignore[no-any-return]
    seeds = _make_seeds(to_plain(of), chunk_size or _choose_chunk_size(recorded))
    whole = any(type(node.value) is Bundle for node in recorded.tape)
    parts = (_sweep_units(units, of, sweep, whole) for units in seeds)
    return _join_chunks(parts, math.prod(shape_of(of)))


def _join_chunks(chunks: Iterator[list[Any]], count: int) -> list[Any]:
    """Join the derivatives of each chunk as it is swept, so that no two copies are in memory."""
    first = next(chunks)
    if not first or len(first[0]) == count:
        return first
    if any(type(part) is not np.ndarray for part in first):
        return [concatenate_(column, 0) for column in zip(first, *chunks, strict=True)]
    joined = [np.empty((count, *part.shape[1:]), part.dtype) for part in first]
    start = 0
    for parts in itertools.chain([first], chunks):
        end = start + len(parts[0])
        for whole, part in zip(joined, parts, strict=True):
            np.copyto(whole[start:end], part, casting="no")
        start = end
    return joined


def _sweep_units(units: Any, of: Any, sweep: F, whole: bool) -> list[Any]:
    """Sweep for several elements at a time; `whole` says that the tape holds calls of functions.

    The zeros of the seeds are structural. That matters if some slope is infinite, and only then
    is it worth its time: 0 × inf is nan, so a result without a nan is right. If the sweeps are
    recorded or differentiated in turn, nothing is known of the slopes that are met then.
    """
    level, zeros = BatchLevel(len(units)), mark_structural_zeros(units, of)
    used_again = zeros is not units or to_plain(of) is not getattr(of, "value", of)
    with level:
        seed = Batch(zeros, level)
        if not (whole or used_again):
            with np.errstate(invalid="ignore"):
                swept = sweep(seed)
        if whole or used_again or any(map(_has_nan, swept)):
            swept = sweep(Masked(seed, Batch(units != 0, level)))
    return [unbatch(column, 0, level) for column in swept]


def _has_nan(x: Any) -> bool:
    array = np.asarray(to_concrete(x))
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _choose_chunk_size(recorded: RecordedCall) -> int:
    """Return how many sweeps to do at a time."""
    largest = max(math.prod(shape_of(node)) for node in recorded.tape)
    return max(1, CHUNK_BYTES // (8 * max(largest, 1)))


def _make_seeds(like: Any, chunk: int) -> Iterator[Any]:
    """Yield the seeds that select each element, zeros with a single 1, chunk by chunk."""
    size = math.prod(like.shape)
    for start in range(0, max(size, 1), chunk):
        count = min(chunk, size - start)
        units = np.zeros((count, size), like.dtype)
        units[np.arange(count), start + np.arange(count)] = 1
        yield units.reshape(count, *like.shape)


def _give_shape(part: Any, full: tuple[int, ...]) -> Any:
    """Return derivatives in the given shape, as an array that can be written to."""
    part = reshape(part, full) if shape_of(part) != full else part
    if isinstance(part, np.ndarray) and not part.flags.writeable:
        return part.copy()
    return part


@remember_recipe
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


@remember_recipe
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


@remember_recipe
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
    gradient = jacrev(f, argnums, has_aux, chunk_size=chunk_size)
    return name_after(jacfwd(gradient, argnums, has_aux, chunk_size=chunk_size), "hessian", f)
