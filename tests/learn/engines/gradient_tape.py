"""A tape that is a context, and records what is done to variables, as in TensorFlow."""

import math

_active = []


class Variable:
    def __init__(self, value):
        self.value = value

    def __add__(self, o):
        return record(self.value + val(o), (self, o), (1.0, 1.0))

    def __sub__(self, o):
        return record(self.value - val(o), (self, o), (1.0, -1.0))

    def __mul__(self, o):
        return record(self.value * val(o), (self, o), (val(o), self.value))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return record(o - self.value, (o, self), (1.0, -1.0))


def val(o):
    return o.value if isinstance(o, Variable) else o


def record(value, inputs, partials):
    out = Variable(value)
    for t in _active:
        t.ops.append((out, inputs, partials))
    return out


def sin(x):
    return record(math.sin(x.value), (x,), (math.cos(x.value),))


class GradientTape:
    def __init__(self):
        self.ops = []

    def __enter__(self):
        _active.append(self)
        return self

    def __exit__(self, *a):
        _active.remove(self)

    def gradient(self, target, sources):
        g = {id(target): 1.0}
        for out, ins, ps in reversed(self.ops):
            if id(out) in g:
                for i, p in zip(ins, ps, strict=True):
                    if isinstance(i, Variable):
                        g[id(i)] = g.get(id(i), 0.0) + p * g[id(out)]
        return [g.get(id(s), 0.0) for s in sources]
