"""scipy.linalg and scipy.stats on nodes, by unchanged code and by another import line."""

import math
import pickle
import subprocess
import sys
import types
import warnings
from inspect import signature

import mpmath
import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg as sl
import scipy.optimize as opt
import scipy.sparse.linalg
import scipy.special
import scipy.stats as st

import references
import simpleautodiff as ad
from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.patch_scipy import patch_scipy

GENERATOR = np.random.default_rng(7)
N = 3
A = GENERATOR.normal(size=(N, N)) / 2
S = A @ A.T + np.diag([1.0, 2.0, 3.5])  # positive definite, its eigenvalues far apart
B = GENERATOR.normal(size=(N, 2))
V = GENERATOR.normal(size=N)
E1 = 3 * np.eye(N)[0]

THIRD = 5 * np.array([[0.0], [1.0], [0.0]])
BAND = np.array([[0.3, 0.4, -0.2], [3.0, 2.0, 4.0]])


def early(function):
    """Return SciPy's own function, which is what a name imported before any derivative holds."""
    while function.__module__.count(".") == 1:  # two copies of the package patch it twice
        function = function.__wrapped__
    return function


def sym(x):
    return (x + x.T) / 2


MATRICES = {
    "expm": (lambda x: sl.expm(x), A),
    "expm of a stack": (lambda x: sl.expm(x), np.stack([A, A.T, 2 * A])),
    "logm": (lambda x: sl.logm(x), S),
    "sqrtm": (lambda x: sl.sqrtm(x), S),
    "sinm cosm": (lambda x: sl.sinm(x) + sl.cosm(x.T), A),
    "sinhm coshm": (lambda x: sl.sinhm(x) + sl.coshm(x.T), A),
    "tanm tanhm": (lambda x: sl.tanm(x) + sl.tanhm(x.T), A / 3),
    "expm_frechet": (lambda x: np.stack(sl.expm_frechet(x, x @ x)), A),
    "inv": (lambda x: sl.inv(x), S),
    "det": (lambda x: sl.det(x), S),
    "norm": (lambda x: sl.norm(x) + sl.norm(x, axis=1), S),
    "pinv": (lambda x: sl.pinv(x), B),
    "solve": (lambda x: sl.solve(x, B) + sl.solve(S, x[:, :2]), S),
    "solve a vector": (lambda x: sl.solve(x, x[0]), S),
    "solve transposed": (lambda x: sl.solve(x, V, transposed=True), S + A),
    "solve_triangular": (lambda x: sl.solve_triangular(x, x[:, :2]), S),
    "solve_triangular lower": (lambda x: sl.solve_triangular(x, V, lower=True), S),
    "solve_triangular trans": (lambda x: sl.solve_triangular(x, x[0], trans="T"), S),
    "solve_triangular unit": (
        lambda x: sl.solve_triangular(x, B, trans=1, lower=True, unit_diagonal=True),
        S,
    ),
    "cholesky": (lambda x: sl.cholesky(sym(x)) + sl.cholesky(sym(x), lower=True), S),
    "cho_solve": (lambda x: sl.cho_solve(sl.cho_factor(sym(x)), B), S),
    "cho_solve lower": (lambda x: sl.cho_solve(sl.cho_factor(sym(x), lower=True), x[0]), S),
    "lu_factor": (lambda x: sl.lu_factor(x)[0], A),
    "lu_solve": (lambda x: sl.lu_solve(sl.lu_factor(x), x[:, :2]), A),
    "lu_solve transposed": (
        lambda x: sl.lu_solve(sl.lu_factor(x), V, trans=1),
        A - 2 * np.eye(N)[::-1],
    ),
    "lu": (lambda x: np.concatenate([*sl.lu(x)[1:], sl.lu(x, permute_l=True)[0]]), A),
    "eigvalsh": (lambda x: sl.eigvalsh(sym(x)), S),
    "eigh": (lambda x: sl.eigh(sym(x))[1] ** 2, S),
    "eigh upper": (lambda x: sl.eigh(x, lower=False, eigvals_only=True), S),
    "eigh subset": (lambda x: sl.eigh(sym(x), subset_by_index=[0, 1])[0], S),
    "eigh of two matrices": (lambda x: sl.eigh(sym(x), sym(x) + np.diag(V**2))[0], S),
    "eigenvectors of two matrices": (
        lambda x: sl.eigh(x, np.eye(N) + S @ S, lower=False)[1] ** 2,
        S,
    ),
    "eigvals": (lambda x: np.real(sl.eigvals(x)), S),
    "eig": (lambda x: np.abs(sl.eig(x)[1]) + np.real(sl.eig(x)[0]), S + A),
    "svd": (lambda x: np.concatenate([m**2 for m in sl.svd(x, full_matrices=False)[::2]]), B),
    "svdvals": (lambda x: sl.svdvals(x) + sl.svd(x, compute_uv=False), B),
    "qr": (lambda x: np.concatenate([*sl.qr(x, mode="economic"), *sl.qr(x, mode="r")]), B),
    "qr full": (lambda x: np.concatenate(sl.qr(x.T), 1), B),
    "lstsq": (lambda x: sl.lstsq(x, V)[0] + sl.lstsq(x, V)[1], B),
    "fractional_matrix_power": (lambda x: sl.fractional_matrix_power(x, 0.3), S),
    "whole matrix power": (lambda x: sl.fractional_matrix_power(x, 3), A),
    "companion": (lambda x: sl.companion(x + 2), V),
    "solve_banded": (lambda x: sl.solve_banded((1, 1), x + THIRD, x[0]), A),
    "solve_banded of columns": (lambda x: sl.solve_banded((0, 2), x + 3, x[:, :2]), S),
    "solve_banded below": (lambda x: sl.solve_banded((2, 0), x + 3, B), S),
    "solveh_banded": (lambda x: sl.solveh_banded(x + BAND, x.T), BAND / 9),
    "solveh_banded lower": (lambda x: sl.solveh_banded(x[::-1], V, lower=True), BAND),
    "solve_sylvester": (lambda x: sl.solve_sylvester(x, x.T @ x, A @ x), S),
    "solve_continuous_lyapunov": (lambda x: sl.solve_continuous_lyapunov(x, x @ x), S),
    "solve_discrete_lyapunov": (lambda x: sl.solve_discrete_lyapunov(x, x @ x), A / 2),
    "toeplitz": (lambda x: sl.toeplitz(x**2, x) + sl.toeplitz(x**3), V),
    "hankel": (lambda x: sl.hankel(x**2, x) + sl.hankel(x**3), V),
    "circulant": (lambda x: sl.circulant(x**3), V),
    "block_diag": (lambda x: sl.block_diag(x**2, [[1.0, 2.0]], x[0]), A),
    "solve_toeplitz": (lambda x: sl.solve_toeplitz((x + E1, x**2 + E1), V), V / 3),
    "solve_circulant": (lambda x: sl.solve_circulant(x**2 + E1, V), V),
    "matmul_toeplitz": (lambda x: sl.matmul_toeplitz(x, x**2), V),
}
every_matrix = pytest.mark.parametrize(("f", "x"), MATRICES.values(), ids=MATRICES)


