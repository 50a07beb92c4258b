"""Orders to look at: what is reachable, a wrong order, all orders, and names by an order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simpleautodiff.core.node import Node
from simpleautodiff.core.order import check_node, execution_order, find_ends, topological_order
from simpleautodiff.errors import OrderError
from simpleautodiff.program.watched_work import go_through


def preorder(root: Node) -> list[Node]:
    """List each node *before* its children are visited: the paper's counter-example.

    It looks simpler, but a node may come after a child that another path reached first.
    """
    check_node(root)
    ordering: list[Node] = []
    visited: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in visited:
            visited.add(node)
            ordering.append(node)
            stack.extend(reversed(node.child_nodes))
    return ordering


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part G_R = ⟨V_R, E_R⟩ of a graph that is reachable from one node."""

    nodes: list[Node]
    edges: list[tuple[Node, Node]]


def reachable(root: Node) -> Subgraph:
    """Return V_R and E_R: the nodes reachable from `root`, and the edges between them.

    Examples
    --------
    >>> from simpleautodiff import Node, mul, sin
    >>> x1, x2 = Node(2), Node(5)
    >>> y = mul(x1, sin(x2))
    >>> [(u.operator, v.operator) for u, v in reachable(x1).edges]
    [('input', 'mul')]
    """
    nodes = topological_order(root)
    inside = set(nodes)
    edges = [(parent, node) for node in nodes for parent in dict.fromkeys(node.parent_nodes)]
    return Subgraph(nodes, [(parent, node) for parent, node in edges if parent in inside])


def check_order(order: Sequence[Node]) -> None:
    """Raise `OrderError` with the first violated edge if a node stands after one of its children.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> check_order(preorder(x1))
    Traceback (most recent call last):
    simpleautodiff.errors.OrderError: not a topological order: v2 stands after its child v4
    """
    for parent, child in find_violations(order):
        names = paper_names(execution_order(*find_ends(order)))
        raise OrderError(
            f"not a topological order: {names[parent]} stands after its child {names[child]}"
        )


def find_violations(order: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return the edges (parent, child) of which the child stands first, from left to right.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> [(u.operator, v.operator) for u, v in find_violations(preorder(x1))]
    [('mul', 'add')]
    """
    for node in order:
        check_node(node)
    position = {node: i for i, node in enumerate(order)}
    if len(position) != len(order):
        raise OrderError("not a topological order: a node stands in it twice")
    return [
        (parent, node)
        for i, node in enumerate(order)
        for parent in dict.fromkeys(node.parent_nodes)
        if position.get(parent, -1) > i
    ]


def all_orders(root: Node) -> Iterator[list[Node]]:
    """Yield every topological order of what is reachable from `root`; for small graphs.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> for order in all_orders(x1):
    ...     print([node.operator for node in order])
    ['input', 'log', 'mul', 'add', 'sub']
    ['input', 'mul', 'log', 'add', 'sub']
    """
    graph = reachable(root)
    waiting = {node: 0 for node in graph.nodes}
    children: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    for parent, node in graph.edges:
        waiting[node] += 1
        children[parent].append(node)
    rank = {
        node: i for i, node in enumerate(in_paper_order(execution_order(*find_ends(graph.nodes))))
    }
    placed: list[Node] = []
    choices = [iter([root])]
    while choices:
        following = next(choices[-1], None)
        if following is None:
            choices.pop()
            if placed:
                for child in children[placed.pop()]:
                    waiting[child] += 1
            continue
        placed.append(following)
        for child in children[following]:
            waiting[child] -= 1
        if len(placed) == len(graph.nodes):
            yield list(placed)
        done = set(placed)
        ready = [n for n in graph.nodes if waiting[n] == 0 and n not in done]
        choices.append(iter(sorted(ready, key=rank.__getitem__)))


def in_paper_order(execution: Iterable[Node]) -> list[Node]:
    """Sort an execution order as the paper's tables do: by distance from the inputs.

    A node's depth is the length of the longest path that leads to it; nodes of one depth keep their
    order. For the paper's example: v1 = log, v2 = mul, v3 = sin, then v4 = add, then v5 = sub.
    """
    nodes = list(execution)
    depth: dict[Node, int] = {}
    for node in go_through(nodes, "order"):
        depth[node] = max((depth[parent] + 1 for parent in node.parent_nodes), default=0)
    return sorted(nodes, key=depth.__getitem__)


def paper_names(execution: Iterable[Node]) -> dict[Node, str]:
    """Name inputs x1, x2, ... and the others v1, v2, ... in the paper's order."""
    return name_nodes(in_paper_order(execution))


def name_nodes(order: Iterable[Node]) -> dict[Node, str]:
    """Name inputs x1, x2, ... and the others v1, v2, ... as they stand in `order`."""
    names: dict[Node, str] = {}
    inputs = results = 0
    for node in order:
        if node.primitive is None:
            inputs += 1
            names[node] = f"x{inputs}"
        else:
            results += 1
            names[node] = f"v{results}"
    return names
