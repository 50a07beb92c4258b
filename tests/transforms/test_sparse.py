"""Patterns, colours and sparse derivatives, by dense ones and by the definition of a colouring."""

import itertools

import numpy as np
import pytest

import simpleautodiff as ad

sparse = pytest.importorskip("scipy.sparse")
optimize = pytest.importorskip("scipy.optimize")

from simpleautodiff.transforms.sparse import color_columns, color_symmetric  # noqa: E402

X = np.linspace(0.2, 1.3, 6)
DIAGONAL = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def written(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    y[2:4] = x[:2] ** 2
    return y


FUNCTIONS = {
    "neighbours": lambda x: x[1:] * x[:-1],
    "three diagonals": lambda x: (3 - 2 * x) * x - np.pad(x[:-1], (1, 0)) - 2 * np.roll(x, -1),
    "product with a constant": lambda x: DIAGONAL @ x,
    "product of matrices": lambda x: x.reshape(2, 3) @ np.eye(3)[:, ::-1],
    "parts": lambda x: np.array([np.sum(x[:3]), np.prod(x[3:]), 1.0]),
    "columns": lambda x: (x.reshape(2, 3) ** 2).sum(0),
    "spread": lambda x: x[:2, None] * x[None, 2:4],
    "arrow": lambda x: np.concatenate([x[:1] * np.sum(x), x[1:] * x[0]]),
    "cumsum": np.cumsum,
    "branches": lambda x: np.where(x > 0.5, x * x[::-1], 0.0),
    "sorted": lambda x: np.sort(x[::-1])[:2] ** 2,
    "one number": lambda x: x[0] * x[1],
    "constant": lambda x: np.ones(3),
    "written": written,
    "a list": lambda x: [x[i] * x[i + 1] for i in range(5)],
    "convolution": lambda x: np.convolve(x, [1.0, 2.0], "same"),
    "all": lambda x: np.real(np.fft.fft(x)),
    "norms of rows": lambda x: np.linalg.norm(x.reshape(3, 2), axis=1),
    "einsum": lambda x: np.einsum("ij,ij->i", x.reshape(3, 2), x.reshape(3, 2)),
    "checkpoint": ad.checkpoint(lambda x: x[1:] ** 2 * x[:-1]),
    "checkpoint with a policy": ad.checkpoint(
        lambda x: np.sin(x[1:]) * x[:-1], policy=ad.checkpoint_policies.dots_saveable
    ),
    "loop with snapshots": lambda x: ad.fori_loop(
        0, 3, lambda i, y: np.sin(y) * X, x, checkpoint=1
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparse_jacobians_are_the_dense_ones(name):
    f = FUNCTIONS[name]
    dense = np.reshape(ad.jacobian(f)(X), (-1, 6))
    found = ad.sparse_jacobian(f)(X)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-14, atol=1e-15)
    pattern = ad.sparsity(f)(X).toarray()
    assert pattern.dtype == bool
    assert not np.any((dense != 0) & ~pattern)
    if name != "branches":  # what is not taken counts
        np.testing.assert_array_equal(pattern, dense != 0)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "a list"])
def test_sparse_hessians_are_the_dense_ones(name):
    f = lambda x: np.sum(np.sin(FUNCTIONS[name](x)))
    dense = ad.hessian(f)(X)
    np.testing.assert_allclose(ad.sparse_hessian(f)(X).toarray(), dense, rtol=1e-13, atol=1e-13)


def test_infinite_slopes_meet_no_zeros_of_other_inputs():
    """Inputs of one colour are swept together; what does not depend on one stays without it."""
    inf = np.inf
    x = np.array([1.0, 2.0, 0.0, 1.0])
    jacobian = [[0.5, 0, 0, 1], [0, 0, 2**0.5, 0], [0, 0, inf, 0], [1, 0, 0, 0.5]]
    with np.errstate(divide="ignore"):
        found = ad.sparse_jacobian(lambda x: np.sqrt(x) * x[::-1])(x)
        np.testing.assert_allclose(found.toarray(), jacobian, rtol=1e-15)
        found = ad.sparse_hessian(lambda x: np.sum(x[1:] ** 1.5 * x[:-1]))(x)
    a, b = 1.5 * 2**0.5, 0.75 / 2**0.5
    hessian = [[0, a, 0, 0], [a, b, 0, 0], [0, 0, inf, 1.5], [0, 0, 1.5, 0]]
    np.testing.assert_allclose(found.toarray(), hessian, rtol=1e-15)


