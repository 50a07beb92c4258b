"""Large arrays that a function captures are locked while a derivative needs them."""

import gc
import os
import threading
import tracemalloc

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.fast import recording
from simpleautodiff.fast.array_locks import ArrayLocks, _sample

LARGE = 5000


def test_a_write_through_an_earlier_view_is_noticed():
    def f(x):
        buffer = np.ones(LARGE)
        left = buffer[:2500]
        y = np.sum(x * buffer)
        left[:] = 9.0
        return y

    with pytest.raises(ad.LostDerivativeError, match="through another view"):
        ad.grad(f)(np.ones(LARGE))


def test_a_view_that_could_not_be_unlocked_is_copied():
    whole = np.zeros(LARGE)
    view = whole[:]
    whole.flags.writeable = False
    ad.grad(lambda x: np.sum(x * view))(np.ones(LARGE))
    assert view.flags.writeable


def test_what_a_recorded_operation_used_cannot_be_written_to_unnoticed():
    small, large = np.ones(5), np.ones(10_000)

    def reuse(x, buffer):
        total = np.sum(x * buffer)
        buffer[:] = 7.0
        return total + np.sum(x * buffer)

    np.testing.assert_allclose(ad.grad(reuse)(np.ones(5), small), np.full(5, 8.0))
    with pytest.raises(ad.LostDerivativeError, match=r"x \* c.copy\(\)"):
        ad.grad(reuse)(np.ones(10_000), large)
    assert large.flags.writeable
    np.testing.assert_array_equal(large, np.ones(10_000))

    def careful(x, buffer):
        total = np.sum(x * buffer.copy())
        buffer[:] = 7.0
        return total + np.sum(x * buffer)

    np.testing.assert_allclose(ad.grad(careful)(np.ones(10_000), large), np.full(10_000, 8.0))


def test_views_of_what_is_used_are_locked_too():
    whole = np.ones(20_000)

    def through_the_base(x):
        total = np.sum(x * whole[:10_000])
        whole[0] = 5.0
        return total

    with pytest.raises(ad.LostDerivativeError, match="read-only"):
        ad.grad(through_the_base)(np.ones(10_000))
    assert whole.flags.writeable


def test_locks_are_counted_and_given_back():
    data = np.ones(10_000)
    outer = lambda x: np.sum(data * x) * ad.grad(lambda y: np.sum(data * y * y))(x)[0]
    np.testing.assert_allclose(ad.grad(outer)(np.ones(10_000))[1:], 2.0)
    assert data.flags.writeable
    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: np.sum(data * x) * (1 // 0))(np.ones(10_000))
    assert data.flags.writeable
    frozen = np.ones(10_000)
    frozen.flags.writeable = False
    ad.grad(lambda x: np.sum(frozen * x))(np.ones(10_000))
    assert not frozen.flags.writeable


@pytest.mark.usefixtures("quiet")
def test_a_captured_view_is_not_copied():
    matrix = np.random.default_rng(1).normal(size=(1000, 1000))[1:, :-2]
    tracemalloc.start()
    try:
        slope = ad.grad(lambda x: np.sum(matrix @ x))(np.ones(998))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(slope, matrix.sum(0), rtol=1e-10, atol=1e-10)
    assert peak < matrix.nbytes / 10


@pytest.mark.parametrize("n", [0, 1, 5, 127, 128, 255, 256, 1000, 5003])
def test_what_is_compared_comes_from_all_over_an_array(n):
    whole = np.arange(2.0 * n)
    for array in (whole[:n], whole[::2], whole[::-2]):
        seen = np.frombuffer(_sample(array))
        places = [np.flatnonzero(array == number)[0] for number in seen]
        assert min(n, 128) <= len(seen) <= 256
        assert np.all(np.diff(np.array([*places, n])) <= max(1, n // 128))


def test_a_view_is_unlocked_only_when_its_base_is():
    whole = np.arange(2.0 * LARGE)
    view = whole[:LARGE]
    seen = []

    def f(x):
        total = np.sum(x * whole)
        inner = ad.grad(lambda y: np.sum(y * view))(np.ones(LARGE))
        seen.append((whole.flags.writeable, view.flags.writeable))
        return total + np.sum(x[:LARGE] * inner)

    found = ad.grad(f)(np.ones(2 * LARGE))
    np.testing.assert_array_equal(found, whole + np.where(whole < LARGE, whole, 0))
    assert seen == [(False, False)]
    assert whole.flags.writeable
    assert view.flags.writeable


def test_arrays_of_a_derivative_that_was_not_ended_are_unlocked_with_the_last_one():
    array = np.ones(LARGE)
    abandoned = ArrayLocks()
    abandoned.lock(array)
    assert not array.flags.writeable
    ad.grad(lambda x: x * x)(2.0)
    assert array.flags.writeable


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where it is loaded
def test_a_copy_of_the_process_forgets_the_derivatives_of_other_threads():
    begun, copied = threading.Event(), threading.Event()

    def wait(x):
        begun.set()
        copied.wait(60)
        return x * x

    found = []
    thread = threading.Thread(target=lambda: found.append(ad.grad(wait)(3.0)))
    thread.start()
    assert begun.wait(60)

    def fork(x):
        child = os.fork()
        if not child:
            os._exit(0 if recording._uses else 1)  # its own goes on
        assert os.waitpid(child, 0)[1] == 0
        return x

    ad.grad(fork)(1.0)
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() and not recording._uses else 1)
    assert os.waitpid(child, 0)[1] == 0
    copied.set()
    thread.join()
    assert found == [6.0]
    assert gc.isenabled()
