"""Calls that go straight into compiled code: with integers and texts, containers, whole loops."""

import gc
import threading
from typing import NamedTuple

import numpy as np
import pytest

import simpleautodiff as ad


class Pair(NamedTuple):
    first: object
    second: object


def count_slow_calls(function):
    """How often a call went through Python so far."""
    return sum(found.calls for found in function.function.known.values())


def is_direct(function, *args):
    before = count_slow_calls(function)
    function(*args)
    return count_slow_calls(function) == before


def compiled(f, *args, **options):
    """The function after its code for these arguments was made."""
    function = ad.jit(f, tier="optimised", **options)
    function(*args), function(*args)
    return function


def power(x, n, kind):
    scale = n if kind == "times" else 1
    return scale * np.sum(x**n)


def test_integers_and_texts_choose_among_entries():
    x = np.array([0.5, 1.5, 2.0])
    function = ad.jit(ad.grad(power), tier="optimised")
    cases = [(n, kind) for n in (2, 3, 300) for kind in ("times", "alone")]
    for n, kind in cases:
        function(x, n, kind), function(x, n, kind)
    for n, kind in cases:
        wanted = (n if kind == "times" else 1) * n * x ** (n - 1)
        anew = int(str(n)), "".join(kind)  # equal, but other objects
        assert is_direct(function, x, *anew)
        np.testing.assert_allclose(function(x, *anew), wanted, rtol=1e-13)


@pytest.mark.parametrize("other", [True, 1.0, np.int64(1), None, "1"])
def test_equal_but_of_another_type_is_another_call(other):
    def f(x, n):
        return x * 2.0 if type(n) is int else x * 3.0

    function = compiled(f, 5.0, 1)
    assert is_direct(function, 5.0, 1)
    assert function(5.0, 1) == 10.0
    assert function(5.0, other) == 15.0


def test_containers_are_looked_into():
    def f(pair, rest, flag):
        total = np.sum(np.sin(pair.first) * pair.second) * rest[0]
        return total + rest[1][0] ** 2 if flag else total

    pair = Pair(np.linspace(0.0, 1.0, 50), np.linspace(2.0, 3.0, 50))
    function = compiled(f, pair, [2.0, (3.0,)], True)
    assert is_direct(function, pair, [2.0, (3.0,)], True)
    for given in (
        (pair, [4.0, (5.0,)], True),
        (pair, [4.0, (5.0,)], False),
        (pair, [4.0, (5.0, 6.0)], True),
        (pair, (4.0, [5.0]), True),
        (Pair(pair.second, pair.first), [4.0, (5.0,)], True),
    ):
        assert function(*given) == pytest.approx(f(*given), rel=1e-14)
    with pytest.raises(AttributeError):
        function(tuple(pair), [4.0, (5.0,)], True)


def test_whole_numbers_in_arrays_go_in_as_they_are():
    def f(x, places, mask):
        return np.sum(x[places] ** 2 * np.where(mask, 2.0, 1.0))

    x, mask = np.arange(5000.0), np.arange(3000) % 2 == 0
    places = np.random.default_rng(0).integers(5000, size=3000)
    function = compiled(ad.grad(f), x, places, mask)
    assert is_direct(function, x, places, mask)
    for given in (places, places[::-1].copy(), places.astype(np.int32), places[::2].repeat(2)):
        np.testing.assert_allclose(function(x, given, mask), ad.grad(f)(x, given, mask), rtol=1e-13)
    with pytest.raises(IndexError):
        function(x, places + 5000, mask)


def test_lists_are_returned_as_lists():
    def f(x, n):
        return [x * n, (x + n, [x.sum()])]

    x = np.arange(2000.0)
    function = compiled(f, x, 3)
    assert is_direct(function, x, 3)
    found = function(x, 3)
    assert (type(found), type(found[1]), type(found[1][1])) == (list, tuple, list)
    np.testing.assert_array_equal(found[0], 3 * x)
    np.testing.assert_array_equal(found[1][0], x + 3)
    found.append(1)
    assert len(function(x, 3)) == 2
    assert found[1][1] == [x.sum()]


def relax(x, weights, steps):
    """A loop that is rolled up, whose results are views."""
    y = np.zeros_like(x)
    for k in range(steps):
        if k % 3:  # steps differ, so that each is recorded
            y = y + 0.1 * np.tanh(x - weights * np.roll(y, 1))
        y = 0.9 * y + 0.01 * np.outer(y[:, 0], y[0, :])
    return y


@pytest.fixture(scope="module")
def rolled():
    x, w = np.random.default_rng(1).normal(size=(2, 12, 12))
    gradient = ad.grad(lambda x, w, steps: np.sum(relax(x, w, steps) ** 2), (0, 1))
    function = compiled(gradient, x, w, 120)
    assert "rolled up" in function.explain()
    return function, gradient, x, w


def test_rolled_programs_are_entered(rolled):
    function, gradient, x, w = rolled
    assert is_direct(function, x, w, 120)
    for scale in (1.0, -0.3):
        wanted = gradient(scale * x, w + scale, 120)
        for found, right in zip(function(scale * x, w + scale, 120), wanted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)
    kept = function(x, w, 120)[0].copy()
    function(2 * x, w, 120)
    np.testing.assert_array_equal(function(x, w, 120)[0], kept)


def test_rolled_programs_run_in_threads_at_once(rolled):
    function, _, x, w = rolled
    scales = np.linspace(-1.0, 1.0, 8)
    wanted = [function(scale * x, w, 120) for scale in scales]
    found = [[] for _ in scales]

    def work(k):
        for _ in range(20):
            found[k].append(function(scales[k] * x, w, 120))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(scales))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for right, answers in zip(wanted, found, strict=True):
        for answer in answers:
            for one, other in zip(answer, right, strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_rolled_program_whose_guard_fails_goes_another_way():
    def f(x, steps):
        y = np.zeros(6)
        for _ in range(steps):
            y = y + np.sin(x) * np.roll(y, 1) + 0.5 * x
            if y[0] > 100.0:
                y = y / 2
        return np.sum(y)

    x = np.linspace(0.01, 0.1, 6)
    function = compiled(ad.grad(f), x, 200)
    for scale in (1.0, 40.0, 1.0, 10.0):
        wanted = ad.grad(f)(scale * x, 200)
        for _ in range(3):
            np.testing.assert_allclose(function(scale * x, 200), wanted, rtol=1e-9)


def test_what_is_known_lives_as_long_as_the_code():
    function = compiled(power, np.ones(2000), 3, "".join(["ti", "mes"]))
    gc.collect()
    garbage = ["x" * k for k in range(100)]
    assert is_direct(function, np.ones(2000), 3, "times")
    assert garbage


def test_out_takes_the_result_of_a_call_with_integers():
    def f(x, n):
        return np.cos(x) * n

    x = np.linspace(0.0, 1.0, 3000)
    function, out = compiled(f, x, 7), np.empty(3000)
    assert function(x, 7, out=out) is out
    np.testing.assert_allclose(out, 7 * np.cos(x), rtol=1e-14)
    assert function(x, 8, out=out) is out
    np.testing.assert_allclose(out, 8 * np.cos(x), rtol=1e-14)
