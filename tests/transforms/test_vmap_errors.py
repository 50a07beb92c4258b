"""`vmap` of functions that catch the errors of some examples: others are not concerned."""

import numpy as np
import pytest

import simpleautodiff as ad
from caught_errors import CASES, GOOD


@pytest.mark.parametrize("name", CASES)
def test_an_error_that_a_function_catches_is_one_of_its_examples(name):
    f, examples = CASES[name]
    batch = np.stack(examples)
    np.testing.assert_allclose(ad.vmap(f)(batch), [f(x) for x in examples], rtol=1e-13)
    slopes = [ad.grad(f)(x) for x in examples]
    for way in (ad.vmap(ad.grad(f)), ad.vmap(ad.jacfwd(f))):
        np.testing.assert_allclose(way(batch), slopes, rtol=1e-13)
    twice = ad.vmap(ad.vmap(ad.grad(f)))(np.stack([batch, batch[::-1]]))
    np.testing.assert_allclose(twice, [slopes, slopes[::-1]], rtol=1e-13)


def test_an_error_that_is_not_caught_is_numpys():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        ad.vmap(np.linalg.cholesky)(np.stack([GOOD, -GOOD]))


@pytest.mark.parametrize("last", [False, True])
def test_polynomials_with_fewer_roots_are_refused_in_a_batch(last):
    find = np.polynomial.polynomial.polyroots if last else np.roots
    for rows in ([[1.0, 0.0, -1.0], [0.0, 1.0, -2.0]], [[0.0, 0.0, 0.0]] * 2):
        batch = np.array(rows)[:, ::-1] if last else np.array(rows)
        with pytest.raises(np.linalg.LinAlgError, match="leave such coefficients out before vmap"):
            ad.vmap(ad.jacrev(find))(batch)
    whole = np.array([[2.0, 0.0, -2.0], [1.0, -3.0, 2.0]])  # ±1; 1, 2
    found = ad.vmap(find)(whole[:, ::-1] if last else whole)
    np.testing.assert_allclose(np.sort(found), [[-1.0, 1.0], [1.0, 2.0]], rtol=1e-14)
