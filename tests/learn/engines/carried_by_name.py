"""Forward mode with a dict of derivatives by the name of the input: Variable("x", 2.0)."""

import numpy as np


class Variable:
    def __init__(self, name, val, der=None):
        self.name = name
        self.val = val
        self.der = {name: 1.0} if der is None else der

    def _combine(self, other, a, b):
        names = set(self.der) | set(other.der)
        return {n: a * self.der.get(n, 0.0) + b * other.der.get(n, 0.0) for n in names}

    def __add__(self, other):
        if not isinstance(other, Variable):
            return Variable(self.name, self.val + other, dict(self.der))
        return Variable("f", self.val + other.val, self._combine(other, 1.0, 1.0))

    __radd__ = __add__

    def __neg__(self):
        return Variable("f", -self.val, {k: -v for k, v in self.der.items()})

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        if not isinstance(other, Variable):
            return Variable("f", self.val * other, {k: v * other for k, v in self.der.items()})
        return Variable("f", self.val * other.val, self._combine(other, other.val, self.val))

    __rmul__ = __mul__

    def __truediv__(self, other):
        if not isinstance(other, Variable):
            return self * (1 / other)
        return Variable(
            "f", self.val / other.val, self._combine(other, 1 / other.val, -self.val / other.val**2)
        )

    def __rtruediv__(self, other):
        return Variable(
            "f", other / self.val, {k: -other * v / self.val**2 for k, v in self.der.items()}
        )

    def __pow__(self, n):
        return Variable(
            "f", self.val**n, {k: n * self.val ** (n - 1) * v for k, v in self.der.items()}
        )


def sin(x):
    return Variable("f", np.sin(x.val), {k: np.cos(x.val) * v for k, v in x.der.items()})


def cos(x):
    return Variable("f", np.cos(x.val), {k: -np.sin(x.val) * v for k, v in x.der.items()})


def exp(x):
    return Variable("f", np.exp(x.val), {k: np.exp(x.val) * v for k, v in x.der.items()})


def log(x):
    return Variable("f", np.log(x.val), {k: v / x.val for k, v in x.der.items()})