def test_a_pattern_may_be_used_at_other_points():
    f = FUNCTIONS["three diagonals"]
    pattern = ad.sparsity(f)(X)
    found = ad.sparse_jacobian(f, pattern=pattern)(2 * X).toarray()
    np.testing.assert_allclose(found, ad.jacobian(f)(2 * X), rtol=1e-14)
    g = lambda x: np.sum(f(x) ** 2)
    pattern = ad.sparsity(ad.grad(g))(X)
    found = ad.sparse_hessian(g, pattern=pattern)(2 * X).toarray()
    np.testing.assert_allclose(found, ad.hessian(g)(2 * X), rtol=1e-13)


def test_several_arguments_and_structures_lie_side_by_side():
    f = lambda p, y: {"a": p["w"] * y[:2], "b": y[2]}
    p, y = {"w": np.array([2.0, 3.0])}, np.array([5.0, 7.0, 11.0])
    found = ad.sparse_jacobian(f, (0, 1))(p, y).toarray()
    expected = [[5, 0, 2, 0, 0], [0, 7, 0, 3, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(found, expected)


def test_few_sweeps_are_needed():
    """Three diagonals need three colours, an arrow two of a symmetric matrix."""
    n = 50
    tridiagonal = sparse.diags_array(
        [1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr"
    )
    assert max(color_columns(tridiagonal)) + 1 == 3
    arrow = sparse.lil_array((n, n))
    arrow[0, :] = arrow[:, 0] = 1
    arrow.setdiag(1)
    assert max(color_columns(arrow.tocsr())) + 1 == n
    assert max(color_symmetric(arrow.tocsr())) + 1 == 2


@pytest.mark.parametrize("seed", range(8))
def test_colours_of_random_patterns(seed):
    draw = np.random.default_rng(seed)
    pattern = sparse.random_array((12, 12), density=0.15, rng=draw, format="csr")
    colors = color_columns(pattern)
    dense = pattern.toarray() != 0
    for i, j in itertools.combinations(range(12), 2):
        assert colors[i] != colors[j] or not np.any(dense[:, i] & dense[:, j])
    symmetric = (pattern + pattern.T + sparse.eye_array(12)).tocsr()
    colors, near = color_symmetric(symmetric), symmetric.toarray() != 0
    for a, b in itertools.permutations(range(12), 2):
        if near[a, b]:
            assert colors[a] != colors[b]
            for c, d in itertools.permutations(set(range(12)) - {a, b}, 2):
                if near[b, c] and near[c, d]:
                    assert len({colors[a], colors[b], colors[c], colors[d]}) > 2


def test_scipy_takes_them():
    n = 30
    f = lambda x: np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])
    jac = ad.sparse_jacobian(f)
    found = optimize.least_squares(f, np.full(n, 0.7), jac=jac, tr_solver="lsmr")
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_a_batch_of_sparse_matrices_is_refused():
    f = ad.sparse_jacobian(lambda x: x[1:] * x[:-1])
    with pytest.raises(ad.ResultError, match=r"vmap makes arrays .* return A\.toarray\(\)"):
        ad.vmap(f)(np.ones((2, 3)))
    dense = ad.vmap(lambda x: f(x).toarray())(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    np.testing.assert_array_equal(dense, [[[2, 1, 0], [0, 3, 2]], [[5, 4, 0], [0, 6, 5]]])


def test_complex_numbers_are_refused():
    with pytest.raises(ad.ArgumentError, match="real and imaginary parts"):
        ad.sparsity(lambda z: z * 2)(np.array([1 + 1j]))
