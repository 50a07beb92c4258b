"""Trees of expressions in names: y.diff("x") is a tree, and evaluate({"x": 2.0}) a number."""

import math


class Expr:
    def __add__(self, other):
        return Sum(self, wrap(other))

    def __radd__(self, other):
        return Sum(wrap(other), self)

    def __sub__(self, other):
        return Difference(self, wrap(other))

    def __rsub__(self, other):
        return Difference(wrap(other), self)

    def __mul__(self, other):
        return Product(self, wrap(other))

    def __rmul__(self, other):
        return Product(wrap(other), self)


def wrap(x):
    return x if isinstance(x, Expr) else Constant(x)


class Constant(Expr):
    def __init__(self, c):
        self.c = c

    def evaluate(self, env):
        return self.c

    def diff(self, name):
        return Constant(0)


class Symbol(Expr):
    def __init__(self, name):
        self.name = name

    def evaluate(self, env):
        return env[self.name]

    def diff(self, name):
        return Constant(1 if self.name == name else 0)


class Binary(Expr):
    def __init__(self, left, right):
        self.left, self.right = left, right


class Sum(Binary):
    def evaluate(self, env):
        return self.left.evaluate(env) + self.right.evaluate(env)

    def diff(self, name):
        return self.left.diff(name) + self.right.diff(name)


class Difference(Binary):
    def evaluate(self, env):
        return self.left.evaluate(env) - self.right.evaluate(env)

    def diff(self, name):
        return self.left.diff(name) - self.right.diff(name)


class Product(Binary):
    def evaluate(self, env):
        return self.left.evaluate(env) * self.right.evaluate(env)

    def diff(self, name):
        return self.left.diff(name) * self.right + self.left * self.right.diff(name)


class Sin(Expr):
    def __init__(self, arg):
        self.arg = arg

    def evaluate(self, env):
        return math.sin(self.arg.evaluate(env))

    def diff(self, name):
        return Cos(self.arg) * self.arg.diff(name)


class Cos(Sin):
    def evaluate(self, env):
        return math.cos(self.arg.evaluate(env))

    def diff(self, name):
        return -1 * Sin(self.arg) * self.arg.diff(name)
