"""What SciPy's solvers return beside the solution: numbers whose derivatives are known, or refused.

An estimate depends on what is differentiated, so its derivative is never silently 0.
"""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize as opt

import simpleautodiff as ad


def quartic(x, a):
    return np.sum((x - a) ** 2 + x**4)


def cube(x, a):
    return x**3 - a


def area(a):
    return scipy.integrate.quad(lambda x: np.exp(a * x), 0, 1, full_output=1)


def first_iterate(a):
    seen = []
    opt.minimize(quartic, [0.0], (a,), callback=lambda xk: seen.append(xk))
    return seen[0][0]


def first_least_value(a):
    seen = []
    opt.minimize(
        quartic, [0.0], (a,), callback=lambda intermediate_result: seen.append(intermediate_result)
    )
    return seen[0].fun


ESTIMATES = {
    "root, r": lambda a: opt.root(cube, [1.0], (a,)).r[0],
    "root, cov_x": lambda a: opt.root(cube, [1.0], (a,), method="lm").cov_x[0, 0],
    "fsolve, fjac": lambda a: opt.fsolve(cube, [1.0], (a,), full_output=True)[1]["fjac"][0, 0],
    "hess_inv": lambda a: opt.minimize(quartic, [0.0], (a,)).hess_inv[0, 0],
    "get": lambda a: opt.minimize(quartic, [0.0], (a,)).get("hess_inv")[0, 0],
    "final_simplex": lambda a: opt.minimize(quartic, [0.0], (a,), "Nelder-Mead").final_simplex[0][
        0, 0
    ],
    "fmin_bfgs": lambda a: opt.fmin_bfgs(quartic, [0.0], args=(a,), full_output=True, disp=0)[3][
        0, 0
    ],
    "marginals": lambda a: opt.linprog([-a], A_ub=[[1.0]], b_ub=[1.0]).ineqlin.marginals[0],
    "quad, error": lambda a: area(a)[1],
    "quad, rlist": lambda a: area(a)[2]["rlist"][0],
    "nquad, error": lambda a: scipy.integrate.nquad(lambda x: np.exp(a * x), [(0, 1)])[1],
    "an iterate": first_iterate,
    "a value on the way": first_least_value,
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_estimates_have_their_values_and_no_derivatives(name):
    estimate, a = ESTIMATES[name], 1.3
    with pytest.raises(ad.LostDerivativeError, match="has no derivative"):
        ad.grad(estimate)(a)
    with pytest.raises(ad.LostDerivativeError, match="has no derivative"):
        ad.derivative(estimate)(a)
    looked = lambda a: (a**2, estimate(a))
    slope, value = ad.grad(looked, has_aux=True)(a)
    assert slope == 2 * a
    assert value == pytest.approx(estimate(a))


def test_objects_without_derivatives_are_refused():
    found = lambda a: opt.minimize(quartic, [0.0], (a,), "L-BFGS-B")
    for read in (lambda r: r.hess_inv, lambda r: r["hess_inv"], lambda r: r.get("hess_inv")):
        with pytest.raises(ad.LostDerivativeError, match=r"hess_inv .*simpleautodiff\.hessian"):
            ad.grad(lambda a, read=read: read(found(a)).todense()[0, 0])(1.3)


def test_what_can_be_computed_of_the_solution_has_its_derivative():
    a, x = 1.3, opt.brentq(lambda x: 2 * (x - 1.3) + 4 * x**3, 0, 2)
    slope = 2 / (2 + 12 * x**2)
    full = lambda a: opt.fmin_bfgs(quartic, [0.0], args=(a,), full_output=True, disp=0)
    assert ad.grad(lambda a: full(a)[0][0])(a) == pytest.approx(slope)
    assert ad.grad(lambda a: full(a)[1])(a) == pytest.approx(-2 * (x - a))
    # x ≤ a and x ≤ a² + 3: the first holds the solution back, the second has a² + 3 - a left
    program = lambda a: opt.linprog([-1.0], A_ub=[[1.0], [1.0]], b_ub=[a, a * a + 3])
    assert ad.grad(lambda a: program(a).slack[1])(a) == pytest.approx(2 * a - 1)
    assert ad.grad(lambda a: opt.root(cube, [1.0], (a,)).fun[0])(a) == pytest.approx(0, abs=1e-12)


def retry(a):
    found = opt.minimize(quartic, [0.0], (a,), options={"maxiter": 1})
    assert not found.success
    return opt.minimize(quartic, found.x, (a,)).x[0]


def fall_back(a):
    found = opt.linprog([1.0], A_ub=[[1.0], [-1.0]], b_ub=[a, -a - 1], bounds=(None, None))
    return a**2 if found.x is None and not found.success else found.fun


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def fall_back_from_root(a):
    found = opt.root(lambda x: x**2 + a, [1.0])
    return a**2 if not found.success else found.x[0]


def test_what_did_not_arrive_can_be_looked_at():
    a, x = 1.3, opt.brentq(lambda x: 2 * (x - 1.3) + 4 * x**3, 0, 2)
    for differentiate in (ad.grad, ad.derivative):
        assert differentiate(retry)(a) == pytest.approx(2 / (2 + 12 * x**2))
        assert differentiate(fall_back)(a) == 2 * a
        assert differentiate(fall_back_from_root)(a) == 2 * a
        with pytest.raises(ad.DomainError, match="did not arrive"):
            differentiate(
                lambda a: opt.minimize(quartic, [0.0], (a,), options={"maxiter": 1}).x[0]
            )(a)


def test_a_callback_inside_vmap_is_refused():
    with pytest.raises(ad.ArgumentError, match="inside vmap"):
        ad.vmap(first_iterate)(np.array([1.0, 2.0]))


def test_arrays_made_inside_are_given_to_solvers():
    def weighed(a):
        matrix = np.zeros((2, 2))
        matrix[0, 0], matrix[1, 1], matrix[0, 1] = 1.0, 2.0, 0.5
        return opt.nnls(matrix, np.array([a, 1.0]))[0][0]

    def plain(a):
        matrix = np.zeros((2, 2))
        matrix[0, 0] = matrix[1, 1] = 2.0
        return a * opt.nnls(matrix, np.array([1.0, 1.0]))[0][0]

    def of_nodes(a):
        matrix = np.zeros((2, 2))
        matrix[0, 0], matrix[1, 1] = a, 2.0
        return opt.nnls(matrix, np.array([1.0, 1.0]))[0][0]

    assert ad.grad(weighed)(1.3) == pytest.approx(1.0)
    assert ad.grad(plain)(1.3) == pytest.approx(0.5)
    assert ad.grad(of_nodes)(2.0) == pytest.approx(-0.25)


def test_a_generator_is_drawn_from_once():
    def least(a, rng):
        return opt.differential_evolution(
            lambda x: quartic(x, a), [(0, 2)], rng=rng, polish=False, maxiter=5, popsize=4
        ).x[0]

    plain, inside = np.random.default_rng(3), np.random.default_rng(3)
    value, _ = ad.value_and_grad(lambda a: (least(a, inside), 0.0), has_aux=True)(1.3)[0]
    assert value == least(1.3, plain)
    assert inside.random() == plain.random()


def test_forward_mode_passes_by_what_is_not_known():
    """SciPy returns estimates beside the solution; they are not asked for."""
    exact = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}

    def solve(p):
        """Minimise (x - p0)² + (p1 x - 1)²: x = (p0 + p1) / (1 + p1²)."""
        residuals = lambda x: np.array([x[0] - p[0], x[0] * p[1] - 1])
        return opt.least_squares(residuals, [0.5], **exact).x[0]

    along = ad.jacfwd(ad.jacfwd(solve))(np.array([2.0, 1.0]))
    np.testing.assert_allclose(along, [[0.0, -0.5], [-0.5, 0.5]], atol=1e-6)
    matrix = np.array([[1, 0.3], [2, 1.0], [0.5, 3]])
    linear = lambda a: opt.lsq_linear(matrix, np.array([1, a, 2.0]), bounds=(0, 0.5)).x
    slopes = ad.jvp(linear, (0.7,), (1.0,))[1]  # the second is at its bound; 2 / (1 + 4 + 1/4)
    np.testing.assert_allclose(slopes, [2 / 5.25, 0.0], atol=1e-12)
    inverse = lambda p: opt.minimize(lambda x: (x[0] - p) ** 2, [0.0]).hess_inv[0, 0]
    with pytest.raises(ad.LostDerivativeError, match="hess_inv of the result"):
        ad.jvp(inverse, (2.0,), (1.0,))


def test_fits_with_a_loss():
    """A mean by soft_l1: its slope in a datum is that datum's curvature, by the sum of all."""
    y, scale = np.array([0.0, 1.0, 4.0, 9.0]), 0.5
    exact = {"method": "trf", "ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    loss = {"loss": "soft_l1", "f_scale": scale, **exact}
    mean = lambda y: opt.curve_fit(lambda t, a: a + 0 * t, y * 0, y, p0=[2.0], **loss)
    found = mean(y)[0][0]
    curvatures = (1 + ((found - y) / scale) ** 2) ** -1.5
    slopes = ad.grad(lambda y: mean(y)[0][0])(y)
    np.testing.assert_allclose(slopes, curvatures / np.sum(curvatures), rtol=1e-5)
    with pytest.raises(ad.LostDerivativeError, match="has no derivative"):
        ad.grad(lambda y: mean(y)[1][0, 0])(y)  # of which SciPy has a formula of its own
