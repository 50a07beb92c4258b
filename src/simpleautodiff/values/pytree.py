"""Pytrees: nested dicts, lists, tuples, namedtuples and dataclasses of numbers.

A *leaf* is anything else, except None, which is a structure without leaves. A dataclass with
arithmetic of its own is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError

Rebuild = Callable[[Iterator[Any]], Any]
_COMMON_LEAVES = {float, np.ndarray}  # leaves


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """Return the leaves of `tree`, and a function that rebuilds it from new leaves.

    Examples
    --------
    >>> leaves, rebuild = flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> rebuild(iter([10.0, 20.0, 30.0]))
    {'w': [10.0, 20.0], 'b': 30.0}
    """
    if type(tree) is tuple and tree and _COMMON_LEAVES.issuperset(map(type, tree)):
        return list(tree), tuple
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Rebuild:
    parts = None if type(tree) is float else parts_of(tree)
    if parts is None:
        leaves.append(tree)
        return next
    rebuilds = [_flatten(part, leaves) for _, part in parts]
    return lambda new: assemble(tree, [rebuild(new) for rebuild in rebuilds])


def parts_of(tree: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a container with their paths (`[0]`, `['w']`, `.w`); None for a leaf."""
    match _container_of(type(tree)):  # type: ignore[arg-type]
        case "":
            return None
        case "dict":
            return [(f"[{key!r}]", part) for key, part in tree.items()]
        case "sequence":
            return [(f"[{i}]", part) for i, part in enumerate(tree)]
        case "dataclass":
            return [(f".{field.name}", getattr(tree, field.name)) for field in fields(tree)]
    return []  # None


@cache
def _container_of(kind: type) -> str:
    """Say which container a type is, "" for a leaf; a node, whatever it says to be, is a leaf."""
    if issubclass(kind, dict):
        return "dict"
    if issubclass(kind, (tuple, list)):
        return "sequence"
    if is_dataclass(kind) and not hasattr(kind, "__mul__"):
        return "dataclass"
    return "none" if kind is type(None) else ""


def assemble(tree: Any, parts: list[Any]) -> Any:
    """Build a container of the type of `tree` from new parts."""
    match tree:
        case None:
            return None
        case dict():
            return (
                type(tree)(zip(tree, parts, strict=True))
                if type(tree) is dict
                else _assemble_dict(tree, parts)
            )
        case tuple() if hasattr(tree, "_make"):
            return tree._make(parts)
        case tuple() | list():
            return type(tree)(parts)
    new = object.__new__(type(tree))
    for field, part in zip(fields(tree), parts, strict=True):
        object.__setattr__(new, field.name, part)
    return new


def _assemble_dict(tree: dict[Any, Any], parts: list[Any]) -> dict[Any, Any]:
    new = tree.copy()  # retains what a subclass adds, such as a default factory
    for key, part in zip(tree, parts, strict=True):
        new[key] = part
    return new


def paths(tree: Any, prefix: str = "") -> list[str]:
    """Return the path of every leaf: `['w'][0]`, `.bias`; the empty string for a lone number."""
    parts = parts_of(tree)
    if parts is None:
        return [prefix]
    return [path for step, part in parts for path in paths(part, prefix + step)]


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply `function` to every leaf and retain the structure."""
    leaves, rebuild = flatten(tree)
    return rebuild(iter([function(leaf) for leaf in leaves]))


def matching_leaves(tree: Any, like: Any, what: str) -> list[Any]:
    """Return the leaves of `tree`, which must have the structure of `like`."""
    if isinstance(tree, dict) and isinstance(like, dict) and tree.keys() == like.keys():
        tree = {key: tree[key] for key in like}  # the order of the keys does not matter
    leaves: list[Any] = []
    if _collect(tree, like, leaves):
        return leaves
    if paths(tree) != paths(like):
        raise ArgumentError(
            f"{what} must have the structure of {_describe(like)}, but has that of "
            f"{_describe(tree)}. Pass one number for each number."
        )
    return flatten(tree)[0]


def _collect(tree: Any, like: Any, leaves: list[Any]) -> bool:
    """Append the leaves of `tree`, as long as its containers are as long as those of `like`."""
    parts, others = parts_of(tree), parts_of(like)
    if parts is None or others is None:
        leaves.append(tree)
        return parts is others
    return len(parts) == len(others) and all(
        [
            a == b and _collect(part, other, leaves)
            for (a, part), (b, other) in zip(parts, others, strict=True)
        ]
    )


def _describe(tree: Any) -> str:
    return repr(map_leaves(lambda leaf: _Star(), tree))


class _Star:
    def __repr__(self) -> str:
        return "*"
