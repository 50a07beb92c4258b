"""Reverse mode with an enum of operators and one big match."""

import enum
import math
from dataclasses import dataclass, field


class Op(enum.Enum):
    INPUT = enum.auto()
    ADD = enum.auto()
    SUB = enum.auto()
    MUL = enum.auto()
    DIV = enum.auto()
    NEG = enum.auto()
    SIN = enum.auto()
    COS = enum.auto()
    EXP = enum.auto()
    LOG = enum.auto()


@dataclass(eq=False)
class Expr:
    op: Op = Op.INPUT
    args: list["Expr"] = field(default_factory=list)
    val: float = 0.0

    def __add__(self, o):
        return make(Op.ADD, self, o)

    def __radd__(self, o):
        return make(Op.ADD, o, self)

    def __sub__(self, o):
        return make(Op.SUB, self, o)

    def __rsub__(self, o):
        return make(Op.SUB, o, self)

    def __mul__(self, o):
        return make(Op.MUL, self, o)

    def __rmul__(self, o):
        return make(Op.MUL, o, self)

    def __truediv__(self, o):
        return make(Op.DIV, self, o)

    def __rtruediv__(self, o):
        return make(Op.DIV, o, self)

    def __neg__(self):
        return make(Op.NEG, self)


def variable(x: float) -> Expr:
    return Expr(Op.INPUT, [], float(x))


def make(op, *args):
    args = [a if isinstance(a, Expr) else variable(a) for a in args]
    v = [a.val for a in args]
    match op:
        case Op.ADD:
            r = v[0] + v[1]
        case Op.SUB:
            r = v[0] - v[1]
        case Op.MUL:
            r = v[0] * v[1]
        case Op.DIV:
            r = v[0] / v[1]
        case Op.NEG:
            r = -v[0]
        case Op.SIN:
            r = math.sin(v[0])
        case Op.COS:
            r = math.cos(v[0])
        case Op.EXP:
            r = math.exp(v[0])
        case Op.LOG:
            r = math.log(v[0])
    return Expr(op, args, r)


def partials(e):
    v = [a.val for a in e.args]
    match e.op:
        case Op.ADD:
            return [1, 1]
        case Op.SUB:
            return [1, -1]
        case Op.MUL:
            return [v[1], v[0]]
        case Op.DIV:
            return [1 / v[1], -v[0] / v[1] ** 2]
        case Op.NEG:
            return [-1]
        case Op.SIN:
            return [math.cos(v[0])]
        case Op.COS:
            return [-math.sin(v[0])]
        case Op.EXP:
            return [e.val]
        case Op.LOG:
            return [1 / v[0]]
        case _:
            return []


def sin(x):
    return make(Op.SIN, x)


def cos(x):
    return make(Op.COS, x)


def exp(x):
    return make(Op.EXP, x)


def log(x):
    return make(Op.LOG, x)


def backprop(y: Expr) -> dict[int, float]:
    """Return the derivatives of y by id of the expression."""
    topo, seen, stack = [], set(), [(y, iter(y.args))]
    seen.add(id(y))
    while stack:
        e, it = stack[-1]
        for a in it:
            if id(a) not in seen:
                seen.add(id(a))
                stack.append((a, iter(a.args)))
                break
        else:
            topo.append(e)
            stack.pop()
    g = {id(e): 0.0 for e in topo}
    g[id(y)] = 1.0
    for e in reversed(topo):
        for a, d in zip(e.args, partials(e), strict=False):
            g[id(a)] += g[id(e)] * d
    return g
