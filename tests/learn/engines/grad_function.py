"""grad(f) for one argument at a time, as HIPS autograd has it; nodes keep their parents."""

import math


class Box:
    def __init__(self, value, edges=()):
        self.value, self.edges = value, edges

    def __add__(self, other):
        return binary(self, other, lambda a, b: a + b, lambda a, b: (1, 1))

    def __sub__(self, other):
        return binary(self, other, lambda a, b: a - b, lambda a, b: (1, -1))

    def __mul__(self, other):
        return binary(self, other, lambda a, b: a * b, lambda a, b: (b, a))

    def __truediv__(self, other):
        return binary(self, other, lambda a, b: a / b, lambda a, b: (1 / b, -a / b / b))

    def __radd__(self, other):
        return Box(other) + self

    def __rsub__(self, other):
        return Box(other) - self

    def __rmul__(self, other):
        return Box(other) * self

    def __rtruediv__(self, other):
        return Box(other) / self


def binary(x, y, compute, partials):
    y = y if isinstance(y, Box) else Box(y)
    return Box(
        compute(x.value, y.value), tuple(zip((x, y), partials(x.value, y.value), strict=True))
    )


def sin(x):
    return Box(math.sin(x.value), ((x, math.cos(x.value)),))


def tanh(x):
    v = math.tanh(x.value)
    return Box(v, ((x, 1 - v * v),))


def toposort(end):
    counts, stack = {}, [end]
    while stack:
        node = stack.pop()
        counts[id(node)] = counts.get(id(node), 0) + 1
        if counts[id(node)] == 1:
            stack.extend(parent for parent, _ in node.edges)
    ready = [end]
    while ready:
        node = ready.pop()
        yield node
        for parent, _ in node.edges:
            counts[id(parent)] -= 1
            if counts[id(parent)] == 0:
                ready.append(parent)


def grad(f, argnum=0):
    def gradient(*args):
        boxes = [Box(x) for x in args]
        out = f(*boxes)
        if not isinstance(out, Box):
            return 0.0
        adjoints = {id(out): 1.0}
        for node in toposort(out):
            for parent, partial in node.edges:
                adjoints[id(parent)] = adjoints.get(id(parent), 0.0) + partial * adjoints[id(node)]
        return adjoints.get(id(boxes[argnum]), 0.0)

    return gradient
