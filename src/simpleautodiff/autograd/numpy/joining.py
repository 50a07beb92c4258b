"""NumPy's functions, given lists of nodes: NumPy looks for nodes among arguments, not in lists."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, ValuesView
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS
from simpleautodiff.arrays.scipy.sparse_nodes import has_node
from simpleautodiff.core.level import take_current, to_plain
from simpleautodiff.errors import LostDerivativeError

F = Callable[..., Any]


def join_lists(module: ModuleType) -> dict[str, F]:
    """Return the functions of a NumPy module, which join lists of nodes where they need to."""
    dispatched = type(np.sum)  # the type of functions that dispatch on their arguments
    functions = {k: f for k, f in vars(module).items() if isinstance(f, dispatched)}
    return {name: _joining(f) for name, f in functions.items() if not name.startswith("_")}


def _joining(function: Any) -> F:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:  # a node in a list, or np.stack of a generator
            new = tuple([_join(arg, error) for arg in args])
            given = {name: _join(arg, error) for name, arg in kwargs.items()}
            if all(map(operator.is_, (*new, *given.values()), (*args, *kwargs.values()))):
                raise
            return function(*new, **given)

    call.of_numpy = function  # type: ignore[attr-defined]
    return call


def _join(arg: Any, error: TypeError) -> Any:
    """Convert a list of nodes to an array, and an iterator to a list."""
    if isinstance(arg, (Iterator, ValuesView)):
        return list(arg)
    lost = isinstance(error, LostDerivativeError)
    return FUNCTIONS[np.array](arg) if lost and _is_list_of_nodes(arg) else arg


def _is_list_of_nodes(arg: Any) -> bool:
    return isinstance(arg, (list, tuple)) and has_node(arg)


def integers_of(module: ModuleType) -> dict[str, type]:
    """Return NumPy's integer types, made to round a node down to a plain number."""
    names = ("int8", "int16", "int32", "int64")
    return {name: _plain_integer(getattr(module, name)) for name in names}


def _plain_integer(kind: Any) -> type:
    def new(cls: Any, value: Any = 0) -> Any:
        return kind(to_plain(take_current(value)))

    return type(kind.__name__, (kind,), {"__new__": new, "__doc__": kind.__doc__})
