"""Sparse matrices of SciPy times nodes, and of nodes, by unchanged code."""

import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import simpleautodiff as ad
from oracle.engines import engines

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
    twice = ad.grad(lambda u: final(u, laplace.toarray()))(2 * start)
    np.testing.assert_allclose(compiled(2 * start), twice, rtol=1e-12)


def fill_a_compressed_one(x):
    matrix = sp.csr_array(np.eye(2))
    matrix[0, 1] = x[0]
    return matrix.sum()


def test_refusals():
    with pytest.raises(ad.ArgumentError, match=r"sparse matrix of shape \(5, 4\)"):
        ad.grad(lambda x: np.sum(CSR @ x))(np.ones(3))
    with pytest.raises(ad.ValueKindError, match=r"x @ A and A \* k, alone.*csr_array.*toarray"):
        ad.grad(lambda x: np.sum(x + CSR))(np.ones(4))
    with pytest.raises(ad.ValueKindError, match=r"argument 2 of add is a sparse matrix"):
        ad.grad(lambda x: np.sum(x[0] + made(x)))(ELEMENTS)
    with pytest.raises(ad.ArgumentError, match=r"row 1 of the blocks has the sizes \[4, 5\]"):
        ad.grad(lambda x: sp.bmat([[SYSTEM, None], [x[0] * SYSTEM, CSR]]).sum())(V)
    with pytest.raises(ad.LostDerivativeError, match=r"collect the elements .* coo_array"):
        ad.grad(fill_a_compressed_one)(V)
    with pytest.raises(ad.LostDerivativeError, match=r"linalg\.cg; write .*spsolve\(A, b\)"):
        ad.grad(lambda x: np.sum(spl.cg(SYSTEM, x)[0]))(V)


def test_parts_that_are_no_matrix_are_refused():
    with pytest.raises(ad.RuleError, match=r"is taken by A\[\[i\], :\]"):
        ad.grad(lambda e: np.sum(made(e)[0]))(ELEMENTS)
    with pytest.raises(ad.ArgumentError, match=r"shape \(4, 4\) cannot be multiplied .* \(5, 4\)"):
        ad.grad(lambda e: np.sum(made(e) @ CSR))(ELEMENTS)


# Elements that are nodes. -------------------------------------------------------------------------

ROWS, COLUMNS = np.nonzero(SQUARE)
ELEMENTS = SQUARE[ROWS, COLUMNS]
TWICE = np.append(ROWS, ROWS[:2]), np.append(COLUMNS, COLUMNS[:2])  # two places are there twice


def dense_of(elements):
    return np.reshape(np.bincount(4 * ROWS + COLUMNS, elements, 16), (4, 4))


def compressed(elements):
    pattern = sp.csc_array(SQUARE)
    order = np.argsort(4 * COLUMNS + ROWS)
    return sp.csc_array((elements[order], pattern.indices, pattern.indptr))


def made(elements, kind=sp.csr_array):
    return kind((elements, (ROWS, COLUMNS)), shape=(4, 4))


