"""Tensors and functions with a context, as in small copies of PyTorch."""

import math


class Context:
    def save(self, *xs):
        self.saved = xs


class Function:
    @classmethod
    def apply(cls, *args):
        ctx = Context()
        tensors = [a if isinstance(a, Tensor) else Tensor(a, requires_grad=False) for a in args]
        out = Tensor(cls.forward(ctx, *[t.data for t in tensors]))
        out.grad_fn, out.ctx, out.inputs = cls, ctx, tensors
        return out


class Add(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, g


class Sub(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, g):
        return g, -g


class Mul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        return g * b, g * a


class Div(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a, b)
        return a / b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        return g / b, -g * a / b**2


class Log(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save(a)
        return math.log(a)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved
        return (g / a,)


class Sin(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save(a)
        return math.sin(a)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved
        return (g * math.cos(a),)


class Tensor:
    def __init__(self, data, requires_grad=True):
        self.data, self.requires_grad = data, requires_grad
        self.grad, self.grad_fn, self.inputs = 0.0, None, []

    def __add__(self, o):
        return Add.apply(self, o)

    def __radd__(self, o):
        return Add.apply(o, self)

    def __sub__(self, o):
        return Sub.apply(self, o)

    def __rsub__(self, o):
        return Sub.apply(o, self)

    def __mul__(self, o):
        return Mul.apply(self, o)

    def __rmul__(self, o):
        return Mul.apply(o, self)

    def __truediv__(self, o):
        return Div.apply(self, o)

    def __rtruediv__(self, o):
        return Div.apply(o, self)

    def log(self):
        return Log.apply(self)

    def sin(self):
        return Sin.apply(self)

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            t, done = stack.pop()
            if done:
                order.append(t)
                continue
            if id(t) in seen:
                continue
            seen.add(id(t))
            stack.append((t, True))
            stack.extend((i, False) for i in t.inputs)
        self.grad = 1.0
        for t in reversed(order):
            if t.grad_fn:
                for i, g in zip(t.inputs, t.grad_fn.backward(t.ctx, t.grad), strict=True):
                    if i.requires_grad:
                        i.grad += g
