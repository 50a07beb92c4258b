"""The shortest engine: backward(g) adds g and calls itself for the parents, over all paths."""

import math


class Var:
    def __init__(self, value, children=None):
        self.value = value
        self.children = children or []
        self.grad = 0

    def __add__(self, other):
        return Var(self.value + other.value, [(1, self), (1, other)])

    def __sub__(self, other):
        return Var(self.value - other.value, [(1, self), (-1, other)])

    def __mul__(self, other):
        return Var(self.value * other.value, [(other.value, self), (self.value, other)])

    def backward(self, g=1):
        self.grad += g
        for coef, child in self.children:
            child.backward(coef * g)


def sin(x):
    return Var(math.sin(x.value), [(math.cos(x.value), x)])
