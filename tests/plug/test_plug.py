"""SciPy's solvers with our derivatives, and derivatives of solutions."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import simpleautodiff.numpy as hips_np

import simpleautodiff as ad
from oracle.engines import engines
from simpleautodiff import plug


class Shift:
    def __init__(self, a):
        self.a = a

    def left(self, x):
        return x - self.a


def test_methods_of_objects_that_hold_what_is_differentiated():
    assert ad.grad(lambda a: plug.solve_root(Shift(a).left, 1.0))(2.0) == pytest.approx(1.0)
    assert ad.grad(lambda a: plug.quad(Shift(a).left, 0, 1)[0])(2.0) == pytest.approx(-1.0)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "method",
    ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact"],
)
def test_minimize(method):
    found = plug.minimize(
        rosenbrock, np.array([-1.0, 0.5, 2.0]), method=method, options={"maxiter": 2000}
    )
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


def test_functions_of_scipy_are_differentiated_where_scipy_asks_for_it():
    """The solver that runs is not taken for the function that is differentiated."""
    rosen = scipy.optimize.rosen
    for method in ("BFGS", "Newton-CG", "trust-exact"):
        found = plug.minimize(rosen, np.array([-1.0, 0.5, 2.0]), method=method)
        np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


def test_minimize_without_derivatives_and_with_arguments():
    f = lambda x, a: np.sum((x - a) ** 2)
    for method in ("Nelder-Mead", "Newton-CG"):
        found = plug.minimize(f, [0.0, 0.0], args=(3.0,), method=method)
        np.testing.assert_allclose(found.x, [3.0, 3.0], atol=1e-3)


def test_what_the_user_gives_wins():
    used = []
    slope = lambda x: used.append("jac") or 2 * x
    curve = lambda x: used.append("hess") or 2 * np.eye(2)
    product = lambda x, v: used.append("hessp") or 2 * v
    f = lambda x: np.sum(x**2)
    plug.minimize(f, [1.0, 2.0], method="trust-exact", jac=slope, hess=curve)
    plug.minimize(f, [1.0, 2.0], method="trust-ncg", hessp=product)
    assert {"jac", "hess", "hessp"} == set(used)
    both = lambda x: (np.sum(x**2), 2 * x)
    found = plug.minimize(both, [1.0, 2.0], jac=True, method="trust-exact")
    np.testing.assert_allclose(found.x, 0, atol=1e-8)
    by_differences = plug.minimize(rosenbrock, [0.0, 0.0], jac="2-point", method="BFGS")
    assert by_differences.nfev > plug.minimize(rosenbrock, [0.0, 0.0], method="BFGS").nfev


def test_points_of_any_shape():
    assert plug.minimize(lambda x: (x - 3) ** 2, 1).x == pytest.approx([3.0])
    assert plug.minimize(lambda x: (x[0] - 3) ** 2, 1.0).x == pytest.approx([3.0])
    target = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    far = lambda x, a: np.sum((x - a) ** 2 * target)
    for method in ("BFGS", "trust-exact", "Newton-CG", "Powell"):
        found = plug.minimize(far, np.zeros((2, 3)), (target,), method)
        np.testing.assert_allclose(found.x, target, atol=2e-3)
    found = plug.minimize(far, np.zeros((2, 3)), target, bounds=[(0, 4.5)] * 6)
    np.testing.assert_allclose(found.x, np.minimum(target, 4.5), atol=1e-4)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_are_given_their_jacobians(method):
    """The nearest point of the unit disc to (2, 1) is (2, 1)/sqrt(5)."""
    from scipy.optimize import NonlinearConstraint

    calls = []
    f = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2
    disc = lambda x: calls.append(isinstance(x, ad.Node)) or 1 - x[0] ** 2 - x[1] ** 2
    pair = lambda x: [1 - x[0] ** 2 - x[1] ** 2, 5 - x[0]]
    expected = np.array([2, 1]) / math.sqrt(5)
    for constraint in (
        {"type": "ineq", "fun": disc},
        [{"type": "ineq", "fun": disc}],
        NonlinearConstraint(disc, 0, np.inf),
        [NonlinearConstraint(pair, 0, np.inf)],
    ):
        found = plug.minimize(f, [0.0, 0.0], method=method, constraints=constraint)
        np.testing.assert_allclose(found.x, expected, atol=1e-6 if method == "SLSQP" else 1e-3)
    assert any(calls)
    own = {"type": "ineq", "fun": disc, "jac": lambda x: calls.append("own") or -2 * x}
    plug.minimize(f, [0.0, 0.0], method="SLSQP", constraints=own)
    assert "own" in calls


def test_arguments_as_in_scipy():
    t = np.linspace(0, 1, 5)
    residuals = lambda p, t, *, a: [p[0] * x - a * x for x in t]
    found = plug.least_squares(residuals, 1.0, args=(t,), kwargs={"a": 3.0})
    np.testing.assert_allclose(found.x, [3.0])
    bounded = plug.least_squares(lambda p, a: p - a, [1, 1], args=5.0, bounds=(0, 2))
    np.testing.assert_allclose(bounded.x, [2.0, 2.0], rtol=1e-4)
    equations = lambda x, a: [x[0] - a, x[0] * x[1] - 2]
    for method in ("hybr", "lm", "krylov"):
        found = plug.root(equations, [1, 1], 4.0, method, tol=1e-9)
        arrays = lambda x, a: np.array(equations(x, a))
        own = scipy.optimize.root(arrays, [1.0, 1.0], 4.0, method, tol=1e-9)  # krylov may fail
        np.testing.assert_allclose(found.x, own.x if method == "krylov" else [4.0, 0.5], rtol=1e-6)
    for method in ("newton", "halley", "secant"):
        more = {"x1": 2.0} if method == "secant" else {}
        found = plug.root_scalar(lambda x, a: x**3 - a, 5.0, method, x0=1, **more)
        assert found.root == pytest.approx(5 ** (1 / 3))
    assert plug.root_scalar(lambda x: x**3 - 5, bracket=[0, 5]).root == pytest.approx(5 ** (1 / 3))
    line = lambda x, a, b: a * x + b
    p, _ = plug.curve_fit(line, t, 2 * t + 1, sigma=np.full(5, 0.1), bounds=(0, 5))
    np.testing.assert_allclose(p, [2.0, 1.0], rtol=1e-6)


def test_solutions_have_derivatives_of_several_orders():
    root = lambda a: plug.solve_root(lambda x, a: x**3 - a, np.array([1.0]), a)[0]
    a = 2.0
    expected = [a ** (1 / 3), a ** (-2 / 3) / 3, -2 / 9 * a ** (-5 / 3), 10 / 27 * a ** (-8 / 3)]
    assert root(a) == pytest.approx(expected[0])
    assert ad.grad(root)(a) == pytest.approx(expected[1], rel=1e-12)
    assert ad.grad(ad.grad(root))(a) == pytest.approx(expected[2], rel=1e-10)
    assert ad.derivative(root, 2)(a) == pytest.approx(expected[2], rel=1e-10)
    assert ad.grad(ad.grad(ad.grad(root)))(a) == pytest.approx(expected[3], rel=1e-8)


def test_a_system_with_structured_parameters():
    def f(x, p):
        return np.stack([x[0] ** 2 + x[1] - p["a"], x[0] - p["b"][0] * x[1]])

    solution = lambda p: np.sum(plug.solve_root(f, np.ones(2), p) ** 2)
    p = {"a": 3.0, "b": [0.5]}
    slope = ad.grad(solution)(p)
    h = 1e-6
    for path, change in [("a", {"a": 3.0 + h, "b": [0.5]}), ("b", {"a": 3.0, "b": [0.5 + h]})]:
        expected = (solution(change) - solution(p)) / h
        found = slope["a"] if path == "a" else slope["b"][0]
        assert found == pytest.approx(expected, rel=1e-5)


def test_roots_in_the_shape_of_the_first_guess():
    """X with X X = A, of a positive matrix: dX solves X dX + dX X = dA."""
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    square_root = lambda a: plug.solve_root(lambda x, a: x @ x - a, np.eye(2), a)
    x = square_root(a)
    np.testing.assert_allclose(x @ x, a)
    unit = np.array([[1.0, 0.5], [0.5, -1.0]])
    slope = ad.jvp(square_root, (a,), (unit,))[1]
    np.testing.assert_allclose(x @ slope + slope @ x, unit, atol=1e-12)
    curve = ad.derivative(lambda t: np.sum(square_root(a + t * unit)), 2)(0.0)
    dx = lambda t: np.sum(ad.jvp(square_root, (a + t * unit,), (unit,))[1])
    assert curve == pytest.approx((dx(1e-4) - dx(-1e-4)) / 2e-4, rel=1e-6)


def test_second_derivatives_of_minima_and_fixed_points():
    """The minimum of x²/2 - p sin(x)... is where x = p cos(x): one number, found in two ways."""
    lowest = lambda p: plug.solve_minimum(lambda x, p: x**2 / 2 - p * np.sin(x), 0.3, p)
    fixed = lambda p: plug.solve_fixed_point(lambda x, p: p * np.cos(x), 0.3, p)
    p = 0.8
    x = fixed(p)
    below = 1 + p * math.sin(x)
    first = math.cos(x) / below
    second = -(2 * math.sin(x) * first + p * math.cos(x) * first**2) / below
    for f in (lowest, fixed):
        assert f(p) == pytest.approx(x, rel=1e-12)
        assert ad.grad(f)(p) == pytest.approx(first, rel=1e-10)
        assert ad.grad(ad.grad(f))(p) == pytest.approx(second, rel=1e-9)
        assert ad.derivative(f, 2)(p) == pytest.approx(second, rel=1e-9)
    ridge = lambda x, p: np.sum((x - p["target"]) ** 2) + p["weight"] * np.sum(x**2)
    best = lambda p: np.sum(plug.solve_minimum(ridge, np.zeros((2, 2)), p))
    found = ad.grad(best)({"target": np.ones((2, 2)), "weight": 0.5})
    np.testing.assert_allclose(found["target"], np.full((2, 2), 1 / 1.5), rtol=1e-10)
    assert found["weight"] == pytest.approx(-4 / 1.5**2, rel=1e-10)


def into_plain_zeros(t, y, k):
    change = np.zeros(2)
    change[0] = -k * y[0]
    return change


def test_arrays_that_numpy_makes_inside_are_differentiated():
    found = plug.solve_ivp(into_plain_zeros, (0, 1), [1.0, 0.0], "Radau", args=(1.0,), rtol=1e-8)
    assert found.y[0, -1] == pytest.approx(math.exp(-1.0), rel=1e-6)
    found = plug.root(lambda p: np.array([p[0] - 1, p[1] ** 2 - 2]), [1.0, 1.0])
    np.testing.assert_allclose(found.x, [1.0, math.sqrt(2.0)], rtol=1e-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plug.solve_root(lambda x: x**2 + 1, 0.3), "no root of <lambda> was found"),
        (lambda: plug.solve_root(lambda x: x**2 + 1, np.array([0.3])), "no root of <lambda>"),
        (lambda: plug.solve_fixed_point(lambda x: x + 1, 0.3), "no root"),
        (lambda: plug.solve_minimum(lambda x: x, 0.3), "no minimum of <lambda> was found"),
        (lambda: plug.solve_minimum(lambda x: -(x**2), 0.3), "no minimum of <lambda> was found"),
        (lambda: plug.solve_minimum(lambda x: -(x**2), 0.0), "but there are lower values"),
        (
            lambda: ad.grad(lambda a: plug.solve_root(lambda x, a: (x - a) * 0.0, 1.0, a))(1.0),
            "the Jacobian of the equation is singular",
        ),
    ],
)
def test_what_has_no_solution_is_a_domain_error(call, message):
    with pytest.raises(ad.DomainError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plug.solve_root(lambda x: x[:2], np.ones(3)),
            r"shape \(2,\), but \(3,\) is needed",
        ),
        (lambda: plug.solve_fixed_point(lambda x: np.ones(3), np.ones(2)), "the shape of x0"),
        (lambda: plug.minimize(lambda x: x**2, [1.0, 2.0]), r"shape \(2,\), but one number"),
        (lambda: plug.solve_minimum(lambda x: x**2, 1.0, bounds=[(0, 1)]), "without bounds"),
        (lambda: plug.minimize(3, [1.0]), "a function is needed, got 3"),
        (lambda: plug.least_squares(3, [1.0]), "a function is needed, got 3"),
        (lambda: plug.root(None, [1.0]), "a function is needed, got None"),
        (lambda: plug.curve_fit("f", [1.0], [1.0]), "a function is needed, got 'f'"),
        (
            lambda: ad.grad(lambda a: plug.minimize(lambda x: (x - a) ** 2, 1.0).x[0])(2.0),
            "would be lost; solve_minimum",
        ),
        (
            lambda: ad.grad(lambda a: plug.root(lambda x, a: x - a, [1.0], a).x[0])(2.0),
            "would be lost; solve_root",
        ),
        (
            lambda: ad.grad(lambda a: plug.quad(lambda x, a: [a, x], 0, 1, (a,))[0])(2.0),
            "the integrand is one number",
        ),
        (
            lambda: ad.grad(lambda a: plug.quad(lambda x, a: a, 0, 1, (a,), complex_func=True)[0])(
                2.0
            ),
            "integrate the real and the imaginary part",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_the_way_out(call, message):
    with pytest.raises(ad.AutodiffError, match=message):
        call()


@pytest.mark.slow
def test_integrals_in_limits_and_parameters():
    """∫ x exp(-s x) dx from a to b, whose every derivative SymPy knows."""
    import sympy

    a, b, s, x = sympy.symbols("a b s x", positive=True)
    exact = sympy.integrate(x * sympy.exp(-s * x), (x, a, b))
    f = lambda v: plug.quad(lambda x, s: x * np.exp(-s * x), v[0], v[1], args=(v[2],))[0]
    numbers, at = np.array([0.3, 1.7, 0.8]), {a: 0.3, b: 1.7, s: 0.8}
    slopes = [float(exact.diff(v).subs(at)) for v in (a, b, s)]
    np.testing.assert_allclose(ad.grad(f)(numbers), slopes, rtol=1e-12)
    np.testing.assert_allclose(ad.jacfwd(f)(numbers), slopes, rtol=1e-12)
    curves = np.array(sympy.hessian(exact, (a, b, s)).subs(at), dtype=float)
    np.testing.assert_allclose(ad.hessian(f)(numbers), curves, atol=1e-12)
    np.testing.assert_allclose(ad.jacrev(ad.jacrev(f))(numbers), curves, atol=1e-12)
    third = ad.derivative(lambda s: f(np.stack([0.3, 1.7, s])), 3)(0.8)
    assert third == pytest.approx(float(exact.diff(s, 3).subs(at)), rel=1e-10)


def test_integrals_to_infinity_and_of_structures():
    """∫ a exp(-s x²) dx over all numbers is a sqrt(π/s); a singular end is SciPy's business."""

    def area(p):
        f = lambda x, p: p["a"][0] * np.exp(-p["s"] * x**2)
        return plug.quad(f, -np.inf, np.inf, args=(p,), epsabs=1e-12)[0]

    found = ad.grad(area)({"a": [3.0, 1.0], "s": 2.0})
    assert found["a"] == pytest.approx([math.sqrt(math.pi / 2), 0.0])
    assert found["s"] == pytest.approx(-1.5 * math.sqrt(math.pi) * 2**-1.5, rel=1e-9)
    tail = lambda a: plug.quad(lambda x: np.exp(-x), a, np.inf)[0]
    assert ad.grad(tail)(0.7) == pytest.approx(-math.exp(-0.7))
    beta = lambda p: plug.quad(lambda x, p: x ** (p - 1), 0, 1, args=(p,))[0]  # 1/p
    assert ad.grad(beta)(0.5) == pytest.approx(-4.0, rel=1e-7)
    assert ad.grad(ad.grad(beta))(0.5) == pytest.approx(16.0, rel=1e-6)


