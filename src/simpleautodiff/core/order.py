"""Topological orders: every node before its children.

The paper walks from an input down the child lists (`topological_order`). From an output one walks
up the parents instead (`execution_order`). No walk recurses: a graph may be deeper than Python's
stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simpleautodiff.core.node import Hand, Node
from simpleautodiff.errors import ArgumentError


def topological_order(*roots: Node) -> list[Node]:
    """List the nodes reachable from the roots, each before all of its children.

    It is the paper's depth-first search, in its order, without its recursion.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> [node.operator for node in topological_order(x1)]
    ['input', 'mul', 'log', 'add', 'sub']
    """
    ordering: list[Node] = []
    visited: set[Node] = set()
    for root in roots:
        if not isinstance(root, Node) or not isinstance(root.level, Hand):
            check_node(root).child_nodes  # noqa: B018 - which says what is wrong
        stack = [(root, root.children())] if root not in visited else []
        visited.add(root)
        while stack:
            node, children = stack[-1]
            for child in children:
                if child not in visited:
                    visited.add(child)
                    stack.append((child, child.children()))
                    break
            else:
                ordering.append(node)
                stack.pop()
    return ordering[::-1]


def execution_order(*outputs: Node) -> list[Node]:
    """List the nodes that `outputs` depend on, parents first, as nested calls evaluate them."""
    ordering: list[Node] = []
    visited: set[Node] = set()
    for output in outputs:
        if not isinstance(output, Node):
            check_node(output)
        stack = [output] if output not in visited else []
        visited.update(stack)
        while stack:
            for arg in stack[-1].args:
                if isinstance(arg, Node) and arg not in visited:
                    visited.add(arg)
                    stack.append(arg)
                    break
            else:
                ordering.append(stack.pop())
    return ordering


def find_ends(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes from which none of the others was computed."""
    used = {parent for node in nodes for parent in node.parent_nodes}
    return [node for node in nodes if node not in used]


def find_connected(some: Iterable[Node]) -> list[Node]:
    """Return all nodes connected to these, through parents and children."""
    nodes = list(some)
    seen = set(nodes)
    for node in nodes:
        for arg in node.args:
            if isinstance(arg, Node) and arg not in seen:
                seen.add(arg)
                nodes.append(arg)
        for child in node.children():
            if child not in seen:
                seen.add(child)
                nodes.append(child)
    return nodes


def check_node(node: object) -> Node:
    """Refuse to walk from something that is not a node."""
    if not isinstance(node, Node):
        raise ArgumentError(f"a graph is walked from a Node, got {node!r}: wrap it in Node(...)")
    return node
