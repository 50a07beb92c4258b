"""The right answers: the library's own numbers for a graph and a script of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.core.forward_reverse import forward, reverse
from simpleautodiff.core.node import Node
from simpleautodiff.learn.graphs import Graph
from simpleautodiff.rules.scalar import arithmetic, exponential, piecewise, trigonometric

LIBRARY_FUNCTIONS = {
    **{"add": arithmetic.add, "iadd": arithmetic.add, "sub": arithmetic.sub},
    **{"mul": arithmetic.mul, "div": arithmetic.div, "pow": arithmetic.power},
    **{"neg": arithmetic.neg, "sin": trigonometric.sin, "cos": trigonometric.cos},
    **{"exp": exponential.exp, "log": exponential.log, "sqrt": exponential.sqrt},
    **{"tanh": trigonometric.tanh, "relu": piecewise.relu, "abs": piecewise.absolute},
    "max": piecewise.maximum,
}


def build_nodes(graph: Graph, values: dict[str, Any] | None = None) -> dict[str, Any]:
    """Build a graph with the library's nodes, by name."""
    nodes: dict[str, Any] = {n: Node((values or {}).get(n, v)) for n, v in graph.inputs}
    for name, operation, args in graph.steps:
        given = [nodes[arg] if isinstance(arg, str) else arg for arg in args]
        nodes[name] = given[0] if operation == "constant" else LIBRARY_FUNCTIONS[operation](*given)
    return nodes


def answer(
    graph: Graph, script: Sequence[Sequence[str]], values: dict[str, Any] | None = None
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return the values, and the derivatives that each sweep of a script should find, by name.

    Examples
    --------
    >>> from simpleautodiff.learn.graphs import parse_graph
    >>> answer(parse_graph("y = x - x", x=3), [("build",), ("reverse", "y")])
    ({'x': 3, 'y': 0}, [{'x': 0, 'y': 1}])
    """
    nodes = build_nodes(graph, values)
    sweeps = []
    for action, *rest in script:
        if action in ("forward", "reverse"):
            root = nodes[rest[0]]
            found = (forward if action == "forward" else reverse)(root) if _is(root) else {}
            sweeps.append({n: found.get(node, 0) if _is(node) else 0 for n, node in nodes.items()})
    return {name: getattr(node, "value", node) for name, node in nodes.items()}, sweeps


def bounds(graph: Graph, script: Sequence[Sequence[str]]) -> list[dict[str, tuple[float, float]]]:
    """Return the smallest and largest acceptable derivative at a kink: those of its two sides."""
    step = 1e-6
    sides = [
        answer(graph, script, {name: value + side})[1]
        for name, value in graph.inputs
        for side in (-step, step)
    ]
    return [
        {name: (min(s[i][name] for s in sides), max(s[i][name] for s in sides)) for name in found}
        for i, found in enumerate(sides[0])
    ]


def _is(x: Any) -> bool:
    return isinstance(x, Node)
