"""`vmap` of functions whose results are real or complex by their numbers: each example its own."""

import numpy as np
import pytest

import simpleautodiff as ad

TURN = np.array([[0.0, 2.0], [-1.0, 0.5]])  # complex eigenvalues
STRETCH = np.array([[2.0, 1.0], [0.5, -1.0]])  # real ones


def choose(w):
    """Return another number for real arrays than for complex ones."""
    return np.sum(w.imag**2) if np.iscomplexobj(w) else 10 * np.sum(w**2)


CASES = {
    "eigvals": lambda a: choose(np.linalg.eigvals(a)),
    "eig": lambda a: choose(np.linalg.eig(a)[0]),
    "dtype": lambda a: np.linalg.eigvals(a).dtype.itemsize * np.sum(a),
    "roots": lambda a: choose(np.roots(np.stack([1 + 0 * a[1, 0], a[0, 1], a[1, 0] - 0.5]))),
    "real_if_close": lambda a: choose(np.real_if_close(a + 1j * np.maximum(a[1, 0], 0))),
    "emath.sqrt": lambda a: choose(np.emath.sqrt(a[1, 0])),
    "emath.arccos": lambda a: choose(np.emath.arccos(0.9 * a[0, 0])),
    "emath.power": lambda a: choose(np.emath.power(a[1, 0], 1.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_example_has_the_kind_that_numpy_gives_it(name):
    f, examples = CASES[name], [TURN, STRETCH, STRETCH / 3, 2 * TURN]
    batch, swapped = np.stack(examples), np.stack(examples[::-1])
    for way in (lambda f: f, ad.grad, ad.jacfwd):
        expected = np.array([way(f)(x) for x in examples])
        np.testing.assert_allclose(ad.vmap(way(f))(batch), expected, rtol=1e-12, atol=1e-13)
        nested = ad.vmap(ad.vmap(way(f)))(np.stack([batch, swapped]))
        np.testing.assert_allclose(nested, [expected, expected[::-1]], rtol=1e-12, atol=1e-13)
    compiled = ad.jit(ad.vmap(ad.grad(f)), tier="numpy")
    compiled(swapped)
    np.testing.assert_allclose(compiled(batch), ad.vmap(ad.grad(f))(batch), rtol=1e-12, atol=1e-13)
