"""Nodes in the paper's shape, with backward(y) that writes .grad, and a dunder for every sign."""

import math


class Node:
    def __init__(self, value, parents=None, partials=None):
        self.value = value
        self.parents = parents or []
        self.partials = partials or []
        self.grad = 0.0


def add(a, b):
    return Node(a.value + b.value, [a, b], [1.0, 1.0])


def sub(a, b):
    return Node(a.value - b.value, [a, b], [1.0, -1.0])


def multiply(a, b):
    return Node(a.value * b.value, [a, b], [b.value, a.value])


def divide(a, b):
    return Node(a.value / b.value, [a, b], [1 / b.value, -a.value / b.value**2])


def sqrt(a):
    root = math.sqrt(a.value)
    return Node(root, [a], [0.5 / root])


def ancestors(y):
    found, stack = {}, [y]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(node.parents)
    return found


def backward(y):
    nodes = ancestors(y)
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes.values():
        node.grad = 0.0
        for parent in node.parents:
            waiting[id(parent)] += 1
    y.grad = 1.0
    ready = [y]
    while ready:
        node = ready.pop()
        for parent, partial in zip(node.parents, node.partials, strict=True):
            parent.grad += partial * node.grad
            waiting[id(parent)] -= 1
            if not waiting[id(parent)]:
                ready.append(parent)
