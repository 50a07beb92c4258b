"""Handle the inputs of solvers: find nodes among them, and check functions."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import ArgumentError, TraceError, cite_line
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.arguments import check_function, name_of
from simpleautodiff.values.functions import optional
from simpleautodiff.values.pytree import flatten, map_leaves

F = Callable[..., Any]


def scipy_module(name: str) -> Any:
    """Import a part of SciPy on first use."""
    optional("scipy", "simpleautodiff.plug")
    return importlib.import_module(f"scipy.{name}")


def plain_solver(module: str, name: str) -> F:
    """Return a solver of SciPy that takes plain numbers alone."""
    solver: F = getattr(scipy_module(module), name)
    while hasattr(solver, "plain"):  # a reloaded package has patched it again
        solver = solver.plain
    return solver


def has_nodes(tree: Any) -> bool:
    """Tell whether a node is among the leaves."""
    return any(isinstance(take_current(leaf), Traced) for leaf in flatten(tree)[0])


def plain_tree(tree: Any) -> Any:
    """Replace the nodes of a structure by their innermost values."""
    return map_leaves(lambda leaf: to_plain(take_current(leaf)), tree)


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return `args` as a tuple, as SciPy does: a single argument needs none."""
    if args is None:
        return ()
    return args if isinstance(args, tuple) else (args,)


def solve_each(solve: F, *args: Any) -> Any:
    """Solve a problem of plain numbers; for batches, one per example."""
    levels = [leaf.level for leaf in flatten(args)[0] if isinstance(leaf, Traced)]
    if not levels:
        return solve(*args)
    level: Any = max(levels, key=lambda level: level.number)
    if not hasattr(level, "one_by_one"):
        raise TraceError(
            "a solver of SciPy runs at every call, as its steps depend on the numbers; jit what it "
            f"calls, jit(f), and differentiate with grad{cite_line()}"
        )
    return level.one_by_one(functools.partial(solve_each, solve), args)


def as_vector(numbers: Any) -> Any:
    """Return a list of numbers and nodes, an array, or one number, as an array or a node."""
    numbers = map_leaves(take_current, numbers)
    if isinstance(numbers, Traced):
        return numbers
    if isinstance(numbers, (list, tuple)) and has_nodes(numbers):
        return np.stack([as_vector(number) for number in numbers])
    return np.asarray(numbers)


def check_shape(f: F, shape: tuple[int, ...], meaning: str) -> F:
    """Return `f` with a check that its result has a given shape."""
    check_function(f)

    def with_shape(*args: Any) -> Any:
        result = as_vector(f(*args))
        if shape_of(result) == shape:
            return result
        if math.prod(shape_of(result)) == math.prod(shape) == 1:
            return reshape(result, shape)
        raise ArgumentError(
            f"{name_of(f)} returned an array of shape {shape_of(result)}, but {shape} is needed: "
            f"{meaning}"
        )

    return with_shape


_BY_ARGS = "pass what it depends on as an argument, by args=(...); it comes behind the others"


def require_plain(f: F, way_out: str = _BY_ARGS) -> F:
    """Return `f` with a check that its result is plain: it must not use other nodes."""
    check_function(f)

    def plain_only(*args: Any, **named: Any) -> Any:
        result = f(*args, **named)
        if isinstance(result, np.ndarray) or not has_nodes(result):
            return result
        raise ArgumentError(
            f"{name_of(f)} gives a node where a plain number is needed, so that its derivative "
            f"would be lost; {way_out}{cite_line()}"
        )

    return plain_only
