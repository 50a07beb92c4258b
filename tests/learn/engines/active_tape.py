"""`value_and_grad` that returns a namedtuple; operations need the tape of a running gradient."""

from collections import namedtuple
from math import cos as _cos, sin as _sin

Result = namedtuple("Result", "value grad")


class R:
    tape = None

    def __init__(self, p):
        self.p, self.b = p, 0.0

    def bin(self, o, p, da, db):
        o = o if isinstance(o, R) else R(o)
        out = R(p(self.p, o.p))
        R.tape.append((out, self, o, da(self.p, o.p), db(self.p, o.p)))
        return out

    def __add__(s, o):
        return s.bin(o, lambda a, b: a + b, lambda a, b: 1, lambda a, b: 1)

    def __mul__(s, o):
        return s.bin(o, lambda a, b: a * b, lambda a, b: b, lambda a, b: a)

    def __sub__(s, o):
        return s.bin(o, lambda a, b: a - b, lambda a, b: 1, lambda a, b: -1)

    def __rsub__(s, o):
        return R(o) - s

    __radd__, __rmul__ = __add__, __mul__


def sin(x):
    out = R(_sin(x.p))
    R.tape.append((out, x, R(0), _cos(x.p), 0))
    return out


def value_and_grad(f):
    def run(*xs):
        old, R.tape = R.tape, []
        try:
            ins = [R(x) for x in xs]
            y = f(*ins)
            if not isinstance(y, R):
                return Result(y, (0.0,) * len(xs))
            y.b = 1.0
            for out, a, b, da, db in reversed(R.tape):
                a.b += out.b * da
                b.b += out.b * db
            return Result(y.p, tuple(i.b for i in ins))
        finally:
            R.tape = old

    return run
