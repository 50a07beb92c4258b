"""A write to what a function of NumPy returns changes its argument where NumPy returns a view."""

import numpy as np
import pytest

import simpleautodiff as ad

X = np.arange(1.0, 10.0).reshape(3, 3)

FUNCTIONS = {
    "einsum of a diagonal": lambda y: np.einsum("ii->i", y),
    "einsum that transposes": lambda y: np.einsum("ij->ji", y),
    "einsum that changes nothing": lambda y: np.einsum("ij", y),
    "einsum in lists": lambda y: np.einsum(y, [0, 0], [0]),
    "einsum of a stack": lambda y: np.einsum("bii->bi", y[None]),
    "einsum of a stack with an ellipsis": lambda y: np.einsum("...ii->...i", y[None]),
    "einsum that sums": lambda y: np.einsum("ij->i", y),
    "einsum of another dtype": lambda y: np.einsum("ii->i", y, dtype=np.float32),
    "einsum of two": lambda y: np.einsum("ij,j->ij", y, np.ones(3)),
    "real": lambda y: np.real(y),
    "real_if_close": lambda y: np.real_if_close(y),
    "conj": lambda y: np.conj(y),
    "trim_zeros": lambda y: np.trim_zeros(y[0]),
    "rot90": lambda y: np.rot90(y),
    "rot90 by a full turn": lambda y: np.rot90(y, 4),
    "roll": lambda y: np.roll(y, 0),
    "flip": lambda y: np.flip(y),
    "asarray": lambda y: np.asarray(y),
    "array": lambda y: np.array(y),
    "astype": lambda y: y.astype(float, copy=False),
    "ravel": lambda y: np.ravel(y),
    "ravel of the transpose": lambda y: np.ravel(y.T),
    "ravel by columns": lambda y: np.ravel(y.T, order="F"),
    "squeeze": lambda y: np.squeeze(y[None]),
    "split": lambda y: np.split(y, 3)[1],
    "tile": lambda y: np.tile(y, 1),
    "take": lambda y: np.take(y, [0], axis=0),
    "index": lambda y: y[[0]],
    "a row of an iteration": lambda y: list(y)[1],
    "where": lambda y: np.where(True, y, 0.0),
    "pos": lambda y: +y,
}
ARRAYS = {
    "a copy": lambda x: x.copy(),
    "a new array": lambda x: fill(np.zeros((3, 3)), x),
    "a result": lambda x: 2.0 * x,
    "the argument": lambda x: x,
    "a view": lambda x: fill(np.zeros((4, 3))[1:], x),
}


def fill(array, x):
    array[:] = x
    return array


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes_go_where_they_go_in_numpy(function, array):
    def f(x):
        y = ARRAYS[array](x)
        view = FUNCTIONS[function](y)
        view[0] *= 10.0
        view[-1] += 1.0
        return y * 1.0

    expected = f(X.copy())
    direction = np.cos(X)
    step = 2.0**-10  # f is linear
    slope = (f(X + step * direction) - f(X - step * direction)) / (2 * step)
    value, tangent = ad.jvp(f, (X.copy(),), (direction,))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-6)
    value, pull = ad.vjp(f, X.copy())
    np.testing.assert_array_equal(value, expected)
    assert np.sum(pull(X)[0] * direction) == pytest.approx(np.sum(X * slope), rel=1e-6)
    if function != "trim_zeros":  # every example has zeros of its own
        np.testing.assert_array_equal(ad.vmap(f)(np.stack([X, X])), [expected, expected])


def test_the_real_part_of_a_complex_array():
    def f(x):
        z = np.zeros(2, complex)
        z[:] = x
        np.real(z)[0] += 3.0 * x[1]
        np.imag(z)[1] = x[0]
        return np.abs(z) ** 2

    x = np.array([1.0, 2.0])  # |x₀ + 3x₁|², |x₁ + i x₀|²
    np.testing.assert_allclose(ad.jacobian(f)(x), [[14.0, 42.0], [2.0, 4.0]], rtol=1e-15)
    np.testing.assert_array_equal(ad.jvp(f, (x,), (x,))[0], f(x))


def test_an_empty_index_takes_the_number_out_of_an_array_without_axes():
    def f(x):
        y = np.array(0.0)
        y += x
        number, view = y[()], y[...]
        y *= x
        return np.array([number, view, y])

    np.testing.assert_array_equal(f(3.0), [3.0, 9.0, 9.0])
    value, tangent = ad.jvp(f, (3.0,), (1.0,))
    np.testing.assert_array_equal(value, [3.0, 9.0, 9.0])
    np.testing.assert_array_equal(tangent, [1.0, 6.0, 6.0])
    np.testing.assert_array_equal(ad.jit(ad.jacobian(f))(3.0), [1.0, 6.0, 6.0])


def test_the_views_of_meshgrid_are_refused():
    with pytest.raises(ad.RuleError, match="leave copy=False out"):
        ad.grad(lambda x: np.sum(np.meshgrid(x, x, copy=False)[0]))(np.ones(2))
