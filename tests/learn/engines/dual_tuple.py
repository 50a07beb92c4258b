"""A dual number is a named tuple; derivative(f, x) and gradient(f, xs) seed it."""

import math
from typing import NamedTuple


class Dual(NamedTuple):
    a: float
    b: float = 0.0

    def __add__(self, o):
        o = dual(o)
        return Dual(self.a + o.a, self.b + o.b)

    def __radd__(self, o):
        return self + o

    def __sub__(self, o):
        o = dual(o)
        return Dual(self.a - o.a, self.b - o.b)

    def __rsub__(self, o):
        return dual(o) - self

    def __mul__(self, o):
        o = dual(o)
        return Dual(self.a * o.a, self.a * o.b + self.b * o.a)

    def __rmul__(self, o):
        return self * o

    def __truediv__(self, o):
        o = dual(o)
        return Dual(self.a / o.a, (self.b * o.a - self.a * o.b) / o.a**2)

    def __rtruediv__(self, o):
        return dual(o) / self

    def __neg__(self):
        return Dual(-self.a, -self.b)

    def __pow__(self, n):
        return Dual(self.a**n, n * self.a ** (n - 1) * self.b if n else 0.0)


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


def sin(x):
    x = dual(x)
    return Dual(math.sin(x.a), math.cos(x.a) * x.b)


def exp(x):
    x = dual(x)
    return Dual(math.exp(x.a), math.exp(x.a) * x.b)


def log(x):
    x = dual(x)
    return Dual(math.log(x.a), x.b / x.a)


def derivative(f, x):
    return dual(f(Dual(x, 1.0))).b


def gradient(f, xs):
    return [
        dual(f([Dual(x, 1.0 if i == j else 0.0) for j, x in enumerate(xs)])).b
        for i in range(len(xs))
    ]
