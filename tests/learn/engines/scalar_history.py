"""Scalars with a history: their last function, its context and its inputs; leaves are read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Context:
    no_grad: bool = False
    saved_values: tuple[Any, ...] = ()

    def save_for_backward(self, *values: Any) -> None:
        if not self.no_grad:
            self.saved_values = values


@dataclass
class History:
    last_fn: type[ScalarFunction] | None = None
    ctx: Context | None = None
    inputs: tuple[Scalar, ...] = ()


class ScalarFunction:
    @classmethod
    def apply(cls, *vals):
        scalars = [v if isinstance(v, Scalar) else Scalar(v) for v in vals]
        ctx = Context()
        c = cls.forward(ctx, *[s.data for s in scalars])
        return Scalar(c, History(cls, ctx, tuple(scalars)))


class Add(ScalarFunction):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, d_output):
        return d_output, d_output


class Mul(ScalarFunction):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, d_output):
        a, b = ctx.saved_values
        return d_output * b, d_output * a


class Inv(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return 1.0 / a

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return (-d_output / a**2,)


class Neg(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        return -a

    @staticmethod
    def backward(ctx, d_output):
        return (-d_output,)


class Log(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return math.log(a)

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return (d_output / a,)


class Exp(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        v = math.exp(a)
        ctx.save_for_backward(v)
        return v

    @staticmethod
    def backward(ctx, d_output):
        (v,) = ctx.saved_values
        return (d_output * v,)


class ReLU(ScalarFunction):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a if a > 0 else 0.0

    @staticmethod
    def backward(ctx, d_output):
        (a,) = ctx.saved_values
        return (d_output if a > 0 else 0.0,)


_count = 0


@dataclass
class Scalar:
    data: float
    history: History | None = field(default_factory=History)
    derivative: float | None = None
    name: str = ""
    unique_id: int = field(default=0)

    def __post_init__(self):
        global _count
        _count += 1
        self.unique_id = _count
        self.data = float(self.data)
        self.name = self.name or str(self.unique_id)

    def __hash__(self):
        return hash(self.unique_id)

    def __add__(self, b):
        return Add.apply(self, b)

    def __radd__(self, b):
        return self + b

    def __mul__(self, b):
        return Mul.apply(self, b)

    def __rmul__(self, b):
        return self * b

    def __sub__(self, b):
        return Add.apply(self, -b)

    def __rsub__(self, b):
        return Add.apply(Neg.apply(self), b)

    def __neg__(self):
        return Neg.apply(self)

    def __truediv__(self, b):
        return Mul.apply(self, Inv.apply(b))

    def __rtruediv__(self, b):
        return Mul.apply(b, Inv.apply(self))

    def log(self):
        return Log.apply(self)

    def exp(self):
        return Exp.apply(self)

    def relu(self):
        return ReLU.apply(self)

    def is_leaf(self):
        return self.history is not None and self.history.last_fn is None

    def accumulate_derivative(self, x):
        if self.derivative is None:
            self.derivative = 0.0
        self.derivative += x

    def backward(self, d_output: float | None = None):
        backpropagate(self, 1.0 if d_output is None else d_output)


def topological_sort(variable: Scalar) -> Iterable[Scalar]:
    result: list[Scalar] = []
    visited: set[int] = set()

    def visit(v):
        if v.unique_id in visited:
            return
        visited.add(v.unique_id)
        for i in v.history.inputs:
            visit(i)
        result.insert(0, v)

    visit(variable)
    return result


def backpropagate(variable: Scalar, deriv: Any) -> None:
    order = topological_sort(variable)
    derivs = {variable.unique_id: deriv}
    for v in order:
        d = derivs.get(v.unique_id, 0.0)
        if v.is_leaf():
            v.accumulate_derivative(d)
        else:
            for i, g in zip(
                v.history.inputs, v.history.last_fn.backward(v.history.ctx, d), strict=True
            ):
                derivs[i.unique_id] = derivs.get(i.unique_id, 0.0) + g