def test_an_integrand_that_is_infinite_inside():
    """∫ s |x|^(-1/2) dx from -1 to 1 is 4 s; SciPy is told of the point 0 and never asks there."""
    area = lambda s: plug.quad(lambda x, s: s / np.sqrt(np.abs(x)), -1, 1, args=(s,), points=[0])[0]
    assert ad.grad(area)(2.0) == pytest.approx(4.0)
    assert ad.jvp(area, (2.0,), (1.0,))[1] == pytest.approx(4.0)


@pytest.mark.parametrize(
    "solve",
    [
        lambda f: plug.minimize(lambda x: np.sum(f(x) ** 2), [1.0, 2.0]),
        lambda f: plug.least_squares(f, [1.0, 2.0]),
        lambda f: plug.solve_ivp(lambda t, y: f(y), (0, 1), [1.0, 2.0], "BDF"),
    ],
)
def test_a_node_lost_in_the_users_own_function_is_not_said_to_be_the_solvers(solve):
    outside = np.zeros(2)

    def f(x):
        outside[0] = x[0] - x[1]
        return outside * x[1]

    with pytest.raises(ad.LostDerivativeError, match=r"would drop its derivative.*test_plug\.py"):
        solve(f)


def test_solvers_that_a_second_copy_of_the_package_has_patched_take_plain_numbers():
    """As where a module is reloaded: what one copy patched, another patches again around it."""
    for package in (ad, engines().plain):
        assert package.grad(lambda x: scipy.integrate.quad(np.cos, 0, 1)[0] * x)(1.0)
    assert plug.solve_ivp(lambda t, y: -y, (0, 2), [1.0]).success
    with pytest.raises(ad.LostDerivativeError, match=r"float\(\)"):
        plug.solve_ivp(lambda t, y: [ad.grad(lambda x: float(x))(1.0)], (0, 1), [1.0])


