"""Variables that hold arrays only and know the function that made them."""

import numpy as np


class Variable:
    def __init__(self, data):
        if data is not None and not isinstance(data, np.ndarray):
            raise TypeError(f"{type(data)} is not supported")
        self.data = data
        self.grad = None
        self.creator = None
        self.generation = 0

    def set_creator(self, func):
        self.creator = func
        self.generation = func.generation + 1

    def cleargrad(self):
        self.grad = None

    def backward(self):
        if self.grad is None:
            self.grad = np.ones_like(self.data)
        funcs, seen = [], set()

        def add(f):
            if f not in seen:
                funcs.append(f)
                seen.add(f)
                funcs.sort(key=lambda x: x.generation)

        if self.creator is not None:
            add(self.creator)
        while funcs:
            f = funcs.pop()
            gxs = f.backward(*[f.output.grad])
            if not isinstance(gxs, tuple):
                gxs = (gxs,)
            for x, gx in zip(f.inputs, gxs, strict=True):
                x.grad = gx if x.grad is None else x.grad + gx
                if x.creator is not None:
                    add(x.creator)


def as_array(x):
    return np.array(x) if np.isscalar(x) else x


def as_variable(o):
    return o if isinstance(o, Variable) else Variable(as_array(o))


class Function:
    def __call__(self, *inputs):
        inputs = [as_variable(as_array(x)) for x in inputs]
        y = self.forward(*[x.data for x in inputs])
        out = Variable(as_array(y))
        self.generation = max(x.generation for x in inputs)
        out.set_creator(self)
        self.inputs, self.output = inputs, out
        return out


class Add(Function):
    def forward(self, a, b):
        return a + b

    def backward(self, g):
        return g, g


class Mul(Function):
    def forward(self, a, b):
        return a * b

    def backward(self, g):
        return g * self.inputs[1].data, g * self.inputs[0].data


class Sub(Function):
    def forward(self, a, b):
        return a - b

    def backward(self, g):
        return g, -g


class Sin(Function):
    def forward(self, x):
        return np.sin(x)

    def backward(self, g):
        return g * np.cos(self.inputs[0].data)


def add(a, b):
    return Add()(a, b)


def mul(a, b):
    return Mul()(a, b)


def sub(a, b):
    return Sub()(a, b)


def rsub(a, b):
    return Sub()(b, a)


def sin(x):
    return Sin()(x)


Variable.__add__ = add
Variable.__radd__ = add
Variable.__mul__ = mul
Variable.__rmul__ = mul
Variable.__sub__ = sub
Variable.__rsub__ = rsub
