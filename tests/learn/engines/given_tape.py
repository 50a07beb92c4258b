"""A list of weights, as many lecture notes have it: a variable is given the tape."""

import math


class Tape:
    def __init__(self):
        self.nodes = []

    def push0(self):
        self.nodes.append(((0, 0.0), (0, 0.0)))
        return len(self.nodes) - 1

    def push1(self, i, w):
        k = len(self.nodes)
        self.nodes.append(((i, w), (k, 0.0)))
        return k

    def push2(self, i, w1, j, w2):
        k = len(self.nodes)
        self.nodes.append(((i, w1), (j, w2)))
        return k


class Var:
    def __init__(self, tape, value, index=None):
        self.tape = tape
        self.value = value
        self.index = tape.push0() if index is None else index

    def _lift(self, other):
        return other if isinstance(other, Var) else Var(self.tape, other)

    def __add__(self, other):
        other = self._lift(other)
        return Var(
            self.tape, self.value + other.value, self.tape.push2(self.index, 1.0, other.index, 1.0)
        )

    def __sub__(self, other):
        other = self._lift(other)
        return Var(
            self.tape, self.value - other.value, self.tape.push2(self.index, 1.0, other.index, -1.0)
        )

    def __mul__(self, other):
        other = self._lift(other)
        return Var(
            self.tape,
            self.value * other.value,
            self.tape.push2(self.index, other.value, other.index, self.value),
        )

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return self._lift(other) - self

    def sin(self):
        return Var(
            self.tape, math.sin(self.value), self.tape.push1(self.index, math.cos(self.value))
        )

    def log(self):
        return Var(self.tape, math.log(self.value), self.tape.push1(self.index, 1 / self.value))

    def grad(self):
        derivs = [0.0] * len(self.tape.nodes)
        derivs[self.index] = 1.0
        for i in reversed(range(len(self.tape.nodes))):
            for dep, weight in self.tape.nodes[i]:
                if weight:
                    derivs[dep] += weight * derivs[i]
        return derivs