def test_plain_integrals_are_scipys():
    import scipy.integrate

    f = lambda x, a: np.exp(-a * x)
    assert plug.quad(f, 0, 2, 3.0) == scipy.integrate.quad(f, 0, 2, (3.0,))
    assert plug.quad(f, 0, 2, (3.0,), full_output=1)[2]["neval"] == 21
    value, error = ad.grad(lambda a: plug.quad(f, 0, 2, a), has_aux=True)(3.0)
    assert value == pytest.approx(-(1 - math.exp(-6)) / 9 + 2 * math.exp(-6) / 3)
    assert error == scipy.integrate.quad(f, 0, 2, (3.0,))[1]


def test_curve_fit_and_least_squares_on_noisy_data():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 3, 40)
    y = 2.5 * np.exp(-1.3 * t) + 0.01 * rng.normal(size=40)
    model = lambda t, a, b: a * np.exp(-b * t)
    p, covariance = plug.curve_fit(model, t, y, [1.0, 1.0])
    q = plug.least_squares(lambda p: model(t, *p) - y, [1.0, 1.0]).x
    np.testing.assert_allclose(p, q, rtol=1e-6)
    np.testing.assert_allclose(p, [2.5, 1.3], atol=0.05)
    assert covariance.shape == (2, 2)


def test_code_for_hips_autograd_runs_with_another_import_line():
    from simpleautodiff import elementwise_grad, grad, hessian_vector_product, make_vjp

    def tanh(x):
        return (1.0 - hips_np.exp(-2 * x)) / (1.0 + hips_np.exp(-2 * x))

    assert grad(tanh)(1.0) == pytest.approx(1 - math.tanh(1.0) ** 2)
    x = hips_np.linspace(-2, 2, 5)
    np.testing.assert_allclose(elementwise_grad(tanh)(x), 1 - np.tanh(x) ** 2)
    pullback, value = make_vjp(lambda x: hips_np.sum(x**2))(x)
    np.testing.assert_allclose(pullback(1.0), 2 * x)
    assert value == pytest.approx(10.0)
    product = hessian_vector_product(lambda x: hips_np.sum(x**3))(x, np.ones(5))
    np.testing.assert_allclose(product, 6 * x)


