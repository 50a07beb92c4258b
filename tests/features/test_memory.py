"""What reverse mode keeps: each feature of the table, exercised."""

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


@shows("Checkpointing / rematerialisation")
def test_checkpoints():
    def block(x):
        for _ in range(10):
            x = np.sin(x)
        return x

    f = lambda x: np.sum(block(block(x)))
    less = lambda x: np.sum(ad.checkpoint(block)(ad.checkpoint(block)(x)))
    x = np.linspace(0, 1, 100)
    np.testing.assert_array_equal(ad.grad(less)(x), ad.grad(f)(x))
    assert ad.memory(less, x).total <= ad.memory(f, x).total / 5


@shows("Reports what each node stores")
def test_report():
    def f(x):
        y = np.exp(x)
        return np.sum(y * y + 1)

    report = ad.memory(f, np.ones(1000))
    assert [line.bytes for line in report.lines] == [0, 8000, 0]  # the input, exp, the sum
    assert "y = np.exp(x)" in str(report)


@shows("100 000-operation chain, no recursion failure")
def test_a_long_chain():
    def chain(x):
        for _ in range(100_000):
            x = x * 1.00001
        return x

    assert ad.grad(chain)(1.0) == pytest.approx(1.00001**100_000, rel=1e-9)
