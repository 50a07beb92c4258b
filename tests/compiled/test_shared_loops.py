"""Loops over large arrays that threads share give what one thread gives."""

import threading

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled import tiers
from simpleautodiff.compiled.array import share_loops
from simpleautodiff.compiled.native.threads import run_threads
from waiting import PATIENCE

pytest.importorskip("llvmlite")
SHARED = "in each of several threads"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let every loop be worth several threads, however short, and no program be unrolled."""
    monkeypatch.setattr(tiers, "WRITTEN_OUT", 0)
    monkeypatch.setattr(tiers, "STEPS_OF_A_LINE", 0)
    monkeypatch.setattr(share_loops, "WORTHWHILE", 1)
    monkeypatch.setattr(share_loops, "ALIGNED", 2)


def agree(f, *args, threads=2, precise=False):
    """Compare what threads compute with the function itself; return what is said of the code."""
    function = ad.jit(f, tier="optimised", threads=threads, precise=precise)
    before = [np.copy(arg) for arg in args]
    function(*args)
    wanted, found = f(*args), function(*args)
    wanted, found = (x if type(x) is tuple else (x,) for x in (wanted, found))
    for right, answer in zip(wanted, found, strict=True):
        assert np.asarray(answer).dtype == np.asarray(right).dtype
        tolerance = 1e-12 if np.asarray(right).dtype != np.float32 else 1e-5
        scale = max(1.0, float(np.max(np.abs(right)))) if np.asarray(right).dtype != bool else 1.0
        np.testing.assert_allclose(answer, right, rtol=tolerance, atol=tolerance * scale)
    for arg, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(arg, old)
    return function.explain()


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("n", [17, 64, 1001])
def test_elementwise_gradients_and_sums(n, threads):
    x = np.random.default_rng(n).normal(size=n)

    def f(x):
        return np.sum(np.sin(x) * np.exp(-(x**2)) + np.log1p(x**2))

    assert SHARED in agree(ad.value_and_grad(f), x, threads=threads)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (3, 5, 16), (2, 30, 4)])
def test_reductions_along_every_axis(shape, threads):
    x = np.random.default_rng(sum(shape)).normal(size=shape)

    def f(x):
        y = np.exp(x)
        of_axes = [np.sum(y * x, axis=k) for k in range(x.ndim)]
        extremes = [np.max(y - x, axis=k) for k in range(x.ndim)]
        return (*of_axes, *extremes, np.min(y), y + 1.0, np.sum(y[:, 1:] * x[:, :-1]))

    assert SHARED in agree(f, x, threads=threads)


def test_softmax_and_its_gradient():
    x, y = np.random.default_rng(1).normal(size=(2, 50, 9))

    def loss(x):
        z = x - np.max(x, axis=1, keepdims=True)
        return -np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))))

    assert SHARED in agree(ad.value_and_grad(loss), x)


def test_elements_at_indices_and_neighbours():
    chance = np.random.default_rng(2)
    x, index = chance.normal(size=60), chance.integers(0, 60, size=90)

    def f(x):
        chosen = x[index]
        return np.sum(chosen * np.sin(chosen)) + np.sum((x[1:] - x[:-1]) ** 2 * x[::-1][1:])

    agree(ad.value_and_grad(f), x, threads=3)


def test_other_dtypes():
    chance = np.random.default_rng(3)
    x, n = chance.normal(size=100), chance.integers(-9, 9, size=100)

    def f(x, n):
        return np.any(x > 2), np.all(x > -9), np.sum(n * n), np.max(n), x.astype(np.float32) * 2

    agree(f, x, n)
    agree(ad.grad(lambda x: np.sum(np.tanh(x) ** 2)), x.astype(np.float32))


def test_not_a_number_reaches_the_result_from_every_part():
    for place in (0, 30, 59):
        x = np.ones(60)
        x[place] = np.nan
        largest = ad.jit(lambda x: (np.max(x * 2), np.sum(x)), tier="optimised", threads=3)
        largest(x)
        assert np.isnan(largest(x)).all()


def test_with_precise_a_sum_has_the_bits_of_one_thread():
    x = np.random.default_rng(4).normal(size=1001)

    def f(x):
        y = np.exp(x) * x
        return np.sum(y), y * 2.0

    alone, shared = (ad.jit(f, tier="optimised", precise=True, threads=k) for k in (1, 3))
    for function in (alone, shared):
        function(x)
    for one, other in zip(alone(x), shared(x), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_short_loop_is_left_to_one_thread(monkeypatch):
    monkeypatch.undo()
    assert SHARED not in agree(lambda x: np.sum(x * x), np.arange(2000.0))


def test_calls_from_several_threads_do_not_meet():
    x = np.random.default_rng(5).normal(size=2000)
    function = ad.jit(ad.grad(lambda x: np.sum(np.sin(x) ** 2)), tier="optimised", threads=3)
    function(x)
    wrong = []

    def call(k):
        right = np.sin(2 * (x + k))
        close = [np.allclose(function(x + k), right, rtol=1e-12, atol=1e-12) for _ in range(50)]
        wrong.extend([k] * close.count(False))

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_an_interrupt_waits_for_all_parts():
    """What other threads compute goes into memory of the caller, who must not go on before."""
    released, done = threading.Event(), []

    def kernel(start, stop, arguments):
        if start:
            released.wait(PATIENCE)
            done.append(start)
        else:
            threading.Timer(0.05, released.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_threads(kernel, 3, 0, threads=3)
    assert sorted(done) == [1, 2]
