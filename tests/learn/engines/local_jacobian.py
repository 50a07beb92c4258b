"""All local derivatives in a matrix; one linear system gives all adjoints."""

import numpy as np


class Record:
    def __init__(self):
        self.vals = []
        self.entries = []

    def var(self, x):
        return Ref(self, self.push(x, {}))

    def push(self, x, row):
        self.vals.append(float(x))
        self.entries.append(row)
        return len(self.vals) - 1

    def gradient(self, y):
        n = len(self.vals)
        C = np.zeros((n, n))
        for i, row in enumerate(self.entries):
            for j, d in row.items():
                C[i, j] += d
        e = np.zeros(n)
        e[y.k] = 1.0
        return np.linalg.solve(np.eye(n) - C.T, e)


class Ref:
    def __init__(self, rec, k):
        self.rec, self.k = rec, k

    @property
    def value(self):
        return self.rec.vals[self.k]

    def _op(self, v, *pairs):
        row = {}
        for r, d in pairs:
            row[r.k] = row.get(r.k, 0.0) + d
        return Ref(self.rec, self.rec.push(v, row))

    def _lift(self, o):
        return o if isinstance(o, Ref) else self.rec.var(o)

    def __add__(self, o):
        o = self._lift(o)
        return self._op(self.value + o.value, (self, 1.0), (o, 1.0))

    def __sub__(self, o):
        o = self._lift(o)
        return self._op(self.value - o.value, (self, 1.0), (o, -1.0))

    def __mul__(self, o):
        o = self._lift(o)
        return self._op(self.value * o.value, (self, o.value), (o, self.value))

    def __truediv__(self, o):
        o = self._lift(o)
        return self._op(self.value / o.value, (self, 1 / o.value), (o, -self.value / o.value**2))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return self._lift(o) - self

    def __rtruediv__(self, o):
        return self._lift(o) / self

    def sin(self):
        return self._op(np.sin(self.value), (self, np.cos(self.value)))
