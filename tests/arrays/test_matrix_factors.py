"""Factors and equations of matrices by scipy.linalg on nodes: both modes, and what is known."""

import numpy as np
import pytest
import scipy.linalg as sl

import simpleautodiff as ad
from references import alike, check_both_modes, differences

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 2))
TALL = RNG.normal(size=(4, 3))
SYMMETRIC, POSITIVE = A + A.T, A @ A.T + np.eye(4)
INDEFINITE = SYMMETRIC - 0.999 * np.diag(np.diag(SYMMETRIC))  # with pivots of size 2
REAL = np.diag([1.0, 2.0, 4.0, 7.0]) + 0.3 * A  # with real eigenvalues
R2 = np.array([[2.0, 0.3], [0.3, 1.0]])
EYE = np.eye(2)


def symmetric(x):
    return (x + x.T) / 2


CASES = {
    "polar, orthogonal": (lambda x: sl.polar(x)[0], A),
    "polar, positive": (lambda x: sl.polar(x)[1], A),
    "polar, tall": (lambda x: sl.polar(x)[0] @ sl.polar(x)[1], TALL),
    "polar, tall, positive": (lambda x: sl.polar(x)[1], TALL),
    "polar, wide": (lambda x: sl.polar(x)[1], TALL.T),
    "polar, left": (lambda x: sl.polar(x, side="left")[1], TALL.T),
    "polar of equal singular values": (lambda x: sl.polar(x)[0], 2 * np.eye(3)),
    "signm": (lambda x: sl.signm(x), REAL - 3 * np.eye(4)),
    "schur, T": (lambda x: sl.schur(x)[0], REAL),
    "schur, Z": (lambda x: sl.schur(x)[1], REAL),
    "hessenberg": (lambda x: sl.hessenberg(x), A),
    "hessenberg, Q": (lambda x: sl.hessenberg(x, calc_q=True)[1], A),
    "ldl, L": (lambda x: sl.ldl(x)[0], SYMMETRIC),
    "ldl, D": (lambda x: sl.ldl(x)[1], POSITIVE),
    "ldl, blocks": (lambda x: sl.ldl(x)[1], INDEFINITE),
    "ldl, L of blocks": (lambda x: sl.ldl(x)[0], INDEFINITE),
    "continuous riccati, a": (lambda x: sl.solve_continuous_are(x, B, POSITIVE, EYE), A),
    "continuous riccati, b": (lambda x: sl.solve_continuous_are(A, x, POSITIVE, EYE), B),
    "continuous riccati, q": (
        lambda x: sl.solve_continuous_are(A, B, symmetric(x), EYE),
        POSITIVE,
    ),
    "continuous riccati, r": (
        lambda x: sl.solve_continuous_are(A, B, POSITIVE, symmetric(x)),
        R2,
    ),
    "discrete riccati, a": (lambda x: sl.solve_discrete_are(x, B, POSITIVE, EYE), A),
    "discrete riccati, b": (lambda x: sl.solve_discrete_are(A, x, POSITIVE, EYE), B),
    "discrete riccati, q": (lambda x: sl.solve_discrete_are(A, B, symmetric(x), EYE), POSITIVE),
    "discrete riccati, r": (lambda x: sl.solve_discrete_are(A, B, POSITIVE, symmetric(x)), R2),
}
each = pytest.mark.parametrize(("f", "x"), CASES.values(), ids=CASES.keys())


@each
def test_both_modes(f, x):
    check_both_modes(f, x, exact=1e-12, near=1e-8, transposed=1e-13)


@each
def test_second_derivatives(f, x):
    total = lambda x: np.sum(np.sin(f(x)))
    direction = 0.1 * np.cos(np.arange(x.size)).reshape(x.shape)
    product = ad.hvp(total, (x,), (direction,))
    alike(ad.grad(lambda x: np.sum(ad.grad(total)(x) * direction))(x), product, 1e-12)
    alike(product, differences(ad.grad(total), x, direction), 1e-8)


