"""Tensors whose gradients are arrays, which sums hand on."""

import numpy as np


class Tensor:
    def __init__(self, data, parents=()):
        self.data = np.asarray(data, dtype=float)
        self.grad = None
        self.parents = parents
        self.backward_fn = None

    def acc(self, g):
        if self.grad is None:
            self.grad = g
        else:
            self.grad = self.grad + g

    @staticmethod
    def wrap(o):
        return o if isinstance(o, Tensor) else Tensor(o)

    def __add__(self, o):
        o = Tensor.wrap(o)
        out = Tensor(self.data + o.data, (self, o))

        def fn(g):
            self.acc(g)
            o.acc(g)

        out.backward_fn = fn
        return out

    def __mul__(self, o):
        o = Tensor.wrap(o)
        out = Tensor(self.data * o.data, (self, o))

        def fn(g):
            self.acc(np.asarray(g * o.data))
            o.acc(np.asarray(g * self.data))

        out.backward_fn = fn
        return out

    def __sub__(self, o):
        return self + Tensor.wrap(o) * -1.0

    def __rsub__(self, o):
        return Tensor.wrap(o) + self * -1.0

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self):
        out = Tensor(np.sin(self.data), (self,))
        out.backward_fn = lambda g: self.acc(np.asarray(g * np.cos(self.data)))
        return out

    def backward(self):
        order, seen = [], set()

        def visit(t):
            if id(t) in seen:
                return
            seen.add(id(t))
            for p in t.parents:
                visit(p)
            order.append(t)

        visit(self)
        for t in order:
            t.grad = None
        self.grad = np.ones_like(self.data)
        for t in reversed(order):
            if t.backward_fn:
                t.backward_fn(t.grad)
