"""A list of closures for the whole module, which reset_tape() empties; nobody zeroes gradients."""

import math

_TAPE = []


def reset_tape():
    _TAPE.clear()


class Float:
    def __init__(self, x):
        self.x = float(x)
        self.g = 0.0

    def __repr__(self):
        return f"Float({self.x}, g={self.g})"

    def __add__(self, o):
        o = lift(o)
        r = Float(self.x + o.x)

        def bw():
            self.g += r.g
            o.g += r.g

        _TAPE.append(bw)
        return r

    def __mul__(self, o):
        o = lift(o)
        r = Float(self.x * o.x)

        def bw():
            self.g += o.x * r.g
            o.g += self.x * r.g

        _TAPE.append(bw)
        return r

    def __neg__(self):
        return self * -1.0

    def __sub__(self, o):
        return self + (-lift(o))

    def __truediv__(self, o):
        return self * lift(o) ** -1

    def __pow__(self, k):
        r = Float(self.x**k)

        def bw():
            self.g += k * self.x ** (k - 1) * r.g

        _TAPE.append(bw)
        return r

    def __radd__(self, o):
        return self + o

    def __rmul__(self, o):
        return self * o

    def __rsub__(self, o):
        return lift(o) - self

    def __rtruediv__(self, o):
        return lift(o) / self


def lift(o):
    return o if isinstance(o, Float) else Float(o)


def sin(a):
    r = Float(math.sin(a.x))

    def bw():
        a.g += math.cos(a.x) * r.g

    _TAPE.append(bw)
    return r


def exp(a):
    r = Float(math.exp(a.x))

    def bw():
        a.g += r.x * r.g

    _TAPE.append(bw)
    return r


def log(a):
    r = Float(math.log(a.x))

    def bw():
        a.g += r.g / a.x

    _TAPE.append(bw)
    return r


def run_backward(out):
    out.g = 1.0
    for bw in reversed(_TAPE):
        bw()
