"""Solutions of differential equations: derivatives in everything they depend on."""

import functools
import gc
import math
import weakref

import numpy as np
import pytest
import scipy.integrate

import simpleautodiff as ad
from simpleautodiff import plug

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
both = pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])


def decay(sensitivity, **options):
    """y(T) of y' = -k y, y(0) = y0, as a function of (k, y0, T)."""

    def final(k, y0, end):
        found = plug.solve_ivp(
            lambda t, y, k: -k * y,
            (0, end),
            [y0],
            args=(k,),
            sensitivity=sensitivity,
            **{**TIGHT, **options},
        )
        return found.y[0, -1]

    return final


def decay_hessian(k, y0, end):
    e = math.exp(-k * end)
    by_end = (k * end - 1) * y0 * e
    return [
        [end**2 * y0 * e, -end * e, by_end],
        [-end * e, 0, -k * e],
        [by_end, -k * e, k**2 * y0 * e],
    ]


@both
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_decay_by_every_method(method, sensitivity):
    k, y0, end = 0.5, 3.0, 2.0
    loose = {"rtol": 1e-8, "atol": 1e-10} if method in ("RK23", "Radau", "BDF") else {}
    found = ad.grad(decay(sensitivity, method=method, **loose), (0, 1, 2))(k, y0, end)
    e = math.exp(-k * end)
    tolerance = 1e-5 if loose else 1e-8
    assert found == pytest.approx((-end * y0 * e, e, -k * y0 * e), rel=tolerance)


@pytest.mark.slow
@both
def test_second_derivatives_in_every_nesting(sensitivity):
    final = decay(sensitivity)
    at = np.array([0.5, 3.0, 2.0])
    expected = decay_hessian(*at)
    f = lambda v: final(v[0], v[1], v[2])
    for nested in (ad.hessian(f), ad.jacrev(ad.jacrev(f)), ad.jacrev(ad.jacfwd(f))):
        np.testing.assert_allclose(nested(at), expected, atol=2e-8)
    product = ad.hvp(f, (at,), (np.array([1.0, 2.0, -1.0]),))
    np.testing.assert_allclose(product, expected @ np.array([1.0, 2.0, -1.0]), atol=2e-8)


@pytest.mark.slow
@both
def test_third_derivatives(sensitivity):
    final = decay(sensitivity)
    k, y0, end = 0.5, 3.0, 2.0
    by_k, by_end = lambda k: final(k, y0, end), lambda end: final(k, y0, end)
    third = -(end**3) * y0 * math.exp(-k * end)
    assert ad.derivative(by_k, 3)(k) == pytest.approx(third, rel=1e-7)
    assert ad.grad(ad.grad(ad.grad(by_k)))(k) == pytest.approx(third, rel=1e-7)
    fourth = k**4 * y0 * math.exp(-k * end)
    assert ad.derivative(by_end, 4)(end) == pytest.approx(fourth, rel=1e-7)


@pytest.mark.slow
@both
def test_harmonic_oscillator_at_several_times(sensitivity):
    """x = x0 cos wt + v0/w sin wt: derivatives in w, the initial state and the times."""
    t = np.linspace(0.0, 3.0, 7)

    def solution(w, start, t):
        def fun(t, y, w):
            x, v = y
            return [v, -(w**2) * x]

        found = plug.solve_ivp(
            fun, (0.0, 3.0), start, t_eval=t, args=(w,), sensitivity=sensitivity, **TIGHT
        )
        return found.y[0]

    def exact(w, start, t):
        return start[0] * np.cos(w * t) + start[1] / w * np.sin(w * t)

    at = (1.3, np.array([0.7, -0.4]), t)
    np.testing.assert_allclose(solution(*at), exact(*at), atol=1e-9)
    for mode in ("forward", "reverse"):
        found = ad.jacobian(solution, (0, 1, 2), mode=mode)(*at)
        expected = ad.jacobian(exact, (0, 1, 2))(*at)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.slow