WITH_ELEMENTS = {  # with a sparse matrix of nodes, and the same with a dense one
    "A @ x": (lambda e: made(e) @ V, lambda a, e: a @ V),
    "A @ X": (lambda e: made(e) @ M, lambda a, e: a @ M),
    "x @ A": (lambda e: V @ made(e), lambda a, e: V @ a),
    "X @ A": (lambda e: M.T @ made(e), lambda a, e: M.T @ a),
    "A.T @ x": (lambda e: made(e).T @ np.sin(e[:4]), lambda a, e: a.T @ np.sin(e[:4])),
    "csc": (lambda e: compressed(e).dot(V), lambda a, e: a @ V),
    "spsolve": (lambda e: spl.spsolve(made(e), V), lambda a, e: np.linalg.solve(a, V)),
    "spsolve of nodes": (
        lambda e: spl.spsolve(compressed(e), np.outer(e[:4], V)),
        lambda a, e: np.linalg.solve(a, np.outer(e[:4], V)),
    ),
    "sums": (
        lambda e: (2 * made(e) - made(e).T / 2 + sp.eye_array(4)).toarray(),
        lambda a, e: 2 * a - a.T / 2 + np.eye(4),
    ),
    "A * k": (lambda e: (SYSTEM.tocsr() * e[0]) @ V, lambda a, e: SQUARE @ V * e[0]),
    "diags": (
        lambda e: sp.diags([e[:4], e[:3], e[3:5]], [0, 1, -2]) @ V,
        lambda a, e: (np.diag(e[:4]) + np.diag(e[:3], 1) + np.diag(e[3:5], -2)) @ V,
    ),
    "one diagonal": (lambda e: sp.diags_array(e[:4]) @ V, lambda a, e: e[:4] * V),
    "of a dense one": (lambda e: sp.csr_array(dense_of(e)) @ V, lambda a, e: a @ V),
    "the same place twice": (
        lambda e: sp.coo_array((np.append(e, e[:2]), TWICE), shape=(4, 4)) @ V,
        lambda a, e: (a + dense_of(np.where(np.arange(len(ELEMENTS)) < 2, e, 0.0))) @ V,
    ),
    "A @ A": (lambda e: (made(e) @ made(e)).toarray(), lambda a, e: a @ a),
    "A @ B": (lambda e: (made(e) @ SYSTEM).toarray(), lambda a, e: a @ SQUARE),
    "B @ A": (lambda e: (SYSTEM @ compressed(e).T).toarray(), lambda a, e: SQUARE @ a.T),
    "columns scaled": (
        lambda e: sp.csr_matrix(made(e)) @ sp.diags(1.0 / e[:4]) @ V,
        lambda a, e: a / e[:4] @ V,
    ),
    "kron": (
        lambda e: (sp.kron(made(e), sp.eye_array(2)) + sp.kron(sp.eye_array(2), made(e))).toarray(),
        lambda a, e: np.kron(a, np.eye(2)) + np.kron(np.eye(2), a),
    ),
    "free rows and columns": (
        lambda e: spl.spsolve(made(e)[1:][:, 1:] + 3 * sp.eye_array(3), V[1:]),
        lambda a, e: np.linalg.solve(a[1:, 1:] + 3 * np.eye(3), V[1:]),
    ),
    "np.ix_": (
        lambda e: made(e)[np.ix_([0, 3], [3, 1])].toarray() * made(e)[0, 0],
        lambda a, e: a[np.ix_([0, 3], [3, 1])] * a[0, 0],
    ),
    "multiply": (
        lambda e: made(e).multiply(e[:4]).toarray() + made(e).multiply(SYSTEM).toarray(),
        lambda a, e: a * e[:4] + a * SQUARE,
    ),
    "k * A": (
        lambda e: (e[0] * SYSTEM - e[1] * made(e) + e[2] * sp.csr_matrix(SQUARE)) @ V,
        lambda a, e: (e[0] + e[2]) * SQUARE @ V - e[1] * a @ V,
    ),
    "x * A of a matrix": (lambda e: e[:4] * SYSTEM, lambda a, e: e[:4] @ SQUARE),
    "x * A of an array": (
        lambda e: (e[:4] * sp.csr_array(SQUARE)).toarray(),
        lambda a, e: e[:4] * SQUARE,
    ),
    "implicit steps": (
        lambda e: spl.splu((sp.identity(4, format="csc") + e[0] * SYSTEM).tocsc()).solve(e[:4]),
        lambda a, e: np.linalg.solve(np.eye(4) + e[0] * SQUARE, e[:4]),
    ),
    "splu, transposed": (
        lambda e: spl.splu(made(e).asformat("csc")).solve(M, trans="T"),
        lambda a, e: np.linalg.solve(a.T, M),
    ),
    "factorized": (lambda e: spl.factorized(made(e))(V), lambda a, e: np.linalg.solve(a, V)),
    "blocks": (
        lambda e: sp.bmat([[made(e), SYSTEM], [None, sp.identity(4) * e[0]]]).toarray(),
        lambda a, e: np.block([[a, SQUARE], [np.zeros((4, 4)), np.eye(4) * e[0]]]),
    ),
    "blocks below and beside": (
        lambda e: sp.hstack([sp.vstack([made(e), SYSTEM]), e[0] * sp.eye_array(8)]).toarray(),
        lambda a, e: np.hstack([np.vstack([a, SQUARE]), np.eye(8) * e[0]]),
    ),
    "blocks on the diagonal": (
        lambda e: sp.block_diag([made(e), CSR, e[0] * SQUARE]).toarray(),
        lambda a, e: np.block(
            [
                [a, np.zeros((4, 8))],
                [np.zeros((5, 4)), DENSE, np.zeros((5, 4))],
                [np.zeros((4, 8)), e[0] * SQUARE],
            ]
        ),
    ),
    "spdiags": (
        lambda e: sp.spdiags(np.stack([e[:4], e[1:5]]), [0, 1], 4, 4) @ V,
        lambda a, e: (np.diag(e[:4]) + np.diag(e[2:5], 1)) @ V,
    ),
    "dia": (
        lambda e: sp.dia_matrix((np.stack([e[:4], e[1:5]]), [0, -1]), shape=(4, 5)).toarray(),
        lambda a, e: np.diag(e[:4], 0) @ np.eye(4, 5) + np.diag(e[1:4], -1) @ np.eye(4, 5),
    ),
    "trace": (lambda e: made(e).trace() * np.ones(1), lambda a, e: np.trace(a) * np.ones(1)),
    "multiply by nodes": (lambda e: SYSTEM.multiply(e[:4]) @ V, lambda a, e: SQUARE * e[:4] @ V),
    "parts": (
        lambda e: made(e).sum(0) + made(e).sum(axis=1) * made(e).diagonal() + made(e).sum(),
        lambda a, e: a.sum(0) + a.sum(axis=1) * np.diagonal(a) + a.sum(),
    ),
}


