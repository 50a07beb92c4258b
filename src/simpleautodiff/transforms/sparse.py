"""Sparse Jacobians and Hessians: find the pattern, colour it, and sweep once per colour.

The pattern of a program is found along its tape: each step has a set of inputs for every element, a
row of a sparse matrix. Steps on single numbers join the sets of their arguments element by element;
the local derivatives of the others are linear maps, which are applied to one element at a time.

Columns that have no row in common are swept together: they get one *colour*, and one sweep finds
all numbers of a colour. A symmetric matrix needs fewer colours still (a star colouring), as each
number may be read from either side of the diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear, filled
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.branches import masked
from simpleautodiff.transforms.arguments import Argnums, name_of, select
from simpleautodiff.transforms.grad import grad, name_after
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.transforms.results import unwrap_results
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.libraries import optional

F = Callable[..., Any]


def sparsity(f: F, argnums: Argnums = 0) -> F:
    """Make the function that finds which results of `f` depend on which of its inputs.

    It returns a sparse matrix of bools (SciPy's `csr_array`), a row for each number of the result
    and a column for each of the arguments. A dependence whose slope happens to be 0 counts.
    The pattern is that of the path that `f` takes; zeros in matrices it multiplies by are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> print(ad.sparsity(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int))
    [[1 1 0 0]
     [0 1 1 0]
     [0 0 1 1]]
    """

    def pattern_of_f(*args: Any, **kwargs: Any) -> Any:
        recorded, results = _record(f, argnums, args, kwargs)
        return _find_pattern(recorded, results)

    return name_after(pattern_of_f, "sparsity", f)


def sparse_jacobian(f: F, argnums: Argnums = 0, *, pattern: Any = None) -> F:
    """Make the function that computes the Jacobian of `f` as a sparse matrix, by a few sweeps.

    Its rows are the numbers of the result and its columns those of the arguments, in their order.
    The pattern is found at each call unless it is given, as `sparsity(f)(x)`, which has to hold at
    every point that is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> jacobian = ad.sparse_jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    >>> print(jacobian.toarray())
    [[2. 1. 0.]
     [0. 3. 2.]]
    """

    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        recorded, results = _record(f, argnums, args, kwargs)
        known = _find_pattern(recorded, results) if pattern is None else pattern.tocsr()
        columns, rows = color_columns(known), color_columns(known.T.tocsr())
        if max(columns, default=0) <= max(rows, default=0):
            swept = _push_colors(recorded, results, columns)
            return _read_entries(known, lambda i, j: swept[i, columns[j]])
        swept = _pull_colors(recorded, results, rows)
        return _read_entries(known, lambda i, j: swept[j, rows[i]])

    return name_after(jacobian_of_f, "sparse_jacobian", f)


def sparse_hessian(f: F, argnums: int = 0, *, pattern: Any = None) -> F:
    """Make the function that computes the Hessian of `f` as a sparse matrix, by a few sweeps.

    The pattern is that of the gradient, `sparsity(grad(f))(x)`, found at each call unless given.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> f = lambda x: np.sum(x[1:] * x[:-1] ** 2)
    >>> hessian = ad.sparse_hessian(f)(np.array([1.0, 2.0, 3.0]))
    >>> print(hessian.toarray())
    [[4. 2. 0.]
     [2. 6. 4.]
     [0. 4. 0.]]
    """
    gradient = grad(f, argnums)

    def hessian_of_f(*args: Any, **kwargs: Any) -> Any:
        recorded, results = _record(gradient, argnums, args, kwargs)
        known = _find_pattern(recorded, results) if pattern is None else pattern
        known = (known + known.T).tocsr()
        colors = color_symmetric(known)
        swept = _push_colors(recorded, results, colors)
        neighbours = _find_neighbours(known)
        counts = [np.bincount(colors[row], minlength=1) for row in neighbours]

        def read(i: Any, j: Any) -> Any:
            alone = np.array([counts[a][colors[b]] == 1 for a, b in zip(i, j, strict=True)], bool)
            return np.where(alone, swept[i, colors[j]], swept[j, colors[i]])

        return _read_entries(known, read)

    return name_after(hessian_of_f, "sparse_hessian", f)


def _record(f: F, argnums: Argnums, args: Any, kwargs: Any) -> tuple[RecordedCall, list[Any]]:
    """Run a function; return its recorded call and the leaves of its result."""
    tape = engine.new_tape()
    tape.every_step = True  # as each tells which numbers depend on which
    with engine.recording() as use, use:
        recorded = RecordedCall(f, select(f, argnums, args, kwargs), tape=tape)
    results = unwrap_results(recorded.result, recorded.tape, f)[1]
    if any([is_complex(to_plain(x)) for x in (*recorded.inputs, *results)]):
        raise ArgumentError(
            f"{name_of(f)} has complex arguments or results; sparse Jacobians are of real numbers: "
            "differentiate with respect to real and imaginary parts"
        )
    return recorded, results


# Patterns. ----------------------------------------------------------------------------------------


def _find_pattern(recorded: RecordedCall, results: Sequence[Any]) -> Any:
    """Return which numbers of the results depend on which numbers of the inputs."""
    sparse = optional("scipy.sparse", "a sparse matrix", "scipy")
    sizes = [_count_elements(node) for node in recorded.inputs]
    total, starts = sum(sizes), np.cumsum([0, *sizes])
    every = sparse.eye_array(total, dtype=bool, format="csr")
    sets: dict[int, Any] = {
        node.index: every[start : start + size]
        for node, start, size in zip(recorded.inputs, starts[:-1], sizes, strict=True)
    }
    for node in recorded.tape:
        for k, arg in enumerate(node.args):
            if type(arg) is TapeNode and arg.index in sets:
                found = _carry_sets(node, k, arg, sets[arg.index])
                if found is not None:
                    sets[node.index] = found + sets[node.index] if node.index in sets else found
    nothing = [sparse.csr_array((_count_elements(result), total), dtype=bool) for result in results]
    parts = [
        sets.get(result.index, none) if recorded.has_recorded(result) else none
        for result, none in zip(results, nothing, strict=True)
    ]
    return sparse.vstack(parts, format="csr").astype(bool)


def _carry_sets(node: Node, k: int, arg: Node, sets: Any) -> Any:
    """Return the inputs on which each element of a step depends through one argument."""
    primitive = node.primitive
    if primitive is None or primitive.partials[k] is ZERO:
        return None
    derivative = node.local_derivative(k) if primitive.arrays else 1
    if derivative is ZERO:
        return None
    if isinstance(derivative, Linear):
        return _find_map(derivative, shape_of(arg), shape_of(node), to_plain(node.value)) @ sets
    full, own = shape_of(node), shape_of(arg)
    if full == own:
        return sets
    places = np.arange(_count_elements(arg)).reshape(own)
    return sets[np.broadcast_to(places, full).ravel()]


def _find_map(derivative: Linear, before: Any, after: Any, like: Any) -> Any:
    """Return which elements of its argument each element of a linear map's result depends on."""
    sparse = optional("scipy.sparse", "a sparse matrix", "scipy")
    m, n = math.prod(after), math.prod(before)
    dtype = np.result_type(like)
    if derivative.moves:
        places = np.arange(1.0, n + 1).reshape(before)
        found, squares = [np.ravel(filled(derivative.push(x))) for x in (places, places**2)]
        if np.all(found**2 == squares):  # each element of the result is an element of the argument
            found = found.astype(int)
            rows = np.flatnonzero(found)
            ones = np.ones(len(rows), bool)
            return sparse.csr_array((ones, (rows, found[rows] - 1)), (m, n))
    carry, count, size = (derivative.push, n, before) if n < m else (derivative.pull, m, after)
    lines = []
    for k in range(count):
        unit = np.zeros(count, dtype)
        unit[k] = 1
        with np.errstate(all="ignore"):
            line = np.ravel(filled(carry(unit.reshape(size) if size else unit[0])))
        lines.append(sparse.csr_array((line != 0)[None]))
    found = sparse.vstack(lines, format="csr")
    return found.T.tocsr() if n < m else found


def _count_elements(x: Any) -> int:
    return math.prod(shape_of(x))


# Colours. -----------------------------------------------------------------------------------------


def color_columns(pattern: Any) -> Any:
    """Return a colour for each column, such that columns of one colour have no row in common."""
    by_column = pattern.T.tocsr()
    colors = np.zeros(pattern.shape[1], int)
    used: list[set[int]] = [set() for _ in range(pattern.shape[0])]  # in each row
    for j in np.argsort(-np.diff(by_column.indptr), kind="stable"):
        rows = by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]]
        taken = set().union(*[used[i] for i in rows])
        colors[j] = next(c for c in range(len(taken) + 1) if c not in taken)
        for i in rows:
            used[i].add(int(colors[j]))
    return colors


