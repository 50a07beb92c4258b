"""Pythons whose objects compiled code does not know, and those that fill no result again."""

import sys

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.native import object_offsets as objects


@pytest.fixture
def fresh():
    """Have Python's objects measured anew, and again afterwards."""
    measured = objects.layout, objects.reusable
    for function in measured:
        function.cache_clear()
    yield
    for function in measured:
        function.cache_clear()


@pytest.fixture
def unknown(fresh, monkeypatch):
    """Make references be counted in no known way, as where each thread counts its own."""
    monkeypatch.setattr(objects, "_word", lambda of, at: 0)


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (ad.grad(lambda x: x**3), 2.0, 12.0),
        (ad.grad(lambda x: np.sum(x**3)), np.arange(4.0), 3 * np.arange(4.0) ** 2),
        (ad.vmap(ad.grad(lambda x: x**3)), np.arange(40.0), 3 * np.arange(40.0) ** 2),
        (ad.grad(lambda x: np.sum(x**3)), np.arange(1e4), 3 * np.arange(1e4) ** 2),
    ],
    ids=["number", "array", "rows", "large array"],
)
def test_functions_are_compiled_where_objects_are_unknown(f, x, expected):
    assert not objects.is_known()
    jitted = ad.jit(f, tier="optimised")
    for _ in range(3):
        np.testing.assert_allclose(jitted(x), expected, rtol=1e-14)
    assert "tier optimised" in jitted.explain()
    assert "could not be compiled" not in jitted.explain()


@pytest.mark.usefixtures("fresh")
def test_no_result_is_filled_again_where_threads_run_at_the_same_time(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert not objects.reusable()


def test_a_result_has_the_hash_of_its_own_numbers():
    pair = ad.jit(lambda x, y: (x * y, x + y), tier="optimised")
    for k in range(9):  # Python may keep a hash in a tuple, which may be filled again
        x = float(k)
        assert hash(pair(x, 2.0)) == hash((x * 2.0, x + 2.0))
