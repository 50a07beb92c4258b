"""Programs on which the ways to answer differed once: found by `./fuzz`, shrunk, and kept."""

import numpy as np
import pytest

import simpleautodiff as ad
from oracle.answers import LIBRARIES, TIERS, Written, differences

pytestmark = pytest.mark.filterwarnings("ignore")
WAYS = ("fast", "vmap", *TIERS, "vmap numpy", "vmap optimised", "python")
PRECISE = tuple(f"precise {tier}" for tier in TIERS)


def check(f, *points, kind="gradient", ways=WAYS):
    """Assert that all ways give the same, recorded at the first point and called at all."""
    points = [point if isinstance(point, list) else [point] for point in points]
    one = points[0][0]
    ones = [np.ones_like(one) if np.shape(one) else type(one)(1)] * 3
    assert not differences(Written(kind, f, points, ones), ways)


@pytest.mark.parametrize("kind", ["gradient", "jvp", "twice", "hvp"])
def test_a_maximum_before_an_infinite_slope(kind):
    f = lambda np, ad, x: ([np.sqrt(np.maximum(x, 0.0))], [0.0])
    check(f, 4.0, -1.0, 0.25, np.nan, kind=kind)
    check(f, np.array([4.0, -1.0]), np.array([-2.0, 9.0]), kind=kind)


@pytest.mark.parametrize("kind", ["gradient", "jvp"])
def test_a_maximum_after_an_infinite_slope(kind):
    f = lambda np, ad, x: ([np.maximum(np.sqrt(x), 1.0)], [0.0])
    check(f, 4.0, 0.0, 0.25, kind=kind)
    check(f, np.array([4.0, 0.0]), np.array([0.0, 9.0]), kind=kind)


def test_two_choices_in_a_row():
    def f(np, ad, x):
        y = np.arccosh(np.maximum(np.logaddexp(x, x), 0.3))
        return [y, np.maximum(y, 0.0), np.sinh(y)], [0.3]

    for kind in ("gradient", "jvp"):
        check(f, -0.939962272752215, 0.86, kind=kind)


def test_a_choice_times_a_number_that_is_too_large_for_its_kind():
    def f(np, ad, x):
        x = x * 1e200
        return [np.log10(np.tanh(np.where(x > 0, x, 0.0)))], [0.3]

    check(f, np.float32(np.nan), np.float32(-1.0), np.float32(0.0))


def test_nan_to_the_power_of_zero():
    def f(np, ad, x):
        y = np.where(x > 0, np.log(x), 0.0)
        return [y, np.log(x), np.log(x) ** y], [0.3]

    check(f, -0.02, 0.5)


def test_the_logarithm_of_a_negative_number_in_logaddexp():
    def f(np, ad, x):
        v = np.log(x) ** 2
        return [np.logaddexp(v, v)], [0.0]

    check(f, 2.0, -1.0)
    check(f, np.array([2.0, -1.0]), np.array([-1.0, 3.0]))


def test_a_negative_power_of_a_large_number():
    f = lambda np, ad, x: ([np.log(-(x**-2.0))], [0.0])
    check(f, 2.0, 1e155)
    check(f, np.float32(2.0), np.float32(1e20))


def test_precise_hypot():
    def f(np, ad, x):
        return [np.hypot(x, 0.3), np.arctan2(x, 0.3), np.arcsinh(x)], [0.0]

    points = np.random.default_rng(0).uniform(0.01, 20, 40).tolist()
    check(f, *points, ways=PRECISE)


@pytest.mark.parametrize("kind", ["gradient", "jvp", "twice", "hvp"])
def test_a_number_to_the_power_of_a_node(kind):
    check(lambda np, ad, x: ([2.0**x], [0.0]), 0.6, 2.0, 710.0, kind=kind)


def test_the_root_of_a_power_of_two_nodes():
    def f(np, ad, x, y):
        return [np.where(x > 0, np.sqrt(x**y), y)], [0.0]

    check(f, [0.73, 2.0], [0.5, -1.0])


def test_a_tangent_of_a_choice_times_a_number_that_is_too_large():
    def f(np, ad, x):
        y = np.sqrt(np.fmax(x, 0.3) + 1) * 1e200
        return [np.arccosh(y), y], [0.0]

    check(f, np.float32(0.58), np.float32(-1.0), kind="jvp")


def test_an_infinite_slope_of_an_element_that_is_not_taken():
    f = lambda np, ad, x: ([(0.0**x)[:1] * np.ones(2)], [0.0])
    check(f, np.array([0.5, -0.0]), np.array([1.0, 2.0]))


def test_the_sign_of_a_number_that_was_rounded_to_zero():
    def f(np, ad, x):
        return [1 / np.rint(x), np.arctan2(np.ceil(x), -1.0), np.copysign(x, np.trunc(x))], [0.0]

    check(f, -0.5, -0.0, 0.5, kind="gradient")