def differences(f, x):
    """Return the Jacobian by differences."""
    columns = [references.differences(f, x, e.reshape(x.shape)) for e in np.eye(x.size)]
    return np.moveaxis(np.array(columns), 0, -1).reshape(*np.shape(columns[0]), *x.shape)


@every_matrix
def test_values_and_first_derivatives_of_matrices(f, x):
    value, tangent = ad.jvp(f, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-14)
    expected = differences(f, x)
    scale = 1 + np.max(np.abs(expected))
    reverse = ad.jacrev(f)(x)
    np.testing.assert_allclose(reverse, expected, rtol=0, atol=1e-11 * scale)
    axes = tuple(range(-x.ndim, 0))
    np.testing.assert_allclose(tangent, np.sum(reverse, axis=axes), rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(ad.jacfwd(f)(x), reverse, rtol=0, atol=1e-12 * scale)


@pytest.mark.slow
@every_matrix
def test_second_derivatives_of_matrices(f, x):
    total = lambda x: np.sum(np.sin(f(x)))
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    expected = np.tensordot(differences(ad.grad(total), x), direction, x.ndim)
    scale = 1 + np.max(np.abs(expected))
    reverse = ad.hvp(total, (x,), (direction,))
    np.testing.assert_allclose(reverse, expected, rtol=0, atol=1e-10 * scale)
    inner = lambda x: np.sum(ad.grad(total)(x) * direction)
    np.testing.assert_allclose(ad.grad(inner)(x), reverse, rtol=0, atol=1e-11 * scale)


@every_matrix
def test_matrices_of_float32_stay_so(f, x):
    gradient = ad.grad(lambda x: np.sum(f(x)))(x.astype(np.float32))
    assert gradient.dtype == np.float32
    expected = ad.grad(lambda x: np.sum(f(x)))(x)
    tolerance = 2e-3 * (1 + np.max(np.abs(expected)))
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=tolerance)


