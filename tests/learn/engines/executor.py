"""Graphs without numbers, in the shape of TensorFlow 1: gradients are graphs, an executor runs."""

from functools import reduce
from operator import add

import numpy as np


class Node:
    def __init__(self, op, inputs=(), const=None):
        self.op, self.inputs, self.const = op, list(inputs), const

    def __add__(self, other):
        return add_op(self, other) if isinstance(other, Node) else add_const_op(self, other)

    def __mul__(self, other):
        return mul_op(self, other) if isinstance(other, Node) else mul_const_op(self, other)

    def __sub__(self, other):
        return sub_op(self, other) if isinstance(other, Node) else add_const_op(self, -other)

    def __rsub__(self, other):
        return add_const_op(mul_const_op(self, -1), other)

    __radd__, __rmul__ = __add__, __mul__


class Op:
    def __call__(self, *inputs):
        return Node(self, inputs)


class ConstOp(Op):
    def __call__(self, node, const):
        return Node(self, [node], const)


class PlaceholderOp(Op):
    def gradient(self, node, output_grad):
        return []


class AddOp(Op):
    def compute(self, node, vals):
        return vals[0] + vals[1]

    def gradient(self, node, output_grad):
        return [output_grad, output_grad]


class AddConstOp(ConstOp):
    def compute(self, node, vals):
        return vals[0] + node.const

    def gradient(self, node, output_grad):
        return [output_grad]


class SubOp(Op):
    def compute(self, node, vals):
        return vals[0] - vals[1]

    def gradient(self, node, output_grad):
        return [output_grad, mul_const_op(output_grad, -1)]


class MulOp(Op):
    def compute(self, node, vals):
        return vals[0] * vals[1]

    def gradient(self, node, output_grad):
        a, b = node.inputs
        return [output_grad * b, output_grad * a]


class MulConstOp(ConstOp):
    def compute(self, node, vals):
        return vals[0] * node.const

    def gradient(self, node, output_grad):
        return [output_grad * node.const]


class ExpOp(Op):
    def compute(self, node, vals):
        return np.exp(vals[0])

    def gradient(self, node, output_grad):
        return [output_grad * node]


class SinOp(Op):
    def compute(self, node, vals):
        return np.sin(vals[0])

    def gradient(self, node, output_grad):
        return [output_grad * cos(node.inputs[0])]


class CosOp(Op):
    def compute(self, node, vals):
        return np.cos(vals[0])

    def gradient(self, node, output_grad):
        return [output_grad * sin(node.inputs[0]) * -1]


class FillOp(ConstOp):
    def compute(self, node, vals):
        assert isinstance(vals[0], np.ndarray)
        return np.full(vals[0].shape, node.const)

    def gradient(self, node, output_grad):
        return [fill_op(node.inputs[0], 0.0)]


add_op, sub_op, mul_op = AddOp(), SubOp(), MulOp()
add_const_op, mul_const_op, fill_op = AddConstOp(), MulConstOp(), FillOp()
exp, sin, cos = ExpOp(), SinOp(), CosOp()


def Variable(name):
    node = Node(PlaceholderOp())
    node.name = name
    return node


def find_topo_sort(nodes):
    order, visited = [], set()

    def visit(node):
        if node not in visited:
            visited.add(node)
            for other in node.inputs:
                visit(other)
            order.append(node)

    for node in nodes:
        visit(node)
    return order


def gradients(output_node, node_list):
    grads_of = {output_node: [fill_op(output_node, 1.0)]}
    grad_of = {}
    for node in reversed(find_topo_sort([output_node])):
        grad_of[node] = reduce(add, grads_of[node])
        for other, grad in zip(node.inputs, node.op.gradient(node, grad_of[node]), strict=True):
            grads_of.setdefault(other, []).append(grad)
    return [grad_of[node] if node in grad_of else fill_op(node, 0.0) for node in node_list]


class Executor:
    def __init__(self, eval_node_list):
        self.eval_node_list = eval_node_list

    def run(self, feed_dict):
        value_of = dict(feed_dict)
        for node in find_topo_sort(self.eval_node_list):
            if node not in value_of:
                value_of[node] = node.op.compute(node, [value_of[n] for n in node.inputs])
        return [value_of[node] for node in self.eval_node_list]
