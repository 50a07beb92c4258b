"""Loops over arrays, recorded by one step: carried arrays are kept, or overwritten, where they are.

Whether that is right depends on what a step still reads of an array when it writes the next one, so
steps are put together at random, from operations that read neighbours, swap and write.
"""

import linecache
import random

import numpy as np
import pytest

import simpleautodiff as ad
from oracle.answers import limited
from simpleautodiff.compiled.loops.choose_kept import NEVER, Price, choose_kept
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.rolled.limits import ROLLING

STATEMENTS = (
    "u = 0.8 * u + 0.1 * np.roll(v, 1)",
    "v = 0.8 * v - 0.1 * np.roll(u, -2) * np.cos(w)",
    "u, v = v, 0.5 * (u + w)",
    "w = np.concatenate([w[-1:], w[:-1]]) * 0.8 + 0.1 * u",
    "u = 0.5 * np.sin(u) + x",
    "v = v / (2.0 + w**2)",
    "u = 0.7 * u; u[1:] -= 0.3 * u[:-1]",
    "v = 0.7 * v; v[:-1] += 0.2 * w[1:]; v[0] = 0.1",
    "w = np.exp(-u * u) + 0.1 * w[::-1]",
    "u, v, w = w, u, v",
    "w = np.where(u > v, u, 0.5 * v)",
    "v = 0.5 * v + 0.001 * k * np.cumsum(u)",
    "u = u * 0.5 + 0.02 * np.sum(v) * x",
    "w[2] = 0.3 * w[1] + u[0]",
    "total = total + np.sum(u * w)",
    "u = m @ u * 0.1 + 0.5 * v",
)


def make(seed):
    """Return a random function with a loop over three arrays, its text, and its arguments."""
    chance = random.Random(seed)
    size, steps = chance.choice((3, 8, 17)), chance.choice((8, 30, 61))
    inside = [chance.choice(STATEMENTS) for _ in range(chance.randint(2, 6))]
    lines = [
        "def f(x):",
        "    u, v, w, total = x * 1.0, 1.0 - x, 0.3 * x * x, 0.0",
        f"    for k in range({steps}):",
        *[f"        {line}" for line in inside],
        "    return total + np.sum(u * u) + np.sum(np.cos(v)) + np.sum(w[1:] * w[:-1])",
    ]
    numbers = np.random.default_rng(seed)
    names = {"np": np, "m": numbers.uniform(-0.5, 0.5, size=(size, size))}
    name = f"<loop over arrays {seed}>"
    linecache.cache[name] = (1, None, [f"{line}\n" for line in lines], name)  # loops are read there
    exec(compile("\n".join(lines), name, "exec"), names)
    points = [numbers.uniform(0.1, 0.9, size=size) for _ in range(2)]
    return names["f"], "\n".join(lines), points


@pytest.mark.parametrize("first", range(0, 60, 12))
@pytest.mark.parametrize("as_arrays", [False, True])
def test_gradients_of_random_loops(first, as_arrays):
    limits = {"scalar": 0, "kept": 0} if as_arrays else {}
    for seed in range(first, first + 12):
        f, text, points = make(seed)
        with limited(LOOPS, {"long": 10, "lines": 100}), limited(ROLLING, limits):
            gradient = ad.jit(ad.grad(f), tier="optimised")
            gradient(points[0])
            for x in points:
                np.testing.assert_allclose(
                    gradient(x), ad.grad(f)(x), rtol=1e-10, atol=1e-12, err_msg=text
                )


def test_such_loops_are_recorded_by_one_step():
    def f(x):
        u, v = x, 0.5 * x
        for _ in range(100):
            u, v = u + 0.01 * np.roll(v, 1), v - 0.01 * np.roll(u, -1) ** 2
        return np.sum(u * v)

    x = np.linspace(0.1, 0.4, 500)
    gradient = ad.jit(ad.grad(f), tier="optimised")
    np.testing.assert_allclose(gradient(x), ad.grad(f)(x), rtol=1e-12)
    assert "2 loops, recorded by one step each" in gradient.explain()


def test_loops_of_any_length_keep_what_the_way_back_needs():
    def f(x, steps):
        y, keeps = x, 0.0
        for _ in range(steps):
            y = y * np.sqrt(1.0 + y * y) / (1.0 + np.roll(y, 3))
            keeps = keeps + y[5]
        return keeps + np.sum(y)

    x = np.linspace(0.2, 0.3, 200)
    for steps in (2, 50, 51):
        gradient = ad.jit(ad.grad(f), tier="optimised")
        gradient(x, steps)
        np.testing.assert_allclose(gradient(x, steps), ad.grad(f)(x, steps), rtol=1e-11)


def cheapest(choices, needed):
    """Return the lowest cost of all ways to keep some lines, by trying each."""
    best = NEVER
    for bits in range(2 ** len(choices)):
        kept = {k for k in choices if bits >> k & 1}
        again, waiting = set(), [k for k in needed if k not in kept]
        while waiting:
            k = waiting.pop()
            if k not in again:
                again.add(k)
                waiting += [place for place in choices[k].needs if place not in kept]
        cost = sum(choices[k].keeping for k in kept) + sum(choices[k].again for k in again)
        best = min(best, cost)
    return best


def cost_of(kept, choices, needed):
    """Return what it costs to keep some lines, and to compute again what else is needed."""
    total, waiting, done = sum(choices[k].keeping for k in kept), [*needed], set(kept)
    while waiting:
        k = waiting.pop()
        if k not in done:
            done.add(k)
            total += choices[k].again
            waiting += choices[k].needs
    return total


@pytest.mark.parametrize("seed", range(60))
def test_the_choice_is_the_cheapest_of_all(seed):
    chance = random.Random(seed)
    choices = {}
    for k in range(chance.randint(1, 9)):
        needs = sorted(chance.sample(range(k), min(k, chance.randint(0, 3))))
        again = chance.choice((1, 4, 16, NEVER)) if needs else NEVER
        choices[k] = Price(chance.choice((2, 8, 16)), again, needs)
    needed = chance.sample(range(len(choices)), chance.randint(1, len(choices)))
    assert cost_of(choose_kept(choices, needed), choices, needed) == cheapest(choices, needed)
