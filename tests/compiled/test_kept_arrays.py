"""Which arrays loops keep in memory, and what they compute again, or later, instead."""

from types import SimpleNamespace

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.record_loop import LoopStep, record_step
from simpleautodiff.compiled.recording.estimates import Estimates

SETTINGS = SimpleNamespace(estimates=Estimates(), precise=False, on_long=None)


def compiled(f, *args):
    """Compare a function with what is compiled of it; return the lines on its loops."""
    function = ad.jit(f, tier="optimised")
    function(*args)
    wanted, found = f(*args), function(*args)
    wanted, found = (x if type(x) is tuple else (x,) for x in (wanted, found))
    for right, answer in zip(wanted, found, strict=True):
        np.testing.assert_allclose(answer, right, rtol=1e-13, atol=1e-13)
    return [line.strip() for line in str(function.explain()).splitlines() if "loop:" in line]


def test_multiples_are_not_kept_for_later_loops():
    def f(x):
        y = np.exp(x)
        half = 0.5 * y
        return y, half[1:] * x[:-1] + half[:-1]

    first, second = compiled(f, np.linspace(0.0, 1.0, 700))
    assert first == "loop: exp mul over (700,), 1 read, 1 written"
    assert second.endswith("over (699,), 3 read, 1 written")


@pytest.mark.parametrize("factor", [np.inf, np.nan, -2.0, 1e308])
def test_multiples_beside_an_edge(factor):
    def f(x):
        y = np.sin(x)
        many = factor * y
        return np.concatenate([[1.0], many[1:] * x[:-1]]) + y

    with np.errstate(all="ignore"):
        compiled(f, np.linspace(-1.0, 1.0, 600))


def test_multiples_that_are_results_are_kept():
    def f(x):
        y = np.exp(x)
        double = 2.0 * y
        return double, double[1:] * x[:-1], np.dot(double, x)

    compiled(f, np.linspace(0.0, 1.0, 700))


def test_multiples_of_integers_and_of_broadcast_numbers():
    def f(x, k):
        many = k * 3
        y = np.exp(x)
        wide = np.broadcast_to(y[:1], (700,)) * 2.0
        return many[1:] * x[:-1], wide[1:] - y[:-1], 0.1 * (3.0 * y)[::-1]

    compiled(f, np.linspace(0.0, 1.0, 700), np.arange(700))


def test_a_loop_joins_the_later_loop_that_needs_it():
    def f(x):
        a = np.exp(x)
        before = a[1:] * x[1:] + a[:-1] * x[:-1]
        b = np.sin(a[::-1])
        return before + b[1:] * b[:-1]

    loops = compiled(f, np.linspace(0.0, 1.0, 700))
    assert [loop for loop in loops if "(699,)" in loop] == [
        "loop: mul mul add mul add over (699,), 6 read, 1 written"
    ]


def test_a_loop_that_two_others_need_stays():
    def f(x):
        a = np.exp(x)
        before = a[1:] * x[1:] + a[:-1] * x[:-1]
        b = np.sin(before[::-1])
        return before + b, before * np.cos(b[::-1])

    compiled(f, np.linspace(0.0, 1.0, 700))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 24, 700])
def test_pieces_that_end_within_vectors(n):
    for first, last in {(0, n), (n // 2, n // 2), (1, n), (0, n - 1), (n // 3, n - n // 3)}:

        def f(x, first=first, last=last):
            parts = [x[:first] * 3.0, np.exp(x[first:last]), x[last:] - 1.0]
            joined = np.concatenate(parts)
            spread = np.zeros(n)
            spread[first:last] = x[first:last] * 2.0
            return joined * x, spread + x, np.sum(joined * x), np.max(spread - x)

        compiled(f, np.linspace(0.5, 1.5, n))


@pytest.mark.parametrize("count", [2, 8, 11, 16, 17])
def test_short_axes_whose_elements_are_apart(count):
    def f(x):
        return np.min(x, axis=1), np.argmax(x, axis=1), np.sum(x * x, axis=1), x.T + 1.0

    compiled(f, np.random.default_rng(count).normal(size=(101, count)))


def test_elements_that_indices_choose():
    chance = np.random.default_rng(3)
    rows, columns = chance.integers(0, 50, size=(2, 333))

    def f(x, rows, columns):
        spread = np.zeros((60, 60))
        spread[rows, columns] = x[rows, columns] * 2.0
        return x[rows, columns] + 1.0, x[rows][:, ::3] * 2.0, spread

    compiled(f, chance.normal(size=(50, 50)), rows, columns)


def record(f, x):
    """Record a loop whose step takes arrays from outside; return its parts."""
    found = []

    def loss(x):
        step = LoopStep(lambda y, _: (f(x, y), None))
        found.append(record_step(step, np.full(5, 0.5), None, 3, SETTINGS))
        return np.sum(x)

    ad.jit(ad.grad(loss))(x)
    ad.grad(loss)(x)
    return found


def written(x, y):
    """Write over all elements but the first."""
    out = np.empty_like(x)
    out[0] = x[0]
    out[1:] = x[1:] * y[:-1]
    return out


@pytest.mark.parametrize(
    ("f", "constants"),
    [
        (lambda x, y: np.concatenate([x[:1], x[1:] * y[:-1] + x[1:] * y[1:]]), 2),
        (lambda x, y: written(x, y) + written(x, y * y), 2),
        (lambda x, y: (x + 1.0)[::-1] * y + (x + 1.0)[::-1], 1),
        (lambda x, y: x[::2].sum() * y + x[::3].sum() * y, 2),
        (lambda x, y: ad.stop_gradient(x)[:1] * y + x[:1] * y, 2),
    ],
)
def test_what_a_step_takes_from_outside_is_one_argument_if_it_is_computed_alike(f, constants):
    for loop in record(f, np.linspace(0.5, 1.5, 5)):
        assert len(loop.constants) == constants


def test_a_write_over_most_of_an_array_from_outside_joins_its_parts():
    [*_, loop] = record(written, np.linspace(0.5, 1.5, 5))
    names = [line.name for line in loop.function.body.lines]
    assert "concatenate" in names
    assert "set_item" not in names
    assert sorted(np.shape(x) for x in loop.constants) == [(1,), (4,)]


WRITES = {
    "all but the first": (slice(1, None), slice(None, -1)),
    "all but the last": (slice(None, -1), slice(1, None)),
    "all but both": (slice(1, -1), slice(2, None)),
    "a few": (slice(2, 4), slice(1, 3)),
    "every second": (slice(None, None, 2), slice(None, None, 2)),
    "in a tuple": ((slice(1, None),), (slice(None, -1),)),
}


@pytest.mark.parametrize("case", WRITES)
@pytest.mark.parametrize("shape", [(9,), (9, 3)])
def test_gradients_of_loops_that_write_over_arrays_from_outside(case, shape):
    to, by = WRITES[case]

    def loss(x):
        base, y = 0.5 * x, x * x
        for _ in range(40):
            out = base.copy()
            out[to] = 0.5 * y[by] * x[by]
            y = y + 0.1 * out
        return np.sum(np.sin(y))

    x = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
    gradient = ad.jit(ad.grad(loss), tier="optimised")
    gradient(x + 0.1)
    np.testing.assert_allclose(gradient(x), ad.grad(loss)(x), rtol=1e-11)
