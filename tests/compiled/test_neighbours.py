"""Loops that are joined because one reads neighbours of what the other computes."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled import tiers
from simpleautodiff.compiled.array import join_neighbours, strips
from simpleautodiff.compiled.rolled import bodies

SIZES = (2, 8, 9, 17, 64)  # around the widths of vectors
DTYPES = (np.float64, np.float32)


@pytest.fixture(autouse=True)
def joined(monkeypatch):
    """Let small arrays be loops, too; return the ways in which they were joined."""
    found = []
    for module in (tiers, bodies):
        monkeypatch.setattr(module, "unroll_if_small", lambda *args, **options: None)
    join = join_neighbours._join

    def noted(first, second):
        made = join(first, second)
        found.extend([made.neighbours] if made else [])
        return made

    monkeypatch.setattr(join_neighbours, "_join", noted)
    return found


def shifted(x, by):
    """Return x[i - by], with zeros beyond the ends."""
    moved = np.zeros_like(x)
    if by > 0:
        moved[by:] = x[:-by]
    else:
        moved[:by] = x[-by:]
    return moved


def agree(f, *args, **options):
    """Compare compiled with eager, for other numbers than it was compiled for, too."""
    function = ad.jit(f, tier="optimised", **options)
    for factor in (1, 1.25):
        given = [(factor * x).astype(x.dtype) for x in args]
        wanted, answer = f(*given), function(*given)
        close = 1e-11 if args[0].dtype == np.float64 else 1e-4
        scale = float(np.max(np.abs(wanted)))
        assert np.asarray(answer).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(answer, wanted, rtol=close, atol=close * scale)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", [1, -1])
def test_a_chain_of_neighbours(n, dtype, by, joined):
    x = np.random.default_rng(n).uniform(0.5, 1.5, n).astype(dtype)

    def f(x):
        first = np.sin(x) * shifted(x, by)
        second = x * shifted(first, by) - first
        third = second + shifted(second, by) * shifted(x, by)
        return third / (1 + shifted(third, by) ** 2)

    agree(f, x)
    assert n == 2 or {*joined} == {"before" if by > 0 else "after"}
    agree(ad.grad(lambda x: np.sum(f(x) ** 2)), x)


@pytest.mark.parametrize("n", SIZES)
def test_neighbours_on_both_sides_need_loops_in_both_directions(n, joined):
    x = np.random.default_rng(n).normal(size=n)

    def f(x):
        for _ in range(3):
            x = x + 0.1 * (shifted(x, 1) - 2 * x + shifted(x, -1))
        y = np.cos(x)
        return y * shifted(shifted(y, 1) * x, -1)

    agree(f, x)
    agree(ad.grad(lambda x: np.sum(f(x) * x)), x)
    agree(ad.grad(lambda x: np.sum(f(x) * x)), x, precise=True)


def test_what_a_precise_function_computes_is_not_joined(joined):
    x = np.linspace(0.1, 1, 50)
    agree(lambda x: x * shifted(np.sin(x) * x, 1), x, precise=True)
    assert not joined


@pytest.mark.parametrize("n", [5, 40])
def test_elements_that_are_not_zero_at_the_end_and_farther_ones_are_read(n):
    x = np.random.default_rng(n).normal(size=n)

    def f(x):
        y = np.exp(-x)
        ring = np.roll(y, 1) + np.roll(y, -1)
        z = np.concatenate([x[:1], y[:-1] * x[1:]])
        padded = np.concatenate([[2.0], z[:-1]])
        return ring + padded * shifted(z, 2) + shifted(y, -3)

    agree(f, x)
    agree(ad.grad(lambda x: np.sum(f(x) ** 2)), x)


@pytest.mark.parametrize("n", [4, 9, 31])
def test_comparisons_integers_and_sums_beside_neighbours(n):
    chance = np.random.default_rng(n)
    x, k = chance.normal(size=n), chance.integers(-3, 4, n)

    def f(x, k):
        y = x * shifted(x, 1)
        larger = y > shifted(y, 1)
        count = np.sum(larger)
        steps = k + shifted(k * k, 1)
        return np.where(larger, y, shifted(y, 1)) * count + steps + np.max(shifted(y, -1))

    agree(f, x, k)


@pytest.mark.parametrize("n", [17, 200])
def test_carried_arrays_of_a_loop_are_read_before_they_are_overwritten(n, joined):
    x = np.random.default_rng(n).uniform(size=n)

    def slope(x, y):
        made = np.empty_like(x)
        made[0] = x[0]
        made[1:] = x[1:] * y[:-1]
        return made

    def integrate(x):
        y = np.zeros_like(x)
        for _ in range(40):
            first = slope(x, y)
            y = y + 0.05 * (first + slope(x, y + 0.05 * first))
        return y

    agree(integrate, x)
    agree(ad.grad(lambda x: np.sum(integrate(x) ** 2)), x)
    assert {*joined} == {"before", "after"}


def test_arrays_that_are_cut_into_strips_or_shared_by_threads(monkeypatch):
    monkeypatch.setattr(strips, "LARGE", 1)
    monkeypatch.setattr(strips, "STRIP", 1)
    x = np.random.default_rng(0).normal(size=1000)

    def f(x):
        y = np.sin(x) * shifted(x, 1)
        z = y * shifted(y, 1) + x
        return np.sum(z * shifted(z, 1)) * z

    agree(f, x)
    agree(f, x, threads=2)


def test_many_arrays_stay_several_loops():
    arrays = np.random.default_rng(1).normal(size=(40, 33))

    def f(arrays):
        total = arrays[0]
        for array in arrays:
            total = array * shifted(total, 1) + np.tanh(total)
        return total

    agree(f, arrays)
    agree(ad.grad(lambda arrays: np.sum(f(arrays))), arrays)