COMPLEX = {
    "expm": lambda z: sl.expm(1j * z),
    "solve and inv": lambda z: sl.solve(z, B) + sl.inv(z)[:, :2],
    "qr": lambda z: sl.qr(z)[1],
    "svdvals": lambda z: sl.svdvals(z) + 0j,
    "eigvals": lambda z: sl.eigvals(z),
    "solve_banded": lambda z: sl.solve_banded((1, 1), z, B),
}


@pytest.mark.parametrize("f", COMPLEX.values(), ids=COMPLEX)
def test_complex_matrices(f):
    z = S + 1j * A
    direction = A - 0.3j * S
    value, tangent = ad.jvp(f, (z,), (direction,))
    np.testing.assert_allclose(value, f(z), rtol=1e-12, atol=1e-13)
    along = lambda t: f(z + t[0] * direction)
    slope = differences(along, np.zeros(1))[..., 0]
    np.testing.assert_allclose(tangent, slope, rtol=0, atol=1e-11 * (1 + np.max(np.abs(slope))))
    seed = np.cos(np.arange(value.size) + 1j).reshape(value.shape)
    (adjoint,) = ad.vjp(f, z)[1](seed)
    pulled = np.real(np.sum(adjoint * direction))
    assert np.real(np.sum(seed * tangent)) == pytest.approx(pulled, rel=1e-10)


def test_third_derivative_of_the_matrix_exponential():
    f = lambda t: np.sum(sl.expm(t * A) * B[:, :1])
    expected = np.sum(A @ A @ A @ sl.expm(0.7 * A) * B[:, :1])
    assert ad.derivative(f, n=3)(0.7) == pytest.approx(expected, rel=1e-12)
    assert ad.grad(ad.grad(ad.grad(f)))(0.7) == pytest.approx(expected, rel=1e-12)


# Distributions. -----------------------------------------------------------------------------------

