"""The tape is five parallel lists of a class; a variable is a number of a line."""

import math


class AD:
    vals, left, right, dl, dr = [], [], [], [], []

    def __init__(self, i):
        self.i = i

    @classmethod
    def new(cls, v, lhs=-1, rhs=-1, dl=0.0, dr=0.0):
        cls.vals.append(v)
        cls.left.append(lhs)
        cls.right.append(rhs)
        cls.dl.append(dl)
        cls.dr.append(dr)
        return cls(len(cls.vals) - 1)

    @property
    def value(self):
        return AD.vals[self.i]

    def __add__(self, o):
        o = C(o)
        return AD.new(self.value + o.value, self.i, o.i, 1.0, 1.0)

    def __sub__(self, o):
        o = C(o)
        return AD.new(self.value - o.value, self.i, o.i, 1.0, -1.0)

    def __mul__(self, o):
        o = C(o)
        return AD.new(self.value * o.value, self.i, o.i, o.value, self.value)

    def __rsub__(self, o):
        return C(o) - self

    __radd__, __rmul__ = __add__, __mul__


def C(o):
    return o if isinstance(o, AD) else AD.new(o)


def var(v):
    return AD.new(v)


def sin(x):
    return AD.new(math.sin(x.value), x.i, -1, math.cos(x.value))


def backward(y):
    g = [0.0] * len(AD.vals)
    g[y.i] = 1.0
    for k in range(y.i, -1, -1):
        if AD.left[k] >= 0:
            g[AD.left[k]] += g[k] * AD.dl[k]
        if AD.right[k] >= 0:
            g[AD.right[k]] += g[k] * AD.dr[k]
    return g
