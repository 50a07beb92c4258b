"""Adjoints that are added to in place: those of other nodes, and factors that wait, are kept."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import LinearRule
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.fast.memory_pool import _find_order

SIZES = [5, 6000, 20_000]  # below and above the sizes at which methods change


@pytest.mark.parametrize("size", SIZES)
def test_elements_are_not_added_to_an_adjoint_that_another_node_has(size):
    weights = np.linspace(1.0, 2.0, size)

    def f(x, z):
        first = x[0]  # recorded before the sum, so its adjoint comes after that of the sum
        return np.sum(weights * (x + z)) + 5.0 * first

    of_x, of_z = ad.grad(f, (0, 1))(np.ones(size), np.ones(size))
    np.testing.assert_array_equal(of_z, weights)
    np.testing.assert_array_equal(of_x, weights + 5.0 * (np.arange(size) == 0))


UNCHANGED = {
    "broadcast": lambda x: np.broadcast_to(x, x.shape),
    "sum over no axis": lambda x: np.sum(x, axis=()),
    "the same dtype": lambda x: x.astype(float),
    "reshaped": lambda x: np.reshape(x, x.shape),
    "joined": lambda x: np.concatenate([x]),
    "real": np.real,
}


@pytest.mark.parametrize("name", UNCHANGED)
@pytest.mark.parametrize("size", SIZES)
def test_an_adjoint_that_goes_back_as_it_is_belongs_to_both(size, name):
    weights = np.linspace(1.0, 2.0, size)

    def f(x, z):
        y = x * 1.0
        first = y[0]
        return np.sum(weights * (UNCHANGED[name](y) + z)) + 5.0 * first

    of_x, of_z = ad.grad(f, (0, 1))(np.ones(size), np.ones(size))
    np.testing.assert_array_equal(of_z, weights)
    np.testing.assert_array_equal(of_x, weights + 5.0 * (np.arange(size) == 0))


@pytest.mark.parametrize("factor", [1.0, 2.0, 3.0, -0.5])
@pytest.mark.parametrize("size", SIZES)
def test_elements_whose_adjoint_has_a_factor(size, factor):
    def f(x):
        return np.sum(factor * x[1:4]) + np.sum(factor * x[2:])

    counted = np.zeros(size)
    counted[1:4] += 1
    counted[2:] += 1
    np.testing.assert_array_equal(ad.grad(f)(np.ones(size)), factor * counted)


WHOLE = np.ones((4, 6, 8))
LAYOUTS = {
    "rows": WHOLE,
    "columns": np.asfortranarray(WHOLE),
    "every second": np.ones((4, 6, 16))[:, :, ::2],
    "backwards": WHOLE[::-1],
    "columns, every second": np.asfortranarray(np.ones((8, 6, 8)))[::2],
    "axes in another order": np.ones((6, 4, 8)).transpose(1, 0, 2),
    "broadcast": np.broadcast_to(np.ones((4, 1, 8)), WHOLE.shape),
}


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_a_result_lies_in_memory_as_that_of_numpy(first, second):
    x, y = LAYOUTS[first], LAYOUTS[second]
    result, order = x + y, _find_order(x, y)
    lies = {"C": result.flags.c_contiguous, "F": result.flags.f_contiguous}
    assert order is None or lies[order]
    if first == second and "another" not in first:  # NumPy is not asked in the commonest cases
        assert order in lies


def test_a_complex_divisor():
    """Of the real part of a function of z the gradient is the function's derivative."""
    z, c = np.array([1 + 2j, -0.5 + 1j]), np.array([2 - 1j, 3j])
    found = ad.grad(lambda z: np.sum(np.real(c / z)))(z)
    np.testing.assert_allclose(found, -c / z**2, rtol=1e-14)
    found = ad.grad(lambda z: np.sum(np.real(z / c)))(z)
    np.testing.assert_allclose(found, 1 / c, rtol=1e-14)


@pytest.mark.parametrize("f", [np.sinh, np.cosh, np.expm1])
def test_a_slope_that_overflows_beside_the_element_that_is_taken(f):
    with np.errstate(over="ignore"):
        slope = ad.grad(lambda x: f(x)[0])(np.array([1.0, 800.0]))
    np.testing.assert_allclose(slope, [ad.grad(f)(1.0), 0.0], rtol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_an_adjoint_that_one_argument_views_is_not_overwritten_for_the_next(size):
    weights = np.linspace(1.0, 2.0, size)
    ravel = LinearRule(lambda dot, *_: np.ravel(dot), lambda bar, a, _b: np.reshape(bar, a.shape))
    joined = Primitive(
        "reshaped_plus_sine",
        (ravel, lambda _v, _a, b: np.cos(b)),
        lambda a, b: np.ravel(a) + np.sin(b),
        "{0} + sin({1})",
        "",
        "a linear map of one argument beside a slope of the other",
    )

    def f(a, b):
        return np.sum(weights * apply(joined, a * 1.0, b * 1.0))

    of_a, of_b = ad.grad(f, (0, 1))(np.ones((size, 1)), np.ones(size))
    np.testing.assert_array_equal(of_a, weights[:, None])
    np.testing.assert_allclose(of_b, weights * np.cos(1.0), rtol=1e-15)
