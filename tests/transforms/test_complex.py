"""Complex numbers: JAX's convention for real functions, and derivatives of holomorphic ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as ss

import simpleautodiff as ad

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(5)
Z = rng.normal(size=4) + 1j * rng.normal(size=4)
A = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
H = A @ A.conj().T + np.eye(3)

REAL_VALUED = [
    ("square", lambda np, z: np.sum(np.abs(z) ** 2), Z),
    ("abs", lambda np, z: np.sum(np.abs(z)), Z),
    ("real imag", lambda np, z: np.sum(np.real(z) * np.imag(z) ** 2), Z),
    ("conj", lambda np, z: np.real(np.sum(np.conj(z) * np.sin(z) * z)), Z),
    ("angle", lambda np, z: np.sum(np.angle(z) ** 3), Z),
    ("attributes", lambda np, z: np.sum(z.real * z.imag) + np.sum((z * z.conj()).real), Z),
    ("vdot", lambda np, z: np.abs(np.vdot(z, z**2)), Z),
    ("var std", lambda np, z: np.var(z) + np.std(z), Z),
    ("norm", lambda np, z: np.linalg.norm(z), Z),
    ("matmul", lambda np, z: np.sum(np.abs(A @ z @ A)), A),
    ("einsum", lambda np, z: np.sum(np.imag(np.einsum("ij,kj->ik", z, np.conj(z) * A))), A),
    ("inv det", lambda np, z: np.abs(np.linalg.det(z)) + np.abs(np.linalg.inv(z)).sum(), A),
    ("solve", lambda np, z: np.sum(np.abs(np.linalg.solve(z, A))), H),
    ("slogdet", lambda np, z: np.linalg.slogdet(z)[1], A),
    ("eigvalsh", lambda np, z: np.sum(np.linalg.eigvalsh(z @ np.conj(z).T) ** 2), A),
    ("eigh", lambda np, z: np.sum(np.abs(np.linalg.eigh(z @ np.conj(z).T)[1]) ** 3), A),
    ("cholesky", lambda np, z: np.sum(np.abs(np.linalg.cholesky(z @ np.conj(z).T)) ** 3), A),
    ("exponent", lambda np, z: np.abs(np.sum(np.exp(1j * z) / (z + 2) ** 2)), Z),
    ("where", lambda np, z: np.sum(np.abs(np.where(np.real(z) > 0, z**2, np.conj(z)))), Z),
]


@pytest.mark.parametrize(("name", "f", "z"), REAL_VALUED, ids=[case[0] for case in REAL_VALUED])
def test_gradients_of_real_functions_are_those_of_jax(name, f, z):
    ours = ad.grad(lambda z: f(np, z))(z)
    theirs = jax.grad(lambda z: f(jnp, z))(z)
    assert ours.dtype == np.complex128
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
    direction = rng.normal(size=z.shape) + 1j * rng.normal(size=z.shape)
    _, slope = ad.jvp(lambda z: f(np, z), (z,), (direction,))
    assert np.isrealobj(slope)
    np.testing.assert_allclose(slope, np.sum(ours * direction).real, rtol=1e-9)


@pytest.mark.parametrize(("name", "f", "z"), REAL_VALUED, ids=[case[0] for case in REAL_VALUED])
def test_real_parameters_inside_complex_code(name, f, z):
    g = lambda np: lambda t: f(np, z * (t + 0.3j * t**2))
    assert ad.grad(g(np))(0.7) == pytest.approx(float(jax.grad(g(jnp))(0.7)), rel=1e-9)
    second = ad.derivative(g(np), 2)(0.7)
    assert second == pytest.approx(float(jax.grad(jax.grad(g(jnp)))(0.7)), rel=1e-7)


def test_a_gradient_is_the_slope_in_x_minus_i_times_that_in_y():
    f = lambda z: np.real(z) ** 2 + 3 * np.imag(z)
    assert ad.grad(f)(2 + 1j) == 4 - 3j
    assert ad.jacobian(f)(2 + 1j) == 4 - 3j
    assert ad.jacfwd(f)(2 + 1j) == 4 - 3j


def test_complex64_stays_complex64():
    gradient = ad.grad(lambda z: np.sum(np.abs(np.exp(z))))(Z.astype(np.complex64))
    assert gradient.dtype == np.complex64
    gradient = ad.grad(lambda x: np.sum(np.abs(x * 1j + 1)))(np.ones(3, np.float32))
    assert gradient.dtype == np.float32


def test_holomorphic_functions():
    np.testing.assert_allclose(ad.jacrev(lambda z: np.exp(z) * z)(Z), np.diag(np.exp(Z) * (1 + Z)))
    np.testing.assert_allclose(ad.jacfwd(lambda z: np.exp(z) * z)(Z), np.diag(np.exp(Z) * (1 + Z)))
    assert ad.derivative(lambda z: z**5, 3)(1 + 2j) == pytest.approx(60 * (1 + 2j) ** 2)


def test_complex_results_of_real_arrays():
    x = np.array([0.3, -1.2])
    f = lambda x: np.exp(1j * x) * x
    expected = np.diag(np.exp(1j * x) * (1 + 1j * x))
    for jacobian in (ad.jacfwd(f)(x), ad.jacrev(f)(x)):
        np.testing.assert_allclose(jacobian, expected, rtol=1e-13)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(f(x)))(x), np.diag(expected))


@pytest.mark.parametrize("f", [np.conj, lambda z: z * np.abs(z), lambda z: np.real(z) * z])
def test_what_is_not_holomorphic_is_refused(f):
    for derivative in (ad.grad(f), ad.derivative(f), ad.derivative(f, 2), ad.jacfwd(f)):
        with pytest.raises(ad.ResultError, match="not holomorphic"):
            derivative(1 + 2j)


def test_size_of_zero_has_the_gradient_zero():
    assert ad.grad(np.abs)(0j) == 0
    gradient = ad.grad(lambda z: np.sum(np.abs(z)))(np.array([0j, 3j]))
    np.testing.assert_array_equal(gradient, [0, -1j])


B = A[:, 0] * (1 - 2j)


def hermitian(z):
    return z @ np.conj(z).T + np.eye(3)


OF_SCIPY = {
    "cholesky": lambda z: sl.cholesky(hermitian(z)),
    "cholesky lower": lambda z: sl.cholesky(hermitian(z), lower=True),
    "solve_triangular": lambda z: sl.solve_triangular(z, B),
    "solve_triangular T": lambda z: sl.solve_triangular(z, z, trans="T", lower=True),
    "solve_triangular C": lambda z: sl.solve_triangular(z, z, trans="C"),
    "solve_triangular 2": lambda z: sl.solve_triangular(z, B, trans=2, unit_diagonal=True),
    "solve_triangular real": lambda z: sl.solve_triangular(np.real(z), z[0]),
    "cho_solve": lambda z: sl.cho_solve(sl.cho_factor(hermitian(z)), B),
    "cho_solve lower": lambda z: sl.cho_solve(sl.cho_factor(hermitian(z), lower=True), z),
    "lu": lambda z: sl.lu(z)[1] + sl.lu(z)[2],
    "lu_solve": lambda z: sl.lu_solve(sl.lu_factor(z), B),
    "lu_solve T": lambda z: sl.lu_solve(sl.lu_factor(z), B, trans=1),
    "lu_solve C": lambda z: sl.lu_solve(sl.lu_factor(z), B, trans=2),
    "eigvalsh": lambda z: sl.eigvalsh(hermitian(z)),
    "eigvalsh upper": lambda z: sl.eigvalsh(np.triu(hermitian(z)) / 2, lower=False),
    "eigvalsh of two": lambda z: sl.eigvalsh(hermitian(z), hermitian(z @ z)),
    "eigh": lambda z: np.abs(sl.eigh(hermitian(z))[1]),
    "eigh of two": lambda z: np.abs(sl.eigh(hermitian(z), hermitian(z @ z), lower=False)[1]),
    "lyapunov": lambda z: sl.solve_continuous_lyapunov(z, np.conj(z) + B),
    "discrete lyapunov": lambda z: sl.solve_discrete_lyapunov(z, np.conj(z) + B),
    "tanm": lambda z: sl.tanm(z / 3) + sl.tanhm(z / 3),
    "logsumexp": lambda z: ss.logsumexp(z) + ss.logsumexp(3 * z, axis=1),
    "logsumexp far round": lambda z: ss.logsumexp(z + 20j + 800, axis=0, keepdims=True),
    "logsumexp weights": lambda z: ss.logsumexp(z, axis=0, b=np.conj(A)),
    "logsumexp sign": lambda z: ss.logsumexp(z, axis=0, return_sign=True)[1],
    "logsumexp size": lambda z: ss.logsumexp(z, axis=0, return_sign=True)[0],
    "softmax": lambda z: ss.softmax(5 * z, axis=1),
}


@pytest.mark.parametrize("f", OF_SCIPY.values(), ids=OF_SCIPY.keys())
def test_functions_of_scipy_take_complex_matrices(f):
    np.testing.assert_allclose(ad.jvp(f, (A,), (A,))[0], f(A), rtol=1e-10, atol=1e-12)
    weights = np.cos(np.arange(f(A).size)).reshape(f(A).shape) + 0.4j
    size = lambda z: np.sum(np.real(weights * f(z)) ** 2)
    direction = np.sin(np.arange(9.0)).reshape(3, 3) + 1j * np.cos(np.arange(9.0)).reshape(3, 3)
    step = 1e-6 * direction
    slope = (size(A + step) - size(A - step)) / 2e-6
    assert ad.jvp(size, (A,), (direction,))[1] == pytest.approx(slope, rel=1e-6)
    gradient = ad.grad(size)
    assert np.sum(gradient(A) * direction).real == pytest.approx(slope, rel=1e-6)
    second = ad.jvp(gradient, (A,), (direction,))[1]
    differences = (gradient(A + step) - gradient(A - step)) / 2e-6
    np.testing.assert_allclose(second, differences, rtol=1e-5, atol=1e-6 * np.abs(second).max())


REAL_ONES = [1, 1.0, True, np.float64(1), np.float32(1), np.int64(1), np.array(1.0), np.array(1)]
COMPLEX_ONES = [1 + 0j, np.complex128(1), np.complex64(1), np.array(1 + 0j)]
FACTOR = 3 - 2j


@pytest.mark.parametrize("one", [*REAL_ONES, *COMPLEX_ONES], ids=repr)
@pytest.mark.parametrize("unit", [1, 1j])
def test_a_seed_is_the_same_in_every_kind_of_number(one, unit):
    seed = one if unit == 1 else one * unit
    expected = (unit * FACTOR).real  # a real argument gets Re(seed · ∂f/∂x)
    for x in (2.0, np.float64(2.0), np.array(2.0), np.float32(2.0)):
        (adjoint,) = ad.vjp(lambda x: x * FACTOR, x)[1](seed)
        assert adjoint == expected
        assert not np.iscomplexobj(adjoint)
    (adjoint,) = ad.vjp(lambda x: x * FACTOR, 2 + 1j)[1](seed)
    assert adjoint == unit * FACTOR
    assert type(adjoint) is complex
    adjoints = ad.vjp(lambda p: {"a": p[0] * FACTOR, "b": p[1]}, (2.0, 5.0))[1](
        {"a": seed, "b": 1.0}
    )
    assert adjoints == ((expected, 1.0),)
    batch = ad.vmap(lambda x: ad.vjp(lambda x: x * FACTOR, x)[1](seed)[0])(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(batch, [expected, expected])
    assert batch.dtype == float


@pytest.mark.parametrize("kind", [int, float, np.float32, complex, np.complex64])
def test_seeds_of_arrays_are_the_same_in_every_kind_of_number(kind):
    for x in (np.ones(2), np.ones(2, np.float32)):
        (adjoint,) = ad.vjp(lambda x: x * FACTOR, x)[1](np.array([1, 2], kind))
        np.testing.assert_array_equal(adjoint, [3, 6])
        assert adjoint.dtype == x.dtype


@pytest.mark.parametrize("one", [*REAL_ONES, *COMPLEX_ONES], ids=repr)
def test_a_tangent_is_the_same_in_every_kind_of_number(one):
    f = lambda x: x * FACTOR
    if one in REAL_ONES and not np.iscomplexobj(one):
        assert ad.jvp(f, (2.0,), (one,))[1] == ad.linearize(f, 2.0)[1](one) == FACTOR
        assert ad.jvp(lambda x: 3 * x, (2.0,), (one,))[1] == 3.0
    else:  # a real number cannot move in an imaginary direction
        with pytest.raises(ad.errors.ArgumentError, match="Pass a real number"):
            ad.jvp(f, (2.0,), (one,))
        with pytest.raises(ad.errors.ArgumentError, match="Pass a real number"):
            ad.linearize(f, 2.0)[1](one)
        with pytest.raises(ad.errors.ArgumentError, match="Pass a real number"):
            ad.vjp(lambda x: 3 * x, 2.0)[1](one)
    assert ad.jvp(f, (2.0 + 0j,), (one,))[1] == FACTOR


THROUGH_COMPLEX = {  # real functions of a real number, with their first and second derivatives at 2
    "real of a product": (lambda x: np.real(x * (1 + 2j)), 1, 0),
    "real of a difference": (lambda x: np.real(x * 1j - x), -1, 0),
    "imag": (lambda x: np.imag(x * (1 + 2j)), 2, 0),
    "real inside": (lambda x: np.real(np.real(x * 1j) * 1j * x + x * (2 - 1j)), 2, 0),
    "conj": (lambda x: np.real(np.conj(x * 1j) * (2 + 3j)), 3, 0),
    "a square": (lambda x: np.real((x * 1j) * (x + 1j * x)), -4, -2),
    "a structure": (lambda x: np.real(sum([x * 1j, x, 1j * x * x])), 1, 0),
}


@pytest.mark.parametrize("name", THROUGH_COMPLEX)
def test_a_real_number_has_a_real_derivative_through_complex_ones(name):
    f, first, second = THROUGH_COMPLEX[name]
    for way in (ad.grad, ad.derivative, ad.jacfwd, ad.jacrev):
        assert way(f)(2.0) == first
        assert type(way(f)(2.0)) is float
    for way in (lambda f: ad.grad(ad.grad(f)), lambda f: ad.derivative(f, 2), ad.hessian):
        assert way(f)(2.0) == second
        assert not np.iscomplexobj(way(f)(2.0))
    assert ad.jit(ad.grad(f))(2.0) == first
    np.testing.assert_array_equal(ad.vmap(ad.grad(f))(np.array([2.0])), [first])
