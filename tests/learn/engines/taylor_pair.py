"""Truncated Taylor series in a list, for functions of one variable."""

import math


class Jet:
    def __init__(self, value, slope=0.0):
        self.a = [value, slope]

    def __add__(self, o):
        o = jet(o)
        return Jet(self.a[0] + o.a[0], self.a[1] + o.a[1])

    def __sub__(self, o):
        o = jet(o)
        return Jet(self.a[0] - o.a[0], self.a[1] - o.a[1])

    def __mul__(self, o):
        o = jet(o)
        return Jet(self.a[0] * o.a[0], self.a[0] * o.a[1] + self.a[1] * o.a[0])

    def __truediv__(self, o):
        o = jet(o)
        q = self.a[0] / o.a[0]
        return Jet(q, (self.a[1] - q * o.a[1]) / o.a[0])

    def __radd__(self, o):
        return jet(o) + self

    def __rsub__(self, o):
        return jet(o) - self

    def __rmul__(self, o):
        return jet(o) * self

    def __rtruediv__(self, o):
        return jet(o) / self


def jet(x):
    return x if isinstance(x, Jet) else Jet(x)


def sin(x):
    return Jet(math.sin(x.a[0]), math.cos(x.a[0]) * x.a[1])


def derivative(f, x):
    return jet(f(Jet(x, 1.0))).a[1]
