"""What is done differently for large arrays, done to every case: the same derivatives follow.

Large arrays are locked instead of copied, values that no rule reads are let go, and adjoints are
added up in place. Here every array counts as large.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import keeping, node, sweep, wrapping
from simpleautodiff.rules import TABLE, shapes
from simpleautodiff.rules.row import UFUNCS

spec = importlib.util.spec_from_file_location("cases", Path(__file__).parent / "test_arrays.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


@pytest.fixture
def all_large(monkeypatch):
    for module in (keeping, node, sweep, wrapping, shapes):
        monkeypatch.setattr(module, "SMALL", 0)
    for function in {id(f): f for f in UFUNCS.values()}.values():
        names = getattr(function, "__globals__", {})
        if names.get("SMALL"):
            monkeypatch.setitem(names, "SMALL", 0)


@pytest.mark.parametrize(("name", "f", "x"), cases.CASES, ids=[case[0] for case in cases.CASES])
def test_every_case(name, f, x, request):
    total = lambda x: np.sum(np.sin(f(x)) * cases.weights(np.shape(f(x))))
    direction = cases.weights(x.shape)
    slope = lambda x: ad.grad(total)(x)
    expected = slope(x), ad.hvp(total, (x,), (direction,))
    _, pullback = ad.vjp(total, x)
    request.getfixturevalue("all_large")
    np.testing.assert_allclose(slope(x), expected[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        ad.hvp(total, (x,), (direction,)), expected[1], rtol=1e-10, atol=1e-11
    )
    again = ad.grad(lambda x: np.sum(slope(x) * direction))(x)
    np.testing.assert_allclose(again, expected[1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        ad.vjp(total, x)[1](1.0)[0], pullback(1.0)[0], rtol=1e-12, atol=1e-13
    )
    assert x.flags.writeable


OF_ORDERS = {"polygamma", "sinc_derivative"}  # the first argument is one whole number
ELEMENTWISE = {
    name: row
    for name, row in TABLE.items()
    if not (row.arrays or row.settings or row.floats or name in OF_ORDERS) and row.arity <= 2
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_rule_reads_what_it_says(name):
    row = ELEMENTWISE[name]
    for start in (0.3, 1.2):
        args = [np.array([start, start + 0.4]), np.array([0.7, 2.1])][: row.arity]
        with np.errstate(all="ignore"):
            value = row.compute(*args)
            for k in range(row.arity):
                read = row.read((k,))
                nan = np.full(2, np.nan)
                known = row.partial(k, value, tuple(args))
                blind = row.partial(
                    k,
                    value if -1 in read else nan,
                    tuple(arg if i in read else nan for i, arg in enumerate(args)),
                )
                if isinstance(known, (np.ndarray, float, int)):
                    np.testing.assert_array_equal(blind, known)


def test_locks_are_counted_and_given_back():
    data = np.ones(10_000)
    outer = lambda x: np.sum(data * x) * ad.grad(lambda y: np.sum(data * y * y))(x)[0]
    np.testing.assert_allclose(ad.grad(outer)(np.ones(10_000))[1:], 2.0)
    assert data.flags.writeable
    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: np.sum(data * x) * (1 // 0))(np.ones(10_000))
    assert data.flags.writeable
    frozen = np.ones(10_000)
    frozen.flags.writeable = False
    ad.grad(lambda x: np.sum(frozen * x))(np.ones(10_000))
    assert not frozen.flags.writeable