@both
def test_logistic_growth_back_in_time(sensitivity):
    """Times may run backwards; y = 1/(1 + (1/y0 - 1) exp(-r (t - t0))), and t0 may move, too."""
    t = [1.5, 1.0, 0.0]

    def solution(r, y0, t0):
        found = plug.solve_ivp(
            lambda t, y, r: r * y * (1 - y),
            (t0, 0.0),
            [y0],
            t_eval=t,
            args=(r,),
            sensitivity=sensitivity,
            **TIGHT,
        )
        return found.y[0]

    exact = lambda r, y0, t0: 1 / (1 + (1 / y0 - 1) * np.exp(-r * (np.array(t) - t0)))
    at = (0.8, 0.6, 2.0)
    found = ad.jacobian(solution, (0, 1, 2), mode="reverse")(*at)
    np.testing.assert_allclose(found, ad.jacobian(exact, (0, 1, 2))(*at), atol=1e-8)
    second = ad.derivative(lambda t0: np.sum(solution(0.8, 0.6, t0)), 2)(2.0)
    assert second == pytest.approx(
        ad.derivative(lambda t0: np.sum(exact(0.8, 0.6, t0)), 2)(2.0), abs=1e-8
    )


def lotka_volterra(t, y, p):
    prey, hunters = y
    return [
        p["birth"] * prey - p["eaten"][0] * prey * hunters,
        p["eaten"][1] * prey * hunters - p["death"] * hunters,
    ]


PREY = {"birth": 1.1, "eaten": np.array([0.4, 0.1]), "death": 0.4}


def prey_loss(p, y0, sensitivity):
    t = np.linspace(0, 10, 21)
    found = plug.solve_ivp(
        lotka_volterra, (0, 10), y0, "DOP853", t, args=(p,), sensitivity=sensitivity, **TIGHT
    )
    return np.sum(np.sin(found.y))


