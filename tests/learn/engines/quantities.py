"""Quantities with sensitivities, of NumPy numbers; `propagate` returns a dict by quantity."""

import numpy as np


class Quantity:
    """A quantity with a sensitivity."""

    def __init__(self, magnitude, made_from=(), rule=None):
        self.magnitude = np.float64(magnitude)
        self.made_from = made_from
        self.rule = rule
        self.sensitivity = np.float64(0)

    def __add__(self, other):
        other = as_quantity(other)
        return Quantity(self.magnitude + other.magnitude, (self, other), lambda s: (s, s))

    def __sub__(self, other):
        other = as_quantity(other)
        return Quantity(self.magnitude - other.magnitude, (self, other), lambda s: (s, -s))

    def __mul__(self, other):
        other = as_quantity(other)
        return Quantity(
            self.magnitude * other.magnitude,
            (self, other),
            lambda s: (s * other.magnitude, s * self.magnitude),
        )

    def __truediv__(self, other):
        other = as_quantity(other)
        a, b = self.magnitude, other.magnitude
        return Quantity(a / b, (self, other), lambda s: (s / b, -s * a / b**2))

    def __radd__(self, other):
        return as_quantity(other) + self

    def __rsub__(self, other):
        return as_quantity(other) - self

    def __rmul__(self, other):
        return as_quantity(other) * self

    def __rtruediv__(self, other):
        return as_quantity(other) / self


def as_quantity(x):
    return x if isinstance(x, Quantity) else Quantity(x)


def sine(q):
    return Quantity(np.sin(q.magnitude), (q,), lambda s: (s * np.cos(q.magnitude),))


def exponential(q):
    e = np.exp(q.magnitude)
    return Quantity(e, (q,), lambda s: (s * e,))


def propagate(result):
    done, todo, order = set(), [(result, False)], []
    while todo:
        q, ready = todo.pop()
        if ready:
            order.append(q)
        elif q not in done:
            done.add(q)
            todo.append((q, True))
            todo.extend((p, False) for p in q.made_from)
    sens = {q: 0.0 for q in order}
    sens[result] = 1.0
    for q in reversed(order):
        if q.rule:
            for p, s in zip(q.made_from, q.rule(sens[q]), strict=False):
                sens[p] += s
    return sens
