"""Programs and batches of large arrays are compiled before they run, others while they run."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled import jit_function
from simpleautodiff.compiled.running import array_tiers, batched_function
from simpleautodiff.compiled.running.runnable import EnteredProgram


@pytest.fixture(params=[True, False], ids=["slow first call", "fast first call"])
def is_slow(request, monkeypatch):
    """Let first calls count as slow, or none of them."""
    monkeypatch.setattr(jit_function, "SLOW", 0.0 if request.param else 1e9)
    return request.param


@pytest.fixture(params=["large", "small"])
def compiled_at_once(request, monkeypatch):
    """Let all arrays be large, or none; return whether what is compiled must not be put off."""
    large = request.param == "large"
    monkeypatch.setattr(array_tiers, "LARGE_LINES", 2 if large else 10**9)
    monkeypatch.setattr(batched_function, "MANY_EXAMPLES", 0 if large else 10**9)

    def put_off(*args):
        raise AssertionError("it is large")

    if large:
        monkeypatch.setattr(EnteredProgram, "compile_later", put_off)
        monkeypatch.setattr(batched_function, "later", put_off)
    return large


def f(x, y):
    larger = np.sum(x) > 0  # another path through the code
    return np.sum(np.where(x > y, x * y, np.sin(x - y)) ** (2 if larger else 3))


@pytest.mark.parametrize("shape", [(2000,), (40, 50), (0,)])
def test_arrays_that_take_several_paths(shape, is_slow, compiled_at_once):
    chance = np.random.default_rng(len(shape))
    x, y = chance.uniform(size=shape), chance.normal(size=shape)
    gradient = ad.grad(f, (0, 1))
    function = ad.jit(gradient)
    for factor in (1, 2, -1, 3, -2, 4):
        for wanted, found in zip(gradient(factor * x, y), function(factor * x, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    if compiled_at_once and x.size:
        assert "loop" in function.explain()


@pytest.mark.parametrize("examples", [1, 3, 7, 100])
def test_batches_with_tables_and_common_arguments(examples, is_slow, compiled_at_once):
    chance = np.random.default_rng(examples)
    table, index = chance.normal(size=(5, 3)), chance.integers(0, 5, examples)
    common, x = chance.normal(size=3), chance.normal(size=(examples, 3))

    def residual(row, x, common):
        return np.sin(row * x) - common * np.sum(x)

    def jacobians(table, x, common):
        one = ad.jacobian(residual, (0, 1))
        return ad.vmap(one, in_axes=(0, 0, None))(table[index], x, common)

    function = ad.jit(jacobians)
    for factor in (1, 2, 3, 4):
        pairs = zip(
            jacobians(table, factor * x, common), function(table, factor * x, common), strict=True
        )
        for wanted, found in pairs:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
