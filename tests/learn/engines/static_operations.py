"""Operations are static methods of a class, F.sin(x); a tape of another class is cleared by it."""

import math
from typing import ClassVar


class Engine:
    tape: ClassVar = []

    @classmethod
    def clear(cls):
        cls.tape = []


class Variable:
    def __init__(self, value):
        self.value = value
        self.gradient = 0.0

    def __add__(self, o):
        return F.add(self, o)

    def __radd__(self, o):
        return F.add(self, o)

    def __mul__(self, o):
        return F.mul(self, o)

    def __rmul__(self, o):
        return F.mul(self, o)

    def __sub__(self, o):
        return F.sub(self, o)

    def __rsub__(self, o):
        return F.sub(o, self)

    def zero_grad(self):
        self.gradient = 0.0

    def backward(self):
        self.gradient = 1.0
        for out, ins, partials in reversed(Engine.tape):
            for i, p in zip(ins, partials, strict=True):
                i.gradient += p * out.gradient


def _v(o):
    return o if isinstance(o, Variable) else Variable(o)


def _record(value, ins, partials):
    out = Variable(value)
    Engine.tape.append((out, ins, partials))
    return out


class F:
    @staticmethod
    def add(a, b):
        a, b = _v(a), _v(b)
        return _record(a.value + b.value, (a, b), (1.0, 1.0))

    @staticmethod
    def sub(a, b):
        a, b = _v(a), _v(b)
        return _record(a.value - b.value, (a, b), (1.0, -1.0))

    @staticmethod
    def mul(a, b):
        a, b = _v(a), _v(b)
        return _record(a.value * b.value, (a, b), (b.value, a.value))

    @staticmethod
    def sin(a):
        return _record(math.sin(a.value), (a,), (math.cos(a.value),))

    @staticmethod
    def exp(a):
        return _record(math.exp(a.value), (a,), (math.exp(a.value),))

    @staticmethod
    def log(a):
        return _record(math.log(a.value), (a,), (1 / a.value,))
