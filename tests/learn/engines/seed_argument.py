"""`y.backward(1.0)`: the seed is an argument that must be given."""

import math


class Variable:
    def __init__(self, val, parents=()):
        self.val = val
        self.parents = parents
        self.adjoint = 0.0

    def __add__(self, o):
        o = o if isinstance(o, Variable) else Variable(o)
        return Variable(self.val + o.val, ((self, 1.0), (o, 1.0)))

    def __mul__(self, o):
        o = o if isinstance(o, Variable) else Variable(o)
        return Variable(self.val * o.val, ((self, o.val), (o, self.val)))

    def __sub__(self, o):
        o = o if isinstance(o, Variable) else Variable(o)
        return Variable(self.val - o.val, ((self, 1.0), (o, -1.0)))

    def __neg__(self):
        return Variable(-self.val, ((self, -1.0),))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return Variable(o) - self

    def sin(self):
        return Variable(math.sin(self.val), ((self, math.cos(self.val)),))

    def backward(self, seed):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            n, done = stack.pop()
            if done:
                order.append(n)
                continue
            if id(n) in seen:
                continue
            seen.add(id(n))
            stack.append((n, True))
            stack.extend((p, False) for p, _ in n.parents)
        for n in order:
            n.adjoint = 0.0
        self.adjoint = seed
        for n in reversed(order):
            for p, d in n.parents:
                p.adjoint += d * n.adjoint
