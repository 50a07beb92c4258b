"""A class with `__slots__`; the order is that in which nodes were made, by a counter."""

import heapq
import math
import weakref
from itertools import count

_tick = count()
_live = weakref.WeakSet()


class Var:
    __slots__ = ("__weakref__", "adj", "edges", "tick", "val")

    def __init__(self, val, edges=()):
        self.val, self.edges, self.adj, self.tick = val, edges, 0.0, next(_tick)
        _live.add(self)

    def __add__(self, o):
        o = as_var(o)
        return Var(self.val + o.val, ((self, 1.0), (o, 1.0)))

    def __sub__(self, o):
        o = as_var(o)
        return Var(self.val - o.val, ((self, 1.0), (o, -1.0)))

    def __mul__(self, o):
        o = as_var(o)
        return Var(self.val * o.val, ((self, o.val), (o, self.val)))

    def __truediv__(self, o):
        o = as_var(o)
        return Var(self.val / o.val, ((self, 1 / o.val), (o, -self.val / o.val**2)))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return as_var(o) - self

    def __rtruediv__(self, o):
        return as_var(o) / self

    def __neg__(self):
        return Var(-self.val, ((self, -1.0),))

    def __pow__(self, n):
        return Var(self.val**n, ((self, n * self.val ** (n - 1)),))

    def sin(self):
        return Var(math.sin(self.val), ((self, math.cos(self.val)),))

    def cos(self):
        return Var(math.cos(self.val), ((self, -math.sin(self.val)),))

    def exp(self):
        e = math.exp(self.val)
        return Var(e, ((self, e),))

    def log(self):
        return Var(math.log(self.val), ((self, 1 / self.val),))


def as_var(x):
    return x if isinstance(x, Var) else Var(x)


def backprop(y):
    for v in _live:
        v.adj = 0.0
    heap, seen = [(-y.tick, y)], {y}
    pending = {y: 1.0}
    while heap:
        _, v = heapq.heappop(heap)
        v.adj = pending.pop(v)
        for p, w in v.edges:
            pending[p] = pending.get(p, 0.0) + v.adj * w
            if p not in seen:
                seen.add(p)
                heapq.heappush(heap, (-p.tick, p))
