"""Dual numbers, as in lecture notes: a value and a derivative."""

import math
from dataclasses import dataclass


@dataclass
class Dual:
    real: float
    dual: float = 0.0

    def __add__(self, other):
        other = lift(other)
        return Dual(self.real + other.real, self.dual + other.dual)

    __radd__ = __add__

    def __sub__(self, other):
        other = lift(other)
        return Dual(self.real - other.real, self.dual - other.dual)

    def __rsub__(self, other):
        return lift(other) - self

    def __mul__(self, other):
        other = lift(other)
        return Dual(self.real * other.real, self.dual * other.real + self.real * other.dual)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = lift(other)
        slope = (self.dual * other.real - self.real * other.dual) / other.real**2
        return Dual(self.real / other.real, slope)

    def __rtruediv__(self, other):
        return lift(other) / self

    def __neg__(self):
        return Dual(-self.real, -self.dual)

    def __abs__(self):
        return self if self.real >= 0 else -self


def lift(x):
    return x if isinstance(x, Dual) else Dual(x)


def sin(x):
    return Dual(math.sin(x.real), math.cos(x.real) * x.dual)


def cos(x):
    return Dual(math.cos(x.real), -math.sin(x.real) * x.dual)


def exp(x):
    return Dual(math.exp(x.real), math.exp(x.real) * x.dual)


def log(x):
    return Dual(math.log(x.real), x.dual / x.real)
