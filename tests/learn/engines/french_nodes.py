"""Différentiation automatique en mode inverse : un nœud et une fonction qui rétropropage."""

from math import cos, exp, log, sin


class Noeud:
    def __init__(self, valeur, parents=()):
        self.valeur = valeur
        self.parents = parents  # couples (noeud, dérivée partielle)
        self.derivee = 0.0

    def __add__(self, autre):
        autre = en_noeud(autre)
        return Noeud(self.valeur + autre.valeur, ((self, 1.0), (autre, 1.0)))

    def __mul__(self, autre):
        autre = en_noeud(autre)
        return Noeud(self.valeur * autre.valeur, ((self, autre.valeur), (autre, self.valeur)))

    def __sub__(self, autre):
        autre = en_noeud(autre)
        return Noeud(self.valeur - autre.valeur, ((self, 1.0), (autre, -1.0)))

    def __truediv__(self, autre):
        autre = en_noeud(autre)
        return Noeud(
            self.valeur / autre.valeur,
            ((self, 1.0 / autre.valeur), (autre, -self.valeur / autre.valeur**2)),
        )

    def __neg__(self):
        return Noeud(-self.valeur, ((self, -1.0),))

    def __rsub__(self, autre):
        return en_noeud(autre) - self

    def __rtruediv__(self, autre):
        return en_noeud(autre) / self

    __radd__ = __add__
    __rmul__ = __mul__


def en_noeud(x):
    return x if isinstance(x, Noeud) else Noeud(x)


def sinus(x):
    return Noeud(sin(x.valeur), ((x, cos(x.valeur)),))


def cosinus(x):
    return Noeud(cos(x.valeur), ((x, -sin(x.valeur)),))


def exponentielle(x):
    e = exp(x.valeur)
    return Noeud(e, ((x, e),))


def logarithme(x):
    return Noeud(log(x.valeur), ((x, 1 / x.valeur),))


def ordre(sortie):
    vus, liste, pile = set(), [], [(sortie, False)]
    while pile:
        noeud, fini = pile.pop()
        if fini:
            liste.append(noeud)
        elif id(noeud) not in vus:
            vus.add(id(noeud))
            pile.append((noeud, True))
            for parent, _ in noeud.parents:
                pile.append((parent, False))
    return liste


def retropropager(sortie):
    liste = ordre(sortie)
    for noeud in liste:
        noeud.derivee = 0.0
    sortie.derivee = 1.0
    for noeud in reversed(liste):
        for parent, d in noeud.parents:
            parent.derivee += noeud.derivee * d
