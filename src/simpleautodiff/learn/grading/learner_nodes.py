"""Classes and nodes of a learner: how they are constructed, and what they hold.

This file runs in the learner's process too: of the library it imports `learner_names` alone.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

from simpleautodiff.learn.grading.learner_names import (
    CLASS_NAMES,
    COMPUTE_NAMES,
    DERIVATIVE_NAMES,
    FUNCTIONS_OF_NUMBERS,
    INPUT_COUNT,
    LABEL_NAMES,
    PYTHON_OPERATORS,
    RESET_NAMES,
    SPELLINGS,
    TRACKING_NAMES,
    VALUE_NAMES,
    NoEngine,
    first,
)


def is_of_math(function: Any) -> bool:
    """Tell whether a function takes only plain numbers, as after `from math import sin`."""
    return getattr(function, "__module__", "") in ("math", "cmath", "builtins", "_operator")


def attributes(node: Any) -> set[str]:
    """Return the names of a node's attributes, in slots and properties too; or the keys of one."""
    return set(getattr(node, "__dict__", ())) | set(node if type(node) is dict else dir(type(node)))


def attribute(node: Any, name: str) -> Any:
    """Return an attribute of a node, which may be a dict; None where there is none."""
    return node.get(name) if type(node) is dict else getattr(node, name, None)


def is_array(x: Any) -> bool:
    """Tell whether something is an array of NumPy; NumPy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, getattr(numpy, "ndarray", ()))


def is_number(x: Any) -> bool:
    """Tell whether something is a number, or an array of one element."""
    return (isinstance(x, Number) and not isinstance(x, bool)) or (is_array(x) and x.size == 1)


def to_float(x: Any, engine: Any) -> Any:
    """Return a number, or the value of a node, as a float; None for anything else.

    An object without operators is an answer: a value with a derivative, which is what is asked.
    """
    if x is None or isinstance(x, (bool, str)):
        return None
    try:
        return float(x.item() if is_array(x) and x.size == 1 else x)
    except (TypeError, ValueError, OverflowError):
        pass
    if hasattr(x, "__dict__") and not hasattr(x, "__add__") and type(x) is not engine.cls:
        return next((d for d in held_derivatives(x).values() if is_number(d)), None)
    inner = getattr(x, engine.value_name, None) if engine.value_name else None
    return to_float(inner, engine) if inner is not None and inner is not x else evaluate(x)


def evaluate(node: Any) -> Any:
    """Return the number of an expression that is computed when it is asked; else None."""
    method = first(COMPUTE_NAMES, node)
    found = method() if inspect.ismethod(method) and required(method) == 0 else None
    return found if is_number(found) else None


def static_functions(namespace: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the operations that are static methods, F.sin(x), and those that reset a class."""
    names = {*RESET_NAMES, *FUNCTIONS_OF_NUMBERS, *PYTHON_OPERATORS}
    names |= {spelling for spelled in SPELLINGS.values() for spelling in spelled}
    return {
        name: getattr(cls, name)
        for cls in classes(namespace, None)
        for name, member in vars(cls).items()
        if name in names and isinstance(member, (staticmethod, classmethod))
    }


def classes(namespace: dict[str, Any], wanted: str | None) -> Iterator[type]:
    """Yield the classes of a module: the wanted one, those with operators, then all others."""
    own = [c for c in namespace.values() if inspect.isclass(c)]
    own = [c for c in own if is_of(namespace, c) or c.__name__ == wanted]
    own = [c for c in own if wanted in (None, c.__name__)]
    own.sort(key=lambda c: (c.__name__ not in CLASS_NAMES, not hasattr(c, "__add__")))
    yield from dict.fromkeys(own)


def is_of(namespace: dict[str, Any], cls: type) -> bool:
    """Tell whether a class belongs to a module, or to another file of the same folder."""
    if f"{cls.__module__}.".startswith(f"{namespace.get('__name__')}."):
        return True
    files = namespace.get("__file__"), getattr(sys.modules.get(cls.__module__), "__file__", None)
    home, folder = (os.path.dirname(os.path.abspath(file)) if file else "" for file in files)
    return bool(home) and home == folder


def choose_class(
    namespace: dict[str, Any],
    wanted: str | None,
    fits: Callable[[Any], Any] = lambda node: True,
) -> type:
    """Choose the class of inputs: constructed from a number, which it preferably stores."""
    found = [c for c in classes(namespace, wanted) if constructs(c, 0.75)]
    found = [c for c in found if fits(construct(c, 0.75))]
    if not found:
        raise NoEngine
    return next((c for c in found if holds(construct(c, 0.75), 0.75)), found[0])


def holds(node: Any, value: float) -> bool:
    """Tell whether some attribute of a node holds a number."""
    return any(is_number(x) and x == value for x in read_attributes(node).values())


def read_attributes(node: Any) -> dict[str, Any]:
    """Return the values of the attributes of a node; properties that raise are left out."""
    held = {}
    for name in sorted(attributes(node)):
        try:
            held.update({} if name.startswith("__") else {name: attribute(node, name)})
        except Exception:
            continue
    return held


def find_value_name(node: Any, value: float) -> str:
    """Return the attribute that holds the number a node was made of, best one that is usual."""
    held = {name: x for name, x in read_attributes(node).items() if is_number(x) and x == value}
    return next((name for name in (*VALUE_NAMES, *held) if name in held), "")


def held_derivatives(node: Any, named: str = "") -> dict[str, Any]:
    """Return the values of the attributes of a new node that are named like a derivative."""
    held = read_attributes(node)
    names = (named,) if named else DERIVATIVE_NAMES
    return {n: held[n] for n in names if n in held and not callable(held[n])}


def construct(cls: type, *args: float, shape: tuple[int, ...] = ()) -> Any:
    """Make an input from numbers, or from arrays if it takes no numbers; ask for its gradient."""
    optional = keywords(cls)
    options: dict[str, Any] = {name: True for name in optional if name in TRACKING_NAMES}
    if len(args) == 1 and required(cls) == 2:
        labels = [p.name for p in parameters(cls) if p.name in LABEL_NAMES]
        options |= {name: f"x{next(INPUT_COUNT)}" for name in labels}
        if labels:
            other = next(p.name for p in parameters(cls) if p.name not in labels)
            return cls(**{other: args[0]}, **options)
    value = next((name for name in optional if name in VALUE_NAMES[:4]), None)
    if len(args) == 1 and value and optional[0] not in VALUE_NAMES and required(cls) == 0:
        return cls(**{value: args[0]}, **options)  # the first parameter is not the value
    try:
        return cls(*args, **options)
    except Exception:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            raise
        return cls(*(numpy.full(shape, arg) for arg in args), **options)


def constructs(cls: type, *args: float) -> bool:
    """Tell whether a class can be constructed from these numbers."""
    try:
        construct(cls, *args)
    except Exception:
        return False
    return True


def keywords(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that have a default."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in every if p.default is not p.empty]


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the required parameters of a function; *args counts as one."""
    usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    every = inspect.signature(function).parameters.values()
    given = [p for p in every if p.kind in usual and p.default is p.empty]
    return [*given, *(p for p in every if p.kind is p.VAR_POSITIONAL)]


def required(function: Callable[..., Any]) -> int:
    """Count the required parameters of a function."""
    try:
        return len(parameters(function))
    except (TypeError, ValueError):
        return 1