@pytest.mark.parametrize("name", ["sinh", "cosh", "expm1", "exp", "exp2"])
def test_a_slope_that_overflows_of_an_element_that_is_not_taken(name):
    f = lambda np, ad, x: ([getattr(np, name)(x)[0] + abs(x)], [0.0])
    check(f, np.array([0.5, 1e20, 1e3]))
    found = ad.grad(lambda x: getattr(np, name)(x)[0])(np.array([0.0, 1e20, 1e3]))
    assert found[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3), (0,)])
def test_rows_whose_results_are_constants(shape):
    weights = np.ones(shape) * 2.5
    f = lambda np, ad, x: ([x * weights, x * weights, x * weights], [0.3])
    x = np.full(shape, 0.4) if shape else 0.4
    check(f, x, x, kind="vmap", ways=("fast", *TIERS, *PRECISE, "python", "c"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_infinite_factor_of_what_is_not_taken(dtype):
    f = lambda np, ad, x: ([np.where(x > 0, x, x * dtype(np.inf))], [dtype(0)])
    if dtype is not np.float16:
        check(f, np.array([-1, 0, 4], dtype), np.array([4, 2, 1], dtype), ways=("fast", *TIERS))
    total = lambda x: np.sum(np.where(x > 0, x, x * dtype(np.inf)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ad.grad(total)(np.array([-1, 4], dtype)), [np.inf, 1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("count", [1, 2_000, 40_000])
def test_a_number_too_large_for_the_dtype_of_a_large_array(count, dtype):
    """1e200 is inf in float32: |x| is taken where x is negative, and has the slope -1."""
    x = np.tile(np.array([-1.5, 0.25], dtype), count)
    found = ad.grad(lambda x: np.sum(np.maximum(np.abs(x), x * 1e200)))(x)
    np.testing.assert_array_equal(found, np.where(x < 0, -1, np.inf).astype(dtype))


@pytest.mark.parametrize("library", ["strict", "dask", "JAX arrays", "torch"])
def test_what_is_not_taken_of_other_libraries_arrays(library):
    make = LIBRARIES[library]()
    if make is None:
        pytest.skip("not installed")
    x = np.array([-1.0, 0.0, 4.0])
    for root in (np.sqrt, np.log):
        for f in (
            lambda x, root=root: np.sum(np.where(x > 0, root(x), 0.0)),
            lambda x, root=root: np.sum(root(np.maximum(x, 0.0))[2:]),
        ):
            with np.errstate(all="ignore"):
                found = np.asarray(ad.grad(f)(make(x)))
            np.testing.assert_array_equal(found, [0, 0, 0.25])


def test_quotients_and_remainders_of_two_numbers_of_the_program():
    f = lambda np, ad, x: ([np.mod(x, x * x), x // (x + 0.1)], [0.0])
    ways = ("fast", *TIERS, *PRECISE, "python")
    check(f, 0.3193001766519934, 2.5, -1.7, ways=ways)
    check(f, np.array([0.3, -2.5]), np.array([4.0, 0.7]), ways=ways)


def test_elements_of_a_complex_array_whose_real_part_was_used_after_a_write():
    """The gradient of Re(x) + Re((1 + 2i) x) is 1 + (1 + 2i) by the convention of `grad`."""

    def f(z):
        x = z * 1
        turned = x[1:] * (1 + 2j)
        x[0] = 0
        return np.sum(x.real) + np.sum(turned.real)

    found = ad.grad(f)(np.exp(1j * np.arange(1.0, 4.0)))
    np.testing.assert_array_equal(found, [0, 2 + 2j, 2 + 2j])


def test_an_odd_function_of_a_root_whose_square_is_infinite():
    """Recorded programs have derivatives of tan(v)² that hold where v is 0, too."""

    def f(np, ad, x, y):
        v = np.hypot(x, y)
        return [np.tan(v), np.tanh(1e-160 * v)], [0.3]

    for kind in ("twice", "hvp"):
        check(f, [-0.5, 0.25], [1e155, 1e300], kind=kind, ways=("fast", "vmap", *TIERS, *PRECISE))


def test_a_number_subtracted_after_a_power_with_structural_zeros():
    """Where 0 is raised to a positive power, the exponent has a structural zero."""

    def f(np, ad, x, y):
        s = np.sin(x)
        difference = 1 - s  # recorded first, so that its adjoint comes last
        power = s**y
        return [difference, power, np.sin(power)], [0.3]

    x, y = np.float64(-4.943204613773227), np.float64(7.587003940432404)
    check(f, [x, y], [-x, y], ways=("fast", "vmap"))
