"""Sparse Jacobians and matrices: each feature of the table, exercised or found missing."""

import numpy as np
import pytest

import simpleautodiff as ad
from features import shows

DENSE = "Derivatives of arrays are dense arrays."


def neighbours(x):
    return x[1:] * x[:-1]


@shows(
    "Jacobian sparsity pattern found automatically",
    "no",
    "The rows of the table of rules do not say which elements of a result depend on which of an "
    "argument.",
)
def test_no_pattern():
    assert not hasattr(ad, "sparsity")


@shows("Coloured (compressed) sparse Jacobian", "no", DENSE)
def test_dense_jacobian():
    jacobian = ad.jacobian(neighbours)(np.ones(5))
    assert type(jacobian) is np.ndarray
    assert np.count_nonzero(jacobian) == 8


@shows("Sparse Hessian (star / acyclic colouring)", "no", DENSE)
def test_dense_hessian():
    hessian = ad.hessian(lambda x: np.sum(neighbours(x)))(np.ones(5))
    assert type(hessian) is np.ndarray
    assert np.count_nonzero(hessian) == 8


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


@shows("Picture of pattern + colours + seed matrix", "no", DENSE)
def test_no_picture():
    with pytest.raises(ad.ArgumentError):
        ad.figure(ad.trace(neighbours, np.ones(5)), "sparsity")