SHAPES = {
    **{"gamma": (2.3,), "chi2": (3.3,), "t": (4.2,), "lognorm": (0.7,), "genpareto": (0.4,)},
    "pearson3": (0.6,),
    **{"beta": (2.1, 0.8), "betaprime": (2.1, 3.4), "chi": (3.1,), "f": (4.2, 5.1)},
}
METHODS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf")
CONTINUOUS = sorted(
    (name, method)
    for _, name, method in (key.split(".") for key in SCIPY if key.count(".") == 2)
    if method in METHODS and name not in ("multivariate_normal", "dirichlet", "rv_continuous")
)


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_continuous_distributions(name, method):
    ad.grad(abs)  # from now on SciPy asks for nodes
    f = getattr(getattr(st, name), method)
    x = np.array([0.1, 0.4, 0.85])
    shapes = SHAPES.get(name, ())
    for g in (
        lambda x: f(x, *shapes),
        lambda x: f(x, *shapes, loc=-0.05, scale=1.3),
        lambda x: f(np.array([0.3, 0.5]), *shapes, x[0] / 9, 1 + x[1]),
    ):
        value, tangent = ad.jvp(g, (x,), (np.ones(3),))
        np.testing.assert_allclose(value, g(x), rtol=1e-12)
        expected = differences(g, x)
        np.testing.assert_allclose(ad.jacrev(g)(x), expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(tangent, expected.sum(-1), rtol=1e-10, atol=1e-10)
        second = ad.jacfwd(ad.jacrev(g))(x)
        np.testing.assert_allclose(second, differences(ad.jacrev(g), x), rtol=1e-10, atol=1e-10)


def test_frozen_distributions_and_others_made_of_them():
    f = lambda x, scale: st.norm(0.5, scale).logpdf(x)
    derivatives = ad.grad(f, (0, 1))(2.0, 3.0)
    assert derivatives == pytest.approx((-1.5 / 9, 1.5**2 / 27 - 1 / 3), rel=1e-14)

    class Other(type(st.norm)):
        def _logpdf(self, x):
            return -abs(x)

    assert Other().logpdf(2.0) == -2.0
    assert ad.grad(Other().logpdf)(2.0) == -1.0


@pytest.mark.parametrize("name", ["gamma", "chi2", "t", "lognorm", "beta"])
def test_log_densities_in_their_shapes(name):
    x = np.array([0.1, 0.4, 0.85])
    f = lambda shapes: getattr(st, name).logpdf(x, *shapes)
    shapes = np.array(SHAPES[name])
    value, _ = ad.jvp(f, (shapes,), (np.ones_like(shapes),))
    np.testing.assert_allclose(value, f(shapes), rtol=1e-12)
    np.testing.assert_allclose(ad.jacrev(f)(shapes), differences(f, shapes), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", ["expon", "gamma", "lognorm", "uniform", "beta"])
def test_outside_the_support(name):
    shapes, x = SHAPES.get(name, ()), np.array([-1.0, 0.5])
    logpdf = lambda *args: getattr(st, name).logpdf(*args)
    value = ad.value_and_grad(lambda x: np.sum(np.exp(logpdf(x, *shapes))))
    assert value(x)[0] == pytest.approx(np.sum(getattr(st, name).pdf(x, *shapes)), rel=1e-13)
    assert value(x)[1][0] == 0.0
    assert logpdf(ad.Node(x), *shapes).value[0] == -math.inf


@pytest.mark.parametrize(
    ("name", "shapes", "end", "slope", "second"),
    [
        ("gamma", (1.0,), 0.0, -1.0, 1.0),
        ("gamma", (2.0,), 0.0, 1.0, -2.0),
        ("gamma", (3.0,), 0.0, 0.0, 1.0),
        ("beta", (2.0, 3.0), 0.0, 12.0, -48.0),
        ("beta", (2.0, 3.0), 1.0, 0.0, 24.0),
        ("beta", (1.0, 1.0), 1.0, 0.0, 0.0),
        ("chi2", (4.0,), 0.0, 0.25, -0.25),
        ("lognorm", (1.0,), 0.0, 0.0, 0.0),
        ("genpareto", (-0.5,), 2.0, -0.5, 0.0),
        ("pearson3", (2.0,), -1.0, -1.0, 1.0),
        ("rayleigh", (), 0.0, 1.0, 0.0),
        ("chi", (2.0,), 0.0, 1.0, 0.0),
        ("chi", (3.0,), 0.0, 0.0, 2 * math.sqrt(2 / math.pi)),
        ("f", (2.0, 5.0), 0.0, -1.4, 2.52),
        ("f", (4.0, 5.0), 0.0, 5.6, -40.32),
        ("betaprime", (2.0, 3.0), 0.0, 12.0, -120.0),
        ("betaprime", (1.0, 3.0), 0.0, -12.0, 60.0),
    ],
)
def test_densities_at_an_end_of_the_support(name, shapes, end, slope, second):
    """The closed forms, such as x e^-x and 12 x (1 - x)^2, are differentiated by hand."""
    f = lambda x: getattr(st, name).pdf(x, *shapes)
    assert ad.grad(f)(end) == pytest.approx(slope, abs=1e-14)
    assert ad.grad(ad.grad(f))(end) == pytest.approx(second, rel=1e-14, abs=1e-14)
    assert ad.jit(ad.grad(f))(end) == pytest.approx(slope, abs=1e-14)
    assert ad.vmap(ad.jacfwd(f))(np.array([end, 0.3]))[0] == pytest.approx(slope, abs=1e-14)
    assert ad.value_and_grad(f)(end)[0] == f(end)


@pytest.mark.parametrize(
    ("name", "shapes"), [("ncx2", (4.0, 1.5)), ("ncx2", (6.0, 0.7)), ("ncf", (4.0, 5.0, 1.2))]
)
def test_noncentral_densities_at_0(name, shapes):
    """The mixtures of χ² and of beta prime densities, by mpmath."""

    def density(x):
        *dfs, nc = map(mpmath.mpf, shapes)
        half = dfs[0] / 2

        def member(j):
            if name == "ncx2":
                return (
                    x ** (half + j - 1)
                    * mpmath.exp(-x / 2)
                    / 2 ** (half + j)
                    / mpmath.gamma(half + j)
                )
            ratio = dfs[0] / dfs[1]
            z, b = x * ratio, dfs[1] / 2
            return (
                ratio * z ** (half + j - 1) * (1 + z) ** (-half - j - b) / mpmath.beta(half + j, b)
            )

        weight = lambda j: mpmath.exp(-nc / 2) * (nc / 2) ** j / mpmath.factorial(j)
        return mpmath.fsum(weight(j) * member(j) for j in range(40))

    expected = [float(x) * math.factorial(k) for k, x in enumerate(mpmath.taylor(density, 0, 3))]
    f = lambda x: getattr(st, name).pdf(x, *shapes)
    for derivative, value in zip((f, ad.grad(f), ad.grad(ad.grad(f))), expected, strict=False):
        assert derivative(0.0) == pytest.approx(value, rel=1e-12, abs=1e-14)
    assert ad.jacfwd(f)(0.0) == pytest.approx(expected[1], rel=1e-12)


def test_parameters_of_densities_at_an_end_of_the_support():
    assert ad.grad(lambda a: st.gamma.pdf(0.0, a))(2.0) == 0.0
    x, scale = np.array([0.0, 1.0, 2.0]), 1.5  # each density is x e^(-x/s) / s^2
    expected = np.sum(x * np.exp(-x / scale) * (x / scale - 2) / scale**3)
    slope = ad.grad(lambda s: np.sum(st.gamma.pdf(x, 2.0, scale=s)))(scale)
    assert slope == pytest.approx(expected, rel=1e-14)
    assert ad.grad(lambda x: st.gamma.logpdf(x, 1.0))(0.0) == -1.0
    assert ad.grad(lambda x: st.genpareto.pdf(x, -0.5))(3.0) == 0.0


@pytest.mark.parametrize(
    ("name", "at", "p", "slope"),
    [
        ("poisson", (0,), 0.0, -1.0),
        ("poisson", (1,), 0.0, 1.0),
        ("poisson", (2,), 0.0, 0.0),
        ("binom", (1, 3), 0.0, 3.0),
        ("binom", (2, 3), 1.0, -3.0),
        ("bernoulli", (1,), 0.0, 1.0),
        ("bernoulli", (0,), 1.0, -1.0),
        ("geom", (2,), 1.0, -1.0),
    ],
)
def test_probabilities_that_become_0_or_1(name, at, p, slope):
    f = lambda p: getattr(st, name).pmf(*at, p)
    assert ad.grad(f)(p) == pytest.approx(slope, abs=1e-14)
    assert ad.value_and_grad(f)(p)[0] == f(p)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("poisson", (2.5,)), ("binom", (3, 0.3)), ("bernoulli", (0.3,)), ("geom", (0.3,))],
)
def test_probabilities_of_whole_numbers(name, shapes):
    k = np.array([0, 1, 2, 5, -1])
    f = lambda p: getattr(st, name).pmf(k, *shapes[:-1], p)
    value, tangent = ad.jvp(f, (shapes[-1],), (1.0,))
    np.testing.assert_allclose(value, f(shapes[-1]), rtol=1e-13)
    expected = differences(lambda p: f(p[0]), np.array([shapes[-1]]))[:, 0]
    np.testing.assert_allclose(tangent, expected, rtol=1e-11, atol=1e-12)
    log = lambda p: np.sum(getattr(st, name).logpmf(np.array([1, 1]), *shapes[:-1], p))
    expected = differences(lambda p: log(p[0]), np.array([shapes[-1]]))[0]
    assert ad.grad(log)(shapes[-1]) == pytest.approx(expected, rel=1e-11)


