"""Operations with compute and gradient; values are cached, and only a sweep makes `grad`."""

import numpy as np


class Op:
    def __call__(self, *args):
        return Tensor.make_from_op(self, args)

    def compute(self, *args):
        raise NotImplementedError()

    def gradient(self, out_grad, node):
        raise NotImplementedError()


class EWiseAdd(Op):
    def compute(self, a, b):
        return a + b

    def gradient(self, out_grad, node):
        return out_grad, out_grad


class AddScalar(Op):
    def __init__(self, scalar):
        self.scalar = scalar

    def compute(self, a):
        return a + self.scalar

    def gradient(self, out_grad, node):
        return (out_grad,)


class EWiseMul(Op):
    def compute(self, a, b):
        return a * b

    def gradient(self, out_grad, node):
        lhs, rhs = node.inputs
        return out_grad * rhs, out_grad * lhs


class MulScalar(Op):
    def __init__(self, scalar):
        self.scalar = scalar

    def compute(self, a):
        return a * self.scalar

    def gradient(self, out_grad, node):
        return (out_grad * self.scalar,)


class PowerScalar(Op):
    def __init__(self, scalar):
        self.scalar = scalar

    def compute(self, a):
        return a**self.scalar

    def gradient(self, out_grad, node):
        return (out_grad * self.scalar * power_scalar(node.inputs[0], self.scalar - 1),)


class EWiseDiv(Op):
    def compute(self, a, b):
        return a / b

    def gradient(self, out_grad, node):
        lhs, rhs = node.inputs
        return out_grad / rhs, -(out_grad * lhs) / (rhs * rhs)


class DivScalar(Op):
    def __init__(self, scalar):
        self.scalar = scalar

    def compute(self, a):
        return a / self.scalar

    def gradient(self, out_grad, node):
        return (out_grad / self.scalar,)


class Negate(Op):
    def compute(self, a):
        return -a

    def gradient(self, out_grad, node):
        return (-out_grad,)


class Log(Op):
    def compute(self, a):
        return np.log(a)

    def gradient(self, out_grad, node):
        return (out_grad / node.inputs[0],)


class Exp(Op):
    def compute(self, a):
        return np.exp(a)

    def gradient(self, out_grad, node):
        return (out_grad * node,)


def add(a, b):
    return EWiseAdd()(a, b)


def multiply(a, b):
    return EWiseMul()(a, b)


def divide(a, b):
    return EWiseDiv()(a, b)


def power_scalar(a, s):
    return PowerScalar(s)(a)


def negate(a):
    return Negate()(a)


def log(a):
    return Log()(a)


def exp(a):
    return Exp()(a)


class Tensor:
    def __init__(self, array, *, dtype=None, requires_grad=True):
        self.op = None
        self.inputs = []
        self.cached_data = np.array(array, dtype=dtype or float)
        self.requires_grad = requires_grad

    def realize_cached_data(self):
        if self.cached_data is None:
            self.cached_data = self.op.compute(*[x.realize_cached_data() for x in self.inputs])
        return self.cached_data

    @staticmethod
    def make_from_op(op, inputs):
        t = Tensor.__new__(Tensor)
        t.op, t.inputs, t.cached_data = op, list(inputs), None
        t.requires_grad = any(x.requires_grad for x in inputs)
        t.realize_cached_data()
        return t

    def numpy(self):
        return self.realize_cached_data()

    def backward(self, out_grad=None):
        out_grad = out_grad or Tensor(np.ones_like(self.cached_data))
        compute_gradient_of_variables(self, out_grad)

    def __add__(self, o):
        return EWiseAdd()(self, o) if isinstance(o, Tensor) else AddScalar(o)(self)

    def __mul__(self, o):
        return EWiseMul()(self, o) if isinstance(o, Tensor) else MulScalar(o)(self)

    def __pow__(self, o):
        return PowerScalar(o)(self)

    def __sub__(self, o):
        return EWiseAdd()(self, Negate()(o)) if isinstance(o, Tensor) else AddScalar(-o)(self)

    def __rsub__(self, o):
        return AddScalar(o)(Negate()(self))

    def __truediv__(self, o):
        return EWiseDiv()(self, o) if isinstance(o, Tensor) else DivScalar(o)(self)

    def __rtruediv__(self, o):
        return MulScalar(o)(PowerScalar(-1)(self))

    def __neg__(self):
        return Negate()(self)

    __radd__ = __add__
    __rmul__ = __mul__


def compute_gradient_of_variables(output_tensor, out_grad):
    node_to_output_grads_list = {}
    node_to_output_grads_list[output_tensor] = [out_grad]
    for node in reversed(find_topo_sort([output_tensor])):
        adjoint = sum_node_list(node_to_output_grads_list[node])
        node.grad = adjoint
        if node.op is None:
            continue
        for inp, g in zip(node.inputs, node.op.gradient(adjoint, node), strict=False):
            node_to_output_grads_list.setdefault(inp, []).append(g)


def find_topo_sort(node_list):
    visited, order = set(), []
    for n in node_list:
        topo_sort_dfs(n, visited, order)
    return order


def topo_sort_dfs(node, visited, topo_order):
    if node in visited:
        return
    visited.add(node)
    for i in node.inputs:
        topo_sort_dfs(i, visited, topo_order)
    topo_order.append(node)


def sum_node_list(node_list):
    from functools import reduce
    from operator import add

    return reduce(add, node_list)
