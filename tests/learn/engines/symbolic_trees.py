"""Trees of expressions: y.diff(x) is another tree, and evaluate() gives numbers."""

import math


class Expr:
    def __add__(self, o):
        return Add(self, wrap(o))

    def __radd__(self, o):
        return Add(wrap(o), self)

    def __mul__(self, o):
        return Mul(self, wrap(o))

    def __rmul__(self, o):
        return Mul(wrap(o), self)

    def __sub__(self, o):
        return Add(self, Mul(Const(-1), wrap(o)))

    def __rsub__(self, o):
        return Add(wrap(o), Mul(Const(-1), self))

    def __neg__(self):
        return Mul(Const(-1), self)


def wrap(o):
    return o if isinstance(o, Expr) else Const(o)


class Const(Expr):
    def __init__(self, c):
        self.c = c

    def evaluate(self):
        return self.c

    def diff(self, x):
        return Const(0)


class Var(Expr):
    def __init__(self, value):
        self.value = value

    def evaluate(self):
        return self.value

    def diff(self, x):
        return Const(1 if x is self else 0)


class Add(Expr):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def evaluate(self):
        return self.a.evaluate() + self.b.evaluate()

    def diff(self, x):
        return Add(self.a.diff(x), self.b.diff(x))


class Mul(Expr):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def evaluate(self):
        return self.a.evaluate() * self.b.evaluate()

    def diff(self, x):
        return Add(Mul(self.a.diff(x), self.b), Mul(self.a, self.b.diff(x)))


class Sin(Expr):
    def __init__(self, a):
        self.a = a

    def evaluate(self):
        return math.sin(self.a.evaluate())

    def diff(self, x):
        return Mul(Cos(self.a), self.a.diff(x))


class Cos(Expr):
    def __init__(self, a):
        self.a = a

    def evaluate(self):
        return math.cos(self.a.evaluate())

    def diff(self, x):
        return Mul(Mul(Const(-1), Sin(self.a)), self.a.diff(x))


def sin(x):
    return Sin(wrap(x))


def cos(x):
    return Cos(wrap(x))