def test_the_normal_distribution_of_vectors():
    x = GENERATOR.normal(size=(4, N))
    for f, at in (
        (lambda x: st.multivariate_normal.logpdf(x, V, S), x),
        (lambda x: st.multivariate_normal.logpdf(x, V, S), x[0]),
        (lambda m: st.multivariate_normal.logpdf(x, m, S), V),
        (lambda c: st.multivariate_normal.pdf(x, V, sym(c)), S),
        (lambda c: st.multivariate_normal.logpdf(x, V, c[0] ** 2), V),
        (lambda c: st.multivariate_normal.logpdf(x, V, np.diag(c**2)), V),
        (lambda x: st.multivariate_normal.logpdf(x.reshape(2, 2, N), V, S), x),
        (lambda x: st.multivariate_normal.logpdf(x, 0.3, 2.0), V),
    ):
        value, _ = ad.jvp(f, (at,), (np.ones_like(at),))
        np.testing.assert_allclose(value, f(at), rtol=1e-12)
        np.testing.assert_allclose(ad.jacrev(f)(at), differences(f, at), rtol=1e-10, atol=1e-11)


def test_dirichlet():
    f = lambda a: st.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), a)
    alpha = np.array([1.0, 2.0, 3.5])
    psi = scipy.special.psi
    expected = np.log([0.2, 0.3, 0.5]) - psi(alpha) + psi(alpha.sum())
    np.testing.assert_allclose(ad.grad(f)(alpha), expected, rtol=1e-13)
    assert ad.value_and_grad(f)(alpha)[0] == pytest.approx(f(alpha), rel=1e-14)


