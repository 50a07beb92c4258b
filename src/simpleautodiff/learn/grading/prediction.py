"""Prediction: the numbers of an engine with some faults, for a graph and a script of sweeps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from simpleautodiff.learn.grading.known_faults import IN_TURN, ZEROS
from simpleautodiff.learn.grading.model import Model
from simpleautodiff.learn.grading.model_nodes import ModelNode
from simpleautodiff.learn.graphs import Graph


def predict(
    graph: Graph,
    script: Sequence[Sequence[str]],
    faults: Collection[str] = (),
    style: str = "search",
    turned: int = 0,
) -> Any:
    """Return the values and the sweeps of an engine with these faults, or None if it fails.

    `style` is one of `STYLES`: a depth-first search along parents that are kept in a list, read
    from its end ("stack"), or in a set; a tape; dual numbers, which compute every tangent; or each
    path by itself. One of `WAYS` to write an engine may be among the faults. `turned` has a bit for
    each node whose parents a set yields in reverse order.

    Examples
    --------
    >>> from simpleautodiff.learn.graphs import parse_graph
    >>> graph = parse_graph("y = x - x", x=3)
    >>> script = [("build",), ("reverse", "y")]
    >>> right, wrong = predict(graph, script), predict(graph, script, ["first_place"])
    >>> right[1][0]["x"], wrong[1][0]["x"]
    (0.0, 2.0)
    """
    model = Model(faults, style, turned)
    point = dict(graph.inputs)
    held = {name: model.input(value) for name, value in graph.inputs}
    nodes: dict[str, Any] = {}
    sweeps: list[dict[str, float]] = []
    try:
        for action, *rest in script:
            if action == "build":
                model.made = [*held.values()] if style == ZEROS[1] else model.made
                nodes = model.build(graph, held)
            elif action == "reverse" and IN_TURN in faults:
                sweeps.append({})
                for name, root in held.items():
                    nodes = model.build(graph, {**point, name: root})
                    node = nodes[rest[0]]
                    found = model.reverse(node) if isinstance(node, ModelNode) else {}
                    sweeps[-1][name] = found.get(root, 0.0)
            elif action in ("forward", "reverse"):
                node = nodes[rest[0]]
                sweep = model.forward if action == "forward" else model.reverse
                found = sweep(node) if isinstance(node, ModelNode) else {}
                sweeps.append({name: found.get(n, 0.0) for name, n in nodes.items()})
    except (ArithmeticError, RecursionError, ValueError, TypeError, LookupError):
        return None
    return {name: getattr(node, "value", node) for name, node in nodes.items()}, sweeps
