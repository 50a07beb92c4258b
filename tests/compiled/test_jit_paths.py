"""What compiled code goes by: each decision of the function is a path, and none is missed."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from tiers import TIERS, answers

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x in {1.0, 2.0} else -x,
        lambda x: {1.0: 3.0}.get(x, 0.0) * x,
        lambda x: x if f"{x:.0f}" == "5" else -x,
        lambda x: x if str(x) == "5.0" else -x,
        lambda x: x * round(x),
        lambda x: sum(range(math.floor(x))) * x,
        lambda x: np.floor(x) * x,
        lambda x: "abcdefgh"[math.ceil(x)] == "b",
    ],
)
def test_lookups_texts_and_whole_numbers(f, tier):
    answers(f, [(5.0,), (5.0,), (5.0,), (1.0,), (2.0,), (5.0,), (3.5,)], tier, same=False)


@pytest.mark.parametrize("tier", TIERS)
def test_the_floor_of_what_is_no_whole_number(tier):
    answers(lambda x: np.floor(x), [(5.5,), (5.5,), (math.nan,), (-math.inf,), (1e300,)], tier)
    answers(math.floor, [(5.5,), (5.5,), (1e300,), (-0.5,)], tier)
    jitted = ad.jit(lambda x: sum(range(int(x))), tier=tier)
    assert [jitted(3.0), jitted(3.5)] == [3, 3]
    with pytest.raises(ValueError, match="NaN"):
        jitted(math.nan)


@pytest.mark.parametrize("tier", TIERS)
def test_decisions_by_a_hair_do_not_use_up_the_ways(tier):
    jitted = ad.jit(lambda a, b, c: a if a * b - c == 0 else b, tier=tier)
    for a, b in np.random.default_rng(0).uniform(0, 9, (200, 2)).tolist():
        assert jitted(a, b, a * b) in (a, b)  # a fused product is not quite c
    assert "1 path " in jitted.explain()


@pytest.mark.parametrize("tier", TIERS)
def test_a_function_that_captures_what_is_being_recorded(tier):
    def f(x):
        inner = ad.jit(lambda y: x * y, tier=tier)
        return inner(2.0) + inner(2.0) + inner(3.0)

    for transformed in (f, ad.grad(f)):
        answers(transformed, [(3.0,), (3.0,), (4.0,)], tier)


@pytest.mark.parametrize("tier", TIERS)
def test_each_whole_number_that_code_goes_by_is_a_way(tier):
    jitted = ad.jit(lambda x: x * int(x), max_paths=5, tier=tier)
    for _ in range(2):
        for k in range(1, 6):
            assert jitted(k + 0.5) == k * (k + 0.5)
    assert "5 paths" in jitted.explain()
    with pytest.warns(ad.NotCompiledWarning, match="5 different ways"):
        assert jitted(9.5) == 9 * 9.5


@pytest.mark.parametrize("tier", TIERS)
def test_a_whole_number_of_numpy_may_be_none_at_another_call(tier):
    jitted = ad.jit(lambda x: np.sum(math.floor(x)), tier=tier)
    assert [jitted(2.5), jitted(3.5)] == [2, 3]
    assert jitted(3.5).dtype.kind == "i"
    assert math.isnan(jitted(math.nan))
    assert jitted(1e300) == 1e300


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [6, 300])
def test_arrays_chosen_by_a_condition_inside_a_derivative(size, tier):
    rng = np.random.default_rng(0)
    calls = [(rng.normal(size=size),) for _ in range(4)]
    jitted = answers(ad.grad(lambda x: np.sum(x[x > 0] ** 2)), calls, tier)
    first = tier is None  # then the first call is not recorded yet
    assert f"{4 - first} paths" in jitted.explain()  # one for each mask


@pytest.mark.parametrize("whole", [np.sum, np.prod, lambda u: np.sum(np.sin(u))])
def test_pieces_that_look_at_several_elements(whole):
    def f(x):
        return np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda u: u * whole(u), lambda u: u * u]))

    jitted = ad.jit(ad.value_and_grad(f))
    first, second = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, -3.0])
    for x in (first, first, second, second, -first, first):
        value, gradient = ad.value_and_grad(f)(x)
        found = jitted(x)
        np.testing.assert_allclose(found[0], value, 1e-14)
        np.testing.assert_allclose(found[1], gradient, 1e-14)
    with pytest.raises(ad.RuleError, match=r"np\.piecewise .* several elements"):
        ad.vmap(f)(np.stack([first, second]))


def test_pieces_of_single_elements_are_compiled():
    w = 2.5

    def f(x):
        return np.sum(np.piecewise(x, [x < 0], [lambda u: np.log1p(-u) * w, np.sqrt]))

    jitted = ad.jit(ad.grad(f))
    for x in (np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        np.testing.assert_allclose(jitted(x), ad.grad(f)(x), 1e-14)
    assert "1 path" in jitted.explain()
    both = np.array([[1.0, -2.0], [-3.0, 4.0]])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(both), [ad.grad(f)(x) for x in both], 1e-14)


def test_pieces_with_a_number_of_each_example():
    def f(x, w):
        return np.sum(np.piecewise(x, [x < 0], [lambda u: w, lambda u: u * w]))

    xs, ws = np.array([[1.0, -2.0, 3.0], [-3.0, 4.0, 5.0]]), np.array([2.0, 3.0])
    np.testing.assert_array_equal(ad.vmap(f)(xs, ws), [2 + 2 + 6, 3 + 12 + 15])


def test_a_call_begins_with_the_path_of_the_last_one():
    def steps(x):
        count = 0
        while x > 1.0:
            x, count = x / 2, count + 1
        return x + count

    jitted = ad.jit(steps)
    for x in (3.0, 3.0, 9.0, 9.0, 20.0, 20.0):
        jitted(x)
    (found,) = jitted.function.known.values()
    paths = found.paths()
    assert len(paths) == 3
    for x in (20.0, 20.5, 9.0, 3.0, 0.5, 21.0, 8.5):
        assert jitted(x) == steps(x)
    before = [path.program.calls for path in paths]
    jitted(10.0)
    jitted(11.0)
    after = [path.program.calls for path in paths]
    assert sum(after) - sum(before) == 2  # the first path is not tried before it