# What is known exactly. ---------------------------------------------------------------------------


def test_riccati_of_numbers():
    """2 a x - x² b²/r + q = 0 has the root x = r (a + √(a² + b² q/r))/b²."""
    root = lambda a, b, q, r: r * (a + ad.sqrt(a * a + b * b * q / r)) / b**2
    point = (0.7, 1.3, 2.0, 0.4)
    one = lambda x: x * np.ones((1, 1))
    f = lambda *args: sl.solve_continuous_are(*map(one, args))[0, 0]
    np.testing.assert_allclose(
        ad.grad(f, (0, 1, 2, 3))(*point), ad.grad(root, (0, 1, 2, 3))(*point)
    )
    second = ad.hessian(f, (0, 1, 2, 3))(*point)
    np.testing.assert_allclose(second, ad.hessian(root, (0, 1, 2, 3))(*point), rtol=1e-10)


def test_the_factors_of_a_rotation_times_a_stretch():
    """The turn of R(t) diag(a, b) is R(t), whose derivative in t is R(t + π/2)."""
    turn = lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    f = lambda t: sl.polar(turn(t) @ np.diag([2.0, 5.0]))[0]
    np.testing.assert_allclose(ad.jvp(f, (0.3,), (1.0,))[1], turn(0.3 + np.pi / 2), atol=1e-14)


def test_the_sign_does_not_change():
    """Of a matrix with its eigenvalues on one side it is the unit matrix, or minus it."""
    gradient = ad.jacobian(sl.signm)(POSITIVE)
    np.testing.assert_allclose(gradient, np.zeros_like(gradient), atol=1e-12)


# Refusals. ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "error", "message"),
    [
        (lambda x: sl.schur(x)[0], np.eye(2), ad.RuleError, "distinct real eigenvalues"),
        (
            lambda x: sl.schur(x)[0],
            np.array([[0.0, 1.0], [-1.0, 0.0]]),
            ad.RuleError,
            r"scipy\.linalg\.eig",
        ),
        (lambda x: sl.schur(x, "complex")[0], REAL, ad.RuleError, "output='real'"),
        (lambda x: sl.hessenberg(x), np.eye(3), ad.AutodiffError, "no 0 below the diagonal"),
        (lambda x: sl.ldl(x, lower=False)[0], POSITIVE, ad.RuleError, "lower=True"),
        (lambda x: sl.polar(x, "up")[0], A, ad.AutodiffError, "'right' or 'left'"),
        (lambda x: sl.polar(x)[0], np.ones(3), ad.AutodiffError, "one matrix"),
        (
            lambda x: sl.solve_continuous_are(x, B, POSITIVE, EYE, np.eye(4)),
            A,
            ad.RuleError,
            "no rule for e=",
        ),
    ],
)
def test_refusals(f, x, error, message):
    with pytest.raises(error, match=message):
        ad.grad(lambda x: np.sum(f(x)))(x)


@pytest.mark.parametrize("name", ["schur", "hessenberg", "ldl", "lu_factor"])
def test_a_batch_is_computed_one_by_one(name):
    f = lambda x: np.sum(getattr(sl, name)(x)[0] ** 3)
    matrices = np.stack([POSITIVE, POSITIVE @ POSITIVE, 2 * POSITIVE])
    alone = [ad.value_and_grad(f)(x) for x in matrices]
    values, slopes = ad.vmap(ad.value_and_grad(f))(matrices)
    np.testing.assert_allclose(values, [value for value, _ in alone], rtol=1e-13)
    np.testing.assert_allclose(slopes, [slope for _, slope in alone], rtol=1e-13)


# Less than full rank. -----------------------------------------------------------------------------

SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])


