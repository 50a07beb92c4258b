"""A node is done when all its uses in this graph are; gradient(y, wrt) takes a list, or none."""

import math
from collections import defaultdict, deque


class Arith:
    def __add__(self, o):
        return make(self.v + val(o), (self, 1.0), (o, 1.0))

    __radd__ = __add__

    def __sub__(self, o):
        return make(self.v - val(o), (self, 1.0), (o, -1.0))

    def __rsub__(self, o):
        return make(val(o) - self.v, (o, 1.0), (self, -1.0))

    def __mul__(self, o):
        return make(self.v * val(o), (self, val(o)), (o, self.v))

    __rmul__ = __mul__

    def __truediv__(self, o):
        return make(self.v / val(o), (self, 1 / val(o)), (o, -self.v / val(o) ** 2))

    def __rtruediv__(self, o):
        return make(val(o) / self.v, (o, 1 / self.v), (self, -val(o) / self.v**2))

    def __pow__(self, n):
        return make(self.v**n, (self, n * self.v ** (n - 1)))

    def __neg__(self):
        return make(-self.v, (self, -1.0))


class Leaf(Arith):
    __slots__ = ("deps", "v")

    def __init__(self, v):
        self.v = v
        self.deps = ()


class Result(Arith):
    __slots__ = ("deps", "v")

    def __init__(self, v, deps):
        self.v = v
        self.deps = deps


def val(o):
    return o.v if isinstance(o, Arith) else o


def make(v, *deps):
    return Result(v, tuple(d for d in deps if isinstance(d[0], Arith)))


def sin(x):
    return make(math.sin(val(x)), (x, math.cos(val(x))))


def cos(x):
    return make(math.cos(val(x)), (x, -math.sin(val(x))))


def exp(x):
    return make(math.exp(val(x)), (x, math.exp(val(x))))


def log(x):
    return make(math.log(val(x)), (x, 1 / val(x)))


def gradient(y, wrt):
    uses = defaultdict(int)
    seen, todo = {y}, [y]
    while todo:
        n = todo.pop()
        for p, _ in n.deps:
            uses[p] += 1
            if p not in seen:
                seen.add(p)
                todo.append(p)
    adj = defaultdict(float)
    adj[y] = 1.0
    ready = deque([y])
    while ready:
        n = ready.popleft()
        for p, d in n.deps:
            adj[p] += adj[n] * d
            uses[p] -= 1
            if uses[p] == 0:
                ready.append(p)
    return [adj[x] for x in wrt]
