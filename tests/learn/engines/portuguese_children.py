"""Variables that know their children, in Portuguese; an output is seeded by hand."""

import math


class Variavel:
    def __init__(self, valor):
        self.valor = valor
        self.filhos = []
        self.gradiente = None

    def calcula_gradiente(self):
        if self.gradiente is None:
            self.gradiente = sum(peso * v.calcula_gradiente() for peso, v in self.filhos)
        return self.gradiente

    def __add__(self, o):
        o = _v(o)
        z = Variavel(self.valor + o.valor)
        self.filhos.append((1.0, z))
        o.filhos.append((1.0, z))
        return z

    def __sub__(self, o):
        o = _v(o)
        z = Variavel(self.valor - o.valor)
        self.filhos.append((1.0, z))
        o.filhos.append((-1.0, z))
        return z

    def __mul__(self, o):
        o = _v(o)
        z = Variavel(self.valor * o.valor)
        self.filhos.append((o.valor, z))
        o.filhos.append((self.valor, z))
        return z

    def __radd__(self, o):
        return _v(o) + self

    def __rsub__(self, o):
        return _v(o) - self

    def __rmul__(self, o):
        return _v(o) * self


def _v(x):
    return x if isinstance(x, Variavel) else Variavel(x)


def seno(x):
    z = Variavel(math.sin(x.valor))
    x.filhos.append((math.cos(x.valor), z))
    return z
