"""Derivatives of functions of eigenvalues and vectors where eigenvalues are repeated.

The derivative of a function g of a symmetric matrix Q W Qᵀ along E is Q (D ∘ QᵀEQ) Qᵀ, where D has
the divided differences of g (Daleckii and Krein); for equal values these are its derivatives.
"""

import mpmath
import numpy as np
import pytest
import scipy.linalg

import simpleautodiff as ad

rng = np.random.default_rng(5)
Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
S, E, F = rng.normal(size=(3, 3, 3))
E = E + E.T
FUNCTIONS = {  # a function of numbers, and its derivative
    "exp": (np.exp, np.exp),
    "whitening": (lambda w: 1 / np.sqrt(w), lambda w: -0.5 / np.sqrt(w) ** 3),
    "log": (np.log, lambda w: 1 / w),
    "regularised": (lambda w: 1 / (w + 1e-3), lambda w: -1 / (w + 1e-3) ** 2),
}
VALUES = {
    "one": (np.eye(3), (1.0, 1.0, 1.0)),
    "two": (np.eye(3), (2.0, 2.0, 2.0)),
    "a pair": (Q, (2.0, 2.0, 5.0)),
    "another pair": (Q, (0.5, 3.0, 3.0)),
    "a small pair": (np.eye(3), (1e-3, 1e-3, 50.0)),
}


def symmetric(a):
    return (a + np.swapaxes(a, -1, -2)) / 2


def matrix(basis, values):
    return symmetric((basis * np.array(values)) @ basis.T)


def by_eigh(g):
    def function(a):
        w, v = np.linalg.eigh(symmetric(a))
        return (v * g(w)[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2))

    return function


def by_eig(g):
    def function(a):
        w, v = np.linalg.eig(a)
        return (v * g(w)) @ np.linalg.inv(v)

    return function


def by_svd(g):
    """For symmetric positive definite matrices, the singular values are the eigenvalues."""

    def function(a):
        u, s, vh = np.linalg.svd(a)
        return (u * g(s)) @ vh

    return function


def exact(g, slope, basis, values, direction):
    pairs = np.array(
        [[slope(a) if a == b else (g(a) - g(b)) / (a - b) for a in values] for b in values]
    )
    return basis @ (pairs * (basis.T @ direction @ basis)) @ basis.T


@pytest.mark.parametrize("where", VALUES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", [by_eigh, by_eig, by_svd])
def test_functions_of_matrices_have_their_derivatives(way, name, where):
    g, slope = FUNCTIONS[name]
    basis, values = VALUES[where]
    f, a = way(g), matrix(basis, values)
    right = exact(g, slope, basis, np.array(values), E)
    tolerance = {"atol": 2e-12 * np.max(np.abs(right)), "rtol": 0}
    np.testing.assert_allclose(ad.jvp(f, (a,), (E,))[1], right, **tolerance)
    np.testing.assert_allclose(ad.linearize(f, a)[1](E), right, **tolerance)
    pulled = ad.grad(lambda a: np.sum(S * f(a)))(a)
    np.testing.assert_allclose(
        np.sum(pulled * E), np.sum(S * right), atol=1e-11 * np.max(np.abs(right))
    )
    for jacobian in (ad.jacfwd, ad.jacrev):
        pushed = np.einsum("ijkl,kl", jacobian(f)(a), E)
        np.testing.assert_allclose(pushed, right, **tolerance)


@pytest.mark.parametrize("where", [(1.0, 1.0, 1.0), (3.0, 3.0, 3.0)])
def test_higher_derivatives_are_right_too(where):
    """(c + tE)^(-1/2) has the derivatives -1/2, 3/4, -15/8, 105/16 times powers of c and E."""
    c, a = where[0], np.diag(where)
    f = lambda a: np.sum(S * by_eigh(lambda w: 1 / np.sqrt(w))(a))
    along = lambda n: np.sum(S * np.linalg.matrix_power(E, n)) * c ** (-0.5 - n)
    assert ad.derivative(lambda t: f(a + t * E), 2)(0.0) == pytest.approx(0.75 * along(2), 1e-12)
    assert ad.derivative(lambda t: f(a + t * E), 3)(0.0) == pytest.approx(-1.875 * along(3), 1e-10)
    for outer in (ad.jacfwd, ad.jacrev):
        for inner in (ad.jacfwd, ad.jacrev):
            second = np.einsum("ijkl,ij,kl", outer(inner(f))(a), E, E)
            assert second == pytest.approx(0.75 * along(2), 1e-12)
    assert np.sum(E * ad.hvp(f, (a,), (E,))) == pytest.approx(0.75 * along(2), 1e-12)


@pytest.mark.parametrize(("way", "orders"), [(by_eigh, 4), (by_eig, 3), (by_svd, 2)])
def test_further_derivatives_of_a_function_of_a_matrix(way, orders):
    """tr S (a + tE)³ is a polynomial; each decomposition has some of its derivatives."""
    a = np.diag([2.0, 2.0, 5.0])
    cube = lambda t: np.sum(S * np.linalg.matrix_power(a + t * E, 3))
    f = lambda t: np.sum(S * np.real(way(lambda w: w**3)(a + t * E)))
    for n in range(1, orders + 1):
        expected = ad.derivative(cube, n)(0.0)
        assert ad.derivative(f, n)(0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    second = ad.derivative(cube, 2)(0.0)
    assert ad.grad(ad.grad(f))(0.0) == pytest.approx(second, rel=1e-11)
    whole = lambda a: np.sum(S * np.real(way(lambda w: w**3)(symmetric(a))))
    assert np.sum(E * ad.hvp(whole, (a,), (E,))) == pytest.approx(second, rel=1e-11)


@pytest.mark.parametrize("values", [(1.0, 0.0, 0.0), (3.0, 3.0, 0.0)])
def test_second_derivatives_of_a_function_of_a_singular_matrix(values):
    f = lambda a: np.sum(S * (lambda u, s, vh: (vh.T * s**2) @ vh)(*np.linalg.svd(a)))
    second = ad.hvp(f, (np.diag(values),), (F,))  # of S · aᵀa
    np.testing.assert_allclose(second, F @ (S + S.T), atol=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 4), (4, 3)])
