"""Nested structures of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.pytree import flatten as leaves_of, parts_of

F = Callable[..., Any]


def flatten(value: Any) -> tuple[Any, F]:
    """Return the elements of a nested structure as one vector, and the inverse function.

    Those of a dict stand in the order of its sorted keys, as in HIPS autograd.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.misc.flatten import flatten
    >>> vector, unflatten = flatten({"w": np.eye(2), "b": 3.0})
    >>> vector
    array([3., 1., 0., 0., 1.])
    >>> unflatten(2 * vector)["w"]
    array([[2., 0.],
           [0., 2.]])
    """
    unsorted, rebuild = leaves_of(value)
    order = list(_places(rebuild(iter(range(len(unsorted))))))
    leaves = [unsorted[place] for place in order]
    shapes = [shape_of(leaf) for leaf in leaves]
    ends = np.cumsum([0, *[math.prod(shape) for shape in shapes]])

    def unflatten(vector: Any) -> Any:
        parts = [vector[ends[i] : ends[i + 1]] for i in range(len(shapes))]
        single = [p[0] if not s else reshape(p, s) for p, s in zip(parts, shapes, strict=True)]
        by_place = dict(zip(order, single, strict=True))
        return rebuild(iter([by_place[place] for place in range(len(order))]))

    flat = [
        reshape(as_array(leaf), (-1,)) if s else reshape(leaf, (1,))
        for leaf, s in zip(leaves, shapes, strict=True)
    ]
    return (concatenate(flat) if flat else np.zeros(0)), unflatten


def _places(tree: Any) -> Iterator[int]:
    """Yield the leaves of a structure of numbers, those of dicts by their sorted keys."""
    parts = parts_of(tree)
    if parts is None:
        yield tree
        return
    inside = [part for _, part in parts]
    if isinstance(tree, dict):
        try:
            inside = [tree[key] for key in sorted(tree)]
        except TypeError as error:
            raise ArgumentError(
                f"flatten orders the elements of a dict by its keys: {error}. Use keys of one kind"
            ) from error
    for part in inside:
        yield from _places(part)


def flatten_func(func: F, example: Any) -> tuple[F, F, Any]:
    """Return `func` as a function of a vector, `unflatten`, and the example as a vector.

    Examples
    --------
    >>> from simpleautodiff.misc.flatten import flatten_func
    >>> of_vector, unflatten, start = flatten_func(lambda p: {"a": 2 * p["a"]}, {"a": 3.0})
    >>> of_vector(start)
    array([6.])
    """
    start, unflatten = flatten(example)

    def of_vector(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return flatten(func(unflatten(vector), *args, **kwargs))[0]

    return of_vector, unflatten, start
