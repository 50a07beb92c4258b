"""Long programs on large arrays: nothing depends on how many operations meet how many elements.

Expected values come from the chain rule, worked out in NumPy beside the function.
"""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import plug

pytestmark = pytest.mark.slow


LENGTHS = [1, 2, 499, 500, 501, 600, 1001, 2000]
SIZES = [1, 100, 4096, 4097, 5000, 16384, 16385, 20_000, 100_000]
CASES = [(n, m) for n in LENGTHS for m in SIZES if n * m <= 2_000_000 or (n, m) == (2000, 100_000)]


def start(size):
    return np.linspace(0.1, 1.0, size)


def sines(x, length):
    for _ in range(length):
        x = np.sin(x)
    return x


def slopes_of_sines(x, length):
    slope = np.ones_like(x)
    for _ in range(length):
        slope *= np.cos(x)
        x = np.sin(x)
    return slope


def products(x, length):
    """Multiply by a number near 1 that depends on x, so that each step has two parents."""
    y = x
    for _ in range(length):
        y = y * (1 - x / 4096)
    return y


def slopes_of_products(x, length):
    factor = 1 - x / 4096
    return factor**length - x * length / 4096 * factor ** (length - 1)


def views(x, length):
    """Add a view of the array to itself again and again."""
    for _ in range(length):
        x = (x + x[::-1].reshape(-1)) / 2
    return x


PROGRAMS = {
    "unary": (sines, slopes_of_sines),
    "binary": (products, slopes_of_products),
    "views": (views, lambda x, length: np.ones_like(x)),
}


@pytest.mark.parametrize(("length", "size"), CASES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_long_programs(name, length, size):
    program, slopes = PROGRAMS[name]
    x = start(size)
    value, gradient = ad.value_and_grad(lambda x: np.sum(program(x, length)))(x)
    expected = slopes(x, length)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, np.sum(program(x, length)), rtol=1e-12)
    assert x.flags.writeable


@pytest.mark.parametrize(("length", "size"), [(600, 5000), (600, 20_000), (1100, 5000)])
class TestEveryTransformation:
    def test_several_results(self, length, size):
        x = start(size)
        value, pullback = ad.vjp(lambda x: (y := sines(x, length), y * x, np.sum(y)), x)
        ones = np.ones(size)
        (pulled,) = pullback((ones, ones, 1.0))
        slope = slopes_of_sines(x, length)
        np.testing.assert_allclose(pulled, slope * (2 + x) + value[0], rtol=1e-9)

    def test_jacobian_of_few_results(self, length, size):
        x = start(size)
        picked = [0, size // 2, size - 1]
        rows = ad.jacrev(lambda x: sines(x, length)[picked])(x)
        slope = slopes_of_sines(x, length)
        expected = np.zeros((3, size))
        expected[range(3), picked] = slope[picked]
        np.testing.assert_allclose(rows, expected, rtol=1e-9)

    def test_hessian_vector_products(self, length, size):
        x, direction = start(size), np.linspace(1.0, 2.0, size)
        f = lambda x: np.sum(products(x, length))
        a, n = 1 / 4096, length
        factor = 1 - a * x
        second = -2 * n * a * factor ** (n - 1) + x * n * (n - 1) * a**2 * factor ** (n - 2)
        np.testing.assert_allclose(ad.hvp(f, (x,), (direction,)), second * direction, rtol=1e-8)
        again = ad.grad(lambda x: np.sum(ad.grad(f)(x) * direction))(x)
        np.testing.assert_allclose(again, second * direction, rtol=1e-8)

    def test_compiled(self, length, size):
        x = start(size)
        gradient = ad.jit(ad.grad(lambda x: np.sum(sines(x, length))))
        for _ in range(3):
            np.testing.assert_allclose(gradient(x), slopes_of_sines(x, length), rtol=1e-9)

    def test_arrays_of_one_number_meet_large_ones(self, length, size):
        x = start(size)

        def f(scale, x):
            y = scale * x
            for _ in range(length):
                y = np.sin(y) + 0 * scale
            return np.sum(y)

        to_scale, to_x = ad.grad(f, (0, 1))(1.0, x)
        slope = slopes_of_sines(x, length)
        np.testing.assert_allclose(to_x, slope, rtol=1e-9)
        np.testing.assert_allclose(to_scale, slope @ x, rtol=1e-9)


def test_hessian_of_a_long_program():
    x = np.array([0.3, 0.7])
    wide = np.ones((1, 5000))

    def f(x):
        y = x[:, None] * wide
        for _ in range(300):
            y = np.sin(y)
        return np.sum(y) / 5000

    second = ad.derivative(lambda u: sines(u, 300), 2)
    np.testing.assert_allclose(
        ad.hessian(f)(x), np.diag([second(u) for u in x]), rtol=1e-8, atol=1e-14
    )


def test_minimising_a_long_program():
    target = np.linspace(0.2, 0.3, 5000)

    def miss(x):
        y = x
        for _ in range(600):
            y = y + (target - y) * x * 1e-3
        return np.sum((y - target) ** 2)

    found = plug.minimize(miss, np.full(5000, 0.9), method="L-BFGS-B", tol=1e-14)
    np.testing.assert_allclose(found.x, target, atol=1e-3)


def test_a_value_and_gradient_can_be_taken_again():
    x = start(5000)
    f = ad.value_and_grad(lambda x: np.sum(sines(x, 600)))
    first, second = f(x), f(x)
    np.testing.assert_array_equal(first[1], second[1])
    assert first[0] == second[0]


@pytest.mark.parametrize("size", [4, 5000, 20_000])
def test_writes_to_a_view_leave_what_was_computed_from_its_parts(size):
    """The parts of the view are large and small; both were read before the write."""

    def f(x):
        view = x[::-1]
        swapped = np.concatenate([view[1:], view[:1]])
        moved = swapped + 0.3
        view += swapped * 0.2
        return np.sum(moved), np.sum(view), np.sum(swapped)

    x = start(size)
    values, pullback = ad.vjp(f, x)
    np.testing.assert_allclose(values, f(x.copy()))
    for seed, expected in [((1.0, 0.0, 0.0), 1.0), ((0.0, 1.0, 0.0), 1.2), ((0.0, 0.0, 1.0), 1.0)]:
        np.testing.assert_allclose(pullback(seed)[0], np.full(size, expected))
