"""An expression is a tree of operations, each a class of its own; evaluate, then backpropagate."""

from abc import ABC, abstractmethod
from math import cos, exp, log, sin


class Expression(ABC):
    def __init__(self):
        self.value = None
        self.grad = 0.0

    @abstractmethod
    def evaluate(self): ...

    @abstractmethod
    def backpropagate(self, seed=1.0): ...

    def __add__(self, other):
        return Add(self, wrap(other))

    def __radd__(self, other):
        return Add(wrap(other), self)

    def __sub__(self, other):
        return Subtract(self, wrap(other))

    def __rsub__(self, other):
        return Subtract(wrap(other), self)

    def __mul__(self, other):
        return Multiply(self, wrap(other))

    def __rmul__(self, other):
        return Multiply(wrap(other), self)

    def __truediv__(self, other):
        return Divide(self, wrap(other))

    def __rtruediv__(self, other):
        return Divide(wrap(other), self)


class Constant(Expression):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def evaluate(self):
        return self.value

    def backpropagate(self, seed=1.0):
        pass


class Variable(Expression):
    def __init__(self, value, name="x"):
        super().__init__()
        self.value, self.name = value, name

    def evaluate(self):
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed


class BinaryOp(Expression):
    def __init__(self, left, right):
        super().__init__()
        self.left, self.right = left, right


class UnaryOp(Expression):
    def __init__(self, arg):
        super().__init__()
        self.arg = arg


class Add(BinaryOp):
    def evaluate(self):
        self.value = self.left.evaluate() + self.right.evaluate()
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.left.backpropagate(seed)
        self.right.backpropagate(seed)


class Subtract(BinaryOp):
    def evaluate(self):
        self.value = self.left.evaluate() - self.right.evaluate()
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.left.backpropagate(seed)
        self.right.backpropagate(-seed)


class Multiply(BinaryOp):
    def evaluate(self):
        self.value = self.left.evaluate() * self.right.evaluate()
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.left.backpropagate(seed * self.right.value)
        self.right.backpropagate(seed * self.left.value)


class Divide(BinaryOp):
    def evaluate(self):
        self.value = self.left.evaluate() / self.right.evaluate()
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.left.backpropagate(seed / self.right.value)
        self.right.backpropagate(-seed * self.left.value / self.right.value**2)


class Sin(UnaryOp):
    def evaluate(self):
        self.value = sin(self.arg.evaluate())
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.arg.backpropagate(seed * cos(self.arg.value))


class Log(UnaryOp):
    def evaluate(self):
        self.value = log(self.arg.evaluate())
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.arg.backpropagate(seed / self.arg.value)


class Exp(UnaryOp):
    def evaluate(self):
        self.value = exp(self.arg.evaluate())
        return self.value

    def backpropagate(self, seed=1.0):
        self.grad += seed
        self.arg.backpropagate(seed * self.value)


def wrap(x):
    return x if isinstance(x, Expression) else Constant(x)