# The ways to call them. ---------------------------------------------------------------------------


def test_plain_numbers_are_left_to_scipy():
    patch_scipy()
    expm = early(sl.expm)
    np.testing.assert_array_equal(sl.expm(A), expm(A))
    assert sl.expm is not expm
    assert signature(sl.expm) == signature(expm)
    assert sl.expm.__doc__ == expm.__doc__
    taught = sl.expm
    patch_scipy()
    assert sl.expm is taught
    assert pickle.loads(pickle.dumps(sl.expm)) is sl.expm
    assert pickle.loads(pickle.dumps(st.norm)).logpdf(0.3) == st.norm.logpdf(0.3)


def test_lists_of_nodes_and_written_arrays_are_arrays():
    f = lambda x: sl.expm([[x, 1.0], [0.0, x]])[0, 1]
    assert ad.grad(f)(0.3) == pytest.approx(math.exp(0.3), rel=1e-13)
    assert np.ndim(ad.grad(f)(0.3)) == 0
    assert not isinstance(ad.grad(f)(0.3), np.ndarray)

    def written(x):
        y = np.zeros_like(x)
        y[0] = x[1] ** 2
        return scipy.special.logsumexp(y)

    gradient = ad.grad(written)(np.array([0.0, 2.0]))
    np.testing.assert_allclose(gradient, [0.0, 4 * math.exp(4) / (math.exp(4) + 1)], rtol=1e-13)