@pytest.mark.parametrize("qr", [lambda x: np.linalg.qr(x), lambda x: sl.qr(x)])
def test_the_last_element_of_a_square_r_may_be_0(qr):
    """The last column of Q is what the first two leave: Q and R are smooth."""
    f = lambda x: np.concatenate(qr(x))
    direction = check_both_modes(f, SINGULAR, exact=1e-12, near=1e-8, transposed=1e-13)
    of_one = ad.jacobian(lambda x: np.concatenate(qr(x)))(np.zeros((1, 1)))
    assert abs(of_one).ravel().tolist() == [0.0, 1.0]  # Q is ±1, R is ± the element
    slope = ad.grad(lambda x: np.sum(f(x) * np.cos(np.arange(18.0)).reshape(6, 3)))
    second = ad.jvp(slope, (SINGULAR,), (direction,))[1]
    alike(second, differences(slope, SINGULAR, direction), 1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.qr(x)[0],
        lambda x: np.linalg.qr(x[:, :2])[1],
        lambda x: sl.polar(x)[0],
        lambda x: sl.polar(x)[1],
        lambda x: sl.fractional_matrix_power(x, 0.5),
    ],
)
@pytest.mark.parametrize("x", [np.ones((3, 3)), np.zeros((3, 3))])
def test_factors_that_jump_are_refused(f, x):
    with pytest.raises(ad.errors.MatrixError, match="full rank"):
        ad.grad(lambda x: f(x).sum())(x)
    with pytest.raises(ad.errors.MatrixError, match="full rank"):
        ad.jvp(f, (x,), (x + 1,))
    with pytest.raises(ad.errors.MatrixError, match="full rank"):
        ad.vmap(ad.grad(lambda x: f(x).sum()))(np.stack([np.eye(3), x]))


