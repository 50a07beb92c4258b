"""Closures that pass on what comes along each path, by itself."""

import math


class Variable:
    def __init__(self, value, pull=None):
        self.value = value
        self.pull = pull or (lambda g: None)
        self.gradient = 0.0

    def backward(self, g=1.0):
        self.gradient += g
        self.pull(g)


def as_variable(x):
    return x if isinstance(x, Variable) else Variable(x)


def add(a, b):
    a, b = as_variable(a), as_variable(b)

    def pull(g):
        a.backward(g)
        b.backward(g)

    return Variable(a.value + b.value, pull)


def sub(a, b):
    a, b = as_variable(a), as_variable(b)

    def pull(g):
        a.backward(g)
        b.backward(-g)

    return Variable(a.value - b.value, pull)


def mul(a, b):
    a, b = as_variable(a), as_variable(b)

    def pull(g):
        a.backward(g * b.value)
        b.backward(g * a.value)

    return Variable(a.value * b.value, pull)


def sin(a):
    return Variable(math.sin(a.value), lambda g: a.backward(g * math.cos(a.value)))


def exp(a):
    v = math.exp(a.value)
    return Variable(v, lambda g: a.backward(g * v))
