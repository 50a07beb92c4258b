"""Seeds of derivatives: each has the structure, shapes and types of what it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ArgumentError, short_repr
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.functions import check_value, is_complex
from simpleautodiff.values.other_arrays import is_foreign, wrap_foreign
from simpleautodiff.values.pytree import flatten, is_not_number, matching_leaves

_FLOAT = np.dtype(float)


def match_leaves(tree: Any, like: Any, what: str) -> list[Any]:
    """Return the leaves of a seed; refuse one without the structure and the shapes of `like`."""
    if type(tree) is type(like) is tuple and len(tree) == len(like) and all(map(_fits, tree, like)):
        return list(tree)
    pairs = zip(matching_leaves(tree, like, what), flatten(like)[0], strict=True)
    return [_match_leaf(leaf, model, what) for leaf, model in pairs if not is_not_number(model)]


def _fits(seed: Any, like: Any) -> bool:
    """Tell whether a seed and what it belongs to are two floats, or arrays of floats of a shape."""
    if type(seed) is np.ndarray is type(like):
        return seed.dtype is _FLOAT is like.dtype and seed.shape == like.shape
    return type(seed) is float is type(like)


def _match_leaf(leaf: Any, model: Any, what: str) -> Any:
    """Return one number of a seed; refuse one without the shape of what it belongs to."""
    leaf = check_value(leaf, what)
    model = wrap_foreign(model) if is_foreign(model) else model
    if shape_of(leaf) != shape_of(model):
        raise ArgumentError(
            f"{what} must have the shape {shape_of(model)}, but has {shape_of(leaf)}"
        )
    return _match_type(leaf, model, what)


def _match_type(number: Any, like: Any, what: str) -> Any:
    """Convert one number of a seed to the type of the value it belongs to; a real one is real."""
    inner, model = to_plain(number), to_plain(like)
    if is_complex(inner) and not is_complex(model):
        raise ArgumentError(
            f"{what}: {short_repr(number)} is complex, and what it belongs to, {short_repr(like)}, "
            "is real. Pass a real number, or make the other one complex: x + 0j"
        )
    if isinstance(number, (np.number, bool)):
        dtype = getattr(model, "dtype", None)
        kind = dtype.type if isinstance(dtype, np.dtype) else type(model)
        return kind(number) if issubclass(kind, (float, complex, np.inexact)) else number
    return number + 0j if is_complex(model) and not is_complex(inner) else number


def check_tuples(name: str, primals: Any, tangents: Any) -> None:
    """Refuse arguments and tangents that are not tuples."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError(
            f"{name} takes tuples: {name}(f, (x, y), (dx, dy)); got primals {primals!r} "
            f"and tangents {tangents!r}"
        )


def copy_shared(derivatives: Sequence[Any], given: Sequence[Any] = ()) -> list[Any]:
    """Copy each array that is a view, is one of the `given` arrays, or has occurred before."""
    seen, own = {id(x) for x in given}, []
    for x in derivatives:
        if isinstance(x, np.ndarray):
            x = x.copy() if x.base is not None or id(x) in seen else x
            seen.add(id(x))
        own.append(x)
    return own
