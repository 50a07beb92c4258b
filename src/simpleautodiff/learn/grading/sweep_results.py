"""Look up derivatives in what a sweep returns: by node, by its id(), or by its index on a tape.

This file runs in the learner's process too: it imports nothing of the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POSITION_NAMES = (
    *("index", "i", "idx", "id", "position", "pos", "_index", "_id", "_i"),
    *("k", "n", "number", "num", "slot", "ix", "uid", "_k", "_idx", "_pos"),
)
MISSING: Any = object()


class OfInputs(dict[int, Any]):
    """Derivatives by the inputs alone, by id(): nothing is said about other nodes."""


class UnreadableResult(Exception):
    """Raised when the result of a sweep holds no derivative that can be found."""


def position(node: Any) -> int | str | None:
    """Return the index of a node on a tape, or its key in a dict, from an attribute."""
    found = (getattr(node, name, None) for name in POSITION_NAMES)
    return next((k for k in found if isinstance(k, (int, str)) and not isinstance(k, bool)), None)


def holds_derivatives(result: Any, node: Any) -> bool:
    """Tell whether derivatives can be looked up in a result: a mapping, or a list by index."""
    return (
        isinstance(result, Mapping)
        or (is_listed(result) and isinstance(position(node), int))
        or callable(getattr(result, "wrt", None))
    )


def is_listed(result: Any) -> bool:
    """Tell whether numbers are listed one after the other: in a list, a tuple or a vector."""
    return isinstance(result, (list, tuple)) or getattr(result, "ndim", 0) == 1


def look_up(result: Any, node: Any) -> Any:
    """Return what the result of a sweep holds for a node, its id() or its index."""
    place = position(node)
    if callable(getattr(result, "wrt", None)):
        try:
            return result.wrt(node)
        except LookupError:
            return MISSING
    if not isinstance(result, Mapping):
        there = isinstance(place, int) and 0 <= place < len(result)
        return result[place] if there else MISSING
    by_number = all(isinstance(key, int) for key in result)
    for key in (id(node), place) if by_number else (node, id(node), place):
        try:
            if key in result:
                return result[key]
        except TypeError:  # the engine's nodes cannot be looked up
            continue
    return MISSING


def describe(result: Any) -> str:
    """Describe what a sweep returned: its type, and the type of its items."""
    kind = type(result).__name__
    if not (isinstance(result, Mapping) or is_listed(result)) or not len(result):
        return f"{kind}, and its nodes have no attribute with a derivative"
    inner = type(next(iter(result))).__name__
    held = f"by {inner}" if isinstance(result, Mapping) else f"of {inner}"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} {held}"
