"""The signature of a call: which arguments may change between calls, and which are fixed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Hashable
from hashlib import blake2b
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.recording.trace_program import native
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import TraceError
from simpleautodiff.values.pytree import parts_of


class CallSignature(NamedTuple):
    """The arguments of one call, split into leaves."""

    key: Hashable  # equal for calls that one program can serve
    tree: Any  # (args, kwargs)
    leaves: list[Any]
    varies: list[int]  # which leaves are numbers or arrays that may change

    @property
    def inputs(self) -> list[Any]:
        """The numbers and arrays that may change."""
        return [native(self.leaves[i]) for i in self.varies]


class NotComparedError(TraceError):
    """Among the arguments of a call is one that cannot be compared with those of other calls."""


def signature(tree: Any) -> CallSignature:
    """Describe a call; refuse arguments that cannot be compared with those of other calls.

    Such are arrays of objects, and values inside another transformation.
    """
    leaves: list[Any] = []
    try:
        key = _key(tree, leaves)
        hash(key)
    except TypeError as error:
        raise NotComparedError(str(error)) from error
    varies = [i for i, leaf in enumerate(leaves) if may_vary(leaf)]
    return CallSignature(key, tree, leaves, varies)


def _key(tree: Any, leaves: list[Any]) -> Hashable:
    kind = type(tree)
    if kind is float:
        leaves.append(tree)
        return float
    parts = parts_of(tree)
    if parts is not None:
        return (kind, *[(name, _key(part, leaves)) for name, part in parts])
    leaves.append(tree)
    if may_vary(tree):
        return (kind, tree.dtype, tree.shape) if isinstance(tree, np.ndarray) else (kind,)
    if isinstance(tree, Traced):
        raise TypeError("it is called inside another transformation")
    return kind, tree, _read_state(tree, ())


def _read_state(leaf: Any, within: tuple[int, ...]) -> Hashable:
    """Return the attributes of an object, which decide how code runs.

    Equal objects may hold different numbers: 1, 1.0 and True are equal, and so are 0.0 and -0.0.
    """
    kind: Any = type(leaf)
    if isinstance(leaf, Number) and not isinstance(leaf, int):
        return repr(leaf)
    named = hasattr(leaf, "__name__")  # functions, classes and modules are compared by identity
    if named or kind in _SIMPLE or id(leaf) in within:
        return None
    if isinstance(leaf, frozenset):
        return frozenset(_identify(part, (*within, id(leaf))) for part in leaf)
    try:
        reduced = leaf.__reduce_ex__(2)
        return None if isinstance(reduced, str) else _identify(reduced[1:3], (*within, id(leaf)))
    except Exception as error:
        if kind.__hash__ is not object.__hash__:
            return None  # it defines its own equality
        raise TypeError(f"what a {kind.__name__} holds cannot be compared") from error


_SIMPLE = {int, bool, str, bytes, type(None), type(Ellipsis)}


def _identify(part: Any, within: tuple[int, ...]) -> Hashable:
    """Return a key that tells a part of an object from others, numbers and arrays by value."""
    kind = type(part)
    parts = parts_of(part)
    if parts is not None:
        inside = (*within, id(part))
        return kind, *[(name, _identify(x, inside)) for name, x in parts if id(x) not in inside]
    if isinstance(part, (np.ndarray, np.generic)):
        if part.dtype.hasobject:
            raise TypeError("arrays of objects cannot be compared")
        return kind, part.dtype, part.shape, blake2b(part.tobytes()).digest()
    return kind, part, _read_state(part, within)


def may_vary(leaf: Any) -> bool:
    """Tell whether a leaf may change between calls, or is part of the program.

    Floats and arrays change from call to call. Integers, strings and the like decide how code runs
    (how often a loop runs, which axis): a program is made for each of them.
    """
    kind = type(leaf)
    if kind is float or kind is complex:
        return True
    if kind is np.ndarray:
        return leaf.dtype.kind in "fiubc"
    return isinstance(leaf, (np.floating, np.complexfloating))


def leaf_paths(described: CallSignature) -> list[str]:
    """Return the path of each argument that may change: ``0['w']``, or by name: ``x[1]``.

    Examples
    --------
    >>> leaf_paths(signature((({"w": 1.0}, 2.0, "text"), {"x": [3, 4.0]})))
    ["0['w']", '1', 'x[1]']
    """
    args, kwargs = described.tree
    named = [*enumerate(args), *kwargs.items()]
    found = [path for name, tree in named for path in _list_paths(str(name), tree)]
    return [found[i] for i in described.varies]


def _list_paths(path: str, tree: Any) -> list[str]:
    parts = None if type(tree) is float else parts_of(tree)
    if parts is None:
        return [path]
    return [found for name, part in parts for found in _list_paths(f"{path}{name}", part)]


def given_names(f: Any, paths: list[str]) -> list[str]:
    """Return names for arguments: those of the function's parameters, if they are known.

    Examples
    --------
    >>> given_names(lambda x, *rest: None, ["0['w']", "1", "2", "scale"])
    ["x['w']", 'rest[0]', 'rest[1]', 'scale']
    """
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    return [_given_name(path, parameters) for path in paths]


def _given_name(path: str, parameters: list[inspect.Parameter]) -> str:
    digits = re.match(r"\d+", path)
    if not digits:
        return path
    number, rest = int(digits[0]), path[digits.end() :]
    for k, one in enumerate(parameters):
        if one.kind is one.VAR_POSITIONAL:
            return f"{one.name}[{number - k}]{rest}"
        if k == number:
            return f"{one.name}{rest}"
    return f"argument{path}"