PROGRAM = """
import numpy as np, simpleautodiff as ad
{imports}
f = lambda x: np.sum(expm(x * np.array([[0.0, 1.0], [0.0, 0.0]]))) + logsumexp(x * np.ones(2))
print(ad.grad(f)(0.5) + ad.grad(norm.logpdf)(1.0), expm(np.zeros((1, 1)))[0, 0], erf(0.0))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "from simpleautodiff.scipy.linalg import expm\n"
        "from simpleautodiff.scipy.special import erf, logsumexp\n"
        "from simpleautodiff.scipy.stats import norm",
        "import scipy.linalg, scipy.special, scipy.stats\n"
        "expm = lambda x: scipy.linalg.expm(x)\n"
        "logsumexp = lambda x: scipy.special.logsumexp(x)\n"
        "norm, erf = scipy.stats.norm, scipy.special.erf",
        "ad.grad(abs)\n"
        "import simpleautodiff.scipy.linalg as linalg, simpleautodiff.scipy.special as special\n"
        "import simpleautodiff.scipy.stats as stats\n"
        "expm, logsumexp, erf, norm = linalg.expm, special.logsumexp, special.erf, stats.norm",
    ],
    ids=["another import line", "unchanged", "as modules"],
)
def test_ways_to_import(imports):
    code = PROGRAM.format(imports=imports)
    run = [sys.executable, "-W", "error", "-c", code]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    assert [float(word) for word in out.stdout.split()] == [pytest.approx(1.0), 1.0, 0.0]


def test_all_names_of_scipy_are_there():
    import simpleautodiff.scipy.linalg as linalg

    assert linalg.qr is sl.qr
    assert "expm" in dir(linalg)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        linalg.nothing_of_the_kind


# Refusals. ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (early(sl.expm), "linalg.expm"),
        (lambda x: early(sl.cho_solve)((x, True), V[:2]), "linalg.cho_solve"),
    ],
)
def test_a_name_imported_early_says_what_to_do(call, name):
    module, _, function = f"scipy.{name}".rpartition(".")
    message = (
        rf"{module}\.{function} imported by name, or .*takes plain arrays; write `from "
        rf"simpleautodiff\.{module} import {function}`.*{function}\(\.\.\.\) \(at test_scipy"
    )
    with pytest.raises(ad.LostDerivativeError, match=message):
        ad.grad(lambda x: np.sum(call(x)))(np.eye(2))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: sl.cossin(x, 1, 1)[0], "linalg.cossin"),
        (lambda x: sl.null_space(x), "linalg.null_space; .* the projector"),
        (lambda x: scipy.special.legendre_p(2, x), r"special\.legendre_p;"),
    ],
)
def test_a_function_without_a_program_is_named(call, name):
    with pytest.raises(
        ad.LostDerivativeError, match=f"no derivative rule for scipy.{name}.* write"
    ):
        ad.grad(lambda x: np.sum(call(x)))(np.eye(2))


def hide(x):
    """Return functions that find x in a module: solvers do not look into modules."""
    hidden = types.ModuleType("hidden")
    hidden.x = x[0]
    left = lambda t: t - hidden.x
    return left, lambda t: np.sum(left(t) ** 2)


@pytest.mark.parametrize(
    ("call", "name", "instead"),
    [
        (lambda x: opt.minimize(hide(x)[1], np.ones(1)).x, "optimize.minimize", "solve_minimum"),
        (
            lambda x: opt.least_squares(hide(x)[0], np.ones(1)).x[0],
            "optimize.least_squares",
            "solve_minimum",
        ),
    ],
)
def test_solvers_name_those_that_can_be_differentiated(call, name, instead):
    message = rf"no derivative rule for scipy\.{name}; write simpleautodiff\.plug\.{instead}\("
    with pytest.raises(ad.LostDerivativeError, match=message):
        ad.grad(lambda x: np.sum(call(x)))(np.ones(N) / 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: sl.toeplitz(1j * x),
            ad.RuleError,
            r"scipy\.linalg\.toeplitz of complex numbers",
        ),
        (lambda x: sl.expm(x, 3), ad.RuleError, r"scipy\.linalg\.expm of a node: too many"),
        (lambda x: sl.eig(x, np.eye(2))[0], ad.RuleError, "no rule for b="),
        (lambda x: sl.qr(np.stack([x[0]] * 3))[0], ad.RuleError, "mode='economic'"),
        (lambda x: sl.logm(-x), ad.DomainError, "logm of this matrix is not real"),
        (lambda x: st.norm.logpdf(x, size=3), ad.AutodiffError, "loc, scale"),
    ],
)
def test_refusals(call, error, message):
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        ad.grad(lambda x: np.sum(call(x)))(np.eye(2))


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda x: next(a * b for a, b in np.nditer([x, x])), r"np\.ndindex"),
        (lambda x: scipy.sparse.lil_matrix(x).sum(), r"made by csr_array\(\(data"),
    ],
)
def test_compiled_code_that_takes_plain_arrays(f, instead, capfd):
    with pytest.raises(ad.AutodiffError, match=rf"{instead}.*\(at test_scipy_modules.py:\d+: "):
        ad.grad(f)(V)


@pytest.mark.parametrize(
    ("transform", "body", "expected"),
    [
        ("ad.grad(f)(0.0)", "from scipy.linalg import expm; return expm(x * np.eye(2))[0, 0]", 1.0),
        ("ad.jvp(f, (2.0,), (1.0,))[1]", "import scipy.fft; return scipy.fft.dct([x, x])[0]", 4.0),
        ("ad.grad(f)(2.0)", "return -np.polynomial.polynomial.polyroots([x, 1.0])[0]", 1.0),
        ("ad.vmap(f)(np.ones(1))[0]", "return np.polynomial.Polynomial([1.0, x])(3.0)", 4.0),
        ("ad.grad(ad.grad(f))(3.0)", "from scipy.stats import norm; return norm.logpdf(x)", -1.0),
        (
            "ad.grad(f)(3.0)",  # the module is patched for the inner derivative, while f runs
            """y = np.zeros(1); y[0] = x  # this alone runs f again
    from scipy.spatial.distance import euclidean
    return ad.grad(lambda z: z * z)(euclidean(y, [0.0]))""",
            2.0,
        ),
    ],
)
def test_scipy_that_a_function_is_the_first_to_import(transform, body, expected):
    """It is patched, and the function is run again; the same is done for np.polynomial."""
    program = f"""
