"""Loops that are rolled up keep no copies of parts, and compute once what stays the same."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.array.simplify import clean, compute, without_dead
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.rolled.arrange import FAR, arrange
from simpleautodiff.compiled.rolled.limits import ROLLING


@pytest.fixture(autouse=True)
def rolled_up(monkeypatch):
    """Let programs be rolled up that are short otherwise."""
    for name, limit in (("lines", 60), ("flat", 0), ("least", 20), ("whole", 100)):
        monkeypatch.setattr(ROLLING, name, limit)


def names(recorded):
    return [line.name for line in recorded.lines]


def record(f, *args):
    level = SymbolLevel()
    with level:
        inputs = [level.input(arg) for arg in args]
        result = f(*inputs)
    return level.finish([result], len(inputs))


def by_slices(x, steps):
    y = np.zeros_like(x)
    for _ in range(steps):
        k = np.concatenate([x[:1], x[1:] * y[:-1]])
        y = y + 0.1 * np.sin(k) * x
    return np.sum(y**2)


def by_writes(x, steps):
    a, b = np.zeros(len(x)), np.ones(len(x))
    for step in range(steps):
        a[:-1] += 0.3 * (b[1:] - b[:-1])
        b[1:] += 0.2 / x[1:] * np.tanh(a[1:] * a[:-1])
        b[len(x) // 2] += np.cos(step)
        b[0] = 0.0
    return np.sum(a * b)


def by_rows(x, steps):
    u = np.outer(x, np.cos(x))
    for _ in range(steps):
        new = np.empty_like(u)
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
        new[0], new[-1] = u[0], u[-1]
        new[:, -1] -= 0.1 * new[:, 0]
        u = new
    return np.sum(u * u)


def by_views_of_what_is_written(x, steps):
    total, y = 0.0, x.copy()
    for k in range(steps):
        part = y[1:]
        total = total + np.sum(part * part) / (1 + k)
        y[::2] = np.tanh(y[::2] + x[1])
        y[0] += part[-1]
    return total


@pytest.mark.parametrize("steps", [1, 7, 40])
@pytest.mark.parametrize("n", [4, 33])
@pytest.mark.parametrize(
    "f", [by_slices, by_writes, by_rows, by_views_of_what_is_written], ids=lambda f: f.__name__
)
def test_compiled_is_eager(f, n, steps):
    x = np.random.default_rng(n + steps).uniform(0.5, 1.0, size=n)
    for derivative in (f, ad.grad(f), ad.jvp):
        if derivative is ad.jvp:
            compiled = ad.jit(lambda x, s: ad.jvp(lambda x: f(x, s), (x,), (x,)), tier="optimised")
            compiled(x, steps)
            wanted = ad.jvp(lambda x: f(x, steps), (x,), (x,))
        else:
            compiled = ad.jit(derivative, tier="optimised")
            compiled(x, steps)
            wanted = derivative(x, steps)
        np.testing.assert_allclose(compiled(x, steps), wanted, rtol=1e-10, atol=1e-12)


def test_parts_are_taken_again_where_they_are_used():
    def f(x):
        y, part = x, x[1:]
        for _ in range(FAR):
            y = np.sin(y)
        return y[1:] * part

    late = arrange(record(f, np.ones(5)))
    assert names(late)[-3:] == ["getitem", "getitem", "mul"]
    few = arrange(record(lambda x: np.sin(x[1:]) * x[:-1], np.ones(5)))
    assert names(few).count("getitem") == 2


def test_views_of_views_and_results_that_are_views_stay():
    def f(x):
        part = x[1:]
        inner, y = part[::2], np.sin(part)
        for _ in range(FAR):
            y = np.cos(y)
        return y[::2] * inner + x[::2]

    x = np.linspace(0.2, 0.9, 6)
    late = arrange(record(f, x))
    values = [x]
    for line in late.lines[1:]:
        values.append(compute(line, values))
    np.testing.assert_array_equal(values[late.outputs[0]], f(x))


def test_lines_that_nothing_needs_are_dropped():
    def f(x):
        np.exp(x)
        return np.sin(x)

    assert names(arrange(record(f, np.ones(3)))) == ["input", "sin"]


def test_parts_of_what_is_written_to_later_stay_where_they_are():
    def f(x):
        y = 2 * x
        part, z = y[1:], y.copy()
        for _ in range(FAR + 2):
            z = np.sin(z)
        y[0] = 1.0
        return np.sum(y) + z[1:] * part

    recorded = record(f, np.ones(5))
    assert names(arrange(recorded)) == names(without_dead(recorded))


def test_what_needs_the_arguments_alone_is_computed_once():
    def f(x):
        y = x
        for _ in range(5):
            y = np.exp(-y) * np.exp(x) + np.zeros(3)
        return y

    assert names(arrange(record(f, np.ones(3)))).count("exp") == 1 + 5


def test_adjoints_go_back_through_sums_in_place_as_they_are():
    def f(x):
        y = np.sin(x)
        y[1:] += x[:-1]
        return np.sum(y * y)

    level = SymbolLevel()
    with level:
        x = level.input(np.ones(6))
        gradient = ad.grad(f)(x)
    recorded = level.finish([gradient], 1)
    found = names(clean(recorded))
    assert found.count("set_item") == 1  # that of the function itself
    assert "where" not in found  # no element is a structural zero
    precise = names(clean(recorded, precise=True))  # -0.0 + 0.0 is 0.0
    assert precise.count("set_item") > 1


@pytest.mark.parametrize(
    ("written", "read", "past"),
    [
        (slice(1, None), slice(0, 1), True),
        (slice(1, None), 0, True),
        (0, slice(1, None), True),
        ((slice(None), 0), (slice(None), 1), False),  # their bounds overlap
        (slice(0, 3), slice(2, 4), False),
        ((..., 0), (0, ...), False),
        (slice(2, None), (1, ...), True),
    ],
)
def test_parts_that_were_not_written_are_those_before(written, read, past):
    def f(x):
        y = np.sin(x)
        y[written] = 0.0
        return y[read] * 2

    x = np.random.default_rng(0).normal(size=(5, 4))
    recorded = record(f, x)
    assert ("set_item" not in names(clean(recorded))) == past
    function = ad.jit(f, tier="optimised")
    function(x)
    np.testing.assert_allclose(function(x), f(x), rtol=1e-15)
