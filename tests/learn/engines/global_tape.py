"""A Wengert list that is global; the sweep returns a list of adjoints."""

import math

tape = []


class Var:
    def __init__(self, value, index=None):
        self.value = value
        if index is None:
            index = push((), ())
        self.index = index

    def __add__(self, other):
        other = const(other)
        return Var(self.value + other.value, push((1.0, 1.0), (self.index, other.index)))

    __radd__ = __add__

    def __mul__(self, other):
        other = const(other)
        return Var(
            self.value * other.value, push((other.value, self.value), (self.index, other.index))
        )

    __rmul__ = __mul__

    def __sub__(self, other):
        other = const(other)
        return Var(self.value - other.value, push((1.0, -1.0), (self.index, other.index)))

    def __rsub__(self, other):
        return const(other) - self

    def __truediv__(self, other):
        other = const(other)
        return Var(
            self.value / other.value,
            push((1 / other.value, -self.value / other.value**2), (self.index, other.index)),
        )

    def __rtruediv__(self, other):
        return const(other) / self

    def __neg__(self):
        return Var(-self.value, push((-1.0,), (self.index,)))


def push(weights, parents):
    tape.append((weights, parents))
    return len(tape) - 1


def const(x):
    return x if isinstance(x, Var) else Var(float(x))


def sin(x):
    return Var(math.sin(x.value), push((math.cos(x.value),), (x.index,)))


def exp(x):
    v = math.exp(x.value)
    return Var(v, push((v,), (x.index,)))


def gradients(output):
    adjoints = [0.0] * len(tape)
    adjoints[output.index] = 1.0
    for i in range(len(tape) - 1, -1, -1):
        for w, p in zip(*tape[i], strict=True):
            adjoints[p] += w * adjoints[i]
    return adjoints
