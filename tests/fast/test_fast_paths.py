"""Calls with ordinary numbers and arrays take the fast path; what they give is in other tests."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.linear import Linear
from simpleautodiff.fast import array_sweep, calls
from simpleautodiff.fast.thresholds import THRESHOLDS
from simpleautodiff.rules.array.shapes import reshape, sum_over
from simpleautodiff.rules.branches import where

X = np.array([0.3, -1.2, 2.5, 0.7])
MASK = X > 0.5
MARKED = {  # of a node, or of two
    "a function": lambda x: ad.sin(x),
    "a sum of two": lambda x: x + 2.0 * x,
    "a plain factor": lambda x: X * x,
    "a total": lambda x: sum_over(x, None, False),
    "another shape": lambda x: reshape(x, (2, 2)),
    "a choice": lambda x: where(MASK, x, 2.0 * x),
    "a choice beside a constant": lambda x: where(MASK, x, X),
    "a choice beside a number": lambda x: where(MASK, 1.0, x),
    "limits": lambda x: ad.clip(x, -1.0, 1.0),
    "numbers on either side": lambda x: (
        2.0 - (3 * x + 1) / 2.0 + np.float64(2.0) * x - np.float64(1)
    ),
    "arrays on either side": lambda x: (X - x) / (x + X) * X + X / (1.0 + x * x),
    "a square": lambda x: x**2 + x**2.0 + (x + X) ** 2,
    "a product of matrices": lambda x: X @ x + x @ x,
    "elements": lambda x: x[1:] * x[0] + x[..., :-1],
    "elements by an array": lambda x: x[np.array([0, 2])] + x[MASK][0],
    "transposed": lambda x: reshape(x, (2, 2)).T,
    "the larger": lambda x: np.maximum(x, X) + np.minimum(x, 2.0 * x),
    "joined": lambda x: np.concatenate([x, X]),
    "a broadcast sum": lambda x: sum_over(reshape(x, (2, 2)), 0, True) + sum_over(x, (0,), False),
}
MARKED_NUMBERS = {  # of a number
    "a function": lambda x: ad.sin(x) + ad.exp(-x),
    "numbers on either side": lambda x: 2.0 - (3 * x + 1) / 2.0 + np.float64(2.0) * x,
    "itself": lambda x: (x + x) * x / (x - 2.0 * x),
    "powers": lambda x: x**2 + x**3.0 + 2.0**x,
    "arrays on either side": lambda x: x * X + X / x - X,
    "a choice": lambda x: where(True, x, 2.0),
}
PLAIN = {
    "a function": lambda: ad.sin(X),
    "a sum of two": lambda: ad.add(X, X),
    "a choice": lambda: where(MASK, X, 1.0),
    "a choice of two numbers": lambda: where(MASK, 2.0, 1.0),
    "limits": lambda: ad.clip(X, -1.0, 1.0),
    "another shape": lambda: reshape(X, (2, 2)),
    "arrays and numbers": lambda: ad.mul(ad.add(X, 2.0), ad.sub(X, 3)),
    "a total": lambda: sum_over(X, None, False),
    "numbers": lambda: ad.sin(0.5),
}


@pytest.fixture
def only_short_ways(monkeypatch):
    def refuse(primitive, *args):
        raise AssertionError(f"{primitive.name} takes the general way")

    monkeypatch.setattr(calls, "apply", refuse)


@pytest.mark.usefixtures("only_short_ways")
@pytest.mark.parametrize("name", MARKED)
def test_nodes_of_arrays_take_the_short_way(name):
    ad.vjp(MARKED[name], X)


@pytest.mark.usefixtures("only_short_ways")
@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("name", MARKED_NUMBERS)
def test_nodes_of_numbers_take_the_short_way(name, kind):
    ad.vjp(MARKED_NUMBERS[name], kind(1.5))


@pytest.mark.usefixtures("only_short_ways")
@pytest.mark.parametrize("name", PLAIN)
def test_plain_arrays_take_the_short_way(name):
    PLAIN[name]()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_batch_inside_of_a_derivative_is_no_constant(swapped):
    """d/dw Σ w x = Σ x, where each x is one example."""
    product = (lambda w, x: x * w) if swapped else (lambda w, x: w * x)
    f = lambda w: np.sum(ad.vmap(lambda x: product(w, x))(X))
    assert ad.grad(f)(2.0) == pytest.approx(X.sum(), rel=1e-15)
    rows = lambda w: np.sum(ad.vmap(lambda x: product(w, x))(np.stack([X, X**2])))
    np.testing.assert_allclose(ad.grad(rows)(X), X + X**2, rtol=1e-15)


def test_finite_slopes_need_no_masks_where_another_is_infinite(monkeypatch):
    """Σ sin(2 x) + 3 x over every third element, and Σ √(x - 0.1) over all but the first."""
    size = THRESHOLDS.medium + 1
    x = np.linspace(0.1, 1.0, size)
    chosen = np.arange(size) % 3 == 0
    masked = []

    def pull(slope, adjoint):
        masked.append(slope)
        return ordinary(slope, adjoint)

    def f(x):
        y = np.sin(2 * x) + 3 * x
        return np.sum(y[chosen]) + np.sum(np.sqrt(x - 0.1)[1:])

    ordinary = array_sweep.pull
    monkeypatch.setattr(array_sweep, "pull", pull)
    with np.errstate(divide="ignore"):
        found = ad.grad(f)(x)
    slopes = 0.5 / np.sqrt(x[1:] - 0.1)
    expected = np.where(chosen, 2 * np.cos(2 * x) + 3, 0.0)
    expected[1:] += slopes
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    elementwise = [slope for slope in masked if not isinstance(slope, Linear)]
    assert [np.isfinite(slope).all() for slope in elementwise] == [False]  # that of the root


def test_a_large_factor_is_not_divided_into_blocks():
    """2 Σ log of the diagonal of L, where L Lᵀ = A, is log det A: the slope is A⁻¹."""
    size = 1 + int(THRESHOLDS.block**0.5)
    a = np.cos(np.arange(size * size).reshape(size, size))
    a = a @ a.T / size + np.eye(size)
    slope = ad.grad(lambda a: 2 * np.sum(np.log(np.diag(np.linalg.cholesky(a)))))(a)
    np.testing.assert_allclose(slope + slope.T, 2 * np.linalg.inv(a), rtol=1e-9, atol=1e-11)


def test_a_mask_may_change_after_its_use():
    def f(x):
        mask = MASK.copy()
        y = where(mask, x, 2.0 * x)
        mask[:] = False
        return np.sum(y)

    np.testing.assert_array_equal(ad.grad(f)(X), np.where(MASK, 1.0, 2.0))
