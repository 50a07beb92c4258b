"""Plain operands of every kind: lists of bools, small integers, fewer digits, objects."""

import numpy as np
import pytest
import scipy.special as sps

import simpleautodiff as ad
from simpleautodiff.errors import ValueKindError

X = np.array([1.3, 0.7, 2.1])
HERE = [True, False, True]
MODES = {
    "grad": ad.grad,
    "jacfwd": ad.jacfwd,
    "jit": lambda f: ad.jit(ad.grad(f)),
    "vmap": lambda f: lambda *args: ad.vmap(ad.grad(f))(*[np.array([a, a]) for a in args])[1],
}

SELECTED = {  # with the derivative at X
    "sum": (lambda x: np.sum(x, where=HERE), [1, 0, 1]),
    "method": (lambda x: x.mean(where=HERE), [0.5, 0, 0.5]),
    "prod": (lambda x: np.prod(x, where=HERE), [2.1, 0, 1.3]),
    "reduce": (lambda x: np.add.reduce(x, where=tuple(HERE)), [1, 0, 1]),
    "ufunc": (
        lambda x: np.log(x, where=HERE, out=np.zeros(3)).sum(),
        [1 / 1.3, 0, 1 / 2.1],
    ),
    "divide": (
        lambda x: np.divide(1, x, where=tuple(HERE), out=np.zeros(3)).sum(),
        [-1 / 1.3**2, 0, -1 / 2.1**2],
    ),
    "piecewise": (
        lambda x: np.piecewise(x, [HERE, [False, True, False]], [np.square, np.exp]).sum(),
        [2.6, np.exp(0.7), 4.2],
    ),
    "otherwise": (
        lambda x: np.piecewise(x, [HERE], [lambda t: t * t, lambda t: 5 * t]).sum(),
        [2.6, 5, 4.2],
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SELECTED)
def test_elements_selected_by_a_list_of_bools(name, mode):
    f, expected = SELECTED[name]
    np.testing.assert_allclose(MODES[mode](f)(X), expected, rtol=1e-14)


def test_piecewise_of_a_single_number():
    def f(x):
        return np.piecewise(x, [x < 1, x >= 1], [lambda t: t * t, lambda t: 5 * t])

    assert ad.value_and_grad(f)(1.3) == (f(1.3), 5)
    assert ad.value_and_grad(f)(0.5) == (f(0.5), 1)
    assert ad.grad(lambda x: x * np.piecewise(x, [x < 0], [1.0]))(2.0) == 0


WITH_CONSTANTS = {
    "arctan2": lambda x, c: np.arctan2(c, x).sum(),
    "power": lambda x, c: (c**x).sum(),
    "exponent": lambda x, c: (x**c).sum(),
    "quotient": lambda x, c: (x / c).sum(),
    "divisor": lambda x, c: (c / x).sum(),
    "hypot": lambda x, c: np.hypot(c, x).sum(),
    "xlogy": lambda x, c: sps.xlogy(x, c).sum(),
    "rel_entr": lambda x, c: sps.rel_entr(c, x).sum(),
    "logaddexp": lambda x, c: np.logaddexp(x, c).sum(),
    "average": lambda x, c: np.average(x, weights=c),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "float16", "float32", "bool"])
@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_constants_of_small_dtypes_lose_no_digits(name, dtype, mode):
    f, small = WITH_CONSTANTS[name], np.array([100, 3, 120]).astype(dtype)
    expected = ad.grad(f)(X, small.astype(np.float64))
    np.testing.assert_allclose(MODES[mode](f)(X, small), expected, rtol=1e-13)


def test_parents_of_different_dtypes_lose_no_digits():
    base, exponent = np.float32([0.1, 3, 0.7]), np.array([1.3, 0.7, 2.1])
    wide = base.astype(np.float64)
    found = ad.grad(lambda x, y: (x**y).sum(), 1)(base, exponent)
    np.testing.assert_allclose(found, np.log(wide) * wide**exponent, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.uint8])
def test_coordinates_of_integers_do_not_overflow(dtype):
    places = np.array([0, 100, 250]).astype(dtype) * (1 if dtype is np.uint8 else 100)
    found = ad.grad(lambda x: np.gradient(x, places)[1])(X)
    expected = ad.grad(lambda x: np.gradient(x, places.astype(float))[1])(X)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.allclose(found.sum(), 0)  # constants have no slope


def test_least_squares_of_integers():
    a = np.array([[2, 0], [0, 3], [1, 1]])
    found = ad.jacobian(lambda b: np.linalg.lstsq(a, b, rcond=None)[0])(X)
    np.testing.assert_allclose(found, np.linalg.pinv(a), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([(x[0], 1)], dtype=[("a", float), ("b", int)])["a"].sum(),
        lambda x: np.array([x[0]], dtype=str)[0],
    ],
)
def test_arrays_of_records_and_texts_are_refused(f):
    with pytest.raises(ValueKindError, match="leave out the dtype"):
        ad.grad(f)(X)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: np.array([x[0], x[1] * x[2]], dtype=object).sum(), [1, X[2], X[1]]),
        (lambda x: np.array([[x[0], 2.0], [1, x[1]]], dtype=object).ravel()[3], [0, 1, 0]),
        (lambda x: (x.astype(object) ** 2).sum(), 2 * X),
        (lambda x: np.asarray(x, dtype=object)[0] * 3, [3, 0, 0]),
        (lambda x: np.full(3, x[0], dtype=object).sum(), [3, 0, 0]),
        (lambda x: np.array(np.array([x[0], x[1]], dtype=object), dtype=float)[1], [0, 1, 0]),
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_arrays_of_objects_have_the_derivatives_of_their_numbers(f, expected, mode):
    np.testing.assert_allclose(ad.jacobian(f, mode=mode)(X), expected, rtol=1e-14)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), expected, rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([X, X]))[1], expected, rtol=1e-14)


def test_an_array_of_objects_may_be_written_to():
    def f(x):
        parts = np.empty(2, dtype=object)
        parts[0], parts[1] = x[0], x[1] * x[2]
        return parts.sum()

    np.testing.assert_allclose(ad.grad(f)(X), [1, 2.1, 0.7])


def test_examples_of_a_batch_may_be_printed():
    assert ad.vmap(lambda x: (f"{x:.1f}", 2 * x)[1])(X).tolist() == (2 * X).tolist()


def test_a_masked_array_is_refused_with_what_keeps_its_mask():
    masked = np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    with pytest.raises(ValueKindError, match=r"np\.where"):
        ad.grad(lambda x: (x * masked).sum())(X)