import numpy as np, simpleautodiff as ad
def f(x):
    {body}
print(float({transform}), float({transform}))
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stderr == ""
    assert [float(word) for word in answer.stdout.split()] == pytest.approx([expected, expected])


@pytest.mark.parametrize("inner", ["", "ad.grad(lambda z: z * z)(1.0)"])
def test_a_solver_that_a_function_is_the_first_to_import_does_not_give_zero(inner):
    program = f"""
import simpleautodiff as ad
def f(p):
    from scipy.optimize import golden
    lowest = golden(lambda x: (x - p) ** 2, brack=(-5, 0, 5))
    {inner}
    return lowest
print(ad.grad(f)(2.25))
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stderr == ""
    assert float(answer.stdout) == pytest.approx(1.0)


def test_solvers_that_only_compare_do_not_give_zero():
    lowest = lambda p: opt.golden(lambda x: (x - p) ** 2, brack=(-5, 0, 5))
    root = lambda p: opt.newton(lambda x: x * x - p, 1.5, fprime=lambda x: 2 * x)
    assert ad.grad(lowest)(2.25) == pytest.approx(1.0)
    assert ad.grad(root)(2.25) == pytest.approx(1 / 3)


def test_steps_of_newton_are_differentiated():
    root = lambda p: opt.newton(lambda x: x * x - p, 1.0)
    np.testing.assert_allclose(ad.grad(root)(2.25), 1 / 3, rtol=1e-8)
    both = lambda p: opt.newton(lambda x: x * x - p, 1.0, full_output=True)[0]
    np.testing.assert_allclose(ad.grad(both)(2.25), 1 / 3, rtol=1e-8)


def test_correlations_of_a_batch_are_those_of_each_example():
    draw = np.random.default_rng(3)
    xs, y = draw.normal(size=(3, 6)), draw.normal(size=6)
    for part in (lambda x: st.pearsonr(x, y)[0], lambda x: st.pearsonr(x, y).pvalue):
        np.testing.assert_allclose(ad.vmap(part)(xs), [part(x) for x in xs], rtol=1e-13)
        np.testing.assert_allclose(
            ad.vmap(ad.grad(part))(xs), [ad.grad(part)(x) for x in xs], rtol=1e-11
        )
