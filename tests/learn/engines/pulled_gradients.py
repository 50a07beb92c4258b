"""Variables that know their children, and are asked for their gradient after a seed by hand."""

import math


class Var:
    def __init__(self, value):
        self.value = value
        self.children = []
        self.grad_value = None

    def grad(self):
        if self.grad_value is None:
            self.grad_value = sum(weight * var.grad() for weight, var in self.children)
        return self.grad_value

    def __add__(self, other):
        other = other if isinstance(other, Var) else Var(other)
        z = Var(self.value + other.value)
        self.children.append((1.0, z))
        other.children.append((1.0, z))
        return z

    __radd__ = __add__

    def __mul__(self, other):
        other = other if isinstance(other, Var) else Var(other)
        z = Var(self.value * other.value)
        self.children.append((other.value, z))
        other.children.append((self.value, z))
        return z

    __rmul__ = __mul__


def sin(x):
    z = Var(math.sin(x.value))
    x.children.append((math.cos(x.value), z))
    return z
