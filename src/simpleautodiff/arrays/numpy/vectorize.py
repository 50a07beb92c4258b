"""np.vectorize on nodes, or of a function that computes with nodes: a call for every element."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.elements import join_results
from simpleautodiff.arrays.registry import as_array
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.shapes import broadcast_to, shape_of


def call_vectorized(vectorized: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function for every element, or for every part of a signature: np.vectorize."""
    call, given = _choose_arguments(vectorized, args, kwargs)
    arrays = [as_array(take_current(x)) for x in given]
    inner = _count_axes(vectorized.signature) or [0] * len(arrays)
    outer = [shape_of(x)[: len(shape_of(x)) - n] for x, n in zip(arrays, inner, strict=True)]
    shape = np.broadcast_shapes(*outer)
    parts = [_read_parts(x, n, shape) for x, n in zip(arrays, inner, strict=True)]
    results = [call(*(part(index) for part in parts)) for index in np.ndindex(*shape)]
    otypes = list(vectorized.otypes or "")
    if not results and len(otypes) == 1:
        return np.zeros(shape, otypes[0])
    if not results:
        raise RuleError(f"np.vectorize of an empty array has no element to go by{cite_line()}")
    name = "np.vectorize"
    if not isinstance(results[0], tuple):
        return join_results(results, shape, name, *otypes)
    types: list[Any] = otypes or [None] * len(results[0])
    columns = zip(zip(*results, strict=True), types, strict=True)
    return tuple(join_results(column, shape, name, dtype) for column, dtype in columns)


def _choose_arguments(
    vectorized: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function of the arguments that are not excluded, and these."""
    places: list[Any] = [k for k in range(len(args)) if k not in vectorized.excluded]
    names = [name for name in kwargs if name not in vectorized.excluded]

    def call(*parts: Any) -> Any:
        all_args, named = list(args), dict(kwargs)
        for place, part in zip(places, parts, strict=False):
            all_args[place] = part
        named |= zip(names, parts[len(places) :], strict=True)
        return vectorized.pyfunc(*all_args, **named)

    return call, [*(args[place] for place in places), *(kwargs[name] for name in names)]


def _count_axes(signature: Any) -> list[int]:
    """Return how many axes of each argument belong to one call: [2, 1] for "(m,n),(n)->(m)"."""
    if signature is None:
        return []
    inputs = str(signature).partition("->")[0]
    return [len(re.findall(r"\w+", part)) for part in re.findall(r"\(([^)]*)\)", inputs)]


def _read_parts(x: Any, inner: int, shape: tuple[int, ...]) -> Callable[[tuple[int, ...]], Any]:
    """Return a function that reads what one call gets; plain numbers are Python's, as NumPy's."""
    whole = (*shape, *shape_of(x)[len(shape_of(x)) - inner :])
    if isinstance(x, Traced):
        x = broadcast_to(x, whole)
        return lambda index: getitem(x, index) if index else x[()]
    plain = np.broadcast_to(x if inner else np.asarray(x, object), whole)
    return lambda index: plain[index]
