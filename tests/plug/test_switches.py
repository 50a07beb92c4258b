"""Right-hand sides that jump: a jump that moves is refused, and nothing else is."""

import math

import numpy as np
import pytest
from scipy.integrate import odeint, solve_ivp

import simpleautodiff as ad
from simpleautodiff import plug


def last(*problem, **options):
    return solve_ivp(*problem, **options).y[0, -1]


def until(s, **options):
    """Solve y' = 1 until t = s, then 3."""
    return last(lambda t, y: [1.0 if t < s else 3.0], (0, 2), [0.0], **options)


MOVING = {
    "a time": lambda s: until(s, max_step=0.01),
    "a time, few steps": until,
    "a time, adjoint": lambda s: plug.solve_ivp(
        lambda t, y: [1.0 if t < s else 3.0], (0, 2), [0.0], sensitivity="adjoint"
    ).y[0, -1],
    "a state": lambda s: last(lambda t, y: [1.0 if y[0] < s else 3.0], (0, 2), [0.0]),
    "a rate": lambda s: last(lambda t, y: [s if y[0] < 0.5 else 3.0], (0, 2), [0.0]),
    "a start": lambda s: last(lambda t, y: [1.0 if y[0] < 1.5 else 3.0], (0, 2), [s]),
    "where": lambda s: last(lambda t, y: np.where(t < s, 1.0, 3.0) * np.ones(1), (0, 2), [0.0]),
    "heaviside": lambda s: last(lambda t, y: [np.heaviside(t - s, 0.5)], (0, 2), [0.0]),
    "back in time": lambda s: last(lambda t, y: [1.0 if t < s else 3.0], (2, 0), [0.0]),
    "a period": lambda s: last(
        lambda t, y: [(1.0 if t % s < 0.2 else 0.0) - y[0]], (0, 5), [0.0], max_step=0.05
    ),
    "beside a fixed one": lambda s: last(
        lambda t, y: [1.0 * (t < 0.5) + (t < s), t], (0, 2), [0.0, 0.0]
    ),
    "odeint": lambda s: odeint(
        lambda y, t: [1.0 if t < s else 3.0], [0.0], np.linspace(0, 2, 5)
    )[-1, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", MOVING)
def test_a_jump_that_moves_is_refused_with_the_way_out(name):
    for differentiate in (ad.grad, ad.derivative):
        with pytest.raises(ad.DomainError, match="Solve to the jump and from it"):
            differentiate(MOVING[name])(1.1)


def test_a_jump_that_moves_is_refused_in_a_batch_and_in_second_order():
    at_end = lambda s: until(s, t_eval=[2.0])
    for differentiate in (ad.vmap(ad.grad(at_end)), lambda s: ad.hessian(at_end)(s[0])):
        with pytest.raises(ad.DomainError, match="jumps at t = 1,"):
            differentiate(np.array([1.0, 1.2]))


STILL = {  # a function and its derivative at 1
    "a fixed time": (
        lambda s: last(
            lambda t, y: [-s * (1 + (t > 1)) * y[0]], (0, 2), [1.0], rtol=1e-9, atol=1e-9
        ),
        -3 * math.exp(-3),
    ),
    "a fixed period": (  # three pulses of 0.2
        lambda s: last(lambda t, y: [s * (t % 1 < 0.2)], (0, 2.5), [0.0], rtol=1e-7, max_step=0.05),
        0.6,
    ),
    "the time as a state": (
        lambda s: last(
            lambda t, y: [s * (1 + (y[1] > 0.7)) * y[0], 1.0], (0, 2), [1.0, 0.0], rtol=1e-8
        ),
        3.3 * math.exp(3.3),
    ),
    "max": (lambda s: last(lambda t, y: [max(t - s, 0.0)], (0, 2), [0.0], rtol=1e-8), -1.0),
    "abs": (lambda s: last(lambda t, y: [abs(t - s)], (0, 3), [0.0], rtol=1e-9, atol=1e-9), -1.0),
    "root": (  # Torricelli: the level is (1 - s t / 2)²
        lambda s: last(lambda t, y: [-s * np.sqrt(y[0])], (0, 1.5), [1.0], rtol=1e-8),
        -0.375,
    ),
    "steep": (
        lambda s: last(
            lambda t, y: [2 + np.tanh(1e4 * (t - s))], (0, 2), [0.0], rtol=1e-6, max_step=0.01
        ),
        -2.0,
    ),
}


@pytest.mark.parametrize("name", STILL)
def test_jumps_that_stay_and_kinks_are_differentiated(name):
    f, slope = STILL[name]
    assert ad.grad(f)(1.0) == pytest.approx(slope, rel=1e-4)


def robertson(k, method):
    def right(t, y):
        a, b, c = k * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [b - a, a - b - c, c]

    options = {"method": method, "rtol": 1e-6, "atol": 1e-10}
    return last(right, (0, 40), [1.0, 0.0, 0.0], **options)


def van_der_pol(mu, method):
    right = lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]
    return last(right, (0, mu), [2.0, 0.0], method=method)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_problems_do_not_jump(method):
    step = 1e-4
    plainly = (robertson(0.04 + step, method) - robertson(0.04 - step, method)) / (2 * step)
    assert ad.grad(robertson)(0.04, method) == pytest.approx(plainly, rel=1e-3)
    assert np.isfinite(ad.grad(van_der_pol)(1000.0, method))


def test_what_the_error_advises_is_right():
    right = lambda s: lambda t, y: [1.0 if t < s else 3.0]

    def by_time(s):  # the right-hand side may jump at the ends
        before = solve_ivp(right(s), (0, s), [0.0]).y[:, -1]
        return last(right(s), (s, 2), before)

    def by_event(s):
        full = lambda t, y: y[0] - s
        full.terminal = True
        first = solve_ivp(lambda t, y: [1.0], (0, 2), [0.0], events=full)
        rest = (first.t_events[0][0], 2)
        return last(lambda t, y: [3.0], rest, first.y_events[0][0])

    for f in (by_time, by_event):
        assert f(1.0) == pytest.approx(4.0, rel=1e-3)
        assert ad.grad(f)(1.0) == pytest.approx(-2.0)
        assert ad.derivative(f)(1.0) == pytest.approx(-2.0)
