"""Tasks in strips give what they give one after the other: products, loops, sums over rows."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.array import strips

ROWS = (37, 64, 1000)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let arrays be large from the first byte on, and strips have eight rows."""
    monkeypatch.setattr(strips, "LARGE", 1)
    monkeypatch.setattr(strips, "STRIP", 1)


def agree(f, *args):
    """Compare compiled with eager; return what is said about the code."""
    function = ad.jit(f, tier="optimised")
    function(*args)
    wanted, found = f(*args), function(*args)
    wanted, found = (x if type(x) is tuple else (x,) for x in (wanted, found))
    for right, answer in zip(wanted, found, strict=True):
        scale = float(np.max(np.abs(right)))  # what was added up may have been as large
        np.testing.assert_allclose(answer, right, rtol=1e-11, atol=1e-11 * max(1.0, scale))
    return function.explain()


@pytest.mark.parametrize("n", ROWS)
def test_least_squares_goes_through_its_matrix_once(n):
    chance = np.random.default_rng(n)
    a, b, x = chance.normal(size=(n, 5)), chance.normal(size=n), chance.normal(size=5)
    constant = ad.grad(lambda x: np.sum((a @ x - b) ** 2))
    given = ad.value_and_grad(lambda x, a: np.sum(np.tanh(a @ x - b) ** 2))
    assert "8 rows at a time: BLAS: matmul (8, 5) (5,)" in agree(constant, x)
    assert "8 rows at a time" in agree(given, x, a)


@pytest.mark.parametrize("n", ROWS)
def test_a_network_of_two_layers(n):
    chance = np.random.default_rng(n)
    x, y = chance.normal(size=(n, 4)), chance.normal(size=(n, 3))
    first, second = chance.normal(size=(4, 6)), chance.normal(size=(6, 3))

    def loss(first, second, x):
        return np.mean((np.tanh(x @ first) @ second - y) ** 2)

    assert "rows at a time" in agree(ad.grad(loss, (0, 1)), first, second, x)
    assert "rows at a time" in agree(ad.grad(loss, (0, 1, 2)), first, second, x)


@pytest.mark.parametrize("n", ROWS)
def test_extremes_and_sums_over_rows_go_on_from_strip_to_strip(n):
    chance = np.random.default_rng(n)
    x, w = chance.normal(size=(n, 7)), chance.normal(size=(7, 7))

    def f(x, w):
        y = x @ w
        z = np.exp(-(y**2)) + x
        return np.sum(z), np.max(z, axis=0), np.min(z), np.sum(y * z, axis=0), z, np.sum(z, axis=1)

    agree(f, x, w)


@pytest.mark.parametrize("n", ROWS)
def test_rows_that_are_needed_before_they_are_there_are_waited_for(n):
    chance = np.random.default_rng(n)
    x, w = chance.normal(size=(n, 7)), chance.normal(size=(7, 7))

    def turned(x, w):
        y = np.sin(x @ w)
        return (y[::-1] * y) @ w, y[1:] - y[:-1]

    def normed(x, w):
        y = np.sin(x @ w)
        return (y - np.mean(y, axis=0)) @ w + np.max(y)

    def gram(x, w):
        y = np.cos(x @ w)
        return y @ y.T @ x, y.T @ y

    def joined(x, w):
        y = np.sin(x @ w)
        return np.concatenate([y, x]) @ w, np.concatenate([y, x], axis=1) @ np.vstack([w, w])

    for f in (turned, normed, gram, joined):
        agree(f, x, w)


OPERATIONS = (
    lambda x, y, w: np.tanh(x @ w),
    lambda x, y, w: x * y + 0.5,
    lambda x, y, w: x - np.sum(y, axis=1)[:, None] / 7,
    lambda x, y, w: x - np.mean(y, axis=0),
    lambda x, y, w: x @ (y.T @ x) / 1000,
    lambda x, y, w: np.roll(x, 1, axis=0) * np.cos(y),
    lambda x, y, w: x[:, ::-1] @ w.T,
    lambda x, y, w: np.where(x > y, x, np.sin(y)),
    lambda x, y, w: x @ w[0, :][:, None] * y,
    lambda x, y, w: (x[:, 0] @ y) * x / 100,
)


@pytest.mark.parametrize("seed", range(25))
def test_programs_that_are_made_up(seed):
    chance = np.random.default_rng(seed)
    n = int(chance.integers(9, 70))
    chosen = chance.integers(len(OPERATIONS), size=6)
    which = chance.integers(100, size=(6, 2))
    x, w = chance.normal(size=(n, 7)), chance.normal(size=(7, 7)) / 3

    def f(x, w):
        made = [x]
        for k, (one, other) in zip(chosen, which, strict=True):
            made.append(OPERATIONS[k](made[one % len(made)], made[other % len(made)], w))
        return np.sum(made[-1] ** 2) + np.sum(made[-2])

    agree(ad.value_and_grad(f), x, w)
    agree(ad.grad(f, (0, 1)), x, w)


def test_equal_constants_are_one():
    a = np.random.default_rng(0).normal(size=(300, 5))
    function = ad.jit(ad.grad(lambda x: np.sum((a.copy() @ x) ** 2 @ a.copy())), tier="optimised")
    x = np.ones(5)
    function(x)
    np.testing.assert_allclose(function(x), ad.grad(lambda x: np.sum((a @ x) ** 2 @ a))(x))
    [path] = next(iter(function.function.known.values())).paths()
    assert [c.shape for c in path.program.program.plan.constants].count((300, 5)) == 1
