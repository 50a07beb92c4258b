"""Dual numbers with a function that differentiates functions of one variable."""

import numpy as np


class DualNumber:
    def __init__(self, real, dual=0):
        self.real = real
        self.dual = dual

    @staticmethod
    def _lift(o):
        return o if isinstance(o, DualNumber) else DualNumber(o)

    def __add__(self, o):
        o = DualNumber._lift(o)
        return DualNumber(self.real + o.real, self.dual + o.dual)

    __radd__ = __add__

    def __sub__(self, o):
        o = DualNumber._lift(o)
        return DualNumber(self.real - o.real, self.dual - o.dual)

    def __rsub__(self, o):
        return DualNumber._lift(o) - self

    def __mul__(self, o):
        o = DualNumber._lift(o)
        return DualNumber(self.real * o.real, self.real * o.dual + self.dual * o.real)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = DualNumber._lift(o)
        return DualNumber(self.real / o.real, (self.dual * o.real - self.real * o.dual) / o.real**2)

    def __rtruediv__(self, o):
        return DualNumber._lift(o) / self

    def __pow__(self, n):
        return DualNumber(self.real**n, n * self.real ** (n - 1) * self.dual)

    def __neg__(self):
        return DualNumber(-self.real, -self.dual)

    def __repr__(self):
        return f"{self.real} + {self.dual}ε"

    # numpy calls these methods on objects
    def sin(self):
        return DualNumber(np.sin(self.real), np.cos(self.real) * self.dual)

    def cos(self):
        return DualNumber(np.cos(self.real), -np.sin(self.real) * self.dual)

    def exp(self):
        return DualNumber(np.exp(self.real), np.exp(self.real) * self.dual)

    def log(self):
        return DualNumber(np.log(self.real), self.dual / self.real)


def derivative(f, x):
    y = f(DualNumber(x, 1))
    return y.dual if isinstance(y, DualNumber) else 0.0
