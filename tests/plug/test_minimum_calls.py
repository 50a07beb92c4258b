"""SciPy's minimisers, fits and nested integrals, called as they are in differentiated code."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize as opt
from scipy.optimize import curve_fit as curve_fit_by_name

import simpleautodiff as ad
from waiting import PATIENCE


def quartic(x, a):
    return np.sum((x - a) ** 2 + x**4)


def best(a):
    """Solve 2 (x - a) + 4 x³ = 0."""
    (x,) = [x.real for x in np.roots([4, 0, 2, -2 * a]) if abs(x.imag) < 1e-9]
    return x


MINIMA = {
    **{
        method: lambda a, method=method: opt.minimize(
            lambda x: quartic(x, a), [0.0], method=method
        ).x[0]
        for method in (
            *("BFGS", "CG", "COBYLA", "L-BFGS-B", "Nelder-Mead", "Powell", "SLSQP", "TNC"),
            "trust-constr",
        )
    },
    "args": lambda a: opt.minimize(quartic, [0.0], args=(a,)).x[0],
    "by keywords": lambda a: opt.minimize(fun=lambda x: quartic(x, a), x0=[0.0]).x[0],
    "jac": lambda a: opt.minimize(
        lambda x: quartic(x, a), [0.0], jac=lambda x: 2 * (x - a) + 4 * x**3
    ).x[0],
    "jac=True": lambda a: opt.minimize(
        lambda x: (quartic(x, a), 2 * (x - a) + 4 * x**3), [0.0], jac=True
    ).x[0],
    "bounds aside": lambda a: opt.minimize(quartic, [0.0], args=(a,), bounds=[(0, None)]).x[0],
    "basinhopping": lambda a: opt.basinhopping(
        quartic, [0.0], 2, minimizer_kwargs={"args": (a,)}, rng=1
    ).x[0],
    "brent": lambda a: opt.brent(quartic, args=(a,)),
    "brent, full_output": lambda a: opt.brent(lambda x: quartic(x, a), full_output=True)[0],
    "differential_evolution": lambda a: opt.differential_evolution(
        lambda x: quartic(x, a), [(0, 2)], rng=1
    ).x[0],
    "dual_annealing": lambda a: opt.dual_annealing(
        lambda x: quartic(x, a), [(0, 2)], maxiter=20, rng=1
    ).x[0],
    "fmin": lambda a: opt.fmin(lambda x: quartic(x, a), [0.0], disp=0)[0],
    "fmin_bfgs": lambda a: opt.fmin_bfgs(lambda x: quartic(x, a), [0.0], disp=0)[0],
    "fmin_l_bfgs_b": lambda a: opt.fmin_l_bfgs_b(
        lambda x: (quartic(x, a), 2 * (x - a) + 4 * x**3), [0.0]
    )[0][0],
    "fminbound": lambda a: opt.fminbound(lambda x: quartic(x, a), 0, 2),
    "golden": lambda a: opt.golden(lambda x: quartic(x, a)),
    "minimize_scalar": lambda a: opt.minimize_scalar(lambda x: quartic(x, a)).x,
    "minimize_scalar, bounded": lambda a: (
        opt.minimize_scalar(lambda x: quartic(x, a), bounds=(0, 2), method="bounded").x
    ),
    "shgo": lambda a: opt.shgo(lambda x: quartic(x, a), [(0, 2)]).x[0],
    "least_squares": lambda a: opt.least_squares(
        lambda x: np.stack([x[0] - a, x[0] ** 2]), [0.0]
    ).x[0],
    "leastsq": lambda a: opt.leastsq(lambda x: np.array([x[0] - a, x[0] ** 2]), [0.0])[0][0],
}


@pytest.mark.parametrize("name", MINIMA)
def test_minima_have_derivatives(name, capfd):
    find, a = MINIMA[name], 1.3
    x = best(a)
    value, slope = ad.value_and_grad(find)(a)
    assert value == find(a)  # SciPy's own, as exact as its tolerance
    assert value == pytest.approx(x, abs=1e-3)
    assert slope == pytest.approx(2 / (2 + 12 * x**2), rel=1e-9)
    assert ad.derivative(find)(a) == pytest.approx(2 / (2 + 12 * x**2), rel=1e-9)
    assert capfd.readouterr() == ("", "")


def test_minima_have_second_derivatives_in_every_mode():
    find, a = MINIMA["Nelder-Mead"], 1.3
    x = best(a)
    curvature = -48 * x * (2 / (2 + 12 * x**2)) / (2 + 12 * x**2) ** 2
    assert ad.grad(ad.grad(find))(a) == pytest.approx(curvature, rel=1e-4)
    assert ad.derivative(ad.grad(find))(a) == pytest.approx(curvature, rel=1e-4)


@pytest.mark.parametrize("name", ["BFGS", "bounds aside", "golden", "least_squares"])
def test_each_example_has_its_own_minimum(name):
    a = np.array([0.5, 1.3])
    x = np.array([best(0.5), best(1.3)])
    np.testing.assert_allclose(ad.vmap(MINIMA[name])(a), list(map(MINIMA[name], a)), rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(ad.grad(MINIMA[name]))(a), 2 / (2 + 12 * x**2), rtol=1e-8)


def test_the_least_value_changes_as_the_function_does():
    """The envelope theorem: the derivative of the least value is that of the function alone."""
    least = lambda a: opt.minimize(lambda x: quartic(x, a), [0.0]).fun
    assert ad.grad(least)(1.3) == pytest.approx(-2 * (best(1.3) - 1.3), rel=1e-9)


def active(a):
    """The nearest point of [0, 1] x [0, a]: where a bound holds, it is the bound that moves it."""
    both = lambda x: (x[0] - a) ** 2 + (x[1] - 1) ** 2
    return opt.minimize(both, [0.1, 0.1], bounds=[(0, 1), (0, a)], method="L-BFGS-B").x


def test_bounds_that_hold_a_minimum():
    np.testing.assert_allclose(ad.jacobian(active)(0.5), [1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(ad.jacobian(active)(2.0), [0.0, 0.0], atol=1e-12)
    slopes = ad.vmap(ad.jacobian(active))(np.array([0.5, 2.0]))
    np.testing.assert_allclose(slopes, [[1.0, 1.0], [0.0, 0.0]], atol=1e-12)


CONSTRAINED = {  # the least p·p with a·p = 1 is a / (a·a)
    "equation": {"type": "eq", "fun": None},
    "inequality": {"type": "ineq", "fun": None},
    "LinearConstraint": opt.LinearConstraint,
    "NonlinearConstraint": opt.NonlinearConstraint,
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_that_hold_a_minimum(name):
    def nearest(a):
        along = lambda p: a * p[0] + p[1]
        made = {
            "equation": {"type": "eq", "fun": lambda p: along(p) - 1},
            "inequality": ({"type": "ineq", "fun": lambda p: along(p) - 1},),
            "LinearConstraint": opt.LinearConstraint([[1, 1]], 1, 1),
            "NonlinearConstraint": opt.NonlinearConstraint(along, 1, np.inf),
        }[name]
        weight = a if name == "LinearConstraint" else 1.0
        objective = lambda p: weight * p[0] ** 2 + p[1] ** 2
        return opt.minimize(objective, [1.0, 0.5], constraints=made, method="SLSQP").x[0]

    a = 1.5
    expected = -1 / (1 + a) ** 2 if name == "LinearConstraint" else (1 - a**2) / (1 + a**2) ** 2
    assert ad.grad(nearest)(a) == pytest.approx(expected, rel=1e-6)
    assert ad.derivative(nearest)(a) == pytest.approx(expected, rel=1e-6)


T = np.linspace(0, 2, 12)
Y = 2.5 * np.exp(-1.3 * T) + 0.05 * np.sin(7 * T)


def line(t, m, c):
    return m * t + c


def test_a_line_through_data_depends_on_them_as_its_normal_equations_say():
    matrix = np.stack([T, np.ones(12)], axis=1)
    weights = 1 + T
    normal = np.linalg.solve(matrix.T * weights @ matrix, matrix.T * weights)
    sigma = 1 / np.sqrt(weights)
    fit = lambda y: curve_fit_by_name(line, T, y, sigma=sigma)
    np.testing.assert_allclose(ad.jacobian(lambda y: fit(y)[0])(Y), normal, atol=1e-7)
    scipys = opt.curve_fit(line, T, Y, sigma=sigma)[1]
    np.testing.assert_array_equal(ad.value_and_grad(lambda y: fit(y)[1][0, 0])(Y)[0], scipys[0, 0])
    inverse = np.linalg.inv(matrix.T * weights @ matrix)  # times the variance of the residuals
    residuals = Y - matrix @ normal @ Y
    slopes = ad.jacobian(lambda y: fit(y)[1])(Y)
    expected = inverse[..., None] * 2 * weights * residuals / 10
    np.testing.assert_allclose(slopes, expected, atol=1e-7)


def test_the_covariance_of_a_fit_with_correlated_data():
    spread = np.exp(-np.abs(T[:, None] - T))
    matrix = np.stack([T, np.ones(12)], axis=1)
    scale = lambda s: opt.curve_fit(line, T, Y, sigma=s * spread, absolute_sigma=True)[1]
    expected = np.linalg.inv(matrix.T @ np.linalg.inv(spread) @ matrix)
    np.testing.assert_allclose(ad.jacobian(scale)(2.0), expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_robust_fits_have_derivatives(loss):
    def rate(a):
        decay = lambda p: p[0] * np.exp(-p[1] * T) - Y**a
        return opt.least_squares(
            decay, [1.0, 1.0], loss=loss, f_scale=0.05, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )

    step = 1e-4
    numeric = (rate(1.3 + step).x - rate(1.3 - step).x) / (2 * step)
    np.testing.assert_allclose(ad.jacobian(lambda a: rate(a).x)(1.3), numeric, rtol=1e-4)
    numeric = (rate(1.3 + step).cost - rate(1.3 - step).cost) / (2 * step)
    assert ad.grad(lambda a: rate(a).cost)(1.3) == pytest.approx(numeric, rel=1e-5)


A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]])


def test_least_squares_of_a_matrix():
    b = np.array([1.0, 2.0, 3.0])
    inverse = np.linalg.pinv(A)
    np.testing.assert_allclose(ad.jacobian(lambda b: opt.nnls(A, b)[0])(b), inverse, atol=1e-12)
    held = np.array([1.0, -2.0, 3.0])  # the second unknown would be negative
    expected = [A[:, 0] / (A[:, 0] @ A[:, 0]), np.zeros(3)]
    np.testing.assert_allclose(ad.jacobian(lambda b: opt.nnls(A, b)[0])(held), expected, atol=1e-12)
    np.testing.assert_allclose(
        ad.grad(lambda b: opt.nnls(A, b)[1])(b), (b - A @ inverse @ b) / opt.nnls(A, b)[1]
    )
    cubes = lambda b: opt.lsq_linear(A, b, bounds=(-1, [2.0, 0.5])).x
    np.testing.assert_allclose(ad.jacobian(cubes)(b), inverse, atol=1e-9)


def test_a_linear_program_moves_with_its_corner():
    """The most x + 2 y with x + y ≤ b and x + 3 y ≤ 6, at the corner of both."""
    program = lambda b: opt.linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[b, 6.0])
    np.testing.assert_allclose(ad.jacobian(lambda b: program(b).x)(4.0), [1.5, -0.5], atol=1e-12)
    assert ad.grad(lambda b: program(b).fun)(4.0) == pytest.approx(-0.5)


class Model:
    """A model as users write them: what is differentiated is an attribute."""

    def __init__(self, rate):
        self.rate = rate

    def error(self, x):
        return quartic(x, self.rate)

    def slope(self, t, y):
        return -self.rate * y

    def equation(self, x):
        return x**3 - self.rate

    def __call__(self, x):
        return np.exp(-self.rate * x)


def test_objects_hold_what_is_differentiated():
    a, x = 1.3, best(1.3)
    minimum = lambda a: opt.minimize(Model(a).error, [0.0]).x[0]
    assert ad.grad(minimum)(a) == pytest.approx(2 / (2 + 12 * x**2))
    ends = lambda a: scipy.integrate.solve_ivp(Model(a).slope, (0, 1), [1.0], rtol=1e-9).y[0, -1]
    assert ad.grad(ends)(a) == pytest.approx(-math.exp(-a), rel=1e-6)
    assert ad.grad(lambda a: opt.brentq(Model(a).equation, 0, 3))(a) == pytest.approx(
        a ** (-2 / 3) / 3
    )
    area = lambda a: scipy.integrate.quad(Model(a), 0, 1)[0]  # (1 - e^-a) / a
    assert ad.grad(area)(a) == pytest.approx((math.exp(-a) * (1 + a) - 1) / a**2)


REFUSED = {
    "a flat minimum": (
        lambda a: opt.minimize(lambda x: (x[0] - a) ** 4, [0.3]).x[0],
        ad.DomainError,
        "curvature",
    ),
    "a curve of minima": (
        lambda a: opt.minimize(lambda x: (x[0] - x[1] - a) ** 2, [0.3, 1.0]).x[0],
        ad.DomainError,
        "singular",
    ),
    "what the solver estimates": (
        lambda a: opt.minimize(lambda x: quartic(x, a), [0.0]).hess_inv[0, 0],
        ad.LostDerivativeError,
        r"hess_inv .*simpleautodiff\.hessian",
    ),
    "nans": (
        lambda a: opt.curve_fit(line, T, Y * a, nan_policy="omit")[0][0],
        ad.ArgumentError,
        "nans",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused(name):
    f, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        ad.grad(f)(1.3)


def test_plain_calls_are_scipys():
    found = opt.minimize(quartic, [0.0], args=(1.3,))
    assert type(found) is opt.OptimizeResult
    assert found.hess_inv.shape == (1, 1)
    with pytest.raises(AttributeError):
        _ = ad.value_and_grad(lambda a: opt.minimize(quartic, [0.0], args=(a,)).nothing)(1.3)


INTEGRALS = {  # of a x y over 0 < x < y < a: a^5 / 8
    "nquad": lambda a: scipy.integrate.nquad(lambda x, y: a * x * y, [lambda y: (0, y), (0, a)])[0],
    "dblquad": lambda a: scipy.integrate.dblquad(lambda x, y: a * x * y, 0, a, 0, lambda y: y)[0],
    "dblquad, args": lambda a: scipy.integrate.dblquad(
        lambda x, y, a: a * x * y, 0, a, lambda y: 0, lambda y: y, (a,)
    )[0],
    "tplquad": lambda a: scipy.integrate.tplquad(
        lambda z, x, y: x * y, 0, a, 0, lambda y: y, lambda y, x: 0, lambda y, x: a
    )[0],
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_of_integrals(name):
    area, a = INTEGRALS[name], 1.2
    value, slope = ad.value_and_grad(area)(a)
    assert value == pytest.approx(area(a), rel=1e-14)
    assert slope == pytest.approx(5 * a**4 / 8, rel=1e-7)
    assert ad.derivative(area)(a) == pytest.approx(5 * a**4 / 8, rel=1e-7)


def test_each_example_has_its_own_integral():
    area = lambda a: scipy.integrate.dblquad(lambda x, y: a * x * y, 0, 1, 0, 1)
    a = np.array([1.0, 3.0])
    np.testing.assert_allclose(ad.vmap(lambda a: area(a)[0])(a), a / 4, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.grad(lambda a: area(a)[0]))(a), [0.25, 0.25], rtol=1e-12)


def test_nquad_counts_its_evaluations():
    plain = scipy.integrate.nquad(lambda x, y: x * y, [(0, 1), (0, 2)], full_output=True)
    count = lambda a: scipy.integrate.nquad(
        lambda x, y: a * x * y, [(0, 1), (0, 2)], full_output=True
    )
    assert ad.grad(lambda a: count(a)[0], has_aux=False)(1.0) == pytest.approx(1.0)
    assert plain[2]["neval"] > 0


def test_the_results_of_a_batch_have_what_all_examples_agree_on():
    def signed(a):
        found = opt.minimize(lambda x: (x[0] - a) ** 2 + x[0] ** 4, [0.0])
        assert found.success
        assert not hasattr(found, "nhev")  # as SciPy's result by this method
        return found.x[0] if found.nit == 0 else -found.x[0]

    a = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(ad.vmap(signed)(a), [signed(each) for each in a], atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
def test_a_covariance_that_is_infinite_stays_so():
    fit = lambda a: opt.curve_fit(lambda x, p, q: a * p * x + q, np.arange(2.0), np.arange(2.0))
    value, _ = ad.value_and_grad(lambda a: fit(a)[1][0, 0])(2.0)
    assert value == fit(2.0)[1][0, 0] == np.inf


SENT = """
import pickle
import numpy as np
import scipy.optimize as opt
import simpleautodiff as ad
ad.grad(np.sin)(1.0)  # from here on, SciPy is patched
given = []
opt.minimize(np.prod, [1.0, 2.0], method=lambda fun, *args, **options: given.append(fun))
print(pickle.loads(pickle.dumps(given[0]))(np.array([3.0, 4.0])))
"""


def test_functions_of_plain_calls_are_sent_to_other_processes():
    assert run(SENT) == [12.0]


BY_NAME = """
import simpleautodiff as ad
from scipy.optimize import brent, golden, newton
print(ad.grad(lambda p: newton(lambda x: x**3 + p * x - 2, 1.0, x1=1.5))(1.0))
print(ad.grad(lambda p: golden(lambda x: (x - p) ** 2, brack=(-1, 0.5, 3)))(1.3))
print(ad.grad(lambda p: brent(lambda x: (x - p) ** 2, brack=(0, 1, 3)))(1.0))
"""


def run(script):
    """Return the numbers that a new process prints."""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE
    )
    assert not ran.stderr
    return [*map(float, ran.stdout.split())]


def test_solvers_that_were_imported_by_name_before_the_first_derivative():
    """SciPy's Python code runs on nodes; the derivative of its last step is not the solution's."""
    np.testing.assert_allclose(run(BY_NAME), [-0.25, 1.0, 1.0], rtol=1e-6)
