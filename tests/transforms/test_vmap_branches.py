"""`vmap(f, branches="both")`: examples that go different ways through the code."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad

XS = np.array([3.0, -1.0, 0.0, 2.0, -4.0, 0.5])


def ramp(x):
    return x * x if x > 0 else -x


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def nested(x):
    if x > 1:
        return np.sin(x) if x > 2.5 else x**3
    if x == 0:
        return 2.0 * x
    return np.exp(x)


def of_an_array(row):
    if row[0] > 0:
        row = row * 2.0
    while np.sum(row) > 3.0:
        row = row * 0.5
    return row


@pytest.mark.parametrize("f", [ramp, nested])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        ad.grad,
        lambda f: ad.grad(ad.grad(f)),
        lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1],
        lambda f: ad.value_and_grad(f),
    ],
)
def test_each_example_goes_its_own_way(f, transform):
    one = transform(f)
    batch = ad.vmap(one, branches="both")(XS)
    if isinstance(batch, tuple):
        batch = np.stack(batch, 1)
    np.testing.assert_array_equal(batch, np.array([one(x) for x in XS], float))


def test_loops_that_end_after_different_numbers_of_steps():
    xs = np.array([2.0, 2.0, 100.0, 1e4, 0.3])
    both = ad.vmap(newton, branches="both")
    np.testing.assert_allclose(both(xs), np.sqrt(xs), rtol=1e-12)
    slopes = ad.vmap(ad.grad(newton), branches="both")(xs)
    np.testing.assert_allclose(slopes, 0.5 / np.sqrt(xs), rtol=1e-6)  # of the iteration
    np.testing.assert_array_equal(slopes, [ad.grad(newton)(x) for x in xs])


def test_derivatives_of_a_batch():
    total = lambda xs: np.sum(ad.vmap(ramp, branches="both")(xs) * np.arange(6.0))
    expected = np.where(XS > 0, 2 * XS, -1.0) * np.arange(6.0)
    np.testing.assert_array_equal(ad.grad(total)(XS), expected)
    np.testing.assert_array_equal(
        ad.hessian(total)(XS), np.diag(np.where(XS > 0, 2.0, 0.0) * np.arange(6.0))
    )


def test_arrays_axes_structures_and_what_is_the_same_for_all():
    rows = np.random.default_rng(3).normal(size=(7, 4)) * 2
    got = ad.vmap(of_an_array, branches="both")(rows)
    np.testing.assert_array_equal(got, [of_an_array(row) for row in rows])
    got = ad.vmap(of_an_array, in_axes=1, out_axes=1, branches="both")(rows.T)
    np.testing.assert_array_equal(got.T, [of_an_array(row) for row in rows])

    def choose(x, limit):
        return {"way": x * 2.0, "all": limit} if x > limit else {"way": -x, "all": limit}

    got = ad.vmap(choose, (0, None), {"way": 0, "all": None}, branches="both")(XS, 1.0)
    np.testing.assert_array_equal(got["way"], np.where(XS > 1, 2 * XS, -XS))
    assert got["all"] == 1.0
    chunks = ad.vmap(ramp, branches="both", chunk_size=2)(XS)
    np.testing.assert_array_equal(chunks, [ramp(x) for x in XS])


def test_nested():
    both = ad.vmap(ad.vmap(ad.grad(ramp), branches="both"), branches="both")
    np.testing.assert_array_equal(
        both(XS.reshape(2, 3)), np.where(XS > 0, 2 * XS, -1.0).reshape(2, 3)
    )


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.NotCompiledWarning")
def test_compiled_it_gives_the_same():
    mapped = ad.vmap(ad.grad(ramp), branches="both")
    compiled = ad.jit(mapped)
    for xs in (XS, XS, -XS, np.abs(XS)):
        np.testing.assert_array_equal(compiled(xs), mapped(xs))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_random_batches(xs, steps):
    def f(x):
        for k in range(steps):
            if x > k:
                x = x * 0.5 - 1.0
            elif x < -k:
                x = x * x
            if abs(x) < 0.3:
                break
        return x * 3.0

    xs = np.array(xs)
    slope = ad.value_and_grad(f)
    values, slopes = ad.vmap(slope, branches="both")(xs)
    expected = [slope(x) for x in xs]
    np.testing.assert_array_equal(values, [v for v, _ in expected])
    np.testing.assert_array_equal(slopes, [g for _, g in expected])


NAMES, TABLE = ["low", "middle", "high"], np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])


def by_integer(row):
    cell = int(np.floor(abs(row[0])))
    return row[1] ** 2 * {0: 2.0, 1: 3.0}.get(cell, 5.0)


def by_list(row):
    name = NAMES[np.argmax(row)]
    return np.sum(row) ** 2 if name == "low" else row[0] * len(name)


def by_table(row):
    nearest = TABLE[np.argmin(row)]
    return nearest @ row[:2] ** 2


def by_several_rows(row):
    order = TABLE[np.argsort(row)]
    return np.sum(order @ row[:2] ** 3)


def by_range(row):
    total = row[0]
    for k in range(np.argmax(row)):
        total = total * row[k + 1]
    return total


@pytest.mark.parametrize("f", [by_integer, by_list, by_table, by_several_rows, by_range])
def test_integers_of_each_example(f):
    rows = np.random.default_rng(5).normal(size=(6, 3)) * 2
    with pytest.raises(ad.LostDerivativeError, match="branches='both'"):
        ad.vmap(f)(rows)
    mapped = ad.vmap(f, branches="both")
    np.testing.assert_allclose(mapped(rows), [f(row) for row in rows], rtol=1e-14)
    slopes = np.array([ad.grad(f)(row) for row in rows])
    both = ad.vmap(ad.value_and_grad(f), branches="both")(rows)[1]
    np.testing.assert_allclose(both, slopes, rtol=1e-14)
    total = ad.grad(lambda rows: np.sum(mapped(rows)))(rows)
    np.testing.assert_allclose(total, slopes, rtol=1e-14)
    nested = ad.vmap(mapped, branches="both")(rows.reshape(2, 3, 3))
    np.testing.assert_allclose(nested.ravel(), mapped(rows), rtol=1e-14)


def test_int_of_a_batch_does_not_drop_its_derivative():
    total = lambda rows: np.sum(ad.vmap(lambda x: x * int(x), branches="both")(rows))
    with pytest.raises(ad.LostDerivativeError, match=r"int\(\)"):
        ad.grad(total)(np.array([1.5, 2.5]))


def test_what_is_refused():
    with pytest.raises(ad.LostDerivativeError, match="branches='both'"):
        ad.vmap(ramp)(XS)
    with pytest.raises(ad.ArgumentError, match="None or 'both'; got 'all'"):
        ad.vmap(ramp, branches="all")
    with pytest.raises(ad.ArgumentError, match="one structure"):
        ad.vmap(lambda x: x if x > 0 else (x, x), branches="both")(XS)
    with pytest.raises(ad.LostDerivativeError, match="the truth of a batch"):
        ad.vmap(lambda row: row if row > 0 else -row, branches="both")(np.ones((2, 3)))
