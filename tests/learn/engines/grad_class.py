"""A class `grad`, used as a decorator: grad(f) is called with the point."""

import math


class T:
    def __init__(self, v, ps=()):
        self.v, self.ps = v, ps

    def __add__(self, o):
        o = L(o)
        return T(self.v + o.v, [(self, 1.0), (o, 1.0)])

    def __sub__(self, o):
        o = L(o)
        return T(self.v - o.v, [(self, 1.0), (o, -1.0)])

    def __mul__(self, o):
        o = L(o)
        return T(self.v * o.v, [(self, o.v), (o, self.v)])

    def __rsub__(self, o):
        return L(o) - self

    __radd__, __rmul__ = __add__, __mul__


def L(o):
    return o if isinstance(o, T) else T(o)


def sin(x):
    x = L(x)
    return T(math.sin(x.v), [(x, math.cos(x.v))])


class grad:
    """A class used as a decorator: @grad def f(x, y): ..."""

    def __init__(self, f):
        self.f = f

    def __call__(self, *point):
        xs = [T(p) for p in point]
        y = L(self.f(*xs))
        order, seen, stack = [], set(), [(y, 0)]
        while stack:
            v, k = stack.pop()
            if k:
                order.append(v)
                continue
            if id(v) in seen:
                continue
            seen.add(id(v))
            stack.append((v, 1))
            stack += [(p, 0) for p, _ in v.ps]
        g = {id(v): 0.0 for v in order}
        g[id(y)] = 1.0
        for v in reversed(order):
            for p, d in v.ps:
                g[id(p)] += g[id(v)] * d
        return tuple(g.get(id(x), 0.0) for x in xs)
