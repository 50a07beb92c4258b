"""A graph whose inputs are given a name and a value."""

import math


class Graph:
    def __init__(self):
        self.steps = []
        self.val = {}
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def variable(self, name, value):
        self.val[name] = value
        return name

    def record(self, value, *pairs):
        out = self.fresh()
        self.val[out] = value
        self.steps.append((out, pairs))
        return out

    def add(self, a, b):
        return self.record(self.val[a] + self.val[b], (a, 1), (b, 1))

    def sub(self, a, b):
        return self.record(self.val[a] - self.val[b], (a, 1), (b, -1))

    def mul(self, a, b):
        return self.record(self.val[a] * self.val[b], (a, self.val[b]), (b, self.val[a]))

    def sin(self, a):
        return self.record(math.sin(self.val[a]), (a, math.cos(self.val[a])))

    def gradient(self, out):
        bar = {k: 0.0 for k in self.val}
        bar[out] = 1.0
        for o, pairs in reversed(self.steps):
            for a, d in pairs:
                bar[a] += bar[o] * d
        return bar
