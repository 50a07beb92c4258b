"""Decisions in the steps of recorded loops: both branches are computed, and one is selected."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.recording import body_level

STEPS = 60


@pytest.fixture(autouse=True)
def few_lines_are_many(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")
    monkeypatch.setattr(LOOPS, "long", 60)
    monkeypatch.setattr(LOOPS, "lines", 60)
    monkeypatch.setattr(LOOPS, "branches", 100.0)  # whatever it costs


def bounce(x):
    for k in range(STEPS):
        if x > 1.0:
            x = x - 0.7 * x * x
        elif x > 0.3:
            x = x + 0.4
        else:
            x = 1.9 * x + 0.05 * k / STEPS
    return x


def bounce_with_values(x):
    for _ in range(STEPS):
        x = x - 0.7 * x * x if x > 1.0 else x + 0.4 if x > 0.3 else 1.9 * x + 0.01
    return x


def nearest(x):
    total = 0.0
    for k in range(STEPS):
        total = total + min(x * k, 3.0 - x, 2.0) * max(x, 0.1 * k, 1.0)
        x = 0.97 * x
    return total


def between(x):
    total = 0.0
    for k in range(STEPS):
        inside = x > 0.2 and x * k < 9.0 and k != 7
        outside = x < 0.1 or k > 50
        if inside and not outside:
            total = total + x * k
        x = 0.96 * x
    return total


def with_local_variables(x):
    for k in range(STEPS):
        if x > 0.5:
            half = x / 2
            x = half * half
        else:
            double = 2 * x
            x = double + 0.01 * k
    return x


def with_flags(x):
    mode, count, hit = 0, 0, False
    for _ in range(STEPS):
        if x > 1.0:
            mode, hit = 2, True
        elif x > 0.5:
            mode = 1
            count += 1
        if mode == 2:
            x = 0.3 * x
        x = 1.2 * x + 0.01
    return x * (count + 1) + (1.0 if hit else 0.0)


def of_arrays(x):
    v = x * np.arange(1.0, 4.0)
    for k in range(STEPS):
        if np.sum(v) > 3.0:
            v, scale = 0.5 * v, 0.1
        else:
            w = np.sin(v)
            v, scale = v + 0.3 * w, 0.2
        v = v[::-1] + scale * k / STEPS
    return np.sum(v)


def that_writes_to_elements(x):
    v = np.zeros(3) + x
    for k in range(STEPS):
        if v[0] > 1.0:
            v[0] = 0.2 * v[0]
        else:
            v[1] = v[1] * 0.5 + v[0]
        v[0] = v[0] * 1.3 + 0.001 * k
    return np.sum(v * v)


def that_changes_in_place(x):
    v = np.ones(3) * x
    for _ in range(STEPS):
        if np.sum(v) > 3.0:
            v *= 0.4
        else:
            v += 0.1 * x
    return np.sum(v * v)


def fill(v, x):
    v[0] = x
    return x


def that_calls_what_writes(x):
    v = np.zeros(3) + x
    for k in range(STEPS):
        x = 0.9 * x + 0.1 * np.sin(k * v[0])
        if x > 0.4:
            y = fill(v, 0.5 * x)
            x = x - 0.01
        else:
            y = 0.3 * v[0]
        x = x + 0.1 * y
    return np.sum(v) + x


def that_calls_what_writes_in_an_expression(x):
    v = np.zeros(3) + x
    for k in range(STEPS):
        x = 0.9 * x + 0.1 * np.sin(k * v[0])
        y = fill(v, 0.5 * x) if x > 0.4 else 0.3 * v[0]
        x = x + 0.1 * y
    return np.sum(v) + x


def push(values, x):
    values.append(0.5)
    return x


def that_calls_what_writes_plain_numbers(x):
    total = 0.0
    for _ in range(STEPS):
        plain, values = np.zeros(2), [1.0]
        y = fill(plain, 0.7) * x if x > 0.5 else x
        z = push(values, x) if y > 0.4 else 2 * x
        total = total + y * plain[0] + z * len(values)
        x = 0.97 * x
    return total


def decided_elsewhere(x):
    for _ in range(STEPS):
        x = x - 0.3 * bounce_once(x) if x > 0.5 else 1.5 * x + 0.02
    return x


def bounce_once(x):
    if x > 0.8:
        return x * x
    return x


def outside_of_a_domain(x):
    total = 0.0
    for k in range(STEPS):
        y = x - k / 32
        total = total + (math.copysign(1.0, 1.0) * np.sqrt(y) if y > 0.0 else 0.0)
        if y != 0.0:
            total = total + 0.01 / y
    return total


def that_leaves(x):
    total = 0.0
    for k in range(3 * STEPS):
        if x > 5.0:
            return total
        if k % 3 == 1:
            continue
        bonus = 0.1 if x > 1.0 else 0.2
        total = total + bonus * x
        x = x * 1.02
        if total > 40.0:
            break
    return total + x


def as_long_as(x):
    t, step = 0.0, 0.1
    while t < 4.0:
        step = min(step, 4.0 - t)
        new = x + step * np.cos(x + t)
        error = abs(new - x) * step
        if error < 0.03:
            t, x = t + step, new
        step = step * min(1.5, max(0.4, 0.02 / (error + 1e-9)))
    return x


def in_two_loops(x):
    total = 0.0
    for i in range(8):
        for j in range(12):
            total = total + (x * j if x * j > i else -0.1 * x)
        x = x * (0.9 if total > 3.0 else 1.1)
    return total


def ends_early(x):
    total, last = 0.0, None
    for k in range(STEPS):
        if k % 2:
            last = 0.5 * x
            total = total - last
        else:
            last = x * x
        total = total + last
        x = 0.95 * x
    return total + last


FUNCTIONS = (
    bounce, bounce_with_values, nearest, between, with_local_variables, with_flags, of_arrays,
    that_writes_to_elements, that_changes_in_place, that_calls_what_writes,
    that_calls_what_writes_in_an_expression, that_calls_what_writes_plain_numbers,
    decided_elsewhere,
    outside_of_a_domain, that_leaves, as_long_as, in_two_loops, ends_early,
)  # fmt: skip
POINTS = (0.4, 0.75, 1.3, 0.05, 2.1, 0.4)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_both_branches_are_pythons(f):
    question = ad.value_and_grad(f)
    compiled = ad.jit(question, tier="optimised")
    compiled(POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(compiled(x), question(x), rtol=1e-9, atol=1e-12)


JOINED = (
    bounce, bounce_with_values, nearest, between, with_local_variables, with_flags, of_arrays,
    decided_elsewhere,
)  # fmt: skip


@pytest.mark.parametrize("f", JOINED)
def test_one_path_serves_all_decisions(f):
    compiled = ad.jit(ad.grad(f), tier="optimised")
    for x in (POINTS[0], *POINTS):
        compiled(x)
    assert "recorded by one step each" in compiled.explain()
    assert "1 path through the code" in compiled.explain()


def test_a_step_is_recorded_once_whatever_it_decides(monkeypatch):
    def f(x):
        for _ in range(STEPS):
            x = x * 0.9 if x > 0.5 else x + 0.1
            x = x * 0.8 if x > 0.4 else x + 0.2
            x = x * 0.7 if x > 0.3 else x + 0.3
            x = x * 0.6 if x > 0.2 else x + 0.4
            x = x * 0.5 if x > 0.1 else x + 0.5
        return x

    monkeypatch.setattr(body_level, "MAX_PATHS", 3)  # six paths would be too many
    compiled = ad.jit(ad.grad(f), tier="optimised")
    for x in (POINTS[0], *POINTS):
        assert compiled(x) == pytest.approx(ad.grad(f)(x), rel=1e-12)
    assert "recorded by one step each" in compiled.explain()


@pytest.mark.parametrize("x", [math.nan, 2.0, -1.0])
def test_the_least_and_the_largest_are_pythons(x):
    def f(x):
        total = 0.0
        for k in range(STEPS):
            total = min(total + x, 30.0, x * k)
            total = max(total, x, -5.0 + 0.0 * k)
        return total

    compiled = ad.jit(ad.value_and_grad(f), tier="optimised")
    compiled(0.5)
    np.testing.assert_array_equal(compiled(x), ad.value_and_grad(f)(x))
    np.testing.assert_array_equal(compiled(x)[0], f(x))


def by_cases(x):
    total, mode = 0.0, 0
    for k in range(STEPS):
        match k % 3:
            case 0:
                part = x * k
            case 1 | 2 if x > 0.3:
                part = 0.5 * x
                mode = 1
            case _:
                part = x - 1.0
        total = total + part
        match mode:
            case 1:
                x = 0.98 * x
            case 0:
                x = 1.01 * x
    return total


def by_cases_that_set_variables(x):
    total = 0.0
    for k in range(STEPS):
        match (k % 2, x):
            case (0, y):
                total = total + y
            case (n, y):
                total = total + n * y * y
        x = 0.98 * x
    return total


@pytest.mark.parametrize("f", [by_cases, by_cases_that_set_variables])
def test_cases_are_pythons(f):
    test_both_branches_are_pythons(f)


@pytest.mark.parametrize("f", [by_cases, that_calls_what_writes_plain_numbers])
def test_what_is_not_joined_is_recorded_by_one_step(f):
    compiled = ad.jit(ad.grad(f), tier="optimised")
    for x in (POINTS[0], *POINTS):
        compiled(x)
    assert "recorded by one step each" in compiled.explain()
