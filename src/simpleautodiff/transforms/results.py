"""Check what a function returned to a transformation, and take the nodes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from simpleautodiff.core.level import Level, Traced, to_plain
from simpleautodiff.core.node import TapeNode
from simpleautodiff.errors import ResultError, TraceError
from simpleautodiff.rules.array.series_limits import take_limit
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.values.functions import check_value, shape
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import flatten, flatten_numbers, paths

_RESULT = "the result"
# Called with the derivatives that a transformation has found, before anybody uses them.
ON_DERIVATIVES: ContextVar[Callable[[list[Any]], None] | None] = ContextVar(
    "ON_DERIVATIVES", default=None
)

REAL_NUMBERS = {float, np.float32, np.float64}


def tell_found(derivatives: list[Any]) -> None:
    """Tell which derivatives a transformation has found, if somebody wants to know."""
    tell = ON_DERIVATIVES.get()
    if tell is not None:
        tell(derivatives)


def check_number(result: Any, level: Level, f: Callable[..., Any]) -> Any:
    """Return the result of `f` if it is one number; raise a helpful error if it is not."""
    if type(result) is TapeNode and result.level is level and type(result.value) in REAL_NUMBERS:
        return result
    full = shape(to_plain(result))
    if full or isinstance(result, (list, tuple, dict)):
        what = f"n array of shape {full}" if full else f" {type(result).__name__} of {len(result)}"
        raise ResultError(
            f"grad needs one number, but {name_of(f)} returned a{what}. "
            "Use jacobian for all derivatives of all results, or return their sum."
        )
    return _check_leaf(result, result, level, f)


def unwrap_results(
    result: Any, level: Level, f: Callable[..., Any]
) -> tuple[Any, list[Any], Callable[[Iterable[Any]], Any]]:
    """Return the result of `f` without nodes, its leaves as recorded, and a way to rebuild it.

    The third puts numbers into the structure of the result; leaves that are not numbers stay.
    """
    leaves, rebuild = flatten_numbers((result,))
    if not leaves:
        raise ResultError(f"{name_of(f)} returned {result!r}; did it forget to return its result?")
    values = [_unwrap_leaf(leaf, result, level, f) for leaf in leaves]

    def rebuild_result(numbers: Iterable[Any]) -> Any:
        return rebuild(iter(numbers))[0]

    return rebuild_result(values), leaves, rebuild_result


def _unwrap_leaf(leaf: Any, result: Any, level: Level, f: Callable[..., Any]) -> Any:
    """Return the value of a leaf of a result; refuse one that is no number, or of another call."""
    own = isinstance(leaf, Traced) and leaf.level is level
    if not own or isinstance(leaf.value, Traced):
        _check_leaf(leaf, result, level, f)
    value = take_limit(leaf.value) if own else leaf
    return value.copy() if isinstance(value, np.ndarray) else unwrap_foreign(value)


def _describe(leaf: Any, result: Any, f: Callable[..., Any]) -> str:
    """Return the words for a leaf of a result of `f`, with its path: the result['w'][0] of f."""
    leaves = zip(flatten(result)[0], paths(result), strict=True)
    path = next((path for other, path in leaves if other is leaf), "")  # None has no leaves
    return f"{_RESULT}{path} of {name_of(f)}"


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


def _check_leaf(leaf: Any, result: Any, level: Level, f: Callable[..., Any]) -> Any:
    if isinstance(leaf, Traced):
        inner = leaf.value if leaf.level is level else leaf
        if isinstance(inner, Traced) and not inner.level.open:
            check_open(inner, _describe(leaf, result, f))
        return leaf
    if isinstance(leaf, (bool, np.bool_)):
        what = _describe(leaf, result, f)
        raise ResultError(f"{what} is {leaf}; a comparison has no derivative")
    if _has_node_inside(leaf):
        raise ResultError(
            f"{_describe(leaf, result, f)} is a {type(leaf).__name__} with a node inside: its "
            "arithmetic took the node for a number. Let its methods return NotImplemented for what "
            "they do not know."
        )
    try:
        return check_value(leaf, _RESULT)
    except TypeError as error:
        raise ResultError(str(error).replace(_RESULT, _describe(leaf, result, f), 1)) from None
