"""A tape of weights and indices, as in tutorials of reverse mode; the tape sweeps."""

import math


class Tape:
    def __init__(self):
        self.entries = []

    def var(self, value):
        return self.push(value, ())

    def push(self, value, parents):
        self.entries.append(parents)
        return Var(self, len(self.entries) - 1, value)

    def gradient(self, output, inputs):
        derivatives = [0.0] * len(self.entries)
        derivatives[output.index] = 1.0
        for i in range(output.index, -1, -1):
            for index, weight in self.entries[i]:
                derivatives[index] += weight * derivatives[i]
        return [derivatives[x.index] for x in inputs]


class Var:
    def __init__(self, tape, index, value):
        self.tape, self.index, self.value = tape, index, value

    def _lift(self, other):
        return other if isinstance(other, Var) else self.tape.var(other)

    def __add__(self, other):
        other = self._lift(other)
        edges = ((self.index, 1.0), (other.index, 1.0))
        return self.tape.push(self.value + other.value, edges)

    __radd__ = __add__

    def __mul__(self, other):
        other = self._lift(other)
        edges = ((self.index, other.value), (other.index, self.value))
        return self.tape.push(self.value * other.value, edges)

    __rmul__ = __mul__

    def __sub__(self, other):
        other = self._lift(other)
        edges = ((self.index, 1.0), (other.index, -1.0))
        return self.tape.push(self.value - other.value, edges)

    def __rsub__(self, other):
        return self._lift(other) - self

    def sin(self):
        return self.tape.push(math.sin(self.value), ((self.index, math.cos(self.value)),))

    def exp(self):
        value = math.exp(self.value)
        return self.tape.push(value, ((self.index, value),))