def test_solutions_have_derivatives_of_high_order():
    root = lambda p: plug.solve_root(lambda x, p: x**3 + p * x - 1, 0.5, p)
    exact = lambda n: ad.derivative(lambda a: plug.solve_root(lambda x, a: x**2 - a, 1.0, a), n)
    for n, expected in ((4, -15 / 16), (5, 105 / 32), (7, 10395 / 128)):
        assert exact(n)(1.0) == pytest.approx(expected, rel=1e-9)
    fourth = ad.derivative(lambda p: ad.derivative(root, 2)(p), 2)(1.2)
    assert ad.derivative(root, 4)(1.2) == pytest.approx(fourth, rel=1e-7)
    decay = lambda T: plug.solve_ivp(lambda t, y: -y, (0, T), [1.0]).y[0, -1]
    with pytest.raises(ad.RuleError, match="order 5 in the times"):
        ad.derivative(decay, 5)(1.0)


def _root_of(a):
    return plug.solve_root(lambda x, a: x**3 + a * x - 2, 1.0, a)


def _minimum_of(a):
    target = np.stack([a, a**2])
    return np.sum(plug.solve_minimum(lambda x, p: np.sum((x - p) ** 4 + x**2), np.zeros(2), target))


def _area_of(a):
    return plug.quad(lambda x, a: np.exp(-a * x**2), 0, 1 + a, args=(a,))[0]


