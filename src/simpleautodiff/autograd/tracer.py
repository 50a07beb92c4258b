"""HIPS autograd's `tracer`: recordings made of the user's own nodes, and the value of a node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from simpleautodiff.autograd.extend import Box, notrace_primitive, primitive
from simpleautodiff.core.level import take_current, to_plain
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.recorded_call import RecordedCall

__all__ = ["Box", "Node", "getval", "isbox", "notrace_primitive", "primitive", "trace"]


def getval(x: Any) -> Any:
    """Return the plain value of a node; return anything else unchanged."""
    return to_plain(take_current(x))


def isbox(x: Any) -> bool:
    """Tell whether x is a node."""
    return isinstance(x, Box)


class Node:
    """The node that `trace` makes for each step; a subclass decides what it stores."""

    __slots__: tuple[str, ...] | list[str] = ()

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        raise NotImplementedError

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Set up the node of the input."""
        raise NotImplementedError

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        """Make the node of the input."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


def trace(start_node: Any, fun: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """Run a function and make a node of the class of `start_node` for every step.

    Examples
    --------
    >>> from simpleautodiff.autograd.tracer import Node, trace
    >>> class Printed(Node):
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         print(fun.__name__, value)
    ...     def initialize_root(self): pass
    >>> value, node = trace(Printed.new_root(), lambda x: x * x + 1.0, 3.0)
    mul 9.0
    add 10.0
    """
    recorded = RecordedCall(fun, Selection((x,)))
    made = {id(node): start_node for node in recorded.inputs}
    for node in list(recorded.tape)[len(made) :]:
        places = [i for i, arg in enumerate(node.args) if id(arg) in made]
        parents = [made[id(node.args[i])] for i in places]
        compute = _named(node.primitive)
        values = node.values()
        made[id(node)] = type(start_node)(node.value, compute, values, {}, places, parents)
    result = recorded.result
    if id(result) not in made:
        warnings.warn("Output seems independent of input.", stacklevel=2)
        return result, None
    return result.value, made[id(result)]


def _named(primitive: Any) -> Callable[..., Any]:
    def compute(*args: Any) -> Any:
        return primitive.compute(*args)

    compute.__name__ = primitive.name
    return compute
