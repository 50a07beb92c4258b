"""Which small programs are written out step by step, and which stay loops."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled import tiers

pytest.importorskip("llvmlite")


def record(f, x, monkeypatch):
    """Compile a function; return its result, and whether it was tried to write it out."""
    tried = []
    plain = tiers.unroll_if_small

    def unroll(*args, **settings):
        tried.append(args)
        return plain(*args, **settings)

    monkeypatch.setattr(tiers, "unroll_if_small", unroll)
    return ad.jit(f, tier="optimised")(x), bool(tried)


def test_a_dense_product_is_not_written_out(monkeypatch):
    matrix = np.random.default_rng(0).normal(size=(16, 128))
    gradient = ad.grad(lambda x: np.sum((matrix @ x - 1.0) ** 2))
    x = np.linspace(-1.0, 1.0, 128)
    found, tried = record(gradient, x, monkeypatch)
    assert not tried
    np.testing.assert_allclose(found, 2 * matrix.T @ (matrix @ x - 1.0), rtol=1e-12)


@pytest.mark.parametrize("matrix", [np.eye(40), np.diag(np.ones(39), 1)])
def test_a_product_with_few_numbers_is_written_out(matrix, monkeypatch):
    x = np.linspace(1.0, 2.0, 40)
    found, tried = record(lambda x: np.sum(np.sin(matrix @ x)), x, monkeypatch)
    assert tried
    assert found == pytest.approx(float(np.sum(np.sin(matrix @ x))), rel=1e-13)


def test_a_short_program_is_written_out(monkeypatch):
    found, tried = record(lambda x: np.sum(x * x), np.arange(4.0), monkeypatch)
    assert tried
    assert found == 14.0
