"""A number is a pair: a value, and what to do with the derivative that comes to it."""

import math


def mul(a, b):
    def back(g):
        a[1](g * b[0])
        b[1](g * a[0])

    return a[0] * b[0], back


def add(a, b):
    def back(g):
        a[1](g)
        b[1](g)

    return a[0] + b[0], back


def sub(a, b):
    def back(g):
        a[1](g)
        b[1](-g)

    return a[0] - b[0], back


def sin(a):
    return math.sin(a[0]), lambda g: a[1](g * math.cos(a[0]))


def grad(f):
    def df(*xs):
        out = [0.0] * len(xs)

        def slot(i):
            def take(g):
                out[i] += g

            return take

        y = f(*[(x, slot(i)) for i, x in enumerate(xs)])
        y[1](1.0)
        return out

    return df
