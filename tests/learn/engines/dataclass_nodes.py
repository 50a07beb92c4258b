"""Nodes are dataclasses with the name of their operation; backward() matches it."""

import math
from dataclasses import dataclass, field


@dataclass(eq=False)
class Node:
    value: float
    op: str = "leaf"
    args: list["Node"] = field(default_factory=list)
    grad: float = 0.0

    def __add__(self, other):
        other = as_node(other)
        return Node(self.value + other.value, "+", [self, other])

    def __sub__(self, other):
        other = as_node(other)
        return Node(self.value - other.value, "-", [self, other])

    def __mul__(self, other):
        other = as_node(other)
        return Node(self.value * other.value, "*", [self, other])

    def __truediv__(self, other):
        other = as_node(other)
        return Node(self.value / other.value, "/", [self, other])

    def __radd__(self, other):
        return as_node(other) + self

    def __rsub__(self, other):
        return as_node(other) - self

    def __rmul__(self, other):
        return as_node(other) * self

    def __rtruediv__(self, other):
        return as_node(other) / self


def as_node(x):
    return x if isinstance(x, Node) else Node(x)


def sin(x):
    return Node(math.sin(x.value), "sin", [x])


def exp(x):
    return Node(math.exp(x.value), "exp", [x])


def find_order(node):
    order = []

    def visit(n):
        if n not in order:
            for arg in n.args:
                visit(arg)
            order.append(n)

    visit(node)
    return order


def backward(output):
    order = find_order(output)
    for node in order:
        node.grad = 0.0
    output.grad = 1.0
    for node in reversed(order):
        g = node.grad
        match node.op, node.args:
            case "+", [a, b]:
                a.grad += g
                b.grad += g
            case "-", [a, b]:
                a.grad += g
                b.grad -= g
            case "*", [a, b]:
                a.grad += g * b.value
                b.grad += g * a.value
            case "/", [a, b]:
                a.grad += g / b.value
                b.grad -= g * a.value / b.value**2
            case "sin", [a]:
                a.grad += g * math.cos(a.value)
            case "exp", [a]:
                a.grad += g * node.value
