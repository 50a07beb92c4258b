"""Functions are registered as methods of tensors by name; a tensor keeps its context."""

from functools import partialmethod

import numpy as np


class Tensor:
    def __init__(self, data):
        if not isinstance(data, np.ndarray):
            raise TypeError(f"cannot make a tensor of {data!r}")
        self.data = data.astype(np.float64)
        self.grad = None
        self._ctx = None

    def __repr__(self):
        return f"Tensor({self.data!r}, grad={self.grad!r})"

    def backward(self, allow_fill=True):
        order, seen = [], set()

        def walk(t):
            if id(t) in seen:
                return
            seen.add(id(t))
            if t._ctx is not None:
                for parent in t._ctx.parents:
                    walk(parent)
                order.append(t)

        walk(self)
        if allow_fill:
            self.grad = np.ones_like(self.data)
        for t in reversed(order):
            grads = t._ctx.backward(t._ctx, t.grad)
            grads = grads if isinstance(grads, tuple) else (grads,)
            for parent, g in zip(t._ctx.parents, grads, strict=True):
                parent.grad = g if parent.grad is None else parent.grad + g


class Function:
    def __init__(self, *tensors):
        self.parents = tensors
        self.saved_tensors = []

    def save_for_backward(self, *x):
        self.saved_tensors.extend(x)

    def apply(self, fxn, *x):
        ctx = fxn(self, *x)
        ret = Tensor(np.asarray(fxn.forward(ctx, self.data, *[t.data for t in x])))
        ret._ctx = ctx
        return ret


def register(name, fxn):
    setattr(Tensor, name, partialmethod(Function.apply, fxn))


class Add(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


class Sub(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x - y

    @staticmethod
    def backward(ctx, g):
        return g, -g


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return y * g, x * g


class ReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.maximum(x, 0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.copy()
        g[x < 0] = 0
        return g


class Sum(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.array([x.sum()])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * np.ones_like(x)


class Dot(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x.dot(w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g.dot(w.T), x.T.dot(g)


register("add", Add)
register("sub", Sub)
register("mul", Mul)
register("relu", ReLU)
register("sum", Sum)
register("dot", Dot)
