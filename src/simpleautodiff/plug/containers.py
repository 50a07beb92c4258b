"""What functions, objects and structures consist of, and how copies with other parts are made."""

from __future__ import annotations

import copy
import functools
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from simpleautodiff.values.pytree import assemble

Parts = dict[Any, Any]  # by a key: an index, a name


@dataclass
class Composite:
    """Something that has parts, and how a copy of it gets others.

    What cannot be changed is built of its new parts. Anything else is copied first and then changed
    by `put(copy, key, part)`, so that it may be a part of itself; `read` returns its parts.
    """

    original: Any
    parts: Parts
    build: Callable[[list[Any]], Any] | None = None
    copy: Callable[[], Any] = object
    put: Callable[[Any, Any, Any], None] = setattr
    read: Callable[[Any], Parts] = vars


@dataclass(frozen=True)
class Globals:
    """The global variables of a module that a function uses."""

    variables: Parts
    names: frozenset[str]


def open_container(part: Any) -> Composite | None:
    """Return a part as a composite; None for what has no parts that could be nodes."""
    kind = type(part)
    opener = next((opener for known, opener in _OPENERS if issubclass(kind, known)), None)
    if opener is not None:
        return opener(part)
    return _open_object(part) if _may_hold_nodes(kind) else None


# What can be changed. -----------------------------------------------------------------------------


def _open_list(part: Any) -> Composite:
    return Composite(
        part, _number(*part), None, lambda: copy.copy(part), _put_in_list, lambda own: _number(*own)
    )


def _put_in_list(made: Any, i: int, new: Any) -> None:
    if i < len(made):
        made[i] = new


def _number(*parts: Any) -> Parts:
    return dict(enumerate(parts))


def _open_dict(part: Any) -> Composite:
    return Composite(part, dict(part), None, lambda: copy.copy(part), _put_in_dict, dict)


def _put_in_dict(made: Any, key: Any, new: Any) -> None:
    made[key] = new


def _open_globals(part: Globals) -> Composite:
    variables = part.variables
    used = {name: variables[name] for name in part.names if name in variables}
    return Composite(variables, used, None, lambda: dict(variables), _put_in_dict, dict)


def _open_cell(part: CellType) -> Composite:
    return Composite(
        part,
        _read_cell(part),
        None,
        lambda: CellType(*_read_cell(part).values()),
        setattr,
        _read_cell,
    )


def _read_cell(cell: CellType) -> Parts:
    return {} if cell == CellType() else {"cell_contents": cell.cell_contents}


def _open_object(part: Any) -> Composite:
    own = {"__class__": type(part)} if _is_users(type(part).__module__) else {}
    return Composite(
        part,
        {**_read_attributes(part), **own},
        None,
        lambda: copy.copy(part),
        _put_in_object,
        _read_attributes,
    )


def _put_in_object(made: Any, name: str, new: Any) -> None:
    """Set an attribute, also of a frozen dataclass."""
    if name in getattr(made, "__dict__", ()):
        vars(made)[name] = new
    else:
        object.__setattr__(made, name, new)


