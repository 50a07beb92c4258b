"""`gradient(f, xs)`: f takes one list of inputs."""

import math


class Var:
    def __init__(self, v, ch=()):
        self.v, self.ch, self.g = v, ch, 0.0

    def __add__(self, o):
        o = L(o)
        return Var(self.v + o.v, [(self, 1), (o, 1)])

    def __mul__(self, o):
        o = L(o)
        return Var(self.v * o.v, [(self, o.v), (o, self.v)])

    def __sub__(self, o):
        o = L(o)
        return Var(self.v - o.v, [(self, 1), (o, -1)])

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return L(o) - self


def L(o):
    return o if isinstance(o, Var) else Var(o)


def sin(x):
    return Var(math.sin(x.v), [(x, math.cos(x.v))])


def gradient(f, xs):
    vs = [Var(x) for x in xs]
    y = L(f(vs))
    order, seen = [], set()

    def go(n):
        if id(n) in seen:
            return
        seen.add(id(n))
        for c, _ in n.ch:
            go(c)
        order.append(n)

    go(y)
    y.g = 1.0
    for n in reversed(order):
        for c, d in n.ch:
            c.g += d * n.g
    return [v.g for v in vs]