@pytest.mark.slow
@both
def test_lotka_volterra_against_jax(sensitivity):
    jax = pytest.importorskip("jax")
    from jax.experimental.ode import odeint

    jax.config.update("jax_enable_x64", True)

    def loss(p, y0):
        right = lambda y, t, p: jax.numpy.stack(lotka_volterra(t, y, p))
        solution = odeint(right, y0, jax.numpy.linspace(0, 10, 21), p, rtol=1e-11, atol=1e-12)
        return jax.numpy.sum(jax.numpy.sin(solution))

    y0 = np.array([10.0, 5.0])
    expected = jax.grad(loss, (0, 1))(PREY, y0)
    found = ad.grad(prey_loss, (0, 1))(PREY, y0, sensitivity)
    for key, slope in expected[0].items():
        np.testing.assert_allclose(found[0][key], slope, rtol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


@pytest.mark.slow
def test_adjoint_and_forward_agree():
    y0 = np.array([10.0, 5.0])
    forward = ad.grad(prey_loss, (0, 1))(PREY, y0, "forward")
    adjoint = ad.grad(prey_loss, (0, 1))(PREY, y0, "adjoint")
    for key in PREY:
        np.testing.assert_allclose(adjoint[0][key], forward[0][key], rtol=1e-8)
    np.testing.assert_allclose(adjoint[1], forward[1], rtol=1e-8)


def robertson(t, y, p):
    a, b, c = p
    slow, fast = a * y[0] - b * y[1] * y[2], c * y[1] ** 2
    return [-slow, slow - fast, fast]


@functools.cache
def robertson_slopes():
    """Return the derivatives in the logarithms of the rates, by differences of high order."""

    def exact(scale):
        return scipy.integrate.solve_ivp(
            robertson, (0, 40), [1, 0, 0], "LSODA", [0.4, 40], args=(RATES * scale,), rtol=1e-12,
            atol=1e-15,
        ).y  # fmt: skip

    h, slopes = 2e-3, []
    for unit in np.eye(3):
        moved = [exact(1 + k * h * unit) for k in (-2, -1, 1, 2)]
        slopes.append((moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h))
    return np.stack(slopes, -1)


RATES = np.array([0.04, 1e4, 3e7])


@pytest.mark.slow
@both
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_problem(method, sensitivity):
    scaled = lambda s: (
        plug.solve_ivp(
            robertson,
            (0, 40.0),
            [1, 0, 0],
            method,
            [0.4, 40.0],
            args=(RATES * s,),
            sensitivity=sensitivity,
            rtol=1e-7,
            atol=1e-10,
        ).y
    )
    found = ad.jacobian(scaled, mode="reverse" if sensitivity == "adjoint" else "auto")(np.ones(3))

    np.testing.assert_allclose(found, robertson_slopes(), rtol=2e-5, atol=1e-9)


@both
def test_large_rates_and_small_losses_are_as_exact(sensitivity):
    """y' = -p y / 1e8 and a loss of 1e-12: what tolerances are absolute to must not matter."""
    final = lambda p: 1e-12 * plug.solve_ivp(
        lambda t, y, p: -p / 1e8 * y, (0, 2), [3.0], args=(p,), sensitivity=sensitivity,
        rtol=1e-8, atol=1e-8,
    ).y[0, -1]  # fmt: skip
    p, small = 5e7, 1e-8
    value = 3e-12 * math.exp(-1)
    assert ad.grad(final)(p) == pytest.approx(-2 * small * value, rel=1e-6)
    assert ad.jvp(final, (p,), (1.0,))[1] == pytest.approx(-2 * small * value, rel=1e-6)
    assert ad.grad(ad.grad(final))(p) == pytest.approx(4 * small**2 * value, rel=1e-6)


@both
def test_a_linear_system_of_many_parameters(sensitivity):
    """y(1) = exp(A) y0 for a matrix of 100 parameters; its derivative by scipy.linalg."""
    import scipy.linalg

    rng = np.random.default_rng(3)
    a, y0, weights = rng.normal(size=(10, 10)) / 3, rng.normal(size=10), rng.normal(size=10)

    def loss(a):
        found = plug.solve_ivp(
            lambda t, y, a: a @ y,
            (0, 1),
            y0,
            t_eval=[1],
            args=(a,),
            sensitivity=sensitivity,
            **TIGHT,
        )
        return np.dot(weights, found.y[:, 0])

    # ⟨w, d exp(A)[E] y0⟩ = ⟨d exp(Aᵀ)[w y0ᵀ], E⟩
    expected = scipy.linalg.expm_frechet(a.T, np.outer(weights, y0), compute_expm=False)
    np.testing.assert_allclose(ad.grad(loss)(a), expected, atol=1e-8)


def test_the_cost_of_the_adjoint_does_not_grow_with_the_parameters():
    calls = []

    def loss(p, count):
        def fun(t, y, p):
            calls.append(count)
            return np.sin(y) * np.sum(p)

        found = plug.solve_ivp(fun, (0, 1), np.ones(3), args=(p,), sensitivity="adjoint")
        return np.sum(found.y[:, -1])

    for count in (2, 500):
        ad.grad(loss)(np.full(count, 1 / count), count)
    assert calls.count(2) == calls.count(500)


@pytest.mark.slow
def test_narrow_features_are_not_missed_by_the_adjoint():
    """At p = 0 the solver takes long steps, though the derivative in p oscillates."""

    def final(p):
        found = plug.solve_ivp(
            lambda t, y, p: p * np.sin(50 * t) ** 2 + 0 * y,
            (0, 10),
            [0.0],
            args=(p,),
            sensitivity="adjoint",
            rtol=1e-8,
            atol=1e-8,
        )
        return found.y[0, -1]

    exact = 5 - math.sin(1000) / 200
    assert ad.grad(final)(0.0) == pytest.approx(exact, rel=1e-7)


@pytest.mark.slow
@both
def test_a_fit_finds_the_true_parameters(sensitivity):
    t = np.linspace(0, 5, 6)
    options = {"rtol": 1e-8, "atol": 1e-8, "sensitivity": sensitivity}
    solve = lambda p: plug.solve_ivp(
        lambda t, y, p: [p[0] * y[0] * (1 - y[0] / p[1])], (0, 5), [p[2]], t_eval=t, args=(p,),
        **options,
    ).y[0]  # fmt: skip
    true = np.array([1.2, 3.0, 0.2])
    data = solve(true)
    residuals = lambda p: solve(p) - data
    if sensitivity == "forward":
        fit = plug.least_squares(residuals, [0.8, 2.0, 0.4])
        np.testing.assert_allclose(fit.x, true, rtol=1e-6)
    else:
        loss = lambda p: np.sum(residuals(p) ** 2)
        bounds = [(0.1, 5.0)] * 3  # a negative capacity has no solution
        found = plug.minimize(loss, [0.8, 2.0, 0.4], bounds=bounds, tol=1e-14)
        np.testing.assert_allclose(found.x, true, rtol=1e-4)


def test_plain_numbers_give_what_scipy_gives():
    for method in ("RK45", "DOP853"):
        ours = plug.solve_ivp(lambda t, y, k: -k * y, (0, 2), [3], method, args=(0.5,))
        theirs = scipy.integrate.solve_ivp(lambda t, y, k: -k * y, (0, 2), [3], method, args=(0.5,))
        assert type(ours) is type(theirs)
        np.testing.assert_array_equal(ours.y, theirs.y)
        np.testing.assert_array_equal(ours.t, theirs.t)
    event = lambda t, y: y[0] - 1
    event.terminal = True
    fall = lambda t, y: -y
    found = plug.solve_ivp(fall, (0, 9), [3.0], events=event, dense_output=True, rtol=1e-8)
    assert found.t_events[0][0] == pytest.approx(math.log(3), rel=1e-6)
    assert found.sol(0.5)[0] == pytest.approx(3 * math.exp(-0.5), rel=1e-5)
    turning = plug.solve_ivp(lambda t, y: 1j * y, (0, 1), [1 + 0j], "BDF", rtol=1e-6)
    assert turning.y[0, -1] == pytest.approx(np.exp(1j), rel=1e-3)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # Radau's, at an error of 0
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_the_jacobian_is_filled_in(method):
    rates = (0.04, 1e4, 3e7)
    calls = []
    counted = lambda t, y, p: calls.append(1) or robertson(t, y, p)
    ours = plug.solve_ivp(counted, (0, 1e4), [1, 0, 0], method, args=(rates,))
    theirs = scipy.integrate.solve_ivp(robertson, (0, 1e4), [1, 0, 0], method, args=(rates,))
    np.testing.assert_allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-2)
    assert ours.njev > 0
    assert len(calls) == ours.nfev + ours.njev  # differences would call it three times for each
    own = lambda t, y, p: calls.append("own") or np.zeros((3, 3))
    plug.solve_ivp(lambda t, y, p: -y, (0, 1), [1, 0, 0], method, args=(rates,), jac=own)
    assert calls[-1] == "own" or "own" in calls


