"""Known zeros in compiled programs: what was not chosen counts for nothing, even times inf."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.core.engine import engine

TIERS = ["numpy", "tape", "cheap", "optimised"]
CHOICES = {  # of each a number where sqrt has an infinite slope, and the choice none
    "maximum": (lambda x: np.maximum(x, 0.0), -1.0),
    "minimum": (lambda x: -np.minimum(x, 0.0), 1.0),
    "fmax": (lambda x: np.fmax(0.0, x), -1.0),
    "fmin": (lambda x: -np.fmin(0.0, x), 1.0),
    "relu": (ad.relu, 0.0),
    "clip": (lambda x: np.clip(x, 0.0, 5.0), -1.0),
    "where": (lambda x: np.where(x > 0, x, 0.0), -1.0),
    "python": (lambda x: ad.maximum(x, 0), -1.0),
    "two": (lambda x: ad.relu(x) + 2 * np.maximum(x, 0.0), -1.0),
    "hypot": (lambda x: np.hypot(ad.relu(x), 0.0), 0.0),
}


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", CHOICES)
def test_an_infinite_slope_of_what_was_not_chosen(name, tier, kind):
    choose, at = CHOICES[name]

    def f(x):
        return np.sqrt(choose(x)) * x

    def tangent(x):
        return ad.jvp(f, (x,), (kind(1.0),))[1]

    with np.errstate(all="ignore"):
        for derivative in (ad.grad(f), tangent):
            compiled = ad.jit(derivative, tier=tier)
            elsewhere = kind(2.0 if name not in ("minimum", "fmin") else -2.0)
            assert compiled(elsewhere) == pytest.approx(1.5 * math.sqrt(2 + 4 * (name == "two")))
            assert compiled(kind(at)) == derivative(kind(at)) == 0
            assert type(compiled(kind(at))) is kind
            np.testing.assert_array_equal(compiled(kind(math.nan)), derivative(kind(math.nan)))
            assert not compiled.explain().count("run as it is")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [3, 1000])
@pytest.mark.parametrize("tier", TIERS)
def test_arrays_behind_a_number_that_was_not_chosen(tier, size, kind):
    def f(x):
        return ad.relu(np.sum(np.sqrt(x)) - 3) + np.maximum(np.sqrt(x[0]), 1.0)

    compiled = ad.jit(ad.grad(f), tier=tier)
    x = np.full(size, 4.0, kind)
    expected = np.full(size, 0.25)
    expected[0] = 0.5
    np.testing.assert_allclose(compiled(x), expected)
    np.testing.assert_allclose(compiled(x), expected)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(compiled(np.zeros(size, kind)), np.zeros(size))
        assert compiled(np.zeros(size, kind)).dtype == kind
        np.testing.assert_array_equal(ad.grad(f)(np.zeros(size)), np.zeros(size))


@pytest.mark.parametrize("tier", TIERS)
def test_second_derivatives(tier):
    def f(x, y):
        return np.sqrt(np.maximum(x, y)) + ad.relu(x * y) ** 2

    compiled = ad.jit(ad.hessian(f, (0, 1)), tier=tier)
    for x, y in ((4.0, 1.0), (1.0, 4.0), (4.0, -1.0), (-3.0, 4.0)):
        np.testing.assert_allclose(compiled(x, y), ad.hessian(f, (0, 1))(x, y), rtol=1e-14)


def test_exports_know_them():
    compiled = ad.jit(ad.grad(lambda x: np.sqrt(np.maximum(x, 0.0))), tier="tape")
    compiled(1.0), compiled(2.0)
    space = {}
    exec(compiled.to_python("slope"), space)
    with np.errstate(all="ignore"):
        assert space["slope"](-1.0) == 0
    assert space["slope"](4.0) == 0.25


def take_roots(x, steps):
    """Take roots of the positive elements again and again: the others are 0, their slope inf."""
    y = x
    for _ in range(steps):
        y = np.sqrt(np.abs(y) + x)
        y[x <= 0] = 0.0
    return np.sum(y * x)


@pytest.mark.parametrize("steps", [3, 100])
@pytest.mark.parametrize("tier", ["numpy", "optimised", None])
def test_long_programs_leave_structural_zeros_to_another_path(tier, steps):
    ends, middle = np.array([0.5, 2.0, 1.0]), np.array([0.5, 0.0, 1.0])
    gradient = ad.grad(lambda x: take_roots(x, steps))
    compiled = ad.jit(gradient, tier=tier)
    with np.errstate(all="ignore"):
        for x in (ends, middle, 2 * ends, 2 * middle, ends) * 2:
            expected = gradient(x)
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)
    lines = [len(path.recorded.lines) for one in compiled.function.known.values()
             for path in one.paths()]  # fmt: skip
    guarded = steps == 100 and engine.wrap is not None  # others have masks at all numbers
    assert len(lines) == len(set(lines)) == 1 + guarded
    assert guarded == ("in a sweep of the derivative" in compiled.explain())


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.parametrize("first", [0, 1])
def test_gradients_that_are_not_finite_are_what_they_are(first, monkeypatch):
    monkeypatch.setattr(LOOPS, "long", 10**9)  # all steps are recorded

    def f(x, y):
        total = x * 1.0
        for k in range(300):
            total = total + np.where(x > k, np.log(x), y[k % 2] * 0.001)
        return total + np.sum(np.sqrt(y))

    points = [(0.5, np.array([1.0, 4.0])), (-1.0, np.array([1.0, 0.0])), (2.5, np.zeros(2))]
    compiled = ad.jit(ad.grad(f, (0, 1)))
    with np.errstate(all="ignore"):
        for x, y in [points[first], *points, *points]:
            for found, expected in zip(compiled(x, y), ad.grad(f, (0, 1))(x, y), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
    if engine.wrap is not None:  # the fast engine
        assert "in a sweep of the derivative" in compiled.explain()


@pytest.mark.parametrize("checkpoint", [None, 2])
def test_what_a_loop_carries_for_nothing_has_no_adjoint(checkpoint, monkeypatch):
    monkeypatch.setattr(LOOPS, "lines", 0)  # every loop is recorded by one step

    def f(x):  # the first carried value and its root, infinitely steep at 0, are not used
        def step(s, _):
            used = 2 * s[1]
            return (np.sqrt(s[0]), used), (np.sqrt(s[0]), used)

        (_, last), (_, all_used) = ad.scan(step, (x, x), length=4, checkpoint=checkpoint)
        return np.sum(last) + all_used[0][1]

    slope = ad.jit(ad.grad(f))
    for first in (1.0, 1.0, 2.0, 0.0, -1.0):
        found = slope(np.array([first, 3.0]))
        np.testing.assert_array_equal(found, [16.0, 18.0])
