"""`z.grad()` returns an object, which is asked `.wrt(x)`: as in tutorials of tapes."""

import math


class Grad:
    def __init__(self, derivs):
        self.derivs = derivs

    def wrt(self, var):
        return self.derivs[var.index]


class Tape:
    def __init__(self):
        self.nodes = []

    def var(self, value):
        return Var(self, self.push((), ()), value)

    def push(self, deps, weights):
        self.nodes.append((deps, weights))
        return len(self.nodes) - 1


class Var:
    def __init__(self, tape, index, value):
        self.tape, self.index, self.value = tape, index, value

    def make(self, value, *edges):
        deps, weights = zip(*((node.index, weight) for node, weight in edges), strict=True)
        return Var(self.tape, self.tape.push(deps, weights), value)

    def __add__(self, o):
        if not isinstance(o, Var):
            return self.make(self.value + o, (self, 1.0))
        return self.make(self.value + o.value, (self, 1.0), (o, 1.0))

    def __mul__(self, o):
        if not isinstance(o, Var):
            return self.make(self.value * o, (self, o))
        return self.make(self.value * o.value, (self, o.value), (o, self.value))

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self):
        return self.make(math.sin(self.value), (self, math.cos(self.value)))

    def grad(self):
        d = [0.0] * len(self.tape.nodes)
        d[self.index] = 1.0
        for i in reversed(range(len(d))):
            for dep, w in zip(*self.tape.nodes[i], strict=True):
                d[dep] += w * d[i]
        return Grad(d)
