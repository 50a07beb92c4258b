"""Modes of differentiation: each feature of the table, exercised."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


def paper(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


@shows("Forward mode (JVP)")
def test_forward():
    value, tangent = ad.jvp(paper, (2.0, 5.0), (1.0, 0.0))
    assert value == pytest.approx(math.log(2) + 10 - math.sin(5), rel=1e-15)
    assert tangent == 5.5


@shows("Reverse mode (VJP)")
def test_reverse():
    _value, pull = ad.vjp(paper, 2.0, 5.0)
    assert pull(1.0) == pytest.approx((5.5, 2 - math.cos(5)), rel=1e-15)


@shows("Both modes on one recorded graph (user code not re-run)")
def test_one_graph():
    calls = []

    def counted(x1, x2):
        calls.append(1)
        return paper(x1, x2)

    trace = ad.trace(counted, 2.0, 5.0)
    assert trace.tangents("x1")["v5"] == trace.adjoints()["x1"] == 5.5
    assert trace.tangents("x2")["v5"] == trace.adjoints()["x2"] == pytest.approx(2 - math.cos(5))
    assert len(calls) == 1


@shows("Chooses the mode by shape, and says why")
def test_chosen_mode():
    wide, tall = lambda x: np.sum(x**2), lambda x: x * np.arange(5.0)
    assert ad.compare(wide, np.ones(5)).mode == "reverse"
    assert "1 sweep for 1 result" in ad.compare(wide, np.ones(5)).why
    assert ad.compare(tall, 2.0).mode == "forward"


@shows("Vector forward: many tangents in one sweep")
def test_vector_forward():
    calls = []

    def squares(x):
        calls.append(1)
        return x**2

    np.testing.assert_array_equal(ad.jacfwd(squares)(np.arange(4.0)), np.diag([0.0, 2, 4, 6]))
    assert len(calls) == 1


@shows("Taylor mode, any order")
def test_taylor():
    assert ad.taylor(ad.exp, 0.0, 20) == pytest.approx([1 / math.factorial(n) for n in range(21)])
    value, series = ad.jet(ad.sin, (0.5,), ((1.0, 0.0, 0.0),))
    expected = [math.cos(0.5), -math.sin(0.5), -math.cos(0.5)]
    assert [value, *series] == pytest.approx([math.sin(0.5), *expected], rel=1e-14)


@shows("Cross-country (vertex) elimination")
def test_elimination():
    def waist(a, b, c):  # three inputs, three results, one vertex between them
        t = np.sin(a * b * c)
        return [t * 2.0, np.exp(t), t**2]

    x = (0.5, 0.7, 1.1)
    found = ad.jacobian(waist, (0, 1, 2), mode="elimination")(*x)
    np.testing.assert_allclose(found, ad.jacobian(waist, (0, 1, 2))(*x), rtol=1e-14)
    compared = ad.compare(waist, *x)
    others = compared["forward"].operations, compared["reverse"].operations
    assert compared["elimination"].operations < min(others)


@shows("Derivative as an expression/program the user can read")
def test_readable_derivative():
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b", positive=True)
    f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
    assert ad.grad(f, 1)(a, b) == a - sympy.cos(b)
    assert ad.source(ad.grad(f), 2.0, 5.0, simplify=True).latex == r"x_{2} + \frac{1}{x_{1}}"


@shows("Numerical / complex-step differences in the same API")
@pytest.mark.parametrize("mode", ["forward", "reverse", "differences", "complex"])
def test_differences(mode):
    x = np.array([0.5, 2.0])
    found = ad.jacobian(lambda x: np.array([np.sin(x[0]) * x[1], x[0] ** 3]), mode=mode)(x)
    expected = [[math.cos(0.5) * 2, math.sin(0.5)], [0.75, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