def test_odeint_starts_from_one_number_as_scipys_does():
    def last(rate, start):
        return scipy.integrate.odeint(lambda y, t: -rate * y, start, [0.0, 2.0])[-1, 0]

    found = ad.grad(last, (0, 1))(0.5, 3.0)
    assert found == pytest.approx((-6 * np.exp(-1), np.exp(-1)), rel=1e-6)
    assert ad.grad(last)(0.5, 3.0) == pytest.approx(-6 * np.exp(-1), rel=1e-6)


@pytest.mark.slow
def test_odeint_is_called_as_in_autograd_and_jax():
    jax = pytest.importorskip("jax")
    from jax.experimental.ode import odeint

    jax.config.update("jax_enable_x64", True)
    tight = {"rtol": 1e-10, "atol": 1e-10}

    def loss_of(solve, xp):
        right = lambda y, t, a, b: xp.stack([y[1], -a * y[0] - b * y[1] * t])
        return lambda y0, t, a, b: xp.sum(solve(right, y0, t, a, b) ** 2)

    theirs = loss_of(lambda *given: odeint(*given, **tight), jax.numpy)
    ours = loss_of(lambda f, y, t, *args: plug.odeint(f, y, t, args, **tight), np)
    at = (np.array([1.0, 0.3]), np.linspace(0.0, 2.0, 5), 1.7, 0.2)
    assert ours(*at) == pytest.approx(float(theirs(*at)), rel=1e-8)
    found = ad.grad(ours, (0, 1, 2, 3))(*at)
    for a, b in zip(found, jax.grad(theirs, (0, 1, 2, 3))(*at), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_nodes_in_lists_and_the_times_of_the_result():
    def f(x):
        found = plug.solve_ivp(lambda t, y: [y[1], -y[0]], (0, x), [x, 1], **TIGHT)
        return found.t[-1] * found.y[0, -1]  # x (x cos x + sin x)

    x = 0.7
    expected = 2 * x * math.cos(x) - x**2 * math.sin(x) + math.sin(x) + x * math.cos(x)
    assert ad.grad(f)(x) == pytest.approx(expected, rel=1e-8)
    assert ad.jvp(f, (x,), (1.0,))[1] == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@both
@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_a_solution_is_not_kept_in_a_circle(method, sensitivity, monkeypatch):
    """It goes with the graph, by reference counts alone, also under nested derivatives."""
    from simpleautodiff.plug.flow import InitialValueProblem

    by_rate = lambda k: decay(sensitivity, method=method, rtol=1e-4)(k, 3.0, 2.0)
    made, initialize = [], InitialValueProblem.__init__

    def note(problem, *args, **kwargs):
        made.append(weakref.ref(problem))
        initialize(problem, *args, **kwargs)

    monkeypatch.setattr(InitialValueProblem, "__init__", note)
    gc.disable()
    try:
        ad.grad(ad.grad(by_rate))(0.5)
        assert made
        assert all(link() is None for link in made)
    finally:
        gc.enable()


@pytest.mark.slow
@both
def test_the_times_and_states_of_events(sensitivity):
    """A ball thrown up from 1 lands at (v + sqrt(v² + 2g))/g with the speed sqrt(v² + 2g)."""

    def lands(t, y, g):
        return y[0]

    lands.terminal, lands.direction = True, -1

    def thrown(v, g):
        found = plug.solve_ivp(
            lambda t, y, g: [y[1], -g], (0, 9), [1, v], args=(g,), events=lands,
            sensitivity=sensitivity, **TIGHT,
        )  # fmt: skip
        assert found.status == 1
        return np.stack(
            [found.t_events[0][0], found.y_events[0][0, 1], found.t[-1], found.y[1, -1]]
        )

    def exact(v, g):
        speed = np.sqrt(v**2 + 2 * g)
        return np.stack([(v + speed) / g, -speed, (v + speed) / g, -speed])

    at = (3.0, 9.81)
    np.testing.assert_allclose(thrown(*at), exact(*at), rtol=1e-9)
    for a, b in zip(ad.jacobian(thrown, (0, 1))(*at), ad.jacobian(exact, (0, 1))(*at), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    for n in (2, 3):
        found = ad.derivative(lambda v: thrown(v, 9.81)[0], n)(3.0)
        assert found == pytest.approx(ad.derivative(lambda v: exact(v, 9.81)[0], n)(3.0), rel=1e-6)


@pytest.mark.slow
@both
def test_events_that_do_not_end_the_solution(sensitivity):
    """x = cos wt is 1/2 at π/3w, 5π/3w, 7π/3w; t_eval is as it was."""
    half, never = lambda t, y, w: y[0] - 0.5, lambda t, y, w: t - 20
    solve = lambda w: plug.solve_ivp(
        lambda t, y, w: [y[1], -w * w * y[0]], (0, 10), [1, 0], t_eval=[1.0, 2.0], args=(w,),
        events=[half, never], sensitivity=sensitivity, **TIGHT,
    )  # fmt: skip
    expected = np.array([1, 5, 7]) * np.pi / 3
    np.testing.assert_allclose(solve(1.0).t_events[0], expected, rtol=1e-9)
    slopes = ad.jacobian(lambda w: solve(w).t_events[0])(1.0)
    np.testing.assert_allclose(slopes, -expected, rtol=1e-8)
    found = ad.jacobian(lambda w: solve(w).y[0])(1.0)
    np.testing.assert_allclose(found, [-math.sin(1), -2 * math.sin(2)], rtol=1e-8)
    touched = lambda t, y, w: (y[0] - 1.0) * 0.0 + t - 1.0 - (t - 1.0)
    with pytest.raises(ad.DomainError, match="it is touched, not crossed"):
        ad.grad(lambda w: plug.solve_ivp(fall, (0, 2), [1.0], args=(w,), events=touched).y[0, -1])(
            1.0
        )


@both
def test_a_right_side_that_writes_into_an_array(sensitivity):
    def fun(t, y, k):
        change = np.zeros_like(y)
        change[0], change[1] = -k * y[0], k * y[0]
        return change

    final = lambda k: plug.solve_ivp(
        fun, (0, 2), [3.0, 0.0], "BDF", args=(k,), sensitivity=sensitivity, rtol=1e-8, atol=1e-8
    ).y[1, -1]
    assert ad.grad(final)(0.5) == pytest.approx(6 * math.exp(-1), rel=1e-5)


def fall(t, y, k):
    return -k * y


class Decay:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, t, y):
        return -self.rate * y


def test_objects_may_hold_what_is_differentiated():
    last = lambda k: plug.solve_ivp(Decay(k), (0, 1), [1.0], rtol=1e-10, atol=1e-12).y[0, -1]
    assert ad.grad(last)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-7)


