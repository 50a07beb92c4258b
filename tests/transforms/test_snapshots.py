"""Loops with a given number of snapshots: the best schedule, and right derivatives."""

from functools import cache

import numpy as np
import pytest

import simpleautodiff as ad


@cache
def fewest(count, snapshots):
    """Return the fewest steps that have to be repeated, by trying every place of a snapshot."""
    if count == 1:
        return 0
    if snapshots == 1:
        return count * (count - 1) // 2
    splits = range(1, count)
    return min(m + fewest(count - m, snapshots - 1) + fewest(m, snapshots) for m in splits)


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 8])
def test_no_schedule_repeats_fewer_steps(snapshots):
    for count in range(1, 50):
        plan = ad.schedule(count, snapshots)
        assert plan.evaluations == fewest(count, snapshots)
        held, most = set(), 0
        for kind, begin, _ in plan.actions:
            held |= {begin} if kind == "store" else set()
            most = max(most, len(held))
            held -= {begin} if kind == "reverse" else set()
        assert most <= snapshots
        assert [a.begin for a in plan.actions if a.kind == "reverse"] == list(range(count))[::-1]


def step(i, state, p):
    return {"x": state["x"] + 0.1 * state["v"], "v": state["v"] - 0.1 * p * np.sin(state["x"]) * i}


def total(run):
    return lambda state, p: np.sum(run(state, p)["x"] ** 2)


def plain(state, p):
    for i in range(12):
        state = step(i, state, p)
    return state


STATE = {"x": np.array([0.3, 1.0]), "v": np.array([0.0, -0.5])}


@pytest.mark.parametrize("snapshots", [1, 2, 3, 12])
def test_derivatives_are_those_of_the_loop(snapshots):
    run = ad.loop(step, 12, snapshots)
    found, expected = (ad.grad(total(f), (0, 1))(STATE, 0.7) for f in (run, plain))
    for key in ("x", "v"):
        np.testing.assert_allclose(found[0][key], expected[0][key], rtol=1e-13)
    assert found[1] == pytest.approx(expected[1], rel=1e-13)
    only_p = lambda f: ad.grad(lambda p: total(f)(STATE, p))(0.7)
    assert only_p(run) == pytest.approx(only_p(plain), rel=1e-13)
    second = lambda f: ad.grad(ad.grad(lambda p: total(f)(STATE, p)))(0.7)
    assert second(run) == pytest.approx(second(plain), rel=1e-11)
    forward = lambda f: ad.derivative(lambda p: total(f)(STATE, p))(0.7)
    assert forward(run) == pytest.approx(forward(plain), rel=1e-13)
    along_tape = lambda f: ad.linearize(lambda p: total(f)(STATE, p), 0.7)[1](2.0)
    assert along_tape(run) == pytest.approx(2 * forward(plain), rel=1e-13)


def test_each_step_is_computed_as_often_as_the_schedule_says():
    calls = []

    def count_calls(i, x):
        calls.append(i)
        return np.sin(x) + i

    ad.grad(ad.loop(count_calls, 20, snapshots=3))(0.5)
    assert len(calls) == 20 + ad.schedule(20, 3).evaluations + 20  # forward, again, recorded


def test_the_picture_has_a_line_for_each_action():
    plan = ad.schedule(7, 3)
    lines = str(plan).splitlines()
    assert len(lines) == len(plan.actions)
    assert lines[-1] == "<"
    assert all(line.count("o") <= 3 for line in lines)


def test_what_is_refused():
    with pytest.raises(ad.ArgumentError, match="a step and a snapshot"):
        ad.schedule(0, 2)
    with pytest.raises(ad.ArgumentError, match="a step and a snapshot"):
        ad.loop(step, 10, 0)


@pytest.mark.parametrize("transform", [ad.grad, ad.jacfwd, ad.hessian])
def test_an_array_of_constants_can_be_written_to_after_a_loop(transform):
    def f(x):
        v = np.array([0.0, 1.0, 4.0])
        v = ad.fori_loop(0, 2, lambda i, v: 2 * v, v, checkpoint=2)
        v[::2] = x * x
        return np.sum(v)

    assert transform(f)(3.0) == {"hessian": 4.0}.get(transform.__name__, 12.0)
