"""Sparse Jacobians and matrices: each feature of the table, exercised or found missing."""

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows


def neighbours(x):
    return x[1:] * x[:-1]


BAND = np.eye(4, 5) + np.eye(4, 5, 1)


@shows("Jacobian sparsity pattern found automatically")
def test_pattern():
    np.testing.assert_array_equal(ad.sparsity(neighbours)(np.ones(5)).toarray(), BAND)


@shows("Coloured (compressed) sparse Jacobian")
def test_sparse_jacobian():
    jacobian = ad.sparse_jacobian(neighbours)(np.ones(5))
    assert jacobian.nnz == 8
    np.testing.assert_array_equal(jacobian.toarray(), BAND)


@shows("Sparse Hessian (star / acyclic colouring)")
def test_sparse_hessian():
    hessian = ad.sparse_hessian(lambda x: np.sum(neighbours(x)))(np.ones(5))
    assert hessian.nnz == 8
    np.testing.assert_array_equal(hessian.toarray(), np.eye(5, 5, 1) + np.eye(5, 5, -1))


@shows("Sparse matrices as values")
def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("scipy.sparse.linalg")
    rows, columns, x = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1.0, 2.0])
    make = lambda data: sparse.csr_array((data, (rows, columns)), shape=(2, 2))
    data = np.array([2.0, 1.0, 3.0])
    a, dense = make(data), np.array([[2.0, 0.0], [1.0, 3.0]])
    slope = ad.grad(lambda x: np.sum((a @ x) ** 2))(x)
    np.testing.assert_allclose(slope, 2 * dense.T @ (dense @ x))
    slope = ad.grad(lambda data: np.sum(linalg.spsolve(make(data).tocsc(), x)))(data)
    solution, adjoint = np.linalg.solve(dense, x), np.linalg.solve(dense.T, np.ones(2))
    np.testing.assert_allclose(slope, -adjoint[rows] * solution[columns])


@shows("Picture of pattern + colours + seed matrix")
def test_picture():
    drawn = ad.figure(ad.sparsity(neighbours)(np.ones(5)))
    assert drawn.title == "8 of 20 entries by 2 forward sweeps instead of 5"
    pattern, seeds, compressed = drawn.panels
    assert [len(panel.columns) for panel in (pattern, seeds, compressed)] == [5, 2, 2]
    assert drawn.svg().count("<rect") == 1 + 8 + 5 + 8  # the paper, and every cell that is not 0
