"""Rung 0: the paper's program, with its names, its behaviour and its defects.

Each defect is pointed at where it stands; the next rung removes them.
"""

from __future__ import annotations

import math


class Node:
    """A number of the computational graph that knows its parents and its children."""

    verbose = False
    input_count = 0  # defect: the class counts, so a second example begins with x3 and v6
    step_count = 0

    def __init__(
        self, value: float, parent_nodes: list[Node] = [], operator: str = "input"
    ) -> None:
        self.value = value  # defect: anything is accepted, a string too
        self.parent_nodes = parent_nodes  # defect: all inputs share one default list
        self.child_nodes: list[Node] = []  # defect: an input keeps every dead result alive
        self.operator = operator
        self.grad_wrt_parents: list[float] = []
        self.partial_derivative: float = 0  # defect: what the last sweep wrote stays here
        if operator == "input":
            Node.input_count += 1
            self.name = f"x{Node.input_count}"
        else:
            Node.step_count += 1
            self.name = f"v{Node.step_count}"
        if Node.verbose:
            names = ", ".join(parent.name for parent in parent_nodes)
            print(f"{self.name} = {operator}({names}) = {round(value, 3)}")  # defect: 1e-5 is 0.0


def add(node1: Node, node2: Node) -> Node:
    """Add two nodes."""
    value = node1.value + node2.value
    new_node = Node(value, [node1, node2], "add")
    new_node.grad_wrt_parents = [1.0, 1.0]
    node1.child_nodes.append(new_node)
    node2.child_nodes.append(new_node)  # defect: if this line fails, node1 has a phantom child
    return new_node


def sub(node1: Node, node2: Node) -> Node:
    """Subtract the second node from the first."""
    value = node1.value - node2.value
    new_node = Node(value, [node1, node2], "sub")
    new_node.grad_wrt_parents = [1.0, -1.0]
    node1.child_nodes.append(new_node)
    node2.child_nodes.append(new_node)
    return new_node


def mul(node1: Node, node2: Node) -> Node:
    """Multiply two nodes."""
    value = node1.value * node2.value
    new_node = Node(value, [node1, node2], "mul")
    new_node.grad_wrt_parents = [node2.value, node1.value]
    node1.child_nodes.append(new_node)
    node2.child_nodes.append(new_node)
    return new_node


def log(node: Node) -> Node:
    """Take the natural logarithm."""
    value = math.log(node.value)  # defect: log of 0 says "math domain error" and names no node
    new_node = Node(value, [node], "log")
    new_node.grad_wrt_parents = [1 / node.value]
    node.child_nodes.append(new_node)
    return new_node


def sin(node: Node) -> Node:
    """Take the sine."""
    value = math.sin(node.value)
    new_node = Node(value, [node], "sin")
    new_node.grad_wrt_parents = [math.cos(node.value)]
    node.child_nodes.append(new_node)
    return new_node


def topological_order(root: Node) -> list[Node]:
    """List the nodes reachable from the root, each before all of its children."""

    def add_children(node: Node) -> None:
        if node not in visited:
            visited.add(node)
            for child in node.child_nodes:
                add_children(child)  # defect: a chain of 1,000 operations is too deep
            ordering.append(node)

    ordering: list[Node] = []
    visited: set[Node] = set()
    add_children(root)
    return ordering[::-1]


def forward(root: Node) -> None:  # defect: returns nothing; the numbers are to be read off nodes
    """Write into each reachable node its derivative with respect to the root."""
    root.partial_derivative = 1
    for node in topological_order(root)[1:]:
        partial_derivative: float = 0
        for i in range(len(node.parent_nodes)):
            dnode_dparent = node.grad_wrt_parents[i]
            # defect: a parent that the root does not reach has the number of an earlier sweep
            dparent_droot = node.parent_nodes[i].partial_derivative
            partial_derivative += dnode_dparent * dparent_droot
        node.partial_derivative = partial_derivative
