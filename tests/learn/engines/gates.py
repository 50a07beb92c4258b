"""Units flow through gates; a circuit remembers the gates and runs them backwards."""

import math


class Unit:
    def __init__(self, value, grad=0.0):
        self.value, self.grad = value, grad


class Gate:
    def forward(self, *units):
        self.units = units
        self.utop = Unit(self.compute(*[u.value for u in units]))
        return self.utop


class AddGate(Gate):
    def compute(self, a, b):
        return a + b

    def backward(self):
        u0, u1 = self.units
        u0.grad += self.utop.grad
        u1.grad += self.utop.grad


class SubtractGate(Gate):
    def compute(self, a, b):
        return a - b

    def backward(self):
        u0, u1 = self.units
        u0.grad += self.utop.grad
        u1.grad -= self.utop.grad


class MultiplyGate(Gate):
    def compute(self, a, b):
        return a * b

    def backward(self):
        u0, u1 = self.units
        u0.grad += u1.value * self.utop.grad
        u1.grad += u0.value * self.utop.grad


class SinGate(Gate):
    def compute(self, a):
        return math.sin(a)

    def backward(self):
        (u0,) = self.units
        u0.grad += math.cos(u0.value) * self.utop.grad


class Circuit:
    def __init__(self):
        self.gates = []

    def _run(self, gate, *units):
        top = gate.forward(*units)
        self.gates.append(gate)
        return top

    def unit(self, value):
        return Unit(value)

    def add(self, a, b):
        return self._run(AddGate(), a, b)

    def sub(self, a, b):
        return self._run(SubtractGate(), a, b)

    def mul(self, a, b):
        return self._run(MultiplyGate(), a, b)

    def sin(self, a):
        return self._run(SinGate(), a)

    def backward(self, top):
        for gate in self.gates:
            for unit in (*gate.units, gate.utop):
                unit.grad = 0.0
        top.grad = 1.0
        for gate in reversed(self.gates):
            gate.backward()