@pytest.mark.parametrize(("f", "dense"), WITH_ELEMENTS.values(), ids=WITH_ELEMENTS)
def test_elements_that_are_nodes(f, dense):
    expected = lambda e: dense(dense_of(e), e)
    for jacobian in (ad.jacfwd, ad.jacrev):
        found = jacobian(f)(ELEMENTS)
        np.testing.assert_allclose(found, jacobian(expected)(ELEMENTS), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(ad.jvp(f, (ELEMENTS,), (ELEMENTS,))[0], expected(ELEMENTS))
    total, plain = (lambda e, g=g: np.sum(np.sin(g(e))) for g in (f, expected))
    second = ad.hessian(total)(ELEMENTS)
    np.testing.assert_allclose(second, ad.hessian(plain)(ELEMENTS), rtol=1e-9, atol=1e-11)
    many = np.stack([ELEMENTS, ELEMENTS + 0.1])
    each = np.stack([ad.grad(plain)(e) for e in many])
    np.testing.assert_allclose(ad.vmap(ad.grad(total))(many), each, rtol=1e-10, atol=1e-12)
    compiled = ad.jit(ad.grad(total))
    for e in (*many, *many):
        np.testing.assert_allclose(compiled(e), ad.grad(plain)(e), rtol=1e-10, atol=1e-12)


def test_large_matrices_are_never_dense():
    n = 200_000

    def energy(stiffness):
        matrix = sp.diags_array([-stiffness[1:], stiffness + 3, -stiffness[1:]], offsets=[-1, 0, 1])
        return np.sum(spl.spsolve(matrix.tocsc(), np.ones(n)))

    slope = ad.grad(energy)(np.ones(n))
    step = np.zeros(n)
    step[n // 2] = 1e-3
    ones = np.ones(n)
    difference = (energy(ones + step) - energy(ones - step)) / 2e-3
    assert slope[n // 2] == pytest.approx(difference, rel=1e-5)


def test_what_matrices_of_nodes_refuse():
    for call, message in (
        (lambda e: made(e).power(2).sum(), "power of a sparse matrix"),
        (lambda e: np.sum((made(e) * V).toarray()), "single numbers"),
        (lambda e: np.sum(sp.dia_array((e, 0)) @ V), r"csr_array|dia_array\(\(data"),
    ):
        with pytest.raises(ad.AutodiffError, match=message):
            ad.grad(call)(ELEMENTS)


def test_plain_matrices_are_made_as_ever():
    for kind in KINDS:
        np.testing.assert_array_equal(kind(DENSE).toarray(), DENSE)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(kind(DENSE))).toarray(), DENSE)
        assert kind((3, 2)).shape == (3, 2)
        assert type(kind(DENSE).copy()) is kind


def test_the_recipe_for_elements_that_are_nodes():
    rows, columns = np.nonzero(DENSE)
    f = lambda data: np.bincount(rows, data * V[columns], 5)
    np.testing.assert_allclose(f(DENSE[rows, columns]), DENSE @ V, rtol=1e-13)
    slopes = ad.jacobian(f)(DENSE[rows, columns])
    np.testing.assert_allclose(np.sum(slopes, 0), V[columns], rtol=1e-13)


def test_two_copies_of_the_package_patch_scipy_side_by_side():
    """As where a module is reloaded: what one copy patched, another patches again around it."""
    norm = lambda x: scipy.linalg.norm(sp.csr_array((x, ([0, 1], [0, 1]))) @ x)
    for package in [ad, *engines()[:2], ad]:
        found = package.grad(norm)(np.array([3.0, 4.0]))  # of sqrt(x**4 + y**4)
        np.testing.assert_allclose(found, np.array([54.0, 128.0]) / np.sqrt(337.0), rtol=1e-14)


def test_lists_of_elements():
    places = ([0, 1], [1, 0])
    for f, expected in (
        (lambda p: sp.csr_array(([p, p * p], places)) @ np.ones(2), [1.0, 4.0]),
        (lambda p: sp.csr_matrix([[p, 0.0], [p * p, 1.0]]) @ np.ones(2), [1.0, 4.0]),
    ):
        np.testing.assert_allclose(ad.jacobian(f)(2.0), expected, rtol=1e-15)
        np.testing.assert_allclose(ad.vmap(f)(np.array([2.0]))[0], f(2.0), rtol=1e-15)


def test_matrices_of_arrays_that_are_made_inside_the_function():
    def f(p):
        matrix = sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        y = np.zeros(2)
        y[0] = p  # with this line new arrays can be written to
        return matrix @ y

    np.testing.assert_array_equal(ad.jacobian(f)(2.0), [1.0, 3.0])


def assemble(z, make):
    """Fill a matrix in the ways of finite differences and elements; a plain one beside it."""
    n = 4
    A, B = make((n, n)), make((n, n))
    for i in range(n):
        B[i, i] = 1.0 + i
        A[i, i] += 2 * z[0]
        A[i, i] += z[1]
        if i < n - 1:
            A[i, i + 1], A[i + 1, i] = -1, z[1] ** 2
    A[0, :] = 0
    A[0, 0] = 1
    A[2:4, 1] = z[0]
    A[[0, 1], [3, 2]] = z
    A[np.ix_([1, 3], [0, 3])] += np.outer(z, z)
    return A, B


@pytest.mark.parametrize("make", [sp.lil_matrix, sp.lil_array, sp.dok_matrix, sp.dok_array])
def test_matrices_that_are_filled(make):
    z, right = np.array([1.2, 0.3]), np.arange(1.0, 5.0)

    def f(z):
        A, B = assemble(z, make)
        B.setdiag(z[0] * np.arange(3.0), 1)
        x = spl.spsolve(A.tocsc(), right)
        return x @ (B @ x) + A[1, 1] * B.tocsr()[0, 1] + A.sum()

    def dense(z):
        A, B = assemble(z, np.zeros)
        B[np.arange(3), np.arange(1, 4)] = z[0] * np.arange(3.0)
        x = np.linalg.solve(A, right)
        return x @ (B @ x) + A[1, 1] * B[0, 1] + np.sum(A)

    np.testing.assert_allclose(f(z), dense(z), rtol=1e-13)
    np.testing.assert_allclose(ad.grad(f)(z), ad.grad(dense)(z), rtol=1e-12)
    np.testing.assert_allclose(ad.hessian(f)(z), ad.hessian(dense)(z), rtol=1e-11)
    np.testing.assert_allclose(ad.jacfwd(f)(z), ad.grad(dense)(z), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(z), ad.grad(dense)(z), rtol=1e-12)


def test_plain_matrices_that_are_filled_beside_others_are_those_of_scipy():
    kinds = []

    def f(z):
        A, B = assemble(z, sp.lil_matrix)
        kinds.append(type(B.tocsr()))
        return A.sum() * spl.onenormest(B.tocsr())

    slope = ad.grad(f)(np.array([1.2, 0.3]))
    dense = ad.grad(lambda z: 4 * np.sum(assemble(z, np.zeros)[0]))(np.array([1.2, 0.3]))
    np.testing.assert_allclose(slope, dense, rtol=1e-12)
    assert kinds[-1] is sp.csr_matrix


def test_sparse_diagonals_by_another_name():
    f = lambda k: sp.spdiags(k, 0, 4, 4) @ k
    rows = np.arange(8.0).reshape(2, 4)
    slopes = [np.diag(2 * row) for row in rows]
    np.testing.assert_allclose(ad.jacobian(f)(rows[1]), slopes[1], rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(ad.jacobian(f))(rows), slopes, rtol=1e-14)
    np.testing.assert_array_equal(ad.vmap(f)(rows), rows**2)  # each row is a plain array


FACTORED = sp.diags([1.0, -2.2, 1.0], [-1, 0, 1], shape=(5, 5)).tocsc()
INVERSE = np.linalg.inv(FACTORED.toarray())


@pytest.mark.parametrize("trans", ["N", "T"])
def test_factors_of_a_plain_matrix_solve_systems_of_nodes(trans):
    """A matrix is factored once, as in time steps, and solves for what is differentiated."""

    def steps(b):
        factors = spl.splu(FACTORED)
        for _ in range(3):
            b = factors.solve(b, trans)
        return b

    inverse = INVERSE if trans == "N" else INVERSE.T
    expected, b = np.linalg.matrix_power(inverse, 3), np.arange(5.0)
    for derivative in (ad.jacobian, ad.jacfwd, lambda f: ad.jit(ad.jacobian(f))):
        np.testing.assert_allclose(derivative(steps)(b), expected, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(steps)(np.eye(5)), expected.T, rtol=1e-12)
    squares = lambda b: np.sum(spl.factorized(FACTORED)(b) ** 2)
    np.testing.assert_allclose(ad.hessian(squares)(b), 2 * INVERSE.T @ INVERSE, rtol=1e-12)


def test_factors_of_a_plain_matrix_stay_what_they_are():
    ad.grad(np.sin)(1.0)  # from here on, SciPy is patched
    matrix = FACTORED.copy()
    factors = spl.splu(matrix)
    assert isinstance(factors, spl.SuperLU)
    assert factors.shape == factors.L.shape == (5, 5)
    np.testing.assert_array_equal(factors.solve(np.eye(5)), spl.splu(matrix).solve(np.eye(5)))
    matrix.data[:] = 0.0  # factors do not see it
    np.testing.assert_allclose(ad.jacobian(factors.solve)(np.ones(5)), INVERSE, rtol=1e-12)
    loaded = pickle.loads(pickle.dumps(ad.trace(factors.solve, np.ones(5))))
    assert str(loaded.values()) == str(ad.trace(factors.solve, np.ones(5)).values())
    with pytest.raises(ad.RuleError, match="trans 'N' or 'T'"):
        ad.grad(lambda b: np.sum(factors.solve(b, "X")))(np.ones(5))


def test_factors_of_a_singular_matrix_of_nodes_are_refused():
    def solved(a):
        places = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
        matrix = sp.csc_matrix((a * np.ones(4), places), shape=(2, 2))
        return spl.splu(matrix).solve(np.ones(2))[0]

    for call in (solved, ad.grad(solved)):
        with pytest.raises(RuntimeError, match="singular"):
            call(2.0)


def test_factors_solve_with_the_adjoint_of_a_real_matrix():
    matrix = sp.csc_matrix(np.array([[2.0, 1.0], [0.0, 3.0]]))
    solved = lambda b: spl.splu(matrix).solve(b, "H")
    np.testing.assert_allclose(
        ad.jacobian(solved)(np.ones(2)), np.linalg.inv(matrix.toarray().T), rtol=1e-12
    )
    scaled = lambda a: spl.splu(matrix * a).solve(np.ones(2), "H")
    np.testing.assert_allclose(ad.jacobian(scaled)(2.0), -solved(np.ones(2)) / 4, rtol=1e-12)
