"""The searches that find an order, one visit at a time: down to the children, up to the parents."""

from __future__ import annotations

from collections.abc import Iterator

from simpleautodiff.core.node import NODES
from simpleautodiff.program.program import Program


def search_down(program: Program, root: str) -> Iterator[tuple[str, str]]:
    """Yield the paper's depth-first search from a node to its descendants.

    Yields ("visit", name) when a node is entered and ("place", name) when it is left, after all of
    its children have been placed; the reverse of the latter is a topological order.
    """
    names = program.names
    children: dict[str, dict[str, None]] = {name: {} for name in names.values()}
    for node in program.nodes:
        for parent in node.parent_nodes:
            children[names[parent]][names[node]] = None
    seen = {root}
    yield "visit", root
    stack = [(root, iter(children[root]))]
    while stack:
        name, following = stack[-1]
        child = next((child for child in following if child not in seen), None)
        if child is None:
            yield "place", name
            stack.pop()
        else:
            seen.add(child)
            yield "visit", child
            stack.append((child, iter(children[child])))


def search_up(program: Program, root: str) -> Iterator[tuple[str, str]]:
    """Yield the search from a node to its ancestors; then place those found, in numbered order.

    The numbers are a topological order already: a reverse sweep reads it from its end.
    """
    seen = set()
    stack = [program.node(root)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield "visit", program.names[node]
            stack += [arg for arg in reversed(node.args) if type(arg) in NODES]
    for node in program.nodes:
        if node in seen:
            yield "place", program.names[node]
