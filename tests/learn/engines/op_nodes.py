"""Each operation is a class of nodes, Mul(x, y), with its rule; a function sweeps them all."""

import math


class Op:
    def __init__(self, *args):
        self.args = args
        self.value = self.forward(*(a.value for a in args))
        self.grad = 0.0

    def forward(self, *values):
        raise NotImplementedError

    def backward(self, g):
        raise NotImplementedError


class Input(Op):
    def __init__(self, value):
        self.args, self.value, self.grad = (), value, 0.0

    def backward(self, g):
        return ()


class AddOp(Op):
    def forward(self, a, b):
        return a + b

    def backward(self, g):
        return g, g


class SubOp(Op):
    def forward(self, a, b):
        return a - b

    def backward(self, g):
        return g, -g


class MulOp(Op):
    def forward(self, a, b):
        return a * b

    def backward(self, g):
        a, b = self.args
        return g * b.value, g * a.value


class SinOp(Op):
    def forward(self, a):
        return math.sin(a)

    def backward(self, g):
        return (g * math.cos(self.args[0].value),)


def backprop(out):
    order = []

    def visit(node):
        if node not in order:
            for arg in node.args:
                visit(arg)
            order.append(node)

    visit(out)
    grads = dict.fromkeys(order, 0.0)
    grads[out] = 1.0
    for node in reversed(order):
        for arg, g in zip(node.args, node.backward(grads[node]), strict=True):
            grads[arg] += g
    return grads
