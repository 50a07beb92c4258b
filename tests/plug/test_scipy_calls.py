"""SciPy's own solvers, called as they are in code that is differentiated."""

import functools
import math
import pickle

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize as opt
import scipy.stats as st
from scipy.integrate import odeint as odeint_by_name, quad as quad_by_name
from scipy.optimize import brentq as brentq_by_name

import simpleautodiff as ad
from simpleautodiff import plug


def cube(t, a):
    return t**3 - a


CUBE_ROOTS = {
    "brentq": lambda a: opt.brentq(lambda t: t**3 - a, 0.0, 3.0),
    "brentq, args": lambda a: opt.brentq(cube, 0.0, 3.0, args=(a,)),
    "brentq, imported by name": lambda a: brentq_by_name(lambda t: t**3 - a, 0.0, 3.0),
    "brentq, a default": lambda a: opt.brentq(lambda t, a=a: t**3 - a, 0.0, 3.0),
    "brentq, partial": lambda a: opt.brentq(functools.partial(cube, a=a), 0.0, 3.0),
    "brentq, bracket": lambda a: opt.brentq(lambda t: t**3 - a, 0.0, a),
    "brentq, full": lambda a: opt.brentq(lambda t: t**3 - a, 0.0, 3.0, full_output=True)[1].root,
    "bisect": lambda a: opt.bisect(lambda t: t**3 - a, 0.0, 3.0, xtol=1e-14),
    "ridder": lambda a: opt.ridder(lambda t: t**3 - a, 0.0, 3.0),
    "toms748": lambda a: opt.toms748(lambda t: t**3 - a, 0.0, 3.0),
    "newton": lambda a: opt.newton(lambda t: t**3 - a, 1.0),
    "fsolve": lambda a: opt.fsolve(lambda t: t**3 - a, 1.0)[0],
    "fsolve, full": lambda a: opt.fsolve(cube, 1.0, (a,), full_output=True)[0][0],
    "root": lambda a: opt.root(lambda t: [t[0] ** 3 - a, t[1] - t[0]], [1.0, 1.0]).x[1],
    "root, jac": lambda a: opt.root(lambda t: (t**3 - a, np.diag(3 * t**2)), [1.0], jac=True).x[0],
    "root_scalar": lambda a: opt.root_scalar(cube, (a,), bracket=(0.0, 3.0)).root,
    "root_scalar, slope": lambda a: (
        opt.root_scalar(lambda t: t**3 - a, x0=1.0, fprime=lambda t: 3 * t**2).root
    ),
    "fixed_point": lambda a: opt.fixed_point(lambda t: (2 * t + a / t**2) / 3, 1.0),
}


@pytest.mark.parametrize("name", CUBE_ROOTS)
def test_roots_have_derivatives(name, capfd):
    root, a = CUBE_ROOTS[name], 2.5
    value, slope = ad.value_and_grad(root)(a)
    assert value == pytest.approx(root(a), rel=1e-14)
    assert slope == pytest.approx(a ** (-2 / 3) / 3, rel=1e-7)
    assert ad.derivative(root)(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-7)
    assert ad.grad(ad.grad(root))(a) == pytest.approx(-2 / 9 * a ** (-5 / 3), rel=1e-6)
    assert capfd.readouterr() == ("", "")  # MINPACK prints the errors of its function


@pytest.mark.parametrize("name", ["brentq", "fsolve", "root", "root_scalar", "fixed_point"])
def test_each_example_has_its_own_root(name):
    a = np.array([1.0, 2.5])
    np.testing.assert_allclose(ad.vmap(CUBE_ROOTS[name])(a), np.cbrt(a), rtol=1e-7)
    slopes = ad.vmap(ad.grad(CUBE_ROOTS[name]))(a)
    np.testing.assert_allclose(slopes, a ** (-2 / 3) / 3, rtol=1e-7)


