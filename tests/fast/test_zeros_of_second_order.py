"""What a choice did not take stays a structural zero when a derivative is differentiated."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.fast.calls import _restate
from simpleautodiff.fast.fast_tape import is_root_row
from simpleautodiff.rules.row import TABLE

X = np.array([1e-200, 20.0])  # the second derivative of log overflows at the first
FUNCTIONS = {
    "maximum": lambda x: np.maximum(np.log(x), 2.0),
    "where": lambda x: np.where(x > 1, np.log(x), 2.0),
    "quotient": lambda x: np.where(x > 1, 1 / x, 2.0),
    "written": lambda x: _write(x),
}
SECOND = {"quotient": 2 / 20.0**3}


def _write(x):
    y = np.log(x)
    y[x < 1] = 2.0
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_of_branches_that_were_not_taken_are_zero(name):
    def f(x):
        return np.sum(FUNCTIONS[name](x))

    expected = [0, SECOND.get(name, -1 / 400)]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ad.hessian(f)(X), np.diag(expected), rtol=1e-14)
        along = ad.hvp(f, (X,), (np.ones(2),))
        again = ad.grad(lambda x: np.sum(ad.grad(f)(x)))(X)
        compiled = ad.jit(ad.grad(lambda x: np.sum(ad.grad(f)(x))))(X)
    for found in (along, again, compiled):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["maximum", "where", "quotient"])
def test_examples_of_a_batch_at_second_order(name):
    with np.errstate(all="ignore"):
        found = ad.vmap(ad.grad(ad.grad(FUNCTIONS[name])))(X)
    np.testing.assert_allclose(found, [0, SECOND.get(name, -1 / 400)], rtol=1e-14)


def test_roots_are_the_rows_whose_squares_are_smooth():
    names = ["sqrt", "abs", "hypot", "sin", "mul", "getitem", "maximum"]
    assert [name for name in names if is_root_row(TABLE[name])] == ["sqrt", "abs", "hypot"]


def test_rows_through_which_roots_are_carried_are_not_restated_outside_of_jets():
    for name in ("mul", "getitem", "sin", "neg"):
        assert TABLE[name].restate is not None
        assert _restate(TABLE[name]) is None
    for name in ("sqrt", "abs", "hypot", "square", "power"):
        assert _restate(TABLE[name]) is TABLE[name].restate is not None
