"""Tensors whose gradient is None until a sweep comes by, as in PyTorch."""

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=True, _prev=()):
        self.data = np.asarray(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self._prev = _prev
        self._grad_fn = None

    @property
    def shape(self):
        return self.data.shape

    def _make(self, data, prev, fn):
        out = Tensor(data, True, prev)
        out._grad_fn = fn
        return out

    def __add__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other, False)
        return self._make(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other, False)
        return self._make(
            self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data)
        )

    def __sub__(self, other):
        return self + (-other if isinstance(other, Tensor) else -np.asarray(other))

    def __neg__(self):
        return self * -1.0

    def __rsub__(self, o):
        return -self + o

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, n):
        return self._make(self.data**n, (self,), lambda g: (g * n * self.data ** (n - 1),))

    def __truediv__(self, o):
        return self * (o**-1 if isinstance(o, Tensor) else 1.0 / o)

    def __rtruediv__(self, o):
        return (self**-1) * o

    def exp(self):
        v = np.exp(self.data)
        return self._make(v, (self,), lambda g: (g * v,))

    def log(self):
        return self._make(np.log(self.data), (self,), lambda g: (g / self.data,))

    def tanh(self):
        v = np.tanh(self.data)
        return self._make(v, (self,), lambda g: (g * (1 - v * v),))

    def relu(self):
        return self._make(np.maximum(self.data, 0), (self,), lambda g: (g * (self.data > 0),))

    def sum(self):
        return self._make(self.data.sum(), (self,), lambda g: (g * np.ones_like(self.data),))

    def zero_grad(self):
        self.grad = None

    def backward(self, grad=None):
        if grad is None:
            grad = np.ones_like(self.data)
        topo, seen = [], set()

        def visit(t):
            if id(t) not in seen:
                seen.add(id(t))
                for p in t._prev:
                    visit(p)
                topo.append(t)

        visit(self)
        self.grad = grad
        for t in reversed(topo):
            if t._grad_fn is None:
                continue
            for p, g in zip(t._prev, t._grad_fn(t.grad), strict=True):
                p.grad = g if p.grad is None else p.grad + g
