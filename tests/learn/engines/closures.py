"""Plain closures: each operation returns a number and a function that passes gradients on."""

import math


class Num:
    """A number and its way back; the way back is called once, by backward()."""

    count = 0

    def __init__(self, v, back=None, inputs=()):
        self.v, self.back, self.inputs = v, back, inputs
        self.d = 0.0
        Num.count += 1
        self.order = Num.count

    def __add__(self, o):
        o = num(o)

        def back(d):
            self.d += d
            o.d += d

        return Num(self.v + o.v, back, (self, o))

    def __mul__(self, o):
        o = num(o)

        def back(d):
            self.d += d * o.v
            o.d += d * self.v

        return Num(self.v * o.v, back, (self, o))

    def __sub__(self, o):
        o = num(o)

        def back(d):
            self.d += d
            o.d += -d

        return Num(self.v - o.v, back, (self, o))

    def __pow__(self, n):
        def back(d):
            self.d += d * n * self.v ** (n - 1)

        return Num(self.v**n, back, (self,))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, o):
        return num(o) - self


def num(x):
    return x if isinstance(x, Num) else Num(x)


def sin(x):
    def back(d):
        x.d += d * math.cos(x.v)

    return Num(math.sin(x.v), back, (x,))


def backward(y):
    reached, stack = {y}, [y]
    while stack:
        for i in stack.pop().inputs:
            if i not in reached:
                reached.add(i)
                stack.append(i)
    for n in reached:
        n.d = 0.0
    y.d = 1.0
    for n in sorted(reached, key=lambda n: n.order, reverse=True):
        if n.back:
            n.back(n.d)
    return {n: n.d for n in reached}
