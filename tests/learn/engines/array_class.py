"""Tensors that hold NumPy arrays, as in small copies of PyTorch."""

import numpy as np


class Tensor:
    def __init__(self, data, parents=(), backward_fn=None):
        self.data = np.asarray(data, dtype=float)
        self.grad = np.zeros_like(self.data)
        self.parents = parents
        self.backward_fn = backward_fn

    @staticmethod
    def ensure(x):
        return x if isinstance(x, Tensor) else Tensor(x)

    def __add__(self, o):
        o = Tensor.ensure(o)
        return Tensor(self.data + o.data, (self, o), lambda g: (g, g))

    __radd__ = __add__

    def __mul__(self, o):
        o = Tensor.ensure(o)
        return Tensor(self.data * o.data, (self, o), lambda g: (g * o.data, g * self.data))

    __rmul__ = __mul__

    def __sub__(self, o):
        o = Tensor.ensure(o)
        return Tensor(self.data - o.data, (self, o), lambda g: (g, -g))

    def __rsub__(self, o):
        return Tensor.ensure(o) - self

    def __neg__(self):
        return Tensor(-self.data, (self,), lambda g: (-g,))

    def __pow__(self, n):
        return Tensor(self.data**n, (self,), lambda g: (g * n * self.data ** (n - 1),))

    def exp(self):
        v = np.exp(self.data)
        return Tensor(v, (self,), lambda g: (g * v,))

    def tanh(self):
        v = np.tanh(self.data)
        return Tensor(v, (self,), lambda g: (g * (1 - v**2),))

    def sum(self):
        return Tensor(self.data.sum(), (self,), lambda g: (g * np.ones_like(self.data),))

    def backward(self):
        order, seen = [], set()
        stack = [(self, iter(self.parents))]
        seen.add(id(self))
        while stack:
            node, it = stack[-1]
            for p in it:
                if id(p) not in seen:
                    seen.add(id(p))
                    stack.append((p, iter(p.parents)))
                    break
            else:
                order.append(node)
                stack.pop()
        for n in order:
            n.grad = np.zeros_like(n.data)
        self.grad = np.ones_like(self.data)
        for n in reversed(order):
            if n.backward_fn:
                for p, g in zip(n.parents, n.backward_fn(n.grad), strict=True):
                    p.grad = p.grad + g