REFUSED = [
    (lambda k: plug.solve_ivp(3, (0, 1), [1.0], args=(k,)), "a function is needed, got 3"),
    (lambda k: plug.solve_ivp(fall, (0, 1), 1.0, args=(k,)), r"y0 must have one dim.*pass \[y0\]"),
    (lambda k: plug.solve_ivp(fall, (0, 1), [1j], args=(k,)), "a complex y0 has no derivatives"),
    (lambda k: plug.solve_ivp(fall, (0, 1), [1.0], args=(k * 1j,)), "real numbers only"),
    (
        lambda k: plug.solve_ivp(lambda t, y, k: [k, k], (0, 1), [1.0], args=(k,)),
        r"shape \(2,\), but \(1,\) is needed: one derivative for each number of y0",
    ),
    (
        lambda k: plug.solve_ivp(fall, (0, 1), [1.0], args=(k,), dense_output=True).sol(1.5),
        r"times from 0 to 1; got 1\.5",
    ),
    (
        lambda k: plug.solve_ivp(fall, (0, 1), [1.0], args=(k,), vectorized=True),
        "vectorized of solve_ivp",
    ),
    (
        lambda k: plug.solve_ivp(fall, (0, 1), [1.0], args=(k,), sensitivity="back"),
        "'auto', 'forward' or 'adjoint'; got 'back'",
    ),
    (lambda k: plug.odeint(lambda y, t, k: -k * y, [1.0], 2.0, (k,)), "t must be a list of times"),
    (
        lambda k: plug.solve_ivp(lambda t, y, k: k * y**2, (0, 1), [1.0], args=(k,)),
        "stopped at t = 0.49.*Required step size is less than spacing",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_cannot_be_is_refused_with_the_way_out(call, message):
    with pytest.raises(ad.AutodiffError, match=message):
        ad.jvp(lambda k: call(k).y if not message.startswith("t must") else call(k), (2.0,), (1.0,))


def test_a_solution_that_ends_is_a_domain_error():
    with pytest.raises(ad.DomainError, match="Required step size"):
        plug.odeint(lambda y, t: y**2, [2.0], [0.0, 1.0], method="RK45")
    with pytest.raises(ad.DomainError, match=r"on the way from 0\.0 to 1\.0"):
        ad.grad(REFUSED[-1][0])(2.0)


TIMES = np.array([0.3, 1.7, 0.3, 0.0, 2.0])
SWING = {"dense_output": True, "rtol": 1e-10, "atol": 1e-10}


def swing(t, y, k):
    return np.stack([y[1], -k * y[0]])


@pytest.mark.slow
@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_the_solution_as_a_function_of_time(span, sensitivity):
    def f(k):
        found = plug.solve_ivp(swing, span, [1.0, 0.5], args=(k,), sensitivity=sensitivity, **SWING)
        return found.sol(TIMES)

    value = ad.jvp(f, (2.0,), (1.0,))[0]
    plain = scipy.integrate.solve_ivp(swing, span, [1.0, 0.5], args=(2.0,), **SWING)
    np.testing.assert_allclose(value, plain.sol(TIMES), rtol=0, atol=1e-14)
    t = TIMES - span[0]
    root = lambda k: np.sqrt(k)
    exact = lambda k: np.cos(root(k) * t) + 0.5 * np.sin(root(k) * t) / root(k)
    np.testing.assert_allclose(ad.jacobian(f)(2.0)[0], ad.jacobian(exact)(2.0), atol=1e-8)


@pytest.mark.slow
def test_times_of_the_solution_may_be_nodes():
    found = lambda k: plug.solve_ivp(swing, (0.0, 2.0), [1.0, 0.5], args=(k,), **SWING)
    exact = lambda k, t: np.cos(np.sqrt(k) * t) + 0.5 * np.sin(np.sqrt(k) * t) / np.sqrt(k)
    slopes = ad.grad(lambda k, t: found(k).sol(t)[0], (0, 1))(2.0, 0.7)
    np.testing.assert_allclose(slopes, ad.grad(exact, (0, 1))(2.0, 0.7), atol=1e-8)
    second = ad.grad(ad.grad(lambda t: found(t).sol(t)[0]))(0.7)
    expected = ad.grad(ad.grad(lambda t: exact(t, t)))(0.7)
    assert second == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_a_compiled_solution_is_that_of_each_call(sensitivity):
    """The arguments of later calls lie in the same memory."""
    pytest.importorskip("llvmlite")
    times = np.array([0.0, 0.5, 1.0])

    def solution(v):
        found = plug.solve_ivp(
            lambda t, y, k: -k * y,
            (0.0, 1.0),
            v[:2],
            t_eval=times,
            args=(v[2],),
            sensitivity=sensitivity,
            **TIGHT,
        )
        return found.y

    value = ad.jit(solution, tier="optimised")
    slope = ad.jit(ad.grad(lambda v: np.sum(solution(v))), tier="optimised")
    for scale in (1.0, 0.5, 2.0, 0.5):
        v = scale * np.array([0.3, -0.7, 1.2])
        decayed = np.exp(-v[2] * times)
        by_start, by_rate = np.sum(decayed), -np.sum(v[:2]) * np.sum(times * decayed)
        np.testing.assert_allclose(value(v), np.outer(v[:2], decayed), atol=1e-8)
        np.testing.assert_allclose(slope(v), [by_start, by_start, by_rate], atol=1e-7)
        value(v)[...] = 0.0  # what the caller does with a result stays there
        np.testing.assert_allclose(value(v), np.outer(v[:2], decayed), atol=1e-8)
