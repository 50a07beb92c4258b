"""Pytrees: nested dicts, lists, tuples, namedtuples, dataclasses and attrs classes of numbers.

A *leaf* is anything else, except None, which is a structure without leaves. A dataclass with
arithmetic of its own is a leaf. Strings and functions inside a structure stay
there unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError

Rebuild = Callable[[Iterator[Any]], Any]
_COMMON_LEAVES = {float, np.ndarray}  # leaves
_NO_NUMBERS = (str, bytes, Enum, FunctionType, BuiltinFunctionType, np.ufunc, type)


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
    if _is_leaf(tree):
        return [tree], next
    if type(tree) is tuple and tree and all([_is_leaf(part) for part in tree]):
        size = len(tree)
        return list(tree), lambda new: tuple(islice(new, size))  # others may take the rest
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def flatten_numbers(trees: tuple[Any, ...]) -> tuple[list[Any], Rebuild]:
    """Return the numbers among the leaves of arguments, and a function that puts others there.

    Strings, functions and other leaves that are not numbers stay in the structure.

    Examples
    --------
    >>> numbers, rebuild = flatten_numbers(({"w": 1.0, "name": "weight"},))
    >>> numbers, rebuild(iter([5.0]))
    ([1.0], ({'w': 5.0, 'name': 'weight'},))
    """
    if _COMMON_LEAVES.issuperset(map(type, trees)):
        return list(trees), tuple
    leaves, rebuild = flatten(trees)
    if _COMMON_LEAVES.issuperset(map(type, leaves)):
        return leaves, rebuild
    kept = [is_not_number(leaf) and not _is_among(leaf, trees) for leaf in leaves]
    if not any(kept):
        return leaves, rebuild
    pairs = list(zip(leaves, kept, strict=True))
    return [leaf for leaf, stays in pairs if not stays], lambda new: rebuild(
        iter([leaf if stays else next(new) for leaf, stays in pairs])
    )


def is_not_number(leaf: Any) -> bool:
    """Tell whether a leaf is a string, a function or the like, which cannot be a number."""
    return issubclass(type(leaf), _NO_NUMBERS)  # isinstance would look inside a node


def _is_among(leaf: Any, trees: Any) -> bool:
    """Tell whether a leaf is itself an argument, which has to be a number."""
    return type(trees) is tuple and any(leaf is tree for tree in trees)


def look_up(tree: Any, path: Sequence[str]) -> Any:
    """Return the part of a structure at a path of keys, indices and names of fields.

    Examples
    --------
    >>> look_up({"layers": [{"w": 1.0}]}, ["layers", "0", "w"])
    1.0
    """
    for key in path:
        parts = dict(_name_parts(tree))
        if key not in parts:
            there = ", ".join(parts) or "a number"
            raise ArgumentError(f"there is no {key!r} of {'.'.join(path)!r} in: {there}")
        tree = parts[key]
    return tree


def put_in(tree: Any, path: Sequence[str], part: Any) -> Any:
    """Return a structure with the part at a path replaced; see `look_up`."""
    if not path:
        return part
    named = _name_parts(tree)
    return assemble(
        tree, [put_in(x, path[1:], part) if name == path[0] else x for name, x in named]
    )


def _name_parts(tree: Any) -> list[tuple[str, Any]]:
    """Return the parts of a container under the names that a path uses: `w`, `0`."""
    return [(_plain_name(step), part) for step, part in parts_of(tree) or []]


def _plain_name(step: str) -> str:
    return step[1:] if step[0] == "." else step[1:-1].strip("'\"")


def _flatten(tree: Any, leaves: list[Any]) -> Rebuild:
    parts = None if type(tree) is float else list_parts(tree)
    if parts is None:
        leaves.append(tree)
        return next
    rebuilds = [_flatten(part, leaves) for part in parts]
    return lambda new: assemble(tree, [rebuild(new) for rebuild in rebuilds])


def _is_leaf(tree: Any) -> bool:
    return not _container_of(type(tree))  # type: ignore[arg-type]


def list_parts(tree: Any) -> list[Any] | None:
    """Return the parts of a container, None for a leaf; see `parts_of` for their paths."""
    match _container_of(type(tree)):  # type: ignore[arg-type]
        case "":
            return None
        case "dict":
            return list(tree.values())
        case "sequence":
            return list(tree)
        case "fields":
            return [getattr(tree, name) for name in _name_fields(tree) or ()]
    return []  # None


def parts_of(tree: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a container with their paths (`[0]`, `['w']`, `.w`); None for a leaf."""
    match _container_of(type(tree)):  # type: ignore[arg-type]
        case "":
            return None
        case "dict":
            return [(f"[{key!r}]", part) for key, part in tree.items()]
        case "sequence":
            return [(f"[{i}]", part) for i, part in enumerate(tree)]
        case "fields":
            return [(f".{name}", getattr(tree, name)) for name in _name_fields(tree) or ()]
    return []  # None


@cache
def _container_of(kind: type) -> str:
    """Return which container a type is, "" for a leaf; a node is always a leaf."""
    if issubclass(kind, dict):
        return "dict"
    if issubclass(kind, (tuple, list)):
        return "sequence"
    if (is_dataclass(kind) or hasattr(kind, "__attrs_attrs__")) and not hasattr(kind, "__mul__"):
        return "fields"
    return "none" if kind is type(None) else ""


def _name_fields(tree: Any) -> list[str] | None:
    """Return the names of the fields of a dataclass or a class made by attrs; None for others."""
    if isinstance(tree, type) or hasattr(tree, "__mul__"):
        return None
    if is_dataclass(tree):
        return [field.name for field in fields(tree)]
    of_attrs = getattr(type(tree), "__attrs_attrs__", None)
    return None if of_attrs is None else [field.name for field in of_attrs]


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
    for name, part in zip(_name_fields(tree) or [], parts, strict=True):
        object.__setattr__(new, name, part)
    return new


def _assemble_dict(tree: dict[Any, Any], parts: list[Any]) -> dict[Any, Any]:
    new = tree.copy()  # keeps what a subclass adds, such as a default factory
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
    """Apply `function` to every leaf and keep the structure."""
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
    """Append the leaves of `tree`, while its containers are as long as those of `like`."""
    parts, others = list_parts(tree), list_parts(like)
    if parts is None or others is None:
        leaves.append(tree)
        return parts is others
    if len(parts) != len(others) or _name_keys(tree) != _name_keys(like):
        return False
    return all([_collect(*pair, leaves) for pair in zip(parts, others, strict=True)])


def _name_keys(tree: Any) -> list[Any] | None:
    """Return the keys of a dict, or the names of the fields of a class; None for a sequence."""
    if isinstance(tree, dict):
        return list(tree)
    return None if isinstance(tree, (tuple, list)) else _name_fields(tree)


def _describe(tree: Any) -> str:
    return repr(map_leaves(lambda leaf: _Star(), tree))


class _Star:
    def __repr__(self) -> str:
        return "*"
