"""Functions whose dtype depends on numbers: eigenvalues, roots, np.real_if_close."""

import numpy as np
import pytest
import scipy.linalg

import simpleautodiff as ad

REAL, COMPLEX = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -2.0], [1.5, 1.2]])
FUNCTIONS = {
    "eigvals": lambda a: np.max(np.abs(np.linalg.eigvals(a))),
    "eig": lambda a: np.sum(np.abs(np.linalg.eig(a).eigenvectors) ** 3),
    "scipy.linalg.eigvals": lambda a: np.sum(np.abs(scipy.linalg.eigvals(a))),
    "roots": lambda a: np.sum(np.abs(np.roots(a.ravel()[:3]))),
    "real_if_close": lambda a: np.sum(np.abs(np.real_if_close(a[0] + 1j * (a[1] - REAL[1])))),
    "iscomplexobj": lambda a: np.sum(a) if np.iscomplexobj(np.linalg.eigvals(a)) else a[0, 0] ** 2,
}


@pytest.mark.parametrize("matrices", [(REAL, COMPLEX), (COMPLEX, REAL)], ids=["real", "complex"])
@pytest.mark.parametrize("tier", ["tape", "numpy", "optimised"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_holds_for_one_dtype(name, tier, matrices):
    compiled = ad.jit(ad.value_and_grad(FUNCTIONS[name]), tier=tier)
    first, second = matrices
    for matrix in (first, first, first, second, second, first):
        value, slope = compiled(matrix)
        expected, other = ad.value_and_grad(FUNCTIONS[name])(matrix)
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(slope, other, rtol=1e-12, atol=1e-14)


def test_compiled_eigenvalues_are_numpys():
    compiled = ad.jit(np.linalg.eigvals)
    for matrix in (REAL, REAL, REAL, COMPLEX, COMPLEX, REAL):
        found, expected = compiled(matrix), np.linalg.eigvals(matrix)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