def _path_of(a):
    how = {"t_eval": [0.5, 1.0], "rtol": 1e-9, "atol": 1e-10}
    found = plug.solve_ivp(lambda t, y, k: -k * y**2, (0, 1), [1.0], args=(a,), **how)
    return np.sum(found.y**2)


@pytest.mark.slow
@pytest.mark.parametrize("solve", [_root_of, _minimum_of, _area_of, _path_of])
@pytest.mark.parametrize("of", [lambda f: f, ad.grad, lambda f: ad.grad(ad.grad(f))])
def test_solvers_in_vmap_solve_one_problem_after_the_other(solve, of):
    numbers = np.array([0.7, 1.0, 1.9])
    alone = [of(solve)(a) for a in numbers]
    np.testing.assert_allclose(ad.vmap(of(solve))(numbers), alone, rtol=2e-6)
    through = ad.grad(lambda numbers: np.sum(ad.vmap(solve)(numbers)))(numbers)
    np.testing.assert_allclose(through, [ad.grad(solve)(a) for a in numbers], rtol=2e-6)


def test_a_function_with_a_solver_runs_as_it_is_under_jit():
    def root(p):
        return plug.solve_root(lambda x: x**3 - p * x - 1, 1.0)

    slope = ad.jit(ad.grad(root))
    with pytest.warns(ad.NotCompiledWarning, match="as it is"):
        found = {p: slope(p) for p in (1.0, 1.5, 2.0)}
    for p, derivative in found.items():
        x = root(p)
        assert derivative == pytest.approx(x / (3 * x**2 - p), rel=1e-12)
    assert "run as it is" in str(slope.explain())
