"""Check what a function returned to a transformation, and take the nodes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simpleautodiff.core.level import Level, Traced, plain
from simpleautodiff.core.node import Node
from simpleautodiff.errors import ResultError, TraceError
from simpleautodiff.rules.array.series_limits import take_limit
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.values.functions import check_value, shape
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import flatten, flatten_numbers, is_not_number, paths


def check_number(result: Any, level: Level, f: Callable[..., Any]) -> Any:
    """Return the result of `f` if it is one number; raise a helpful error if it is not."""
    if type(result) is Node and type(result.value) is float and result.level is level:
        return result
    full = shape(plain(result))
    if full or isinstance(result, (list, tuple, dict)):
        what = f"n array of shape {full}" if full else f" {type(result).__name__} of {len(result)}"
        raise ResultError(
            f"grad needs one number, but {name_of(f)} returned a{what}. "
            "Use jacobian for all derivatives of all results, or return their sum."
        )
    return _check_leaf(result, "", level, f)


def unwrap_results(result: Any, level: Level, f: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """Return the result of `f` without nodes, and its leaves as they were recorded."""
    leaves = flatten_numbers((result,))[0]
    if not leaves:
        raise ResultError(f"{name_of(f)} returned {result!r}; did it forget to return its result?")
    for leaf, path in zip(flatten(result)[0], paths(result), strict=True):
        if not is_not_number(leaf) or leaf is result:
            _check_leaf(leaf, path, level, f)
    values = [
        take_limit(leaf.value) if isinstance(leaf, Traced) and leaf.level is level else leaf
        for leaf in leaves
    ]
    values = [
        value.copy() if isinstance(value, np.ndarray) else unwrap_foreign(value) for value in values
    ]
    return rebuild_like(result, values), leaves


def rebuild_like(result: Any, numbers: Iterable[Any]) -> Any:
    """Put numbers into the structure of a result; leaves that are not numbers stay."""
    return flatten_numbers((result,))[1](iter(numbers))[0]


def check_open(number: Any, what: str) -> Any:
    """Return `number`; refuse a node of a derivative that has already been computed."""
    if isinstance(number, Traced) and not number.level.open:
        raise TraceError(
            f"{what} contains {number!r}, a node of another derivative that has already been "
            "computed. Do not keep nodes in variables outside the function; return them with "
            "has_aux=True instead."
        )
    return number


def _has_node_inside(leaf: Any, depth: int = 3) -> bool:
    """Tell whether an object, or one that it refers to, has a node as an attribute."""
    if isinstance(leaf, np.ndarray | float | int | str):
        return False
    names = [name for base in type(leaf).__mro__ for name in vars(base).get("__slots__", ())]
    known = (getattr(leaf, name, None) for name in names if isinstance(name, str))
    parts = [*getattr(leaf, "__dict__", {}).values(), *known]
    parts += leaf.values() if isinstance(leaf, dict) else ()
    if any(isinstance(part, Traced) for part in parts):
        return True
    return depth > 1 and any(_has_node_inside(part, depth - 1) for part in parts)


def _check_leaf(leaf: Any, path: str, level: Level, f: Callable[..., Any]) -> Any:
    if isinstance(leaf, Traced):
        inner = leaf.value if leaf.level is level else leaf
        if isinstance(inner, Traced):
            check_open(inner, f"the result{path} of {name_of(f)}")
        return leaf
    what = f"the result{path} of {name_of(f)}"
    if isinstance(leaf, (bool, np.bool_)):
        raise ResultError(f"{what} is {leaf}; a comparison has no derivative")
    if _has_node_inside(leaf):
        raise ResultError(
            f"{what} is a {type(leaf).__name__} with a node inside: its arithmetic took the node "
            "for a number. Let its methods return NotImplemented for what they do not know."
        )
    try:
        return check_value(leaf, what)
    except TypeError as error:
        raise ResultError(str(error)) from None
