"""`jit` of functions that catch errors by numbers: whichever call is recorded, all are right."""

import numpy as np
import pytest

import simpleautodiff as ad
from caught_errors import CASES

pytestmark = pytest.mark.filterwarnings("ignore::simpleautodiff.NotCompiledWarning")


@pytest.mark.parametrize("tier", [None, "tape", "numpy", "optimised"])
@pytest.mark.parametrize("name", CASES)
def test_a_function_that_catches_errors_is_right_in_every_order_of_calls(name, tier):
    f, examples = CASES[name]
    for calls in (examples, examples[::-1]):
        compiled = ad.jit(ad.value_and_grad(f), tier=tier)
        for x in [calls[0]] * 3 + [calls[1]] * 2 + [calls[0]]:
            value, slope = compiled(x)
            expected, other = ad.value_and_grad(f)(x)
            assert value == pytest.approx(expected, rel=1e-13)
            np.testing.assert_allclose(slope, other, rtol=1e-12)


def test_what_is_caught_is_told():
    f, (fine, zero) = CASES["division"]
    compiled = ad.jit(f)
    with pytest.warns(ad.NotCompiledWarning, match="an error by numbers, which the code catches"):
        assert [compiled(fine), compiled(fine), compiled(zero)] == [1.5, 1.5, 3.0]


def test_an_error_in_a_step_of_a_loop():
    def step(_, x):
        try:
            return x + np.sum(np.linalg.cholesky(np.array([[x, 0.5], [0.5, 1.0]])))
        except np.linalg.LinAlgError:
            return x + 1.0

    f = lambda x: ad.fori_loop(0, 300, step, x)
    compiled = ad.jit(ad.value_and_grad(f))
    for x in (-2.0, -2.0, -2.0, 3.0, 3.0, -2.0):
        assert compiled(x) == pytest.approx(ad.value_and_grad(f)(x), rel=1e-12)
