"""Square roots of matrices: complex ones of real matrices, and those of singular matrices."""

import numpy as np
import pytest
import scipy.linalg as sl

import simpleautodiff as ad

NEGATIVE = np.array([[-1.0, 0.3], [0.1, -2.0]])
MIXED = np.array([[-1.0, 0.3, 0.2], [0.1, 2.0, -0.3], [0.4, 0.1, 3.0]])
SINGULAR = np.outer([1.0, 2.0, 2.0], [1.0, 2.0, 2.0]) + np.diag([1.0, 0.0, 0.0])  # of rank 2


@pytest.mark.parametrize("a", [NEGATIVE, MIXED], ids=["negative", "mixed"])
def test_complex_roots_of_real_matrices(a):
    """From V V = A follows V dV + dV V = dA, which is solved by Kronecker products here."""
    root, one = sl.sqrtm(a), np.eye(len(a))
    assert np.iscomplexobj(root)
    system = np.kron(root, one) + np.kron(one, root.T)
    expected = np.linalg.inv(system).reshape(a.shape * 2)
    for part in (np.real, np.imag):
        for jacobian in (ad.jacfwd, ad.jacrev):
            found = jacobian(lambda x, part=part: part(sl.sqrtm(x)))(a)
            np.testing.assert_allclose(found, part(expected), rtol=1e-10, atol=1e-12)
    squared = lambda x: np.sum(np.abs(sl.sqrtm(x)) ** 2)
    ad.check_grad(squared, a)
    second = ad.jacfwd(ad.grad(squared))(a)
    np.testing.assert_allclose(ad.jacrev(ad.grad(squared))(a), second, rtol=1e-8, atol=1e-10)


def test_compiled_roots_may_become_complex():
    compiled = ad.jit(ad.value_and_grad(lambda x: np.sum(np.abs(sl.sqrtm(x)))))
    plain = ad.value_and_grad(lambda x: np.sum(np.abs(sl.sqrtm(x))))
    for a in (-NEGATIVE, -NEGATIVE, -2 * NEGATIVE, NEGATIVE, MIXED[1:, 1:], NEGATIVE):
        for found, expected in zip(compiled(a), plain(a), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches_of_real_and_complex_roots():
    many = np.stack([NEGATIVE, -NEGATIVE])
    slope = ad.grad(lambda x: np.sum(np.abs(sl.sqrtm(x)) ** 2))
    expected = np.stack([slope(a) for a in many])
    np.testing.assert_allclose(ad.vmap(slope)(many), expected, rtol=1e-12)


def test_singular_matrices_where_the_derivative_exists():
    """The root of A, between vectors of which one is not in the kernel, is smooth."""
    numbers, vectors = np.linalg.eigh(SINGULAR)
    kernel, first, last = vectors.T
    roots = np.sqrt(np.maximum(numbers, 0))
    for left, right, scale in (
        (last, last, 2 * roots[2]),
        (first, last, roots[1] + roots[2]),
        (kernel, last, roots[2]),
        (first, kernel, roots[1]),
    ):
        f = lambda a, left=left, right=right: left @ sl.sqrtm(a) @ right
        expected = np.outer(left, right) / scale
        np.testing.assert_allclose(ad.grad(f)(SINGULAR), expected, atol=1e-6)
        tangent = ad.jvp(f, (SINGULAR,), (np.outer(last, last),))[1]
        assert tangent == pytest.approx((left @ last) * (right @ last) / scale, abs=1e-6)


def test_the_slope_of_a_singular_root_has_all_its_digits():
    """For a diagonal A with roots r the slope along E has the elements E[i, j] / (r[i] + r[j])."""
    direction = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 0]])
    sums = np.array([[4.0, 5, 2], [5, 6, 3], [2, 3, 1]])  # of 2, 3, 0; the last is not needed
    tangent = ad.jvp(sl.sqrtm, (np.diag([4.0, 9.0, 0.0]),), (direction,))[1]
    np.testing.assert_allclose(tangent, direction / sums, rtol=1e-14)


def test_complex_roots_of_singular_matrices():
    """The root of diag(-4, 0) is diag(2i, 0), and d√a = da / (2 √a)."""
    tangent = ad.jvp(sl.sqrtm, (np.diag([-4.0, 0.0]),), (np.diag([1.0, 0.0]),))[1]
    np.testing.assert_allclose(tangent, np.diag([-0.25j, 0.0]), atol=1e-12)


def test_singular_matrices_where_it_does_not():
    for a in (SINGULAR, np.zeros((2, 2)), np.diag([1.0, 0.0])):
        with pytest.raises(ad.DomainError, match="singular"):
            ad.grad(lambda a: np.sum(np.diag(sl.sqrtm(a))))(a)
