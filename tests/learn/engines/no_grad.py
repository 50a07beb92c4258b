"""Tensors with requires_grad and grad_fn, and `with no_grad():`; leaves collect gradients."""

import contextlib
import math

_enabled = True


@contextlib.contextmanager
def no_grad():
    global _enabled
    before, _enabled = _enabled, False
    try:
        yield
    finally:
        _enabled = before


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = float(data)
        self.requires_grad = requires_grad
        self.grad = None
        self.grad_fn = None

    @property
    def is_leaf(self):
        return self.grad_fn is None

    def item(self):
        return self.data

    def detach(self):
        return Tensor(self.data)

    def __repr__(self):
        return f"tensor({self.data}, requires_grad={self.requires_grad})"

    def __add__(self, other):
        return _make(lambda a, b: a + b, lambda a, b: (1.0, 1.0), self, other)

    def __mul__(self, other):
        return _make(lambda a, b: a * b, lambda a, b: (b, a), self, other)

    def __sub__(self, other):
        return _make(lambda a, b: a - b, lambda a, b: (1.0, -1.0), self, other)

    def __truediv__(self, other):
        return _make(lambda a, b: a / b, lambda a, b: (1 / b, -a / b**2), self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return _tensor(other) - self

    def __rtruediv__(self, other):
        return _tensor(other) / self

    def __neg__(self):
        return _make(lambda a: -a, lambda a: (-1.0,), self)

    def __pow__(self, n):
        return _make(lambda a: a**n, lambda a: (n * a ** (n - 1) if n else 0.0,), self)

    def sin(self):
        return _make(math.sin, lambda a: (math.cos(a),), self)

    def tanh(self):
        return _make(math.tanh, lambda a: (1 - math.tanh(a) ** 2,), self)

    def zero_(self):
        self.grad = None

    def backward(self):
        if not self.requires_grad:
            raise RuntimeError("this tensor does not require grad and has no grad_fn")
        grads = {self: 1.0}
        order, seen = [], set()

        def build(t):
            if t not in seen:
                seen.add(t)
                if t.grad_fn:
                    for parent, _ in t.grad_fn:
                        build(parent)
                order.append(t)

        build(self)
        with no_grad():
            for t in reversed(order):
                g = grads.pop(t)
                if t.is_leaf:
                    t.grad = g if t.grad is None else t.grad + g
                    continue
                for parent, d in t.grad_fn:
                    grads[parent] = grads.get(parent, 0.0) + d * g


def _tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def _make(f, df, *args):
    tensors = [_tensor(a) for a in args]
    numbers = [t.data for t in tensors]
    out = Tensor(f(*numbers))
    if _enabled and any(t.requires_grad for t in tensors):
        out.requires_grad = True
        out.grad_fn = [
            (t, d) for t, d in zip(tensors, df(*numbers), strict=True) if t.requires_grad
        ]
    return out