def test_second_derivatives_at_several_singular_values_that_are_0(rows, columns):
    """U S³ Vᵀ is a aᵀ a, whose second derivative along d has three terms."""
    draw = np.random.default_rng(rows * columns)
    a = np.outer(draw.normal(size=rows), draw.normal(size=columns))  # of rank 1
    d, weights = draw.normal(size=(2, rows, columns))

    def f(t):
        u, s, vh = np.linalg.svd(a + t * d, full_matrices=False)
        return np.sum(weights * ((u * s**3) @ vh))

    expected = 2 * np.sum(weights * (d @ d.T @ a + d @ a.T @ d + a @ d.T @ d))
    for outer in (ad.derivative, ad.grad):
        for inner in (ad.derivative, ad.grad):
            assert outer(inner(f))(0.0) == pytest.approx(expected, rel=1e-10)


def test_polar_factors():
    """U Vᵀ turns by the solution X of P X + X P = UᵀE - EᵀU; of a multiple of 1 it is explicit."""
    polar = lambda a: (lambda u, s, vh: u @ vh)(*np.linalg.svd(a))
    right = (F - F.T) / 4
    np.testing.assert_allclose(ad.jvp(polar, (2 * np.eye(3),), (F,))[1], right, atol=1e-15)
    turned = ad.jvp(polar, (2 * Q,), (Q @ F,))[1]
    np.testing.assert_allclose(turned, Q @ right, atol=1e-14)
    pulled = ad.grad(lambda a: np.sum(S * polar(a)))(2 * np.eye(3))
    np.testing.assert_allclose(pulled, (S - S.T) / 4, atol=1e-15)


def test_projectors_onto_all_vectors_of_a_value():
    """dP = P dA (c - A)⁺ + its transpose, for the projector P onto the eigenspace of c."""
    a = matrix(Q, (2.0, 2.0, 5.0))
    p = Q[:, :2] @ Q[:, :2].T
    right = p @ E @ (np.eye(3) - p) / (2 - 5)
    project = lambda a: (lambda v: v[:, :2] @ v[:, :2].T)(np.linalg.eigh(symmetric(a))[1])
    np.testing.assert_allclose(ad.jvp(project, (a,), (E,))[1], right + right.T, atol=1e-14)


def test_a_function_of_a_singular_matrix():
    """V g(S²) Vᵀ is a function of AᵀA, also where singular values are 0."""
    a = np.diag([1.0, 0.0, 0.0])
    f = lambda a: (lambda u, s, vh: (vh.T * np.exp(s**2)) @ vh)(*np.linalg.svd(a))
    right = exact(np.exp, np.exp, np.eye(3), np.array([1.0, 0.0, 0.0]), F.T @ a + a @ F)
    np.testing.assert_allclose(ad.jvp(f, (a,), (F,))[1], right, atol=1e-14)