def color_symmetric(pattern: Any) -> Any:
    """Return a star colouring: neighbours differ, and every path of four has three colours.

    So each number of a symmetric matrix is alone with its colour in its row or in its column.
    """
    neighbours = _find_neighbours(pattern)
    colors = np.full(pattern.shape[0], -1)

    def repeats(w: int, beside: int) -> bool:
        """Tell whether another neighbour of `beside` has the colour of w."""
        return any([colors[u] == colors[w] for u in neighbours[beside] if u not in (w, beside)])

    for v, near in enumerate(neighbours):
        taken = {colors[w] for w in near if w != v}
        for w in near[near != v]:
            for x in neighbours[w]:
                if x not in (v, w) and (colors[w] < 0 or repeats(w, x) or repeats(w, v)):
                    taken.add(colors[x])  # the end of a path v - w - x
        colors[v] = next(c for c in range(len(taken) + 1) if c not in taken)
    return colors


def _find_neighbours(pattern: Any) -> list[Any]:
    """Return the columns of the nonzeros of each row, including the diagonal."""
    rows = [
        pattern.indices[start:end]
        for start, end in zip(pattern.indptr[:-1], pattern.indptr[1:], strict=True)
    ]
    return [np.union1d(row, [i]).astype(int) for i, row in enumerate(rows)]


