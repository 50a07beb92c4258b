"""grad(y, x, z) of a node, as in PyTorch; a heap of numbers gives the order."""

import heapq
import itertools
import math

_ids = itertools.count()


class Var:
    def __init__(self, value, history=()):
        self.value, self.history, self.uid = value, history, next(_ids)

    def __add__(self, o):
        o = V(o)
        return Var(self.value + o.value, ((self, lambda g: g), (o, lambda g: g)))

    def __mul__(self, o):
        o = V(o)
        return Var(
            self.value * o.value, ((self, lambda g: g * o.value), (o, lambda g: g * self.value))
        )

    def __sub__(self, o):
        o = V(o)
        return Var(self.value - o.value, ((self, lambda g: g), (o, lambda g: -g)))

    def __truediv__(self, o):
        o = V(o)
        return Var(
            self.value / o.value,
            ((self, lambda g: g / o.value), (o, lambda g: -g * self.value / o.value**2)),
        )

    def __pow__(self, n):
        return Var(self.value**n, ((self, lambda g: g * n * self.value ** (n - 1)),))

    def __neg__(self):
        return Var(-self.value, ((self, lambda g: -g),))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return V(o) - self

    def __rtruediv__(self, o):
        return V(o) / self


def V(o):
    return o if isinstance(o, Var) else Var(o)


def sin(x):
    return Var(math.sin(x.value), ((x, lambda g: g * math.cos(x.value)),))


def cos(x):
    return Var(math.cos(x.value), ((x, lambda g: -g * math.sin(x.value)),))


def exp(x):
    e = math.exp(x.value)
    return Var(e, ((x, lambda g: g * e),))


def grad(y, *xs):
    g = {y.uid: 1.0}
    heap, queued = [(-y.uid, y)], {y.uid}
    while heap:
        _, v = heapq.heappop(heap)
        for p, fn in v.history:
            g[p.uid] = g.get(p.uid, 0.0) + fn(g[v.uid])
            if p.uid not in queued:
                queued.add(p.uid)
                heapq.heappush(heap, (-p.uid, p))
    return [g.get(x.uid, 0.0) for x in xs]
