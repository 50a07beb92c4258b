"""Further solvers of SciPy inside derivatives: with derivatives, or refused with the way out."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize as opt

import simpleautodiff as ad


def square(x):
    return np.sum(x**2)


def nearest(a):
    """The first part of the least p with p0 + a p1 = 1 is 1 / (1 + a²)."""
    return -2 * a / (1 + a**2) ** 2


NEAREST = {
    "fmin_slsqp, eqcons": lambda a: opt.fmin_slsqp(
        square, [0.0, 1.0], eqcons=[lambda x: x[0] + a * x[1] - 1], iprint=0
    ),
    "fmin_slsqp, f_ieqcons": lambda a: opt.fmin_slsqp(
        lambda x, a: square(x),
        [0.0, 1.0],
        f_ieqcons=lambda x, a: np.array([x[0] + a * x[1] - 1]),
        args=(a,),
        iprint=0,
    ),
    "fmin_cobyla": lambda a: opt.fmin_cobyla(
        square, [0.0, 1.0], lambda x: x[0] + a * x[1] - 1, rhoend=1e-9
    ),
    "fmin_cobyla, consargs": lambda a: opt.fmin_cobyla(
        square, [0.0, 1.0], [lambda x, a: x[0] + a * x[1] - 1], consargs=(a,), rhoend=1e-9
    ),
}


@pytest.mark.parametrize("name", NEAREST)
def test_minimisers_with_constraints_as_functions(name):
    slopes = ad.jacobian(NEAREST[name])(1.3)
    assert slopes[0] == pytest.approx(nearest(1.3), rel=1e-6)


def test_roots_by_mixing_and_minima_with_counts():
    assert ad.grad(lambda a: opt.diagbroyden(lambda x: x**3 - a, [1.0])[0])(1.3) == pytest.approx(
        1.3 ** (-2 / 3) / 3, rel=1e-3
    )
    mixed = lambda a: opt.linearmixing(lambda x: a - x, [1.0], alpha=0.5)[0]
    assert ad.grad(mixed)(1.3) == pytest.approx(1.0)
    tnc = lambda a: opt.fmin_tnc(lambda x: square(x - a), [0.0], approx_grad=True, disp=0)[0][0]
    assert ad.grad(tnc)(1.3) == pytest.approx(1.0)


def brute(a):
    return opt.brute(lambda x: square(x - a), ((0, 2),), finish=None)


def solve_boundary(a):
    return scipy.integrate.solve_bvp(
        lambda x, y: np.vstack((y[1], -a * y[0])),
        lambda left, right: np.array([left[0], right[0] - 1]),
        np.linspace(0, 1, 5),
        np.zeros((2, 5)),
    ).sol(0.5)[0]


REFUSED = {
    "brute": (brute, ad.DomainError, "leave finish=None out"),
    "newton": (
        lambda a: np.real(opt.newton(lambda x: x**2 + a, 0.1 + 1j)),
        ad.RuleError,
        "real and its imaginary part",
    ),
    "solve_bvp": (solve_boundary, ad.LostDerivativeError, r"plug\.solve_root"),
    "quad_vec": (
        lambda a: scipy.integrate.quad_vec(lambda x: np.array([1.0, 2.0]) * a * x, 0, 1)[0][0],
        ad.LostDerivativeError,
        r"scipy\.integrate\.quad",
    ),
    "milp": (
        lambda a: opt.milp([-a, -1.0], constraints=opt.LinearConstraint([[1, 1]], 0, 1)).fun,
        ad.LostDerivativeError,
        r"scipy\.optimize\.linprog",
    ),
    "splprep": (
        lambda a: scipy.interpolate.splprep([a * np.arange(5.0), np.arange(5.0) ** 2])[0][1][0],
        ad.LostDerivativeError,
        r"make_interp_spline",
    ),
    "griddata": (
        lambda a: scipy.interpolate.griddata(
            np.array([[0, 0], [0, 1.0], [1, 0]]), a * np.arange(3.0), np.array([[0.2, 0.3]])
        )[0],
        ad.LostDerivativeError,
        r"W @ values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_solvers_without_a_rule_name_the_way_out(name):
    f, error, words = REFUSED[name]
    for differentiate in (ad.grad, ad.derivative):
        with pytest.raises(error, match=words):
            differentiate(f)(1.3)


def test_the_advice_for_griddata_is_right():
    points, at = np.array([[0, 0], [0, 1.0], [1, 0]]), np.array([[0.2, 0.3]])
    weights = scipy.interpolate.griddata(points, np.eye(3), at)
    value = lambda a: (weights @ (a * np.arange(3.0)))[0]
    plain = scipy.interpolate.griddata(points, 1.3 * np.arange(3.0), at)[0]
    assert value(1.3) == pytest.approx(plain)
    assert ad.grad(value)(1.3) == pytest.approx(plain / 1.3)


def test_jit_says_that_solvers_run_at_every_call():
    root = ad.jit(lambda a: opt.brentq(lambda x: x**2 - a, 0, 3))
    with pytest.warns(ad.NotCompiledWarning, match=r"a solver of SciPy runs at every call"):
        values = [root(float(a)) for a in (2, 3, 4)]
    np.testing.assert_allclose(values, np.sqrt([2, 3, 4]))


def test_warnings_name_the_line_of_the_user():
    ad.grad(np.sin)(1.0)  # from here on, SciPy is patched
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        opt.fsolve(lambda x: np.exp(x) + 1, 0.0)
        scipy.integrate.quad(lambda x: 1 / x, 0, 1)
        scipy.linalg.solve(np.array([[1, 1], [1, 1 + 1e-15]]), [1.0, 2.0])
        opt.curve_fit(lambda x, a, b: a + 0 * b * x, np.arange(2.0), np.arange(2.0))
    assert len(seen) >= 3
    assert {warning.filename for warning in seen} == {__file__}


def test_functions_with_two_names_are_pickled():
    ad.grad(np.sin)(1.0)
    for function in (scipy.linalg.solve_lyapunov, scipy.linalg.solve_continuous_lyapunov):
        assert pickle.loads(pickle.dumps(function)) is function


def test_newton_of_several_equations_tells_what_it_found():
    found = lambda p: opt.newton(lambda x: x**3 - p, np.ones(2), full_output=True)
    for root in (lambda p: found(p).root[1], lambda p: found(p)[0][0]):
        assert ad.grad(root)(2.0) == pytest.approx(2 ** (-2 / 3) / 3)
    assert found(2.0).converged.all()
