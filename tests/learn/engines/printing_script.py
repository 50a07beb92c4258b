"""A script, as a notebook is exported: it prints, and its only function is the logarithm."""

import math


class Var:
    count = 0

    def __init__(self, value, children=None, grad_fns=None, name=None):
        Var.count += 1
        self.value = value
        self.children = children or []
        self.grad_fns = grad_fns or []
        self.grad = 0
        self.name = name or f"v{Var.count}"

    def __add__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var(self.value + other.value, [self, other], [lambda g: g, lambda g: g])

    def __mul__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var(
            self.value * other.value,
            [self, other],
            [lambda g: g * other.value, lambda g: g * self.value],
        )

    def __sub__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var(self.value - other.value, [self, other], [lambda g: g, lambda g: -g])

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return Var(other) - self

    def log(self):
        return Var(math.log(self.value), [self], [lambda g: g / self.value])

    def topo(self):
        order, seen = [], set()

        def visit(v):
            if v in seen:
                return
            seen.add(v)
            for c in v.children:
                visit(c)
            order.append(v)

        visit(self)
        return order

    def zero_grad(self):
        for v in self.topo():
            v.grad = 0

    def backprop(self):
        self.grad = 1
        for v in reversed(self.topo()):
            for c, fn in zip(v.children, v.grad_fns, strict=True):
                c.grad += fn(v.grad)


x = Var(3.0, name="x")
y = Var(2.0)
z = x * y + x
z.backprop()
print(x.grad, y.grad)
assert x.grad == 3.0
