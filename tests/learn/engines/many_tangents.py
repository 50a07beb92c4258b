"""Forward mode in which each number carries an array of derivatives."""

import numpy as np


class ForwardDiff:
    def __init__(self, val, der):
        self.val, self.der = val, np.asarray(der, dtype=float)

    def __add__(self, o):
        return (
            ForwardDiff(self.val + o.val, self.der + o.der)
            if isinstance(o, ForwardDiff)
            else ForwardDiff(self.val + o, self.der)
        )

    def __mul__(self, o):
        return (
            ForwardDiff(self.val * o.val, self.val * o.der + o.val * self.der)
            if isinstance(o, ForwardDiff)
            else ForwardDiff(self.val * o, self.der * o)
        )

    def __sub__(self, o):
        return self + (-1 * o)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return -1 * self + o


def sin(x):
    return ForwardDiff(np.sin(x.val), np.cos(x.val) * x.der)