# Sweeps. ------------------------------------------------------------------------------------------


def _push_colors(recorded: RecordedCall, results: Sequence[Any], colors: Any) -> Any:
    """Sweep forward once for each colour of the inputs; return a column for each."""
    return _sweep_colors(colors, recorded.inputs, lambda seeds: recorded.push(seeds, list(results)))


def _pull_colors(recorded: RecordedCall, results: Sequence[Any], colors: Any) -> Any:
    """Sweep back once for each colour of the results; return a column for each."""
    return _sweep_colors(
        colors,
        results,
        lambda seeds: recorded.pull(list(zip(results, seeds, strict=True))),
    )


def _sweep_colors(colors: Any, of: Sequence[Any], sweep: F) -> Any:
    """Sweep once for each colour of the numbers `of`; return a column for each.

    The zeros of a seed are structural, which matters where a slope is infinite.
    """
    columns = []
    for color in range(max(colors, default=-1) + 1):
        seeds = _split(colors == color, of)
        columns.append(_join(sweep([masked(seed, seed != 0) for seed in seeds])))
    return np.stack(columns, 1) if columns else np.zeros((0, 0))


def _split(chosen: Any, like: Sequence[Any]) -> list[Any]:
    """Return the mask `chosen` as ones and zeros, in the shapes of some arrays."""
    ends = np.cumsum([_count_elements(x) for x in like])[:-1]
    parts = zip(np.split(chosen, ends), like, strict=True)
    return [part.reshape(shape_of(x)).astype(np.result_type(to_plain(x)))[()] for part, x in parts]


def _join(parts: Sequence[Any]) -> Any:
    return np.concatenate([np.ravel(part) for part in parts])


def _read_entries(pattern: Any, read: F) -> Any:
    """Return a sparse matrix of a pattern; `read` gives its numbers by row and column."""
    places = pattern.tocoo()
    sparse = optional("scipy.sparse", "a sparse matrix", "scipy")
    i, j = places.row, places.col
    return sparse.csr_array((read(i, j), (i, j)), pattern.shape)
