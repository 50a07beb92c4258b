"""Tensors that count how often they were used, and pass a gradient on when all uses have come."""

import numpy as np


class Tensor:
    def __init__(self, data, autograd=False, creators=(), rule=None):
        self.data = np.array(data)
        self.autograd = autograd
        self.creators, self.rule = creators, rule
        self.grad = None
        self.awaited = 0
        for creator in creators:
            creator.awaited += 1

    def make(self, value, creators, rule):
        if all(creator.autograd for creator in creators):
            return Tensor(value, True, creators, rule)
        return Tensor(value)

    def __add__(self, other):
        return self.make(self.data + other.data, (self, other), lambda g: (g, g))

    def __sub__(self, other):
        return self.make(self.data - other.data, (self, other), lambda g: (g, -g))

    def __mul__(self, other):
        a, b = self.data, other.data
        return self.make(a * b, (self, other), lambda g: (g * b, g * a))

    def __neg__(self):
        return self.make(-self.data, (self,), lambda g: (-g,))

    def backward(self, grad=None):
        first = grad is None
        grad = np.ones_like(self.data) if first else grad
        self.grad = grad if self.grad is None else self.grad + grad
        self.awaited -= 0 if first else 1
        if self.creators and (first or self.awaited == 0):
            for creator, g in zip(self.creators, self.rule(self.grad), strict=True):
                creator.backward(g)
