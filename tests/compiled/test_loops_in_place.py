"""Loops whose steps write to elements of carried arrays: in place, and as Python's loops do it."""

import random

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.rolled.layout import RolledLayout

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def loops_stay_loops(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")
    monkeypatch.setattr(LOOPS, "lines", 0)


def draw(*shape):
    return np.random.default_rng(list(shape)).uniform(0.2, 1.2, size=shape)


def fori(lower, upper, step, state):
    return ad.fori_loop(lower, upper, step, state)


def python(lower, upper, step, state):
    for t in range(lower, upper):
        state = step(t, state)
    return state


def recur(loop, x):
    """A recursion, such as that of GARCH."""
    y = np.zeros(len(x))
    y[0] = x[0]

    def step(t, y):
        y[t] = x[1] + np.sin(x[t - 1]) * y[t - 1]
        return y

    return loop(1, len(x), step, y)


def recur_backwards(loop, x):
    y = x * 0.5

    def step(t, y):
        y[-t - 1] = y[-t] * x[-t] + np.exp(-y[-t - 1])
        return y

    return loop(1, len(x), step, y)


def filter_forward(loop, x):
    """A hidden Markov model: rows of a matrix."""
    transition, emission = np.reshape(x[:9], (3, 3)), np.reshape(x[9:15], (3, 2))
    alpha = np.zeros((len(x), 3))
    alpha[0] = emission[:, 0]

    def step(t, alpha):
        alpha[t] = (alpha[t - 1] @ transition) * (emission[:, 0] + x[t] * emission[:, 1])
        return alpha

    return loop(1, len(x), step, alpha)


def swap(loop, x):
    """Elements that are read before, and after, they are written."""

    def step(t, y):
        left = y[t - 1]
        y[t - 1] = y[t] * x[t]
        y[t] = left + y[t - 1]
        return y

    return loop(1, len(x), step, x * 1.0)


def solve_tridiagonal(loop, x):
    """Thomas' algorithm: two arrays down, one up."""
    n = len(x)
    c, d, y = np.zeros(n), np.zeros(n), np.zeros(n)
    c[0], d[0] = 0.3 / (2 + x[0]), x[0]

    def down(i, state):
        c, d = state
        pivot = 2 + x[i] - 0.3 * c[i - 1]
        c[i] = 0.3 / pivot
        d[i] = (x[i] - 0.3 * d[i - 1]) / pivot
        return c, d

    def up(k, y):
        i = n - 1 - k
        y[i] = d[i] - c[i] * y[i + 1]
        return y

    c, d = loop(1, n, down, (c, d))
    y[n - 1] = d[n - 1]
    return loop(1, n, up, y)


def accumulate(loop, x):
    def step(t, state):
        total, y = state
        y[t] += total * x[t]
        y[0] = y[0] + y[t]
        return total + y[t], y

    total, y = loop(0, len(x), step, (0.5, np.ones(len(x))))
    return y * total


def fill_table(loop, x):
    """A loop in a loop: a table of which each element needs its neighbours."""
    n = 4

    def row(i, table):
        def cell(j, table):
            table[i, j] = table[i - 1, j] * x[i] + table[i, j - 1] * x[j]
            return table

        return loop(1, n, cell, table)

    return loop(1, n, row, np.ones((n, n)) * x[0])


def sum_parts(loop, x):
    """Steps that read the whole array, too: versions of it differ."""

    def step(t, y):
        before = np.sum(y * x)
        y[t] = before * 0.1
        return y * 0.9 if t is None else y

    return loop(0, len(x), step, x + 1.0)


def write_beside_the_end(loop, x):
    """Indices that begin before the first element, as Python counts."""

    def step(t, y):
        y[t - 2] = y[t] * x[t]
        return y

    return loop(0, len(x), step, x + 1.0)


def read_one_twice(loop, x):
    """An element that a step reads for two purposes, and so its adjoint is a sum."""

    def step(t, y):
        y[t] = y[t - 1] * np.cos(x[t]) + y[t - 2] / (1.0 + x[t] ** 2)
        return y

    return loop(2, len(x), step, x + 0.0)


def read_neighbours(loop, x):
    """Three elements side by side, of an array that stays, and of one that is written."""

    def step(t, y):
        y[t] = np.sin(x[t - 1] - 2.0 * x[t] + x[t + 1]) + 0.3 * y[t + 1] * y[t - 1] ** 2
        return y

    return loop(1, len(x) - 1, step, x + 0.0)


PROGRAMS = [
    *(recur, recur_backwards, filter_forward, swap, solve_tridiagonal, accumulate, fill_table),
    *(sum_parts, write_beside_the_end, read_one_twice, read_neighbours),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_loop_in_place_equals_that_of_python(f):
    x, other = draw(15), draw(15)[::-1] * 1.5
    weights = np.cos(np.arange(f(python, x).size)).reshape(f(python, x).shape)

    def in_loop(x):
        return np.sum(weights * f(fori, x))

    def in_python(x):
        return np.sum(weights * f(python, x))

    asked = [
        lambda g: g,
        ad.grad,
        ad.jacfwd,
        lambda g: ad.grad(lambda x: np.sum(ad.grad(g)(x) ** 2)),
    ]
    for ask in asked:
        compiled = ad.jit(ask(in_loop))
        for _ in range(3):
            for point in (x, other):
                np.testing.assert_allclose(
                    compiled(point), ask(in_python)(point), rtol=1e-10, atol=1e-12
                )


@pytest.mark.parametrize("f", [recur, filter_forward, solve_tridiagonal, accumulate])
def test_memory_grows_with_the_steps_and_not_with_their_square(f):
    """No array is copied in a step, and none is kept for the way back."""
    short, long = [_find_memory(lambda x: np.sum(f(fori, x)), n) for n in (15, 150)]
    assert long <= 11 * short


@pytest.mark.parametrize("f", [recur, swap, read_one_twice, read_neighbours])
def test_steps_there_and_back_are_on_single_numbers(f, monkeypatch):
    """No pass over an array is left in a loop, and so each loop is a function of its own."""
    layouts = []

    def lay_out(*args):
        layouts.append(RolledLayout(*args))
        return layouts[-1]

    monkeypatch.setattr("simpleautodiff.compiled.tiers.RolledLayout", lay_out)
    gradient = ad.jit(ad.grad(lambda x: np.sum(f(fori, x))), tier="optimised")
    gradient(draw(30))
    assert layouts[-1].has_loops
    assert not layouts[-1].words_change


def _find_memory(f, n):
    """Return how many bytes the compiled gradient of a function of n numbers needs."""
    compiled = ad.jit(ad.grad(f))
    for _ in range(3):
        compiled(draw(n))
    text = str(compiled.explain())
    assert "recorded by one step each" in text
    return int(text.split("memory:")[1].split()[0])


# Random steps. ------------------------------------------------------------------------------------

ARRAYS = ("a", "b")


def make_step(seed):
    """Return the text of a step that reads and writes elements of two arrays."""
    rng = random.Random(seed)
    reads = [f"{name}[t{shift}]" for name in ARRAYS for shift in ("", " - 1", " + 1", " - 2")]
    reads += ["x[t]", "x[0]", "s", "np.sum(a)", "a[2]", "b[-1]"]
    lines = []
    for _ in range(rng.randint(1, 5)):
        one, other = rng.choice(reads), rng.choice(reads)
        value = rng.choice([f"np.sin({one}) * {other}", f"0.5 * {one} + 0.3 * {other}", "0.25"])
        name, shift = rng.choice(ARRAYS), rng.choice(["", " - 1", " + 1"])
        lines.append(
            rng.choice([
                f"{name}[t{shift}] = {value}",
                f"{name}[t{shift}] += {value}",
                f"s = {value}",
                f"{name}[1] = {value}",
            ])
        )  # fmt: skip
    return "\n".join(lines)


def run_step(text, t, state, x):
    a, b, s = state
    names = {"a": a, "b": b, "s": s, "t": t, "x": x, "np": np}
    exec(text, names)
    return names["a"], names["b"], names["s"]


@pytest.mark.parametrize("seed", range(60))
def test_random_steps(seed):
    text = make_step(seed)

    def of(loop):
        def f(x):
            state = loop(
                2, 7, lambda t, state: run_step(text, t, state, x), (x * 0.5, x + 0.1, x[0])
            )
            a, b, s = state
            return np.sum(a * np.arange(8)) + np.sum(b**2) + s

        return f

    x, other = draw(8), draw(8)[::-1].copy()
    for ask in (lambda g: g, ad.grad, ad.jacfwd):
        compiled = ad.jit(ask(of(fori)))
        for _ in range(2):
            for point in (x, other):
                np.testing.assert_allclose(
                    compiled(point), ask(of(python))(point), rtol=1e-10, atol=1e-12, err_msg=text
                )
        if ask is not ad.jacfwd:  # tangents that are spread in more than one way are not
            assert "recorded by one step each" in str(compiled.explain())