def _read_attributes(part: Any) -> Parts:
    slots = [vars(kind).get("__slots__", ()) for kind in type(part).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    in_slots = {name: getattr(part, name) for name in names if hasattr(part, name)}
    return {**in_slots, **getattr(part, "__dict__", {})}


def _open_class(part: type) -> Composite | None:
    """Return a class that a user wrote; its copy is a class derived from it."""
    if not _is_users(part.__module__) or issubclass(part, Enum):
        return None
    parts: Parts = {}
    for base in reversed(part.__mro__):
        parts.update(vars(base) if _is_users(base.__module__) else {})

    def derive() -> Any:
        names = {"__slots__": (), "__module__": part.__module__, "__qualname__": part.__qualname__}
        make: Any = type(part)  # perhaps a class of classes that a user wrote
        return make(part.__name__, (part,), names)

    return Composite(part, parts, None, derive, type.__setattr__, lambda own: dict(vars(own)))


# What is built of its parts. ----------------------------------------------------------------------


def _open_tuple(part: Any) -> Composite:
    return Composite(part, _number(*part), lambda parts: assemble(part, parts))


def _open_partial(part: functools.partial[Any]) -> Composite:
    def build(parts: list[Any]) -> Any:
        function, args, *named = parts
        made = functools.partial(function, *args, **dict(zip(part.keywords, named, strict=True)))
        return functools.update_wrapper(made, part, ("__wrapped__",), ())

    return Composite(part, _number(part.func, part.args, *part.keywords.values()), build)


def _open_method(part: MethodType) -> Composite:
    return Composite(part, _number(part.__func__, part.__self__), lambda parts: MethodType(*parts))


def _open_property(part: property) -> Composite:
    return Composite(part, _number(part.fget, part.fset, part.fdel), lambda parts: property(*parts))


def _open_descriptor(part: Any) -> Composite:
    """Return a staticmethod or a classmethod."""
    return Composite(part, _number(part.__func__), lambda parts: type(part)(*parts))


def _open_cached(part: Any) -> Composite:
    """Return a function with a cache, which that of the copy does not share."""
    again = functools.lru_cache(**part.cache_parameters())
    return Composite(part, _number(part.__wrapped__), lambda parts: again(*parts))


def _open_function(part: FunctionType) -> Composite:
    used = Globals(part.__globals__, _names_in(part.__code__)) if _is_own_code(part) else None
    names, cells = part.__code__.co_freevars, part.__closure__ or ()
    of_class = [cell for name, cell in zip(names, cells, strict=True) if name == "__class__"]
    outer = [None if cell in of_class else cell for cell in cells]  # super() needs the original
    held = used, part.__defaults__, part.__kwdefaults__, vars(part), *outer

    def build(parts: list[Any]) -> FunctionType:
        variables, defaults, named, attributes, *new = parts
        closure = [cell or own for cell, own in zip(new, cells, strict=True)]
        own = variables if type(variables) is dict else part.__globals__
        made = FunctionType(part.__code__, own, part.__name__, defaults, tuple(closure))
        made.__kwdefaults__, made.__dict__ = named, attributes
        made.__qualname__, made.__module__ = part.__qualname__, part.__module__
        return made

    return Composite(part, _number(*held), build)


@functools.lru_cache(10_000)
def _names_in(code: CodeType) -> frozenset[str]:
    """Return the names that a function, and the functions in it, may mean global variables by."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(code.co_names).union(*inner)


def _is_own_code(function: FunctionType) -> bool:
    """Tell whether a function is of a user's program: its global variables may be nodes."""
    module = function.__globals__.get("__name__")
    return _is_users(str(module)) and "site-packages" not in function.__code__.co_filename


_LIBRARIES = {"numpy", "scipy", "pandas", "simpleautodiff", *sys.stdlib_module_names} - {"__main__"}
_OF_LIBRARIES = (np.poly1d, np.vectorize, SimpleNamespace)  # whose objects may hold nodes


def _is_users(module: str) -> bool:
    return module.partition(".")[0] not in _LIBRARIES


def _may_hold_nodes(kind: type) -> bool:
    """Tell whether objects of a class have attributes that may be nodes."""
    ours = kind.__module__.startswith(("scipy.", "simpleautodiff.arrays.scipy."))
    held = _is_users(kind.__module__) or ours or issubclass(kind, _OF_LIBRARIES)
    has_slots = any("__slots__" in vars(base) for base in kind.__mro__)
    return held and (hasattr(kind, "__dict__") or has_slots)


_OPENERS: tuple[tuple[Any, Callable[[Any], Composite | None]], ...] = (
    ((list, deque), _open_list),
    (dict, _open_dict),
    (tuple, _open_tuple),
    (FunctionType, _open_function),
    (CellType, _open_cell),
    (Globals, _open_globals),
    (MethodType, _open_method),
    (functools.partial, _open_partial),
    (type, _open_class),
    (property, _open_property),
    ((staticmethod, classmethod), _open_descriptor),
    (type(_names_in), _open_cached),
)
