"""Functions computed in place: arrays without axes, and where a short way would overflow."""

import mpmath
import numpy as np
import pytest

import references as refs
import simpleautodiff as ad
from simpleautodiff.core.sweep import fit
from simpleautodiff.fast.faster_values import FASTER, _add_at, fit_quickly, is_basic
from simpleautodiff.fast.thresholds import THRESHOLDS

SLOPES = {  # function and its derivative, by mpmath
    "sigmoid": (ad.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "tanh": (np.tanh, mpmath.tanh),
    "softplus": (ad.softplus, lambda x: mpmath.log(1 + mpmath.exp(x))),
    "logaddexp": (
        lambda x: np.logaddexp(x, 0.5),
        lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(0.5)),
    ),
}
POINTS = [-800.0, -40.0, -1.3, 0.0, 0.3, 2.0, 40.0, 800.0]


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("shape", [(), (1,), (5000,)])
def test_values_and_slopes_at_every_size_of_array(name, shape):
    f, exact = SLOPES[name]
    with mpmath.workdps(400):
        for x in POINTS:
            expected = float(exact(mpmath.mpf(x)))
            slope = float(mpmath.diff(exact, mpmath.mpf(x)))
            array = np.full(shape, x)
            value, pullback = ad.vjp(f, array)
            np.testing.assert_allclose(value, np.full(shape, expected), rtol=4e-16, atol=5e-324)
            (adjoint,) = pullback(np.ones(shape)[()])
            np.testing.assert_allclose(adjoint, np.full(shape, slope), rtol=1e-15, atol=1e-300)


