"""Classes with operators of their own, vectors and polynomials, whose fields are nodes."""

import numpy as np
import pytest

import simpleautodiff as ad


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, other):
        if isinstance(other, Vector):
            return self.x * other.x + self.y * other.y
        return Vector(self.x * other, self.y * other)

    def __rmul__(self, other):
        return Vector(other * self.x, other * self.y)

    def __radd__(self, other):
        return Vector(other + self.x, other + self.y)

    def __rsub__(self, other):
        return Vector(other - self.x, other - self.y)

    def __rtruediv__(self, other):
        return Vector(other / self.x, other / self.y)

    def __rpow__(self, other):
        return Vector(other**self.x, other**self.y)


class Polynomial:
    """It has neither a minus nor a reflected plus: it is nobody's number."""

    def __init__(self, *coefficients):
        self.c = coefficients

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return Polynomial(*[c * other for c in self.c])
        out = [0.0] * (len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                out[i + j] += a * b
        return Polynomial(*out)

    __rmul__ = __mul__

    def __call__(self, t):
        return sum(c * t**k for k, c in enumerate(self.c))


class Quaternion:
    __array_ufunc__ = None

    def __init__(self, w, v):
        self.w, self.v = w, v

    def __mul__(self, other):
        if not isinstance(other, Quaternion):
            return Quaternion(self.w * other, self.v * other)
        v = self.w * other.v + other.w * self.v + np.cross(self.v, other.v)
        return Quaternion(self.w * other.w - self.v @ other.v, v)

    def __rmul__(self, other):
        return self * other


def square(v):
    return v * v


def turn(p):
    axis = np.array([p[0], 0.6, p[1]])
    q = 0.7 * Quaternion(np.cos(p[0] / 2), np.sin(p[0] / 2) * axis / np.sqrt(axis @ axis))
    r = p[1] * q * Quaternion(0.0, np.array([1.0, p[0], 0.3])) * Quaternion(q.w, -q.v)
    return r.v[0] - r.v[2] ** 2 + r.w


PROGRAMS = {
    "times": lambda p: square(p[0] * Vector(p[1], 2.0)),
    "times_constants": lambda p: square(p[0] * p[1] * Vector(1.0, 2.0)),
    "plus": lambda p: square(p[0] + Vector(p[1], 2.0)),
    "minus": lambda p: square(p[0] - Vector(p[1], 2.0)),
    "over": lambda p: square(p[0] / Vector(p[1], 2.0)),
    "power": lambda p: square(p[0] ** Vector(p[1], 2.0)),
    "by_numpy": lambda p: square(np.multiply(p[0], Vector(p[1], 2.0))),
    "polynomial": lambda p: (p[0] * Polynomial(p[1], 2.0) * Polynomial(1.0, np.sin(p[0])))(0.3),
    "quaternion": turn,
}


def complex_step(f, x):
    return [np.imag(f(x + 1e-30j * e)) / 1e-30 for e in np.eye(len(x))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_class_decides(name):
    f, x, near = PROGRAMS[name], np.array([1.2, 0.7]), {"rtol": 1e-12}
    slope = complex_step(f, x)
    np.testing.assert_allclose(ad.grad(f)(x), slope, **near)
    np.testing.assert_allclose(ad.jacfwd(f)(x), slope, **near)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), slope, **near)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([x, x])), [slope, slope], **near)
    second = [ad.jvp(ad.grad(f), (x,), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(ad.hessian(f)(x), second, rtol=1e-11, atol=1e-12)


def test_a_class_that_does_not_know_nodes_is_refused_as_before():
    class Shy:
        def __rmul__(self, other):
            return NotImplemented

    with pytest.raises(ad.ValueKindError, match="not a number"):
        ad.grad(lambda x: x * Shy())(2.0)