def test_one_decomposition_after_another():
    f = lambda a: by_eigh(np.log)(by_eigh(np.exp)(a))
    np.testing.assert_allclose(ad.jvp(f, (np.eye(3),), (E,))[1], E, atol=1e-14)


def test_symmetric_functions_of_eigenvalues():
    a = 2 * np.eye(3)
    of_values = lambda g: lambda a: np.sum(g(np.linalg.eigvalsh(symmetric(a))))
    np.testing.assert_allclose(ad.grad(of_values(np.log))(a), np.eye(3) / 2, atol=1e-15)
    second = np.einsum("ijkl,ij,kl", ad.hessian(of_values(np.log))(a), E, E)
    assert second == pytest.approx(-np.sum(E * E) / 4, 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_kinds_of_numbers(dtype):
    a, direction = np.eye(3, dtype=dtype), E.astype(dtype)
    if dtype == np.complex128:
        direction = direction + 1j * (F - F.T)
    pushed = ad.jvp(lambda a: by_eigh_complex(a), (a,), (direction,))[1]
    np.testing.assert_allclose(
        pushed,
        np.e * direction,
        rtol=50 * np.finfo(dtype).eps,
        atol=1e-6 if dtype == np.float32 else 1e-14,
    )


def by_eigh_complex(a):
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ np.conj(v.T)


def test_stacks_of_matrices():
    stack = np.stack([np.eye(3), np.diag([1.0, 2.0, 3.0]), matrix(Q, (2.0, 2.0, 5.0))])
    f = by_eigh(np.exp)
    pushed = ad.jvp(f, (stack,), (np.stack([E] * 3),))[1]
    for one, part in zip(stack, pushed, strict=True):
        np.testing.assert_allclose(part, ad.jvp(f, (one,), (E,))[1], rtol=1e-12, atol=1e-12)


ARBITRARY = {
    "an element": lambda v: v[0, 0],
    "its square": lambda v: v[0, 0] ** 2,
    "a fourth power": lambda v: v[0, 1] ** 4,
    "an absolute value": lambda v: np.abs(v[0, 1]),
    "a part of the vectors": lambda v: np.sum(S * (v[:, :2] @ v[:, :2].T)),
    "a small element": lambda v: 1e-9 * v[0, 0] + np.sum(v @ v.T),
}


@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_a_function_of_a_derivative_at_repeated_values(inner):
    """At c 1 the first derivative of expm along E is eᶜ E, and the second eᶜ (E F + F E) / 2."""
    expm, f, c = by_eigh(np.exp), symmetric(F), 0.3
    slope = {
        "forward": lambda a: ad.jvp(expm, (a,), (E,))[1][0, 1],
        "reverse": lambda a: np.sum(ad.grad(lambda a: expm(a)[0, 1])(a) * E),
    }[inner]
    function = lambda a: np.exp(slope(a))
    expected = np.exp(c + np.exp(c) * E[0, 1]) * ((E @ f + f @ E) / 2)[0, 1]
    at = c * np.eye(3)
    assert ad.jvp(function, (at,), (f,))[1] == pytest.approx(expected, rel=1e-12)
    assert np.sum(ad.grad(function)(at) * f) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("at", [np.eye(3), matrix(Q, (1.0, 1.0, 1.0)), np.zeros((3, 3))])
@pytest.mark.parametrize("name", ARBITRARY)
def test_what_depends_on_the_vectors_has_no_derivative(name, at):
    f = lambda a: ARBITRARY[name](np.linalg.eigh(symmetric(a))[1])
    with pytest.warns(ad.DomainWarning, match="repeated"):
        assert np.all(np.isnan(ad.grad(f)(at)))
    with pytest.warns(ad.DomainWarning, match="repeated"):
        assert np.isnan(ad.jvp(f, (at,), (E,))[1])


def test_a_polar_factor_of_a_singular_matrix_has_no_derivative():
    polar = lambda a: np.sum(S * (lambda u, s, vh: u @ vh)(*np.linalg.svd(a)))
    with pytest.warns(ad.DomainWarning, match="repeated"):
        assert np.all(np.isnan(ad.grad(polar)(np.diag([1.0, 1.0, 0.0]))))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # complex from NumPy 2.5 on
def test_too_few_eigenvectors():
    f = lambda a: np.sum(by_eig(np.exp)(a))
    with pytest.warns(ad.DomainWarning, match="repeated"):
        assert np.all(np.isnan(ad.grad(f)(np.array([[1.0, 1.0], [0.0, 1.0]]))))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-15, 3e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8, 1e-4])
