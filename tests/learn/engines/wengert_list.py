"""Lecture notes: a WengertList of (index, partial); a variable has grad(), a list of adjoints."""

import math


class WengertList:
    def __init__(self):
        self.lines = []

    def var(self, value):
        return self.push(value)

    def push(self, value, *deps):
        self.lines.append(deps)
        return Variable(self, len(self.lines) - 1, value)


class Variable:
    def __init__(self, wlist, idx, value):
        self.wlist, self.idx, self.value = wlist, idx, value

    def _other(self, o):
        return o if isinstance(o, Variable) else self.wlist.push(float(o))

    def __add__(self, o):
        o = self._other(o)
        return self.wlist.push(self.value + o.value, (self.idx, 1.0), (o.idx, 1.0))

    def __sub__(self, o):
        o = self._other(o)
        return self.wlist.push(self.value - o.value, (self.idx, 1.0), (o.idx, -1.0))

    def __mul__(self, o):
        o = self._other(o)
        return self.wlist.push(self.value * o.value, (self.idx, o.value), (o.idx, self.value))

    def __truediv__(self, o):
        o = self._other(o)
        return self.wlist.push(
            self.value / o.value, (self.idx, 1 / o.value), (o.idx, -self.value / o.value**2)
        )

    def __radd__(self, o):
        return self + o

    def __rmul__(self, o):
        return self * o

    def __rsub__(self, o):
        return self._other(o) - self

    def __rtruediv__(self, o):
        return self._other(o) / self

    def sin(self):
        return self.wlist.push(math.sin(self.value), (self.idx, math.cos(self.value)))

    def cos(self):
        return self.wlist.push(math.cos(self.value), (self.idx, -math.sin(self.value)))

    def ln(self):
        return self.wlist.push(math.log(self.value), (self.idx, 1 / self.value))

    def grad(self):
        adjoints = [0.0] * len(self.wlist.lines)
        adjoints[self.idx] = 1.0
        for i in range(self.idx, -1, -1):
            for j, w in self.wlist.lines[i]:
                adjoints[j] += w * adjoints[i]
        return adjoints
