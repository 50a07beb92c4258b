"""Gradientes: una clase de variables y una función de funciones."""

import math


class Variable:
    def __init__(self, valor, padres=()):
        self.valor, self.padres = valor, padres

    def __add__(self, o):
        o = o if isinstance(o, Variable) else Variable(o)
        return Variable(self.valor + o.valor, [(self, 1), (o, 1)])

    def __mul__(self, o):
        o = o if isinstance(o, Variable) else Variable(o)
        return Variable(self.valor * o.valor, [(self, o.valor), (o, self.valor)])

    def __neg__(self):
        return Variable(-self.valor, [(self, -1)])

    def __sub__(self, o):
        return self + (-o)

    def __rsub__(self, o):
        return -self + o

    __radd__, __rmul__ = __add__, __mul__


def seno(x):
    return Variable(math.sin(x.valor), [(x, math.cos(x.valor))])


def derivada(f):
    def df(*punto):
        xs = [Variable(p) for p in punto]
        y = f(*xs)
        if not isinstance(y, Variable):
            return [0 for _ in xs]
        orden, vistos, pila = [], set(), [(y, 0)]
        while pila:
            n, k = pila.pop()
            if k:
                orden.append(n)
            elif id(n) not in vistos:
                vistos.add(id(n))
                pila.append((n, 1))
                pila += [(p, 0) for p, _ in n.padres]
        adj = dict.fromkeys(map(id, orden), 0.0)
        adj[id(y)] = 1.0
        for n in reversed(orden):
            for p, d in n.padres:
                adj[id(p)] += d * adj[id(n)]
        return [adj.get(id(x), 0.0) for x in xs]

    return df
