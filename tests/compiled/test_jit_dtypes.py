"""Dtypes in compiled programs: bytes, complex, single precision and integers as in NumPy."""

import numpy as np
import pytest

import simpleautodiff as ad
from tiers import TIERS, answers

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


def test_complex_numbers_may_change_from_call_to_call():
    jitted = answers(lambda z: z * z + 1, [(complex(k, 2),) for k in range(5)])
    assert "1 signature" in jitted.explain()


@pytest.mark.parametrize("tier", ["numpy", "optimised"])
def test_complex_numbers_have_conjugates(tier):
    z = np.array([1 + 2j, -3j])
    jitted = ad.jit(lambda z: z * z.conj(), tier=tier)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(z), z * z.conj())
    slope = ad.jit(ad.grad(lambda x: np.abs(np.exp(1j * x) * x) ** 2), tier=tier)
    assert [slope(1.0), slope(1.0)] == pytest.approx([2.0, 2.0], rel=1e-14)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_division_rounded_down_at_special_numbers(kind, tier):
    special = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 1e-40, 1e30, np.inf, -np.inf, np.nan]
    x, y = (np.ravel(part).astype(kind) for part in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = x // y
        jitted = answers(lambda x, y: x // y, [(x, y)] * 3, tier)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(jitted(x, y))[zero], np.signbit(want)[zero])


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [12, 1000])
def test_arrays_whose_bytes_stand_the_other_way_round(size, tier):
    other = np.arange(float(size)).astype(np.dtype(float).newbyteorder())
    weights = other[::-1]
    for f in (
        lambda x: x * 2,
        lambda x: x.T,
        np.sum,
        lambda x: [y * 2 for y in x],
        lambda x: x * weights,
        lambda x: weights[x.astype(int)] * 2,
        ad.vmap(lambda x: x * x),
    ):
        answers(f, [(other + k,) for k in (0.0, 0.0)] + [(other,)] * 3, tier, same=False)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [6, 1000])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, np.float32, float])
def test_numbers_of_python_are_compared_as_numpy_does(kind, size, tier):
    x = (np.arange(size) - 2).astype(kind)
    for f in (
        lambda x: x == 3,
        lambda x: x < 2.5,
        lambda x: x >= 0.1,
        lambda x: x < 2**70,
        lambda x: x >= -(2**63),
    ):
        answers(f, [(x,)] * 3, tier)
    answers(lambda x: x == 3, [(x > 0,)] * 3, tier)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", TIERS)
def test_the_mean_of_nothing_is_no_number(tier):
    for f in (np.mean, lambda x: np.mean(x, axis=0), lambda x: np.sum(x) / x.size):
        jitted = ad.jit(f, tier=tier)
        for _ in range(3):
            assert np.isnan(jitted(np.zeros((0, 3)))).all()


@pytest.mark.parametrize("tier", TIERS)
def test_a_single_number_in_another_kind_is_converted(tier):
    answers(lambda x: x.tolist(), [(np.float32(1.5),), (np.float32(2.5),)] * 2, tier)


@pytest.mark.parametrize("tier", ["numpy", "tape", "optimised"])
@pytest.mark.parametrize("kind", [float, np.float64])
def test_rounding_to_decimals_is_that_of_the_number(kind, tier):
    """The float 0.35 is a little less: Python rounds it down, NumPy, which multiplies by 10, up."""
    calls = [(kind(x),) for x in (1.25, 1.25, 0.35, 2.675, -0.15, 25.0, -0.04)]
    answers(lambda x: round(x, 1) * x, calls, tier)
    answers(lambda x: round(x, -1) + x, calls, tier)
    answers(lambda x: round(x, 1) * np.ones(3), calls, tier, same=False)
    answers(lambda x: ad.value_and_grad(lambda y: round(y, 1) * y)(x)[0], calls, tier)


def test_a_rounded_number_of_python_is_exported():
    for f in (lambda x: round(x, 1) * x, lambda x: round(x, 1) * x * np.ones(3)):
        jitted = answers(f, [(1.25,), (1.25,)], same=False)
        names = {}
        exec(jitted.to_python("exported"), names)
        for x in (0.35, 2.675, -0.04):
            np.testing.assert_array_equal(names["exported"](x), f(x))


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad], ids=["value", "slope"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_loop_that_begins_with_a_float_has_the_dtype_of_what_it_adds(kind, transform):
    """s = 0.9 s + x has the limit 10 x, in the dtype of x, as NumPy gives floats that of arrays."""
    for f in (
        lambda x: ad.fori_loop(0, 300, lambda _, s: s * 0.9 + x, 0.5),
        lambda x: ad.scan(lambda s, _: (s * 0.9 + x, s), 0.5, None, length=300)[0],
    ):
        eager, jitted = transform(f), ad.jit(transform(f))
        x = kind(1.5)
        for _ in range(3):
            result = jitted(x)
            assert result.dtype == eager(x).dtype == kind
            limit = 15.0 if transform is not ad.grad else 10.0
            assert float(result) == pytest.approx(limit, rel=20 * float(np.finfo(kind).eps))
