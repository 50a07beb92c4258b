"""Graphs typed by hand as functions of their inputs, for whatever takes a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.formula import signature_of
from simpleautodiff.program.program import Program, output_names


class GraphFunction:
    """The computation of a node, as a function of the inputs of its graph.

    Examples
    --------
    >>> from simpleautodiff import Node, log, mul
    >>> x1, x2 = Node(2), Node(5)
    >>> y = mul(log(x1), x2)
    >>> f = GraphFunction(y)
    >>> f.point, f(1.0, 5.0)
    ((2, 5), 0.0)
    """

    def __init__(self, node: Node) -> None:
        self.program = Program(execution_order(node))
        self.names = [self.program.names[each] for each in self.program.inputs]
        self.point = tuple(each.value for each in self.program.inputs)
        self.__name__ = output_names(self.program)[0][0]
        if all(name.isidentifier() for name in self.names):
            self.__signature__ = signature_of(self.names)

    def __call__(self, *args: Any) -> Any:
        """Compute the same steps from other inputs."""
        return self.program.replay(*args)


def as_function(f: Any, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function and a point: those that were given, or those of a node typed by hand."""
    if not isinstance(f, Node):
        return f, args
    if args:
        raise ArgumentError(
            "a graph typed by hand has its point already: give the node alone, or a function and "
            "its arguments"
        )
    graph = GraphFunction(f)
    return graph, graph.point
