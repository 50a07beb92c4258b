"""Trees of operations: evaluate() computes them, derive(seed) goes down every path."""


class Term:
    def __add__(self, other):
        return Sum(self, other)

    def __sub__(self, other):
        return Difference(self, other)

    def __mul__(self, other):
        return Product(self, other)


class Quantity(Term):
    def __init__(self, value):
        self.value, self.partial = value, 0

    def evaluate(self):
        return self.value

    def derive(self, seed):
        self.partial += seed


class Operation(Term):
    def __init__(self, left, right):
        self.left, self.right, self.value = left, right, None

    def evaluate(self):
        self.value = self.compute(self.left.evaluate(), self.right.evaluate())
        return self.value


class Sum(Operation):
    def compute(self, a, b):
        return a + b

    def derive(self, seed):
        self.left.derive(seed)
        self.right.derive(seed)


class Difference(Operation):
    def compute(self, a, b):
        return a - b

    def derive(self, seed):
        self.left.derive(seed)
        self.right.derive(-seed)


class Product(Operation):
    def compute(self, a, b):
        return a * b

    def derive(self, seed):
        self.left.derive(seed * self.right.value)
        self.right.derive(seed * self.left.value)
