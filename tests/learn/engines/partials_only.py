"""The paper's nodes and wrapping functions, before there is a sweep."""

import math


class Node:
    def __init__(self, value, parent_nodes=(), operator="input"):
        self.value = value
        self.parent_nodes = list(parent_nodes)
        self.child_nodes = []
        self.operator = operator
        self.grad_wrt_parents = []


def add(n1, n2):
    node = Node(n1.value + n2.value, [n1, n2], "add")
    node.grad_wrt_parents = [1, 1]
    n1.child_nodes.append(node)
    n2.child_nodes.append(node)
    return node


def sub(n1, n2):
    node = Node(n1.value - n2.value, [n1, n2], "sub")
    node.grad_wrt_parents = [1, -1]
    n1.child_nodes.append(node)
    n2.child_nodes.append(node)
    return node


def mul(n1, n2):
    node = Node(n1.value * n2.value, [n1, n2], "mul")
    node.grad_wrt_parents = [n2.value, n1.value]
    n1.child_nodes.append(node)
    n2.child_nodes.append(node)
    return node


def log(n):
    node = Node(math.log(n.value), [n], "log")
    node.grad_wrt_parents = [1 / n.value]
    n.child_nodes.append(node)
    return node


def sin(n):
    node = Node(math.sin(n.value), [n], "sin")
    node.grad_wrt_parents = [math.cos(n.value)]
    n.child_nodes.append(node)
    return node
