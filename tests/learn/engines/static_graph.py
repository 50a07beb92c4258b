"""A static graph: it is written down first, forward() computes it, backward() differentiates."""

import math


class Node:
    def __init__(self, *inputs):
        self.inputs = inputs
        self.value = None
        self.grad = 0.0

    def __add__(self, o):
        return Add(self, as_node(o))

    def __radd__(self, o):
        return Add(as_node(o), self)

    def __mul__(self, o):
        return Mul(self, as_node(o))

    def __rmul__(self, o):
        return Mul(as_node(o), self)

    def __sub__(self, o):
        return Sub(self, as_node(o))

    def __rsub__(self, o):
        return Sub(as_node(o), self)

    def order(self):
        out, seen = [], set()

        def go(n):
            if n in seen:
                return
            seen.add(n)
            for i in n.inputs:
                go(i)
            out.append(n)

        go(self)
        return out

    def forward(self):
        for n in self.order():
            n.compute()
        return self.value

    def backward(self):
        nodes = self.order()
        for n in nodes:
            n.grad = 0.0
        self.grad = 1.0
        for n in reversed(nodes):
            for i, p in zip(n.inputs, n.partials(), strict=True):
                i.grad += n.grad * p

    def compute(self):
        pass

    def partials(self):
        return ()


class Var(Node):
    def __init__(self, value):
        super().__init__()
        self.value = value


class Add(Node):
    def compute(self):
        self.value = self.inputs[0].value + self.inputs[1].value

    def partials(self):
        return (1.0, 1.0)


class Sub(Node):
    def compute(self):
        self.value = self.inputs[0].value - self.inputs[1].value

    def partials(self):
        return (1.0, -1.0)


class Mul(Node):
    def compute(self):
        self.value = self.inputs[0].value * self.inputs[1].value

    def partials(self):
        return (self.inputs[1].value, self.inputs[0].value)


class Sin(Node):
    def compute(self):
        self.value = math.sin(self.inputs[0].value)

    def partials(self):
        return (math.cos(self.inputs[0].value),)


def sin(x):
    return Sin(x)


def as_node(o):
    return o if isinstance(o, Node) else Var(o)
