"""Nested structures of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.pytree import flatten as leaves_of

F = Callable[..., Any]


def flatten(value: Any) -> tuple[Any, F]:
    """Return the elements of a nested structure as one vector, and the inverse function.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.misc.flatten import flatten
    >>> vector, unflatten = flatten({"w": np.eye(2), "b": 3.0})
    >>> vector
    array([1., 0., 0., 1., 3.])
    >>> unflatten(2 * vector)["w"]
    array([[2., 0.],
           [0., 2.]])
    """
    leaves, rebuild = leaves_of(value)
    shapes = [shape_of(leaf) for leaf in leaves]
    ends = np.cumsum([0, *[math.prod(shape) for shape in shapes]])

    def unflatten(vector: Any) -> Any:
        parts = [vector[ends[i] : ends[i + 1]] for i in range(len(shapes))]
        single = [p[0] if not s else reshape(p, s) for p, s in zip(parts, shapes, strict=True)]
        return rebuild(iter(single))

    flat = [
        reshape(as_array(leaf), (-1,)) if s else reshape(leaf, (1,))
        for leaf, s in zip(leaves, shapes, strict=True)
    ]
    return (concatenate(flat) if flat else np.zeros(0)), unflatten


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
