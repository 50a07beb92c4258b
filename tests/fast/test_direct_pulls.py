"""Adjoints that go back by a few calls of NumPy are those that the rules of the rows give."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.engine import engine
from simpleautodiff.core.tape import Tape
from simpleautodiff.fast import fast_sweep
from simpleautodiff.fast.direct_pulls import _BY_NAME
from simpleautodiff.fast.faster_values import ADD_IN_PLACE
from simpleautodiff.fast.small_sweep import SmallSweep
from simpleautodiff.fast.thresholds import THRESHOLDS

X = np.array([0.3, -1.2, 2.5, 0.7, -0.4, 1.1])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.8
WEIGHTS = np.cos(1.7 * np.arange(20.0)) + 0.2


def _write_rows(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    y[1:] += x[:-1] * 2
    y[1:3] = y[:2] * x[2:4]
    y[-1] = 0.5
    return y


def _fill(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + x[i - 1]
    return y * x


PROGRAMS = {
    "elements": (lambda x: x[0] * x[-1] + x[2] * x[2], X),
    "an element twice": (lambda x: (x * x)[[0, 2, 2, 5]], X),
    "slices": (lambda x: np.sin(x)[1:] * np.cos(x)[:-1], X),
    "masks": (lambda x: (x * x)[np.array([True, False] * 3)], X),
    "cells": (lambda x: np.exp(x)[1, 2] * (x + 1)[-1, 0], M),
    "rows and new axes": (lambda x: (x * x)[1][:, None] * (x + 2)[None, 2, ::-1], M),
    "writes": (_write_rows, X),
    "writes of cells": (_fill, X),
    "writes to what is used later": (lambda x: _fill(np.sin(x)) + x, X),
    "numbers side by side": (lambda x: np.array([x[1], 2.0, x[1] * x[2], x[0]]), X),
    "nested lists": (lambda x: np.array([[x[0], 1.0], [-x[1], x[0] * x[1]]]) @ x[:2], X),
    "parts": (lambda x: np.concatenate([x * x, x[:2], np.ones(2)]), X),
    "columns": (lambda x: np.concatenate([x, x[:, :1] * 3], axis=1) * 2, M),
    "reshaped": (lambda x: (x * x).reshape(2, 6) * np.reshape(x, (2, 6))[::-1], M),
    "transposed": (lambda x: (x * x).T @ x, M),
    "transposed by its axes": (lambda x: np.transpose(x * x, (1, 0)) @ x, M),
    "axes in another order": (
        lambda x: np.transpose((x * x).reshape(3, 2, 2), (1, 2, 0)) * 2,
        M,
    ),
    "sums": (lambda x: np.sum(x * x, axis=1) * np.sum(x) + np.sum(x, axis=0)[:3], M),
    "sums that keep axes": (lambda x: x / np.sum(x * x, axis=0, keepdims=True), M),
    "vector times vector": (lambda x: (x * x) @ np.sin(x), X),
    "matrix times vector": (lambda x: (x * x) @ np.sin(x[0]), M),
    "vector times matrix": (lambda x: np.sin(x[:, 0]) @ (x * x), M),
    "matrix times matrix": (lambda x: np.sin(x) @ (x * x).T, M),
    "stacks of matrices": (lambda x: np.sin(x).reshape(3, 2, 2) @ x[:2, :2], M),
    "a constant matrix": (lambda x: M @ (x[:4] ** 2), X),
    "chosen": (lambda x: np.where(x > 0, np.exp(x), x * x), X),
    "larger": (lambda x: np.maximum(np.sin(x), x * x) + np.minimum(x, 0.1), X),
    "largest": (lambda x: np.max(x * x, axis=1) * np.max(x) + np.amin(x, axis=0)[:3], M),
    "smallest of two axes": (lambda x: x - np.min(x * x, axis=(0, 1), keepdims=True), M),
    "largest of equals": (lambda x: np.max(x * 0 + np.array([1.0, 1.0, 0.0, 0.0]), axis=1), M),
    "larger or equal": (lambda x: np.maximum(x * x, x * x) + np.maximum(x - x, 0.0), X),
    "moved": (lambda x: np.roll(x * x, 2) * np.roll(x, -1, axis=0), X),
    "moved along two axes": (lambda x: np.roll(x * x, (1, -2), axis=(0, 1)) * x, M),
    "powers": (lambda x: x**2 + x**2.0 + x**3 + (x * x) ** 0.5, X),
    "quotients": (lambda x: x[:3] / x[3:] + 1 / x[:3] + x[0] / x[3:] + x[3:] / 7, X),
    "broadcast": (lambda x: x * x[0] + x[:, :1] * x - 2 * x[1:2], M),
    "a complex number": (lambda x: np.abs(x * (1 + 2j) + 1j * x[::-1]), X),
}


def _weigh(f):
    def weighed(x):
        y = f(x)
        return np.sum(y * WEIGHTS[: y.size].reshape(y.shape)) if y.shape else y

    return weighed


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_plain_tape(name):
    f, x = PROGRAMS[name]
    value, gradient = ad.value_and_grad(_weigh(f))(x)
    with mock.patch.object(engine, "new_tape", Tape):
        plain_value, plain_gradient = ad.value_and_grad(_weigh(f))(x)
    assert value == plain_value
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("y", [2.5, np.float64(-0.75), 3, 2**60, Fraction(1, 3)])
def test_a_quotient_of_numbers_needs_a_rule_only_for_other_numbers(y):
    needed = type(y) is Fraction or y == 2**60
    for f, expected in (
        (lambda x: x / y, 1 / y),
        (lambda x: y / x, -y / 1.5**2),
        (lambda x: (x * x) / (x + 2), 1 - 4 / 3.5**2),
    ):
        pull_rules = fast_sweep._pull_rules
        with mock.patch.object(fast_sweep, "_pull_rules", side_effect=pull_rules) as rule:
            assert ad.grad(f)(1.5) == pytest.approx(float(expected), rel=1e-15)
        assert rule.called == (needed and f(1.5) == 1.5 / y)


LEFT_TO_RULES = {  # what the functions for the commonest rows cannot do
    "axes in another order": {"transpose"},
    "stacks of matrices": {"matmul"},
    "largest of equals": {"max"},
    "larger or equal": {"maximum"},
    "powers": {"power"},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_commonest_rows_need_no_rules(name):
    f, x = PROGRAMS[name]
    with mock.patch.object(
        SmallSweep, "pull_by_rules", autospec=True, side_effect=SmallSweep.pull_by_rules
    ) as by_rules:
        ad.grad(_weigh(f))(x)
    rows = {call.args[1].primitive.name for call in by_rules.call_args_list}
    assert rows & _BY_NAME.keys() == LEFT_TO_RULES.get(name, set())


KINKS = ("a complex number", "larger or equal", "largest of equals")
SMOOTH = [name for name in PROGRAMS if name not in KINKS]


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_are_the_derivatives_of_gradients(name):
    f, x = PROGRAMS[name]
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    along = ad.grad(lambda x: np.sum(ad.grad(_weigh(f))(x) * direction))(x)
    _, expected = ad.jvp(ad.grad(_weigh(f)), (x,), (direction,))
    np.testing.assert_allclose(along, expected, rtol=1e-10, atol=1e-12)


def _take_roots(x):
    y = x * 1.0
    return np.sum(np.sqrt(y)[1:]) + np.sum(np.where(y > 0, np.log(np.maximum(y, 1e-300)), y))


def test_a_sweep_on_a_wrong_guess_is_done_again():
    x = np.array([0.0, 0.25, 4.0])
    np.testing.assert_allclose(ad.grad(_take_roots)(x), [1.0, 1 + 4, 0.25 + 0.25])


def test_nobody_hears_of_a_wrong_guess():
    with np.errstate(invalid="raise"):
        gradient = ad.grad(lambda x: np.sum(np.sqrt(x * 1.0)[1:]))(np.array([0.0, 1.0]))
        assert np.geterr()["invalid"] == "raise"
    np.testing.assert_array_equal(gradient, [0.0, 0.5])


def test_what_is_nan_stays_nan():
    def f(x):
        return np.sum((np.sqrt(x * 1.0) * 0.0)[:2])

    with np.errstate(all="ignore"):
        gradient = ad.grad(f)(np.array([0.0, 1.0, 4.0]))
    np.testing.assert_array_equal(gradient, [np.nan, 0.0, 0.0])


def test_a_hook_is_called_once_even_where_a_slope_is_infinite():
    seen = []

    def f(x):
        y = ad.on_adjoint(x * 1.0, lambda bar: seen.append(np.array(bar)))
        return np.sum(np.sqrt(y)[1:])

    np.testing.assert_array_equal(ad.grad(f)(np.array([0.0, 1.0])), [0.0, 0.5])
    assert len(seen) == 1


def test_an_adjoint_that_is_written_to_is_nobody_elses():
    def f(x):
        y = x * 1.0
        z = y + 0.0  # whose adjoint is that of y as well
        part = z[1]
        z[0] = 3.0 * part
        return np.sum(z * z) + np.sum(y * WEIGHTS[:6])

    z = X.copy()
    z[0] = 3 * X[1]
    expected = 2 * z + WEIGHTS[:6]
    expected[0] = WEIGHTS[0]
    expected[1] += 2 * z[0] * 3
    np.testing.assert_allclose(ad.grad(f)(X), expected, rtol=1e-14)


def test_pulling_back_twice_gives_the_same():
    _, pullback = ad.vjp(_write_rows, X)
    seed = WEIGHTS[:6].copy()
    (first,), (second,) = pullback(seed), pullback(seed)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(seed, WEIGHTS[:6])


def test_a_primitive_of_a_user_may_have_the_name_of_a_row():
    @ad.primitive(lambda v, x, y: 3 * x**2 * y, lambda v, x, y: x**3)
    def mul(x, y):
        return x**3 * y

    expected = (3 * X**2 * 2 * X, 2 * X**3)
    found = ad.grad(lambda x, y: np.sum(mul(x, 2 * y)), (0, 1))(X, X)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_of_an_outer_derivative(transposed):
    """The slope of Σ A x is Aᵀ 1, that of x A is A 1: linear in A, which another tape records."""
    weights = np.array([0.5, -1.0, 2.0, 0.25])
    seen = []

    def f(matrix):
        product = (lambda x: x @ matrix.T) if transposed else (lambda x: matrix @ x)
        slope = ad.grad(lambda x: np.sum(product(x)))(np.ones(4))
        seen.append(slope.value)
        return np.sum(slope * weights)

    found = ad.grad(f)(M)
    np.testing.assert_allclose(seen[0], M.sum(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found, np.tile(weights, (3, 1)), rtol=1e-15)


def add_and_count(f, x):
    """Return the gradient, and the adjoints to which those of elements were added in place."""
    totals, add_at = [], ADD_IN_PLACE["getitem"]

    def add(total, *args):
        totals.append(total)
        add_at(total, *args)

    with mock.patch.dict(ADD_IN_PLACE, getitem=add):
        return ad.grad(f)(x), totals


def test_elements_of_a_large_array_are_added_in_place():
    weights = np.cos(np.arange(40.0))

    def f(x):
        y = x * x
        return sum(weight * y[k] for k, weight in enumerate(weights)) + np.sum(y[40:] * 2.0)

    x = np.linspace(0, 1, THRESHOLDS.small + 1)
    found, totals = add_and_count(f, x)
    expected = 2 * x * np.concatenate([weights, np.full(len(x) - 40, 2.0)])
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert len({*map(id, totals)}) == 1


@pytest.mark.parametrize("f", [np.square, np.sqrt])
@pytest.mark.parametrize("repeated", [0, 2**24])
def test_large_parts_of_a_large_array_are_added_in_place_if_slopes_are_finite(
    f, repeated, monkeypatch
):
    """That they are is known before the sweep, or it is repeated if they turn out not to be."""
    monkeypatch.setattr(THRESHOLDS, "repeated", repeated)
    size = THRESHOLDS.medium
    x = np.linspace(0, 1, 3 * size)
    found, totals = add_and_count(lambda x: np.sum((y := f(x))[1 : 2 * size]) + np.sum(y[size:]), x)
    many = np.repeat([1.0, 2.0, 1.0], size)
    many[0] = 0.0
    with np.errstate(all="ignore"):
        slope = 2 * x if f is np.square else 0.5 / np.sqrt(x)
    slope[0] = 0.0  # nothing was taken from there: 0, even where the slope is infinite
    np.testing.assert_allclose(found, many * slope, rtol=1e-14)
    assert len(totals) == (2 if f is np.square or repeated else 0)


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: np.real(x * (1 + 2j)), 1.0),
        (lambda x: np.real(x + 2j * x), 1.0),
        (lambda x: np.imag((1 + 2j) * x * x), 2.0),
        (lambda x: np.real((3 - 1j) / x), -12.0),
    ],
)
def test_a_real_number_among_complex_ones_has_a_real_slope(f, slope, kind):
    found = ad.grad(f)(kind(0.5))
    assert type(found) is kind
    assert found == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: x + x, 2.0),
        (lambda x: (x + 2) * 3 + (x + 5), 4.0),
        (lambda x: (2 + x) * 3 + (5 + x), 4.0),
        (lambda x: (x - 2) * 3 + (x - 5), 4.0),
        (lambda x: (2 - x) * 3 + (5 - x), -4.0),
        (lambda x: x * 3 + x * 4 + 5 * x, 12.0),
        (lambda x: (x * x) * x - x * x, 3 * 1.5**2 - 3.0),
        (lambda x: x / 2 + 3 / x + x / x, 0.5 - 3 / 1.5**2),
    ],
)
def test_a_number_that_is_used_again(f, slope, kind):
    found = ad.grad(f)(kind(1.5))
    assert type(found) is kind
    assert found == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_choice_between_arrays_of_two_derivatives(swapped):
    """Where x is chosen the inner slope is x³, where y is chosen 4 y³; both are multiplied by x."""
    from_x, x, y = np.array([True, False, True, False]), M[0], M[1]

    def f(x):
        choose = lambda y: np.where(~from_x, y, x) if swapped else np.where(from_x, x, y)
        return np.sum(ad.grad(lambda y: np.sum(choose(y) ** 3 * y))(y) * x)

    np.testing.assert_allclose(ad.grad(f)(x), 4 * np.where(from_x, x, y) ** 3, rtol=1e-14)


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("pair", [False, True])
def test_an_index_may_change_after_its_use(kind, pair):
    def f(x):
        index = kind([0, 2])
        y = (x * x)[(index, 1) if pair else index]
        index[0] = 1
        return np.sum(y)

    expected = np.zeros_like(M)
    chosen = ([0, 2], 1) if pair else [0, 2]
    expected[chosen] = 2 * M[chosen]
    np.testing.assert_allclose(ad.grad(f)(M), expected, rtol=1e-15)