SPECIAL = [
    *(0.0, -0.0, 1.0, -0.5, 2.0, 0.3, 20.5, -40.0, 1e-310, -1e-160, 1e160, -1e300, 710.0, -711.0),
    *(745.2, -800.0, np.inf, -np.inf, np.nan),
]
ELEMENTWISE = [row.name for row in refs.TABLE.values() if not (row.arrays or row.settings)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_element_is_what_it_is_alone_whatever_stands_beside_it(name):
    """A short way is taken if all elements allow it, a nan or an infinity among them too."""
    row, wrapping = refs.TABLE[name], refs.WRAPPINGS[name]
    shifts = range(0, 7 * row.arity, 7)  # other numbers for other arguments
    points = list(zip(*[np.roll(SPECIAL, shift) for shift in shifts], strict=True))
    fixed = {i: refs.points(row)[0][i] for i in range(row.arity) if i not in refs.variables(row)}

    def ask(points):
        args = [np.array(column) for column in zip(*points, strict=True)]
        args = [fixed.get(i, arg) for i, arg in enumerate(args)]
        xs = [args[i] for i in refs.variables(row)]

        def f(*xs):
            there = dict(zip(refs.variables(row), xs, strict=True))
            return wrapping(*[there.get(i, arg) for i, arg in enumerate(args)])

        value, pullback = ad.vjp(f, *xs)
        return [value, *pullback(np.ones(len(points)))]

    alone = [ask([point]) for point in points]
    for copies in (1, 80):
        for k, found in enumerate(ask(points * copies)):
            expected = np.tile([answer[k][0] for answer in alone], copies)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=2e-323)


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
@pytest.mark.parametrize("size", [1, 5000])
def test_slopes_in_single_precision(name, size):
    f, exact = SLOPES[name]
    with mpmath.workdps(400):
        for x in [-100.0, -40.0, -1.25, 0.0, 0.5, 2.0, 40.0, 100.0]:
            slope = float(mpmath.diff(exact, mpmath.mpf(x)))
            value, pullback = ad.vjp(f, np.full(size, x, np.float32))
            assert value.dtype == np.float32
            (adjoint,) = pullback(np.ones(size, np.float32))
            np.testing.assert_allclose(adjoint, np.full(size, slope), rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize(
    ("shift", "axis", "back"),
    [(3, 0, -3), (-3, 1, 3), ((2, 5), (0, 1), (-2, -5)), ((1, 2), (1, 1), (-1, -2))],
)
def test_large_arrays_are_rolled_along_one_axis_and_two(shift, axis, back):
    x = np.arange(40_000.0).reshape(200, 200)
    weights = np.cos(x)
    f = lambda x: np.sum(weights * np.roll(x * 2.0, shift, axis))
    value, gradient = ad.value_and_grad(f)(x)
    assert value == pytest.approx(np.sum(weights * np.roll(2 * x, shift, axis)), rel=1e-12)
    np.testing.assert_array_equal(gradient, 2 * np.roll(weights, back, axis))


@pytest.mark.parametrize("operation", [np.multiply, np.add, np.divide, np.subtract])
def test_a_wider_row_widens_a_large_array(operation):
    x = np.linspace(1, 2, 640_000).reshape(800, 800).astype(np.float32)
    row, expected = np.linspace(1, 2, 800), []

    def f(x):
        values = [operation(x * x, row), operation(row, x * x)]
        for value, right in zip(values, expected, strict=False):
            assert value.dtype == np.float64
            np.testing.assert_array_equal(value.value, right)
        return np.sum(values[0] * values[1])

    expected += [operation(x * x, row), operation(row, x * x)]
    for _ in range(3):  # the second call finds memory of the first
        ad.grad(f)(x)


INDICES = {
    "a number": (2, True),
    "a slice": (np.s_[1:4], True),
    "every other, backwards": (np.s_[::-2], True),
    "a row and a slice": (np.s_[1, ::2], True),
    "a cell": ((3, 1), True),
    "a cell with a new axis": (np.s_[None, 3, 1], True),
    "all": (..., True),
    "one twice": ([0, 2, 0], False),
    "cells": (([0, 3, 0], [1, 1, 1]), False),
    "a mask": (np.arange(4) % 2 == 0, False),
    "rows and a slice": (([0, 0], slice(1, 3)), False),
}


@pytest.mark.parametrize("factor", [1.0, 2.0, -0.5])
@pytest.mark.parametrize("name", INDICES)
def test_elements_are_added_where_an_index_says(name, factor):
    index, basic = INDICES[name]
    total = np.arange(12.0).reshape(4, 3)
    bar = np.sin(np.arange(np.size(total[index])) + 1.0).reshape(np.shape(total[index]))[()]
    before, expected = bar.copy(), total.copy()
    np.add.at(expected, index, factor * bar)
    _add_at(total, bar, factor, None, index)
    np.testing.assert_allclose(total, expected, rtol=1e-15)
    np.testing.assert_array_equal(bar, before)
    assert is_basic(index) == basic


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 3), (2, 1), (4, 2, 3), (4, 1, 1)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_derivative_gets_the_shape_of_the_value_by_a_sum(shape, kind):
    derivative = np.cos(np.arange(24.0)).reshape(4, 2, 3)
    like = np.ones(shape, kind)
    found = fit_quickly(derivative, like)
    lost = 3 - len(shape)
    ones = tuple(k + lost for k, n in enumerate(shape) if n == 1 and derivative.shape[k + lost] > 1)
    total = derivative.sum((*range(lost), *ones)).reshape(shape)
    assert np.shape(found) == shape
    np.testing.assert_allclose(found, total, rtol=1e-6 if kind is np.float32 else 1e-14, atol=1e-7)
    assert np.result_type(found) == np.result_type(fit(derivative, like))


@pytest.mark.parametrize(
    ("shape", "shift", "axis"),
    [((0, 3), 2, 0), ((0, 3), (1, 2), (0, 1)), ((2, 3), (), ()), ((2, 0), 1, None)],
)
def test_nothing_is_rolled(shape, shift, axis):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    value, pullback = ad.vjp(lambda x: np.roll(x * 2.0, shift, axis), x)
    np.testing.assert_array_equal(value, 2 * x)
    np.testing.assert_array_equal(pullback(np.ones(shape))[0], np.full(shape, 2.0))


def test_equal_infinities_have_the_logarithm_of_their_sum():
    """log(exp(a) + exp(a)) = a + log 2, which is a where a is infinite; so it is among others."""
    a = np.full(2 * THRESHOLDS.many, -np.inf)
    a[1::3], a[2::3] = np.inf, 1.5
    found = FASTER["logaddexp"](np.logaddexp)(a, a.copy())
    np.testing.assert_allclose(found, a + np.log(2.0), rtol=1e-15)
