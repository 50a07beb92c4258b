"""Forward mode for all inputs at once: each number has a dict of partial derivatives."""

import math


class Var:
    def __init__(self, value, partials=None):
        self.value = value
        self.partials = {id(self): 1.0} if partials is None else partials

    @staticmethod
    def combine(value, *terms):
        out = {}
        for weight, var in terms:
            for key, d in var.partials.items():
                out[key] = out.get(key, 0.0) + weight * d
        return Var(value, out)

    def __add__(self, o):
        o = const(o)
        return Var.combine(self.value + o.value, (1, self), (1, o))

    def __sub__(self, o):
        o = const(o)
        return Var.combine(self.value - o.value, (1, self), (-1, o))

    def __mul__(self, o):
        o = const(o)
        return Var.combine(self.value * o.value, (o.value, self), (self.value, o))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, o):
        return const(o) - self


def const(x):
    return x if isinstance(x, Var) else Var(x, {})


def sin(x):
    return Var.combine(math.sin(x.value), (math.cos(x.value), x))


def gradient(y, inputs):
    return [const(y).partials.get(id(x), 0.0) for x in inputs]