def test_what_is_no_root_has_no_derivative():
    with pytest.warns(RuntimeWarning), pytest.raises(ad.DomainError, match="did not arrive"):
        ad.grad(lambda a: opt.fsolve(lambda t: np.exp(t) + a, 0.0)[0])(1.0)


def decay(y, t, rate):
    return [-rate * y[0]]


T = np.linspace(0, 2, 5)
TIGHT = {"rtol": 1e-11, "atol": 1e-11}
DECAYS = {  # 3 e^(-2a), found in every way
    "odeint": lambda a: scipy.integrate.odeint(decay, [3.0], T, args=(a,), **TIGHT)[-1, 0],
    "odeint by name": lambda a: odeint_by_name(lambda y, t: [-a * y[0]], [3.0], T, **TIGHT)[-1, 0],
    "odeint, tfirst": lambda a: scipy.integrate.odeint(
        lambda t, y: -a * y, [3.0], T, tfirst=True, hmax=0.5, **TIGHT
    )[-1, 0],
    "solve_ivp": lambda a: scipy.integrate.solve_ivp(
        lambda t, y: [-a * y[0]], (0, 2), [3.0], **TIGHT
    ).y[0, -1],
    "solve_ivp, args": lambda a: scipy.integrate.solve_ivp(
        lambda t, y, a: -a * y, (0, 2), [3.0], "Radau", args=(a,), **TIGHT
    ).y[0, -1],
    "solve_ivp, start": lambda a: scipy.integrate.solve_ivp(
        lambda t, y: -y, (0, 1), [3.0 * np.exp(1 - 2 * a)], **TIGHT
    ).y[0, -1],
    "quad": lambda a: 3.0 - scipy.integrate.quad(lambda t: 3 * a * np.exp(-a * t), 0, 2)[0],
    "quad by name": lambda a: 3.0 - quad_by_name(lambda t: 6 * np.exp(-2 * t), 0, a)[0],
    "quad, args": lambda a: (
        3.0 - scipy.integrate.quad(lambda t, a: 3 * a * np.exp(-a * t), 0, 2, args=(a,))[0]
    ),
}


@pytest.mark.parametrize("name", DECAYS)
def test_solutions_and_integrals_have_derivatives(name):
    f, a = DECAYS[name], 0.7
    value, slope = ad.value_and_grad(f)(a)
    assert value == pytest.approx(3 * math.exp(-2 * a), rel=1e-8)
    assert slope == pytest.approx(-6 * math.exp(-2 * a), rel=1e-7)
    assert ad.derivative(f)(a) == pytest.approx(-6 * math.exp(-2 * a), rel=1e-7)
    assert ad.grad(ad.grad(f))(a) == pytest.approx(12 * math.exp(-2 * a), rel=1e-6)


