"""Variables know the function that created them; a heap of generations gives the order."""

import heapq
import itertools

import numpy as np


class Variable:
    __array_priority__ = 200

    def __init__(self, data, name=None):
        if data is not None and not isinstance(data, np.ndarray):
            raise TypeError(f"{type(data)} is not supported")
        self.data = data
        self.name = name
        self.grad = None
        self.creator = None
        self.generation = 0

    def set_creator(self, func):
        self.creator = func
        self.generation = func.generation + 1

    def cleargrad(self):
        self.grad = None

    def backward(self, retain_grad=True):
        if self.grad is None:
            self.grad = np.ones_like(self.data)
        count = itertools.count()
        queue, seen = [], set()

        def push(f):
            if f is not None and f not in seen:
                seen.add(f)
                heapq.heappush(queue, (-f.generation, next(count), f))

        push(self.creator)
        while queue:
            f = heapq.heappop(queue)[-1]
            gxs = f.backward(f.output.grad)
            if not isinstance(gxs, tuple):
                gxs = (gxs,)
            for x, gx in zip(f.inputs, gxs, strict=True):
                x.grad = gx if x.grad is None else x.grad + gx
                push(x.creator)


def as_variable(obj):
    return obj if isinstance(obj, Variable) else Variable(np.asarray(obj, dtype=float))


class Function:
    def __call__(self, *inputs):
        inputs = [as_variable(i) for i in inputs]
        y = self.forward(*[i.data for i in inputs])
        output = Variable(np.asarray(y))
        self.generation = max(i.generation for i in inputs)
        output.set_creator(self)
        self.inputs, self.output = inputs, output
        return output

    def forward(self, *xs):
        raise NotImplementedError()

    def backward(self, gy):
        raise NotImplementedError()


class Add(Function):
    def forward(self, a, b):
        return a + b

    def backward(self, gy):
        return gy, gy


class Mul(Function):
    def forward(self, a, b):
        return a * b

    def backward(self, gy):
        a, b = self.inputs[0].data, self.inputs[1].data
        return gy * b, gy * a


class Sub(Function):
    def forward(self, a, b):
        return a - b

    def backward(self, gy):
        return gy, -gy


class Div(Function):
    def forward(self, a, b):
        return a / b

    def backward(self, gy):
        a, b = self.inputs[0].data, self.inputs[1].data
        return gy / b, gy * (-a / b**2)


class Neg(Function):
    def forward(self, a):
        return -a

    def backward(self, gy):
        return -gy


class Pow(Function):
    def __init__(self, c):
        self.c = c

    def forward(self, a):
        return a**self.c

    def backward(self, gy):
        return gy * self.c * self.inputs[0].data ** (self.c - 1)


class Exp(Function):
    def forward(self, a):
        return np.exp(a)

    def backward(self, gy):
        return gy * self.output.data


def add(a, b):
    return Add()(a, b)


def mul(a, b):
    return Mul()(a, b)


def exp(a):
    return Exp()(a)


Variable.__add__ = add
Variable.__radd__ = lambda s, o: add(o, s)
Variable.__mul__ = mul
Variable.__rmul__ = lambda s, o: mul(o, s)
Variable.__sub__ = lambda s, o: Sub()(s, o)
Variable.__rsub__ = lambda s, o: Sub()(o, s)
Variable.__truediv__ = lambda s, o: Div()(s, o)
Variable.__rtruediv__ = lambda s, o: Div()(o, s)
Variable.__neg__ = lambda s: Neg()(s)
Variable.__pow__ = lambda s, c: Pow(c)(s)
