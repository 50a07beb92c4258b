"""Branches, loops, writes: each feature of the table, exercised."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x


@shows("Native if/for/while in differentiated code")
def test_native_control_flow():
    def f(x):
        y = 1.0
        for i in range(3):
            if x > i:
                y = y * newton(x)
        return y

    assert ad.grad(f)(2.5) == pytest.approx(1.5 * math.sqrt(2.5), rel=1e-12)
    assert ad.grad(f)(0.5) == pytest.approx(0.5 / math.sqrt(0.5), rel=1e-12)


@shows("Differentiable control flow inside compiled code")
def test_compiled_control_flow():
    root = ad.jit(ad.grad(newton), tier="tape")
    for a in (4.0, 4.0, 100.0, 4.0, 9.0):
        assert root(a) == pytest.approx(0.5 / math.sqrt(a), rel=1e-12)


@shows("Replay detects that a branch would change")
def test_a_changed_branch():
    f = ad.jit(lambda x: x**2 if x > 0 else -x, tier="tape")
    assert [f(3.0), f(4.0)] == [9.0, 16.0]
    assert "1 path" in f.explain()
    assert [f(-1.0), f(-2.0), f(3.0)] == [1.0, 2.0, 9.0]
    assert "2 paths" in f.explain()


@shows("In-place assignment x[i] = v")
def test_writes():
    def f(x):
        y = np.zeros(4)
        y[1:3] = x
        y[1] *= y[2]
        view = y[2:]
        view += x[0] ** 2
        x[0] = 0.0
        return y @ np.array([0.0, 1.0, 10.0, 100.0]) + x[0]

    # x0 x1 + 10 (x1 + x0²) + 100 x0²
    np.testing.assert_allclose(ad.grad(f)(np.array([2.0, 3.0])), [3 + 40 + 400, 2 + 10])


@shows("Silent loss of the derivative is impossible")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.sin(x),
        lambda x: float(x) ** 2,
        lambda x: x * {2.0: 5.0}.get(x, 1.0),
        lambda x: None,
        lambda x: math.fsum([x, x]),
    ],
)
def test_no_silent_loss(f):
    with pytest.raises(ad.AutodiffError):
        ad.grad(f)(2.0)