def test_the_pseudoinverse_of_a_matrix_close_to_singular_has_the_slopes_of_the_inverse():
    left, right = (
        np.linalg.qr(RNG.normal(size=(4, 4)))[0] for RNG in map(np.random.default_rng, (1, 2))
    )
    a = left @ np.diag([1.0, 0.3, 0.1, 1e-6]) @ right
    weights = np.arange(16.0).reshape(4, 4) - 7
    inverse, pseudo = (
        lambda a, inv=inv: np.sum(weights * inv(a)) for inv in (np.linalg.inv, np.linalg.pinv)
    )
    expected = ad.grad(inverse)(a)
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(ad.grad(pseudo)(a), expected, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(
        ad.jacobian(pseudo, mode="forward")(a), expected, rtol=0, atol=1e-8 * scale
    )


COUNT = np.arange(1.0, 17.0).reshape(4, 4)
FULL = {  # a single vector is added to U, or to V
    "tall": (lambda x: np.linalg.svd(x)[0] * COUNT, TALL),
    "wide": (lambda x: np.linalg.svd(x)[2] * COUNT, TALL.T),
    "wide, by SciPy": (lambda x: sl.svd(x)[2] * COUNT, TALL.T),
    "several added, not used": (lambda x: np.linalg.svd(x)[2] ** 2, A[:, :2]),
    "null vector, normalised": (lambda x: np.linalg.svd(x)[2][-1] / x[0, 0], TALL.T),
}


@pytest.mark.parametrize("name", FULL)
def test_all_singular_vectors_of_matrices_that_are_not_square(name):
    f, x = FULL[name]
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    slope = differences(f, x, u)
    total = lambda x: np.sum(f(x))
    alike(np.tensordot(ad.jacobian(f, mode="reverse")(x), u), slope, 1e-9)
    alike(ad.jvp(f, (x,), (u,))[1], slope, 1e-9)
    alike(ad.hvp(total, (x,), (u,)), differences(ad.grad(total), x, u), 1e-8)
    alike(ad.vmap(f)(x[None])[0], f(x), 1e-12)
    alike(ad.jit(ad.grad(total))(x), ad.grad(total)(x), 1e-12)


def test_singular_vectors_of_any_basis_have_no_derivative():
    tall = A[:, :2]
    first = ad.grad(lambda x: np.sum(np.linalg.svd(x)[0][:, :2] ** 3))(tall)
    thin = ad.grad(lambda x: np.sum(np.linalg.svd(x, False)[0] ** 3))(tall)
    alike(first, thin, 1e-13)
    with pytest.raises(ad.RuleError, match="Pass full_matrices=False"):
        ad.grad(lambda x: np.linalg.svd(x)[0][0, 3])(tall)
    assert np.isnan(ad.jvp(lambda x: np.linalg.svd(x)[0][0, 3], (tall,), (tall,))[1])


def test_a_vector_that_is_one_of_many_has_the_derivative_nan():
    def f(x):  # of rank 1: there are two vectors that the matrix takes to 0
        return np.linalg.svd(np.outer(x[:2], x[2:]))[2][2, 0]

    with pytest.warns(ad.DomainWarning, match="which of their vectors"):
        slope = ad.grad(f)(np.array([1.0, 2.0, 1.0, 1.0, 3.0]))
    assert np.all(np.isnan(slope))


FORMS = {  # what a linear system reads of its matrix
    "symmetric": lambda a, half: half + np.triu(half, 1).T + np.tril(half, -1).T,
    "hermitian": lambda a, half: half + np.triu(half, 1).T + np.tril(half, -1).T,
    "pos": lambda a, half: half + np.triu(half, 1).T + np.tril(half, -1).T,
    "upper triangular": lambda a, half: np.triu(a),
    "lower triangular": lambda a, half: np.tril(a),
    "diagonal": lambda a, half: np.diag(np.diag(a)),
    "tridiagonal": lambda a, half: np.triu(np.tril(a, 1), -1),
    "general": lambda a, half: a,
}


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_linear_system_reads_what_its_form_needs(form, lower):
    a = np.arange(16.0).reshape(4, 4) % 5 + 9 * np.eye(4)
    read = lambda a: FORMS[form](a, np.tril(a) if lower else np.triu(a))
    for turned in (False, True):
        f = lambda a, t=turned: sl.solve(a, a[0], assume_a=form, lower=lower, transposed=t)
        plain = lambda a, t=turned: np.linalg.solve(read(a).T if t else read(a), a[0])
        np.testing.assert_allclose(ad.jvp(f, (a,), (a,))[0], plain(a), rtol=1e-13)
        np.testing.assert_allclose(ad.jacobian(f)(a), ad.jacobian(plain)(a), atol=1e-14)


def test_of_two_symmetric_matrices_one_triangle_is_read():
    a, b = np.diag([1.0, 2.0, 4.0]) + 0.3, np.eye(3) * 2 + 0.5
    f = lambda half: sl.eigh(a, half, lower=True, eigvals_only=True)
    full = lambda half: sl.eigh(a, half + np.tril(half, -1).T, eigvals_only=True)
    np.testing.assert_allclose(
        ad.jacobian(f)(np.tril(b)), ad.jacobian(full)(np.tril(b)), atol=1e-14
    )
    step = 1e-6 * np.tril(np.cos(b + np.arange(3)))
    slope = (f(np.tril(b) + step) - f(np.tril(b) - step)) / 2e-6
    np.testing.assert_allclose(ad.jvp(f, (np.tril(b),), (step * 1e6,))[1], slope, atol=1e-8)


def test_of_a_hermitian_pseudoinverse_one_triangle_is_read():
    a = np.tril(np.diag([1.0, 2.0, 4.0]) + 0.3)
    f = lambda half: np.linalg.pinv(half, hermitian=True)
    full = lambda half: np.linalg.inv(np.tril(half) + np.tril(half, -1).T)
    np.testing.assert_allclose(ad.jvp(f, (a,), (a,))[0], full(a), rtol=1e-13)
    np.testing.assert_allclose(ad.jacobian(f)(a), ad.jacobian(full)(a), atol=1e-13)
