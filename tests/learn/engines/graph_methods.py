"""A graph object makes the nodes: g.mul(a, b) is an operation, g.backward(y) the sweep."""

import math


class Node:
    def __init__(self, value, parents=(), partials=()):
        self.value, self.grad = value, 0.0
        self.parents, self.partials = parents, partials


class Graph:
    def __init__(self):
        self.nodes = []

    def _new(self, value, parents=(), partials=()):
        node = Node(value, parents, partials)
        self.nodes.append(node)
        return node

    def input(self, value):
        return self._new(value)

    def add(self, a, b):
        return self._new(a.value + b.value, (a, b), (1.0, 1.0))

    def sub(self, a, b):
        return self._new(a.value - b.value, (a, b), (1.0, -1.0))

    def mul(self, a, b):
        return self._new(a.value * b.value, (a, b), (b.value, a.value))

    def sin(self, a):
        return self._new(math.sin(a.value), (a,), (math.cos(a.value),))

    def exp(self, a):
        v = math.exp(a.value)
        return self._new(v, (a,), (v,))

    def backward(self, y):
        for node in self.nodes:
            node.grad = 0.0
        y.grad = 1.0
        for node in reversed(self.nodes):
            for parent, partial in zip(node.parents, node.partials, strict=True):
                parent.grad += partial * node.grad
