"""A tape whose methods are the operations; its variables are places on it."""

import math


class WengertList:
    def __init__(self):
        self.ops = []
        self.vals = []

    def _record(self, value, *deps):
        self.ops.append(deps)
        self.vals.append(value)
        return len(self.vals) - 1

    def var(self, value):
        return self._record(value)

    def add(self, a, b):
        return self._record(self.vals[a] + self.vals[b], (a, 1.0), (b, 1.0))

    def sub(self, a, b):
        return self._record(self.vals[a] - self.vals[b], (a, 1.0), (b, -1.0))

    def mul(self, a, b):
        x, y = self.vals[a], self.vals[b]
        return self._record(x * y, (a, y), (b, x))

    def sin(self, a):
        return self._record(math.sin(self.vals[a]), (a, math.cos(self.vals[a])))

    def log(self, a):
        return self._record(math.log(self.vals[a]), (a, 1 / self.vals[a]))

    def backward(self, out):
        bar = [0.0] * len(self.vals)
        bar[out] = 1.0
        for k in range(out, -1, -1):
            for dep, d in self.ops[k]:
                bar[dep] += bar[k] * d
        return bar
