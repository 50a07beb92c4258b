"""Tensors that have a gradient if they are told so, `requires_grad=True`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Dependency(NamedTuple):
    tensor: "Tensor"
    grad_fn: Callable[[np.ndarray], np.ndarray]


def ensure_array(arrayable):
    return arrayable if isinstance(arrayable, np.ndarray) else np.array(arrayable, dtype=np.float64)


def ensure_tensor(tensorable):
    return tensorable if isinstance(tensorable, Tensor) else Tensor(tensorable)


class Tensor:
    def __init__(self, data, requires_grad: bool = False, depends_on=None):
        self._data = ensure_array(data)
        self.requires_grad = requires_grad
        self.depends_on = depends_on or []
        self.shape = self._data.shape
        self.grad: Tensor | None = None
        if self.requires_grad:
            self.zero_grad()

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, new_data):
        self._data = new_data
        self.grad = None

    def zero_grad(self):
        self.grad = Tensor(np.zeros_like(self.data, dtype=np.float64))

    def __repr__(self):
        return f"Tensor({self.data}, requires_grad={self.requires_grad})"

    def __add__(self, other):
        return _add(self, ensure_tensor(other))

    def __radd__(self, other):
        return _add(ensure_tensor(other), self)

    def __mul__(self, other):
        return _mul(self, ensure_tensor(other))

    def __rmul__(self, other):
        return _mul(ensure_tensor(other), self)

    def __neg__(self):
        return _neg(self)

    def __sub__(self, other):
        return _sub(self, ensure_tensor(other))

    def __rsub__(self, other):
        return _sub(ensure_tensor(other), self)

    def backward(self, grad: "Tensor" = None):
        assert self.requires_grad, "called backward on non-requires-grad tensor"
        if grad is None:
            if self.shape == ():
                grad = Tensor(1.0)
            else:
                raise RuntimeError("grad must be specified for non-0-tensor")
        self.grad.data = self.grad.data + grad.data
        for dependency in self.depends_on:
            backward_grad = dependency.grad_fn(grad.data)
            dependency.tensor.backward(Tensor(backward_grad))


def _add(t1, t2):
    data = t1.data + t2.data
    requires_grad = t1.requires_grad or t2.requires_grad
    depends_on = []
    if t1.requires_grad:
        depends_on.append(Dependency(t1, lambda grad: grad))
    if t2.requires_grad:
        depends_on.append(Dependency(t2, lambda grad: grad))
    return Tensor(data, requires_grad, depends_on)


def _mul(t1, t2):
    data = t1.data * t2.data
    requires_grad = t1.requires_grad or t2.requires_grad
    depends_on = []
    if t1.requires_grad:
        depends_on.append(Dependency(t1, lambda grad: grad * t2.data))
    if t2.requires_grad:
        depends_on.append(Dependency(t2, lambda grad: grad * t1.data))
    return Tensor(data, requires_grad, depends_on)


def _neg(t):
    return Tensor(
        -t.data, t.requires_grad, [Dependency(t, lambda x: -x)] if t.requires_grad else []
    )


def _sub(t1, t2):
    return t1 + -t2


def tanh(tensor):
    data = np.tanh(tensor.data)
    depends_on = (
        [Dependency(tensor, lambda grad: grad * (1 - data * data))] if tensor.requires_grad else []
    )
    return Tensor(data, tensor.requires_grad, depends_on)
