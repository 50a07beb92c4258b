"""Sparse matrices of SciPy times nodes, by unchanged code."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import simpleautodiff as ad

GENERATOR = np.random.default_rng(4)
DENSE = np.where(GENERATOR.random((5, 4)) < 0.5, GENERATOR.normal(size=(5, 4)), 0.0)
SQUARE = DENSE[:4] + 3 * np.eye(4)
V = GENERATOR.normal(size=4)
M = GENERATOR.normal(size=(4, 3))
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
KINDS = [getattr(sp, f"{form}_{kind}") for form in FORMATS for kind in ("array", "matrix")]
CSR, SYSTEM = sp.csr_array(DENSE), sp.csc_matrix(SQUARE)

PRODUCTS = {  # with the sparse matrix, and the same with dense ones
    "A @ x": (lambda x: CSR @ x**2, lambda x: DENSE @ x**2, V),
    "A @ X": (lambda x: CSR @ x**2, lambda x: DENSE @ x**2, M),
    "x @ A": (lambda x: x**2 @ CSR.T, lambda x: x**2 @ DENSE.T, V),
    "X @ A": (lambda x: x.T**2 @ CSR.T, lambda x: x.T**2 @ DENSE.T, M),
    "A.T @ x": (lambda x: CSR.T @ (CSR @ np.sin(x)), lambda x: DENSE.T @ (DENSE @ np.sin(x)), V),
    "A.dot(x)": (lambda x: CSR.dot(np.exp(x)), lambda x: DENSE @ np.exp(x), V),
    "A * x of a matrix": (
        lambda x: sp.csr_matrix(DENSE) * x**2,
        lambda x: DENSE @ x**2,
        V,
    ),
    "spsolve": (
        lambda x: spl.spsolve(SYSTEM, x**2),
        lambda x: np.linalg.solve(SQUARE, x**2),
        V,
    ),
    "spsolve of columns": (
        lambda x: spl.spsolve(SYSTEM, x**2),
        lambda x: np.linalg.solve(SQUARE, x**2),
        M,
    ),
}
every_product = pytest.mark.parametrize(("f", "dense", "x"), PRODUCTS.values(), ids=PRODUCTS)


@every_product
def test_products_are_those_with_dense_matrices(f, dense, x):
    np.testing.assert_allclose(ad.jacrev(f)(x), ad.jacrev(dense)(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ad.jacfwd(f)(x), ad.jacfwd(dense)(x), rtol=1e-12, atol=1e-13)
    value = ad.jvp(f, (x,), (x,))[0]
    np.testing.assert_allclose(value, dense(x), rtol=1e-12, atol=1e-14)
    total, expected = (lambda x, g=g: np.sum(np.sin(g(x))) for g in (f, dense))
    np.testing.assert_allclose(ad.hessian(total)(x), ad.hessian(expected)(x), rtol=0, atol=1e-11)


@every_product
def test_batches_of_products(f, dense, x):
    many = np.stack([x, 2 * x, x - 1])
    expected = np.stack([dense(one) for one in many])
    np.testing.assert_allclose(ad.vmap(f)(many), expected, rtol=1e-12, atol=1e-13)
    slope = ad.grad(lambda x: np.sum(np.cos(f(x))))
    each = np.stack([slope(one) for one in many])
    np.testing.assert_allclose(ad.vmap(slope)(many), each, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_sparse_matrix(kind):
    matrix = kind(DENSE)
    f = lambda x: np.sum(np.sin(matrix @ x)) + np.sum(np.cos(x @ matrix.T))
    dense = lambda x: np.sum(np.sin(DENSE @ x)) + np.sum(np.cos(x @ DENSE.T))
    np.testing.assert_allclose(ad.grad(f)(V), ad.grad(dense)(V), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_kinds_of_numbers_are_kept(dtype):
    matrix, x = CSR.astype(dtype), V.astype(dtype)
    value, pullback = ad.vjp(lambda x: matrix @ x, x)
    assert value.dtype == dtype
    (adjoint,) = pullback(value)
    assert adjoint.dtype == dtype
    np.testing.assert_allclose(adjoint, DENSE.T.astype(dtype) @ value, rtol=1e-5)


def test_a_matrix_changed_afterwards_does_not_change_the_derivative():
    def f(x):
        matrix = sp.csr_array(DENSE)
        y = matrix @ x
        matrix.data[:] = 0.0
        return np.sum(y**2)

    expected = ad.grad(lambda x: np.sum((DENSE @ x) ** 2))(V)
    np.testing.assert_allclose(ad.grad(f)(V), expected, rtol=1e-12)


def test_steps_of_a_heat_equation_in_time():
    n, steps = 30, 20
    laplace = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()

    def final(u, matrix):
        for _ in range(steps):
            u = u + 0.1 * (matrix @ u) - 0.01 * u**3
        return np.sum(u**2)

    start = np.sin(np.linspace(0, np.pi, n))
    expected = ad.grad(lambda u: final(u, laplace.toarray()))(start)
    np.testing.assert_allclose(ad.grad(lambda u: final(u, laplace))(start), expected, rtol=1e-12)
    compiled = ad.jit(ad.grad(lambda u: final(u, laplace)))
    np.testing.assert_allclose(compiled(start), expected, rtol=1e-12)
    np.testing.assert_allclose(compiled(2 * start), compiled(2 * start), rtol=0)


def test_refusals():
    with pytest.raises(ad.ArgumentError, match=r"sparse matrix of shape \(5, 4\)"):
        ad.grad(lambda x: np.sum(CSR @ x))(np.ones(3))
    with pytest.raises(ad.ValueKindError, match=r"A @ x and x @ A, alone.*toarray"):
        ad.grad(lambda x: np.sum(x * CSR))(np.ones(4))
    for product in (lambda k: CSR * k, lambda k: sp.csr_matrix(DENSE) * k, CSR.multiply):
        with pytest.raises(ad.RuleError, match=r"write k \* \(A @ x\)"):
            ad.grad(lambda k, product=product: np.sum(product(k) @ V))(2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: spl.cg(SYSTEM, x)[0], r"scipy\.sparse\.linalg\.cg; write .*spsolve\(A, b\)"),
        (lambda x: sp.csr_array((x, ([0, 1, 2, 3], [0, 1, 2, 3]))) @ V, r"np\.bincount\(rows"),
        (lambda x: sp.coo_array((x, ([0, 1, 2, 3], [0, 1, 2, 3]))) @ V, r"np\.bincount\(rows"),
    ],
)
def test_what_to_write_instead(call, message):
    with pytest.raises(ad.LostDerivativeError, match=message):
        ad.grad(lambda x: np.sum(call(x)))(V)


def test_the_recipe_for_elements_that_are_nodes():
    rows, columns = np.nonzero(DENSE)
    f = lambda data: np.bincount(rows, data * V[columns], 5)
    np.testing.assert_allclose(f(DENSE[rows, columns]), DENSE @ V, rtol=1e-13)
    slopes = ad.jacobian(f)(DENSE[rows, columns])
    np.testing.assert_allclose(np.sum(slopes, 0), V[columns], rtol=1e-13)