def test_events_and_jacobians_of_a_closure():
    """y = 3 e^(-at) falls below 1 at t = ln 3 / a."""

    def fallen(a):
        def below(t, y):
            return y[0] - a / a

        below.terminal = True
        found = scipy.integrate.solve_ivp(
            lambda t, y: -a * y, (0, 9), [3.0], "Radau", events=below, jac=lambda t, y: [[-a]],
            rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        return found.t_events[0][0]

    assert ad.grad(fallen)(0.7) == pytest.approx(-math.log(3) / 0.7**2, rel=1e-6)


def test_solvers_of_the_library_take_closures():
    power = lambda a: plug.solve_minimum(lambda x: (x - a) ** 2 + x**4, 0.0)
    x = power(3.0)
    assert ad.grad(power)(3.0) == pytest.approx(2 / (2 + 12 * x**2))
    assert ad.grad(lambda a: plug.solve_fixed_point(lambda x: np.cos(a) + 0 * x, 0.5))(
        1.0
    ) == pytest.approx(-math.sin(1.0))


def test_plain_calls_are_scipys():
    count = []
    found = opt.brentq(lambda t: count.append(t) or t**3 - 2.0, 0.0, 3.0)
    assert type(found) is float
    assert len(count) > 2
    assert pickle.loads(pickle.dumps(opt.brentq)) is opt.brentq


def test_a_root_at_an_end_that_is_an_integer():
    ends = [opt.toms748, opt.brentq, opt.bisect]
    for solver in ends:
        root = lambda p, solver=solver: solver(lambda x: x**3 + p * x - 2, 1, 3)
        assert ad.grad(root)(1.0) == pytest.approx(-0.25, rel=1e-9)


def test_a_double_root_has_no_derivative_by_newtons_method():
    """A solver stops beside it, where the Jacobian is not 0 yet."""
    equation = lambda x, p: (x - p) ** 2
    for root in (
        lambda p: plug.solve_root(equation, 0.3, p),
        lambda p: opt.fsolve(lambda x: equation(x, p), 0.3)[0],
        lambda p: opt.root(lambda x: equation(x, p), [0.3]).x[0],
        lambda p: plug.solve_minimum(lambda x, p: (x - p) ** 4, 0.3, p),
    ):
        with pytest.raises(ad.DomainError, match="double root"):
            ad.grad(root)(1.0)
    assert plug.solve_root(equation, 0.3, 1.0) == pytest.approx(1.0)  # it is a root, though


EXPECTATIONS = {  # of x²: (loc² + scale², or a(a + 1) scale²) and its derivative in the scale s
    "norm": (lambda s: st.norm.expect(np.square, scale=s), lambda s: 2 * s),
    "frozen norm": (lambda s: st.norm(0.3, s).expect(np.square), lambda s: 2 * s),
    "gamma": (lambda s: st.gamma.expect(np.square, args=(2.0,), scale=s), lambda s: 12 * s),
}


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_expectations_over_a_line_or_half_of_it(name):
    f, slope = EXPECTATIONS[name]
    assert ad.grad(f)(1.5) == pytest.approx(slope(1.5), rel=1e-7)
    assert ad.jvp(f, (1.5,), (1.0,))[1] == pytest.approx(slope(1.5), rel=1e-7)


def test_expectations_for_many_parameters():
    f, slope = EXPECTATIONS["norm"]
    points = np.array([1.5, 2.0])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(points), slope(points), rtol=1e-7)


def test_an_infinite_limit_that_was_computed_is_a_constant():
    decay = lambda s, end: scipy.integrate.quad(lambda x: np.exp(-x * s), 0, end)[0]
    assert ad.grad(lambda s: decay(s, s * np.inf))(1.5) == pytest.approx(-1 / 1.5**2)
    ends = lambda s: ([0, np.inf * s], [0, 1])
    volume = lambda s: scipy.integrate.nquad(lambda x, y, s: np.exp(-x * s), ends(s), args=(s,))[0]
    assert ad.grad(volume)(1.5) == pytest.approx(-1 / 1.5**2, rel=1e-7)


@pytest.mark.parametrize("law", [st.norm, st.expon, st.logistic, st.cauchy, st.t(3.0), st.gamma(2)])
@pytest.mark.parametrize("method", ["cdf", "sf"])
def test_a_distribution_function_is_constant_at_infinity(law, method):
    shapes = getattr(law, "args", ())
    function = getattr(getattr(law, "dist", law), method)
    for x in (lambda s: np.inf, lambda s: np.inf * s):
        assert ad.grad(lambda s, x=x: function(x(s), *shapes, loc=s, scale=s))(1.5) == 0
        each = lambda s, x=x: function(np.array([x(s), 2.0]), *shapes, scale=s)
        finite = lambda s: function(2.0, *shapes, scale=s)
        slopes = ad.jacobian(each)(1.5)
        assert slopes[0] == 0
        assert slopes[1] == pytest.approx(ad.grad(finite)(1.5), rel=1e-14)  # an array's last digit
