"""Functions whose first call takes long: the second one records them, and runs them once."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled import jit_function, paths
from simpleautodiff.errors import NotCompiledWarning


@pytest.fixture(autouse=True)
def every_function_is_slow(monkeypatch):
    monkeypatch.setattr(jit_function, "SLOW", -1.0)


def count_calls(f):
    def counted(*args):
        counted.calls += 1
        return f(*args)

    counted.calls = 0
    return counted


def test_the_second_call_runs_the_function_once():
    f = count_calls(lambda x: np.sum(np.sin(x) * x))
    gradient = ad.jit(ad.grad(f))
    x = np.linspace(0.0, 1.0, 7)
    for k, calls in enumerate([1, 2, 2, 2]):
        found = gradient(x + k)
        assert f.calls == calls
        np.testing.assert_allclose(found, np.cos(x + k) * (x + k) + np.sin(x + k), rtol=1e-14)
        found[:] = 0.0  # it is the caller's
    assert "1 path" in gradient.explain()


def test_the_second_call_of_a_function_with_a_long_loop_is_left_to_its_program():
    given = []

    def f(x):
        given.append(type(x))
        total = 0.0
        for t in range(len(x)):
            total = np.sin(total) + x[t]
        return total

    jitted, x = ad.jit(f), np.linspace(0.0, 1.0, 700)
    found = [jitted(x * k) for k in (1, 2, 3)]
    assert given.count(np.ndarray) == 1
    assert [type(number) for number in found] == [type(found[0])] * 3
    np.testing.assert_allclose(found, [f(x * k) for k in (1, 2, 3)], rtol=1e-12)
    assert "recorded by one step each" in jitted.explain()


def test_results_have_their_own_types():
    def f(x, n):
        return {"sum": np.sum(x) * n, "float": 2.0 * float(n), "all": (x > 0, x.astype("f4"), n)}

    jitted, x = ad.jit(f), np.array([1.0, -2.0])
    for k in range(4):
        expected, found = f(x * k, 3), jitted(x * k, 3)
        assert [type(found[key]) for key in found] == [type(expected[key]) for key in expected]
        assert [a.dtype for a in found["all"][:2]] == [a.dtype for a in expected["all"][:2]]
        assert found["sum"] == expected["sum"]
        assert found["all"][2] == 3


def test_types_that_depend_on_numbers_are_those_of_the_call():
    turn = lambda a: np.linalg.eigvals(a).sum() + np.linalg.eigvals(a)[0]
    real, other = np.diag([1.0, 2.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    jitted = ad.jit(turn)
    for a in (real, other, real, other, real):
        np.testing.assert_allclose(jitted(a), turn(a), rtol=1e-14)


def test_a_first_call_on_another_path_confirms_nothing_and_breaks_nothing():
    f = count_calls(lambda x: x * x if x > 0 else np.sin(x))
    jitted = ad.jit(f)
    for x in (-1.0, 2.0, 3.0, -1.0, 4.0, -2.0, 5.0):
        assert jitted(x) == pytest.approx(x * x if x > 0 else np.sin(x), rel=1e-14)
    assert jitted.explain().count("     path ") == 2


def test_a_function_that_depends_on_more_than_its_arguments_is_not_compiled():
    draw = np.random.default_rng(0)
    jitted = ad.jit(lambda x: x + draw.standard_normal())
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        assert len({jitted(1.0) for _ in range(20)}) == 20


def test_a_function_that_asks_for_types_is_not_compiled():
    jitted = ad.jit(lambda x: 2 * x if type(x) is np.ndarray else 3 * x)
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        found = [jitted(np.ones(2) * k) for k in range(1, 5)]
    np.testing.assert_array_equal(found, [[2, 2], [4, 4], [6, 6], [8, 8]])


def test_an_argument_that_is_written_to_is_told():
    def f(x):
        x[0] = 2.0
        return np.sum(x * x)

    jitted, x = ad.jit(f), np.array([1.0, 3.0])
    with pytest.warns(NotCompiledWarning, match="writes to its argument"):
        assert [jitted(x) for _ in range(3)] == [13.0] * 3


def test_long_loops_and_errors():
    looping = ad.jit(lambda x: ad.fori_loop(0, 1000, lambda i, v: v * 0.99 + x, x))
    expected = [0.99**1000 * x + x * (1 - 0.99**1000) / 0.01 for x in (1.0, 2.0, 3.0, 4.0)]
    assert [looping(x) for x in (1.0, 2.0, 3.0, 4.0)] == pytest.approx(expected, rel=1e-12)

    def fails(x):
        if x > 2:
            raise KeyError("large")
        return x * 2

    jitted = ad.jit(fails)
    assert jitted(1.0) == 2.0
    with pytest.raises(KeyError):
        jitted(3.0)
    assert [jitted(x) for x in (1.5, 0.5, 1.0)] == [3.0, 1.0, 2.0]
    assert "1 path" in jitted.explain()


def test_much_memory_is_not_kept(monkeypatch):
    monkeypatch.setattr(paths, "MOST_KEPT", 100)
    f = count_calls(lambda x: np.sum(x * x))
    jitted, x = ad.jit(f), np.arange(30.0)
    for calls in (1, 3, 3):  # the second call runs it beside the recording
        assert jitted(x) == np.sum(x * x)
        assert f.calls == calls


def test_what_is_constant_on_a_path_is_that_of_the_recorded_call():
    def f(x):
        steps = 0
        while x > 1.0:
            x, steps = x / 2, steps + 1
        return {"halved": x, "steps": steps} if steps else {"as it is": x, "steps": steps}

    jitted = ad.jit(f)
    for x in (0.5, 6.0, 3.0, 0.5, 6.0, 0.25, 7.0):
        assert jitted(x) == f(x)


def test_an_interrupt_at_any_moment_keeps_no_thread_from_recording():
    def f(x):
        return np.sum(np.sin(x) * x)

    def count_and_interrupt(frame, event, arg):
        nonlocal count
        inner = frame if event == "c_return" else frame.f_back if event == "call" else None
        if inner is not None and inner.f_code.co_filename == jit_function.__file__:
            count += 1
            if count == place:
                raise KeyboardInterrupt

    x, place, count = np.array([1.0, 2.0]), 0, 0
    while count >= place:
        place, count = place + 1, 0
        jitted = ad.jit(f)
        jitted(x)
        sys.setprofile(count_and_interrupt)
        try:
            jitted(2 * x)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        with ThreadPoolExecutor(1) as pool:
            found = [pool.submit(jitted, k * x).result() for k in range(3)]
        np.testing.assert_allclose(found, [f(k * x) for k in range(3)], rtol=1e-14)
        assert "1 path" in jitted.explain()
    assert place > 10


LONG = 200_000  # numbers of a large array


def test_large_functions_decide_by_their_own_numbers():
    def f(x):
        doubled = 2.0 * x
        return np.sum(doubled**2) if np.max(doubled) < 3.0 else np.sum(x)

    gradient, x = ad.jit(ad.grad(f)), np.linspace(0.0, 1.0, LONG)
    for k in (1.0, 2.0, 1.0, 3.0, -1.0):
        np.testing.assert_allclose(gradient(k * x), 8 * k * x if k < 2 else np.ones(LONG))


@pytest.mark.parametrize("large", [False, True])
def test_constants_that_are_drawn_anew_are_found(large, monkeypatch):
    monkeypatch.setattr(jit_function, "SLOW", 0.05)
    draw, size = np.random.default_rng(0), LONG if large else 10
    gradient, x = ad.jit(ad.grad(lambda x: np.sum(x * draw.normal(size=size)))), np.ones(size)
    with pytest.warns(NotCompiledWarning):
        found = [gradient(x)[0] for _ in range(5)]
    assert len({*found}) == 5
