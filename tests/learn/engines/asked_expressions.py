"""Trees of operations that are asked for value and slope at once: y.slope_by(x)."""

import math


class Answer:
    def __init__(self, value, partial):
        self.value, self.partial = value, partial


class Term:
    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)

    def sine(self):
        return Sine(self)


class Quantity(Term):
    def __init__(self, value):
        self.value = value

    def slope_by(self, variable):
        return Answer(self.value, 1 if variable is self else 0)


class Sum(Term):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def slope_by(self, variable):
        a, b = self.left.slope_by(variable), self.right.slope_by(variable)
        return Answer(a.value + b.value, a.partial + b.partial)


class Product(Term):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def slope_by(self, variable):
        a, b = self.left.slope_by(variable), self.right.slope_by(variable)
        return Answer(a.value * b.value, a.partial * b.value + a.value * b.partial)


class Sine(Term):
    def __init__(self, inner):
        self.inner = inner

    def slope_by(self, variable):
        a = self.inner.slope_by(variable)
        return Answer(math.sin(a.value), math.cos(a.value) * a.partial)


def sin(x):
    return x.sine()
