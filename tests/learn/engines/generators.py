"""Operations are generators: they compute, yield, and are resumed in reverse to pass gradients."""

import functools
import math

trail = []


class Num:
    def __init__(self, value):
        self.value = value
        self.grad = 0.0

    def __add__(self, other):
        return add(self, lift(other))

    def __radd__(self, other):
        return add(lift(other), self)

    def __mul__(self, other):
        return mul(self, lift(other))

    def __rmul__(self, other):
        return mul(lift(other), self)

    def __sub__(self, other):
        return sub(self, lift(other))

    def __rsub__(self, other):
        return sub(lift(other), self)


def lift(x):
    return x if isinstance(x, Num) else Num(x)


def operation(generator):
    @functools.wraps(generator)
    def call(*args):
        running = generator(*args)
        out = next(running)
        trail.append((running, out, args))
        return out

    return call


@operation
def add(a, b):
    out = Num(a.value + b.value)
    while True:
        yield out
        a.grad += out.grad
        b.grad += out.grad


@operation
def sub(a, b):
    out = Num(a.value - b.value)
    while True:
        yield out
        a.grad += out.grad
        b.grad -= out.grad


@operation
def mul(a, b):
    out = Num(a.value * b.value)
    while True:
        yield out
        a.grad += b.value * out.grad
        b.grad += a.value * out.grad


@operation
def sin(a):
    out = Num(math.sin(a.value))
    while True:
        yield out
        a.grad += math.cos(a.value) * out.grad


@operation
def exp(a):
    out = Num(math.exp(a.value))
    while True:
        yield out
        a.grad += out.value * out.grad


def backward(y):
    for _, out, args in trail:
        for node in (out, *args):
            node.grad = 0.0
    y.grad = 1.0
    for running, _, _ in reversed(trail):
        next(running)