def test_values_that_are_nearly_repeated(gap):
    """Digits are lost in proportion to rounding over the gap, except where that is none."""
    values = np.array([1.0, 1.0 + gap, 3.0])
    a, f = np.diag(values), by_eigh(lambda w: 1 / np.sqrt(w))
    with mpmath.workdps(50):
        g, numbers = lambda x: 1 / mpmath.sqrt(x), [mpmath.mpf(x) for x in values]
        slope = lambda x: -1 / (2 * mpmath.sqrt(x) ** 3)
        right = np.array(
            [
                [float(slope(x) if x == y else (g(x) - g(y)) / (x - y)) for x in numbers]
                for y in numbers
            ]
        )
    error = np.max(np.abs(ad.jvp(f, (a,), (E,))[1] - right * E))
    gap = values[1] - values[0]
    rounding = np.finfo(float).eps * 3
    close = gap <= 8 * 3 * rounding
    assert error <= (1e-13 if close else 1e-14 + 4 * rounding / gap)


def test_compiled_functions_run_as_they_are_at_repeated_values():
    f = lambda a: np.sum(S * by_eigh(np.exp)(a))
    gradient, compiled = ad.grad(f), ad.jit(ad.grad(f))
    apart = [np.diag([1.0, 2.0, 3.0]) + 0.1 * k * E for k in range(4)]
    for a in [*apart, np.eye(3), 2 * np.eye(3), *apart]:
        np.testing.assert_allclose(compiled(a), gradient(a), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", [by_eigh, by_eig, by_svd])
def test_batches_with_repeated_values_have_the_right_derivatives(way):
    """Examples with repeated values, at any place, beside others; inside and outside of a batch."""
    g, slope = FUNCTIONS["whitening"]
    points = [
        VALUES["a pair"],
        (Q, (1.0, 2.0, 3.0)),
        VALUES["two"],
        VALUES["a pair"],
        (Q, (4, 5, 7)),
    ]
    stack = np.stack([matrix(basis, values) for basis, values in points])
    right = [np.sum(S * exact(g, slope, basis, np.array(v), E)) for basis, v in points]
    f = lambda a: np.sum(S * way(g)(a))
    along = lambda pulled: np.sum(pulled * E, axis=(-2, -1))
    tolerance = {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(along(ad.vmap(ad.grad(f))(stack)), right, **tolerance)
    of_batch = ad.grad(lambda stack: np.sum(ad.vmap(f)(stack)))
    np.testing.assert_allclose(along(of_batch(stack)), right, **tolerance)
    pushed = ad.vmap(lambda a: ad.jvp(f, (a,), (E,))[1])(stack)
    np.testing.assert_allclose(pushed, right, **tolerance)
    last = ad.vmap(ad.grad(f), in_axes=2, out_axes=-1)(np.moveaxis(stack, 0, 2))
    np.testing.assert_allclose(along(np.moveaxis(last, -1, 0)), right, **tolerance)
    twice = ad.vmap(ad.vmap(ad.grad(f)))(np.stack([stack[:2], stack[2:4]]))
    np.testing.assert_allclose(along(twice).ravel(), right[:4], **tolerance)


def test_second_derivatives_in_a_batch():
    """That of (2 + tE)^(-1/2) is 3/4 2^(-5/2) E²."""
    f = lambda a: np.sum(S * by_eigh(FUNCTIONS["whitening"][0])(a))
    stack = np.stack([np.diag([1.0, 2.0, 4.0]), 2 * np.eye(3)])
    second = np.einsum("ijkl,ij,kl", ad.vmap(ad.hessian(f))(stack)[1], E, E)
    assert second == pytest.approx(0.75 * 2.0**-2.5 * np.sum(S * (E @ E)), rel=1e-12)


@pytest.mark.parametrize("name", ARBITRARY)
def test_what_depends_on_the_vectors_has_no_derivative_in_a_batch(name):
    f = lambda a: ARBITRARY[name](np.linalg.eigh(symmetric(a))[1])
    stack = np.stack([np.eye(3), np.diag([1.0, 2.0, 3.0]) + 0.1 * E])
    with pytest.warns(ad.DomainWarning, match="repeated"):
        first, second = ad.vmap(ad.grad(f))(stack)
    assert np.all(np.isnan(first))
    np.testing.assert_allclose(second, ad.grad(f)(stack[1]), rtol=1e-12, atol=1e-14)


def test_graphs_typed_by_hand_say_that_they_do_not_know():
    f = lambda a: np.sum(S * by_eigh(np.exp)(a))
    a = ad.Node(np.eye(3))
    with pytest.warns(ad.DomainWarning, match="repeated"):
        assert np.all(np.isnan(ad.reverse(f(a))[a]))


def test_values_are_those_of_the_plain_function():
    f = lambda a: np.sum(S * by_eigh(np.exp)(a))
    for a in (np.eye(3), matrix(Q, (2.0, 2.0, 5.0))):
        assert ad.value_and_grad(f)(a)[0] == f(a)
        assert ad.jvp(f, (a,), (E,))[0] == f(a)
        aux = ad.grad(lambda a: (f(a), np.linalg.eigh(a)[1]), has_aux=True)(a)[1]
        np.testing.assert_array_equal(aux, np.linalg.eigh(a)[1])
        tangent, aux = ad.jvp(lambda a: (f(a), a), (a,), (E,), has_aux=True)[1:]
        assert tangent == ad.jvp(f, (a,), (E,))[1]
        np.testing.assert_array_equal(aux, a)


@pytest.mark.parametrize("scale", [1e-6, 2.0, 1e6])
def test_an_element_that_is_0_does_not_depend_on_the_basis(scale):
    """Of A^(-1/2) at s I: d = -1/2 s^(-3/2) dA, whatever rounding leaves of the 0 beside it."""

    def inverse_root(a):
        w, v = np.linalg.eigh((a + a.T) / 2)
        return ((v / np.sqrt(w)) @ v.T)[0, 1]

    a, slope = scale * np.eye(2), -(scale**-1.5) / 4
    off = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(ad.grad(inverse_root)(a), slope * off, rtol=1e-13)
    np.testing.assert_allclose(ad.jvp(inverse_root, (a,), (off,))[1], 2 * slope, rtol=1e-13)


def test_a_function_of_a_matrix_whose_vectors_are_not_orthogonal():
    basis = np.array([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]])
    a = basis @ np.diag([1.0, 2, 2]) @ np.linalg.inv(basis)
    weights = np.arange(9.0).reshape(3, 3) - 3

    def f(a):
        w, v = np.linalg.eig(a)
        return np.real(np.sum(((v * np.exp(w)) @ np.linalg.inv(v)) * weights))

    expected = scipy.linalg.expm_frechet(a.T, weights)[1]
    np.testing.assert_allclose(ad.grad(f)(a), expected, rtol=1e-11, atol=1e-11)
    along = ad.jvp(f, (a,), (weights,))[1]
    np.testing.assert_allclose(along, np.sum(expected * weights), rtol=1e-11)


OF_SCIPY = {
    "svd": lambda a: scipy.linalg.svd(a),
    "svd by gesvd": lambda a: scipy.linalg.svd(a, lapack_driver="gesvd"),
    "eigh": lambda a: by_vectors(*scipy.linalg.eigh(a)),
    "eigh by ev": lambda a: by_vectors(*scipy.linalg.eigh(a, driver="ev")),
    "eigh of a part": lambda a: by_vectors(*scipy.linalg.eigh(a, subset_by_index=[0, 2])),
    "eigh of two": lambda a: by_vectors(*scipy.linalg.eigh(a, np.eye(3, dtype=a.dtype))),
    "eig": lambda a: by_vectors(*scipy.linalg.eig(a)),
}


def by_vectors(values, vectors):
    return vectors, np.real(values), np.linalg.inv(vectors)


@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.parametrize(("dtype", "digits"), [(float, 1e-11), (np.float32, 2e-4)])
@pytest.mark.parametrize("name", OF_SCIPY)
def test_scipy_may_take_other_vectors_of_a_repeated_value(name, dtype, digits):
    """Its values do not become those of a derivative that belongs to NumPy's vectors."""
    basis, values = VALUES["a pair"]
    a, weights = matrix(basis, values).astype(dtype), S.astype(dtype)

    def f(a):
        u, s, vh = OF_SCIPY[name](symmetric(a))
        return np.sum(weights * np.real((u * np.exp(s)) @ vh))

    expected = np.sum(S * exact(np.exp, np.exp, basis, values, E))
    value, slope = ad.value_and_grad(f)(a)
    assert value == pytest.approx(np.sum(S * matrix(basis, np.exp(values))), rel=digits)
    assert np.sum(slope * E) == pytest.approx(expected, rel=digits)
    assert np.sum(ad.jacfwd(f)(a) * E) == pytest.approx(expected, rel=digits)
    assert ad.jvp(f, (a,), (E.astype(dtype),))[1] == pytest.approx(expected, rel=digits)
    batch = ad.vmap(ad.grad(f))(np.stack([a, a + np.eye(3, dtype=dtype)]))
    assert np.sum(batch[0] * E) == pytest.approx(expected, rel=digits)
