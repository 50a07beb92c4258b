"""A tape for the whole module, in Turkish."""

from math import cos as _c, sin as _s


class Bant:
    def __init__(self):
        self.kayit = []


class Degisken:
    bant = Bant()

    def __init__(self, deger, ebeveynler=()):
        self.deger = deger
        self.ebeveynler = ebeveynler
        self.turev = 0.0
        Degisken.bant.kayit.append(self)

    def __add__(self, d):
        d = cevir(d)
        return Degisken(self.deger + d.deger, ((self, 1.0), (d, 1.0)))

    def __sub__(self, d):
        d = cevir(d)
        return Degisken(self.deger - d.deger, ((self, 1.0), (d, -1.0)))

    def __mul__(self, d):
        d = cevir(d)
        return Degisken(self.deger * d.deger, ((self, d.deger), (d, self.deger)))

    def __radd__(self, d):
        return cevir(d) + self

    def __rsub__(self, d):
        return cevir(d) - self

    def __rmul__(self, d):
        return cevir(d) * self


def cevir(x):
    return x if isinstance(x, Degisken) else Degisken(x)


def sinus(x):
    return Degisken(_s(x.deger), ((x, _c(x.deger)),))


def geri_yay(y):
    for v in Degisken.bant.kayit:
        v.turev = 0.0
    y.turev = 1.0
    for v in reversed(Degisken.bant.kayit):
        for e, d in v.ebeveynler:
            e.turev += v.turev * d
