"""Local gradients along every path, added up in a dict, as in short tutorials."""

import math
from collections import defaultdict


class Variable:
    def __init__(self, value, local_gradients=()):
        self.value = value
        self.local_gradients = local_gradients

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return mul(self, other)

    def __sub__(self, other):
        return add(self, neg(other))

    def __truediv__(self, other):
        return mul(self, inv(other))


def add(a, b):
    return Variable(a.value + b.value, ((a, 1), (b, 1)))


def mul(a, b):
    return Variable(a.value * b.value, ((a, b.value), (b, a.value)))


def neg(a):
    return Variable(-1 * a.value, ((a, -1),))


def inv(a):
    return Variable(1.0 / a.value, ((a, -1 / a.value**2),))


def sin(a):
    return Variable(math.sin(a.value), ((a, math.cos(a.value)),))


def get_gradients(variable):
    gradients = defaultdict(lambda: 0)

    def compute_gradients(variable, path_value):
        for child_variable, local_gradient in variable.local_gradients:
            value_of_path_to_child = path_value * local_gradient
            gradients[child_variable] += value_of_path_to_child
            compute_gradients(child_variable, value_of_path_to_child)

    compute_gradients(variable, path_value=1)
    return gradients
