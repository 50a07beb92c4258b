"""What is done differently for large arrays, done to every case: the same derivatives follow.

Large arrays are locked instead of copied, values that no rule reads are let go, and adjoints are
added up in place. Here every array counts as large.
"""

import threading
import tracemalloc
import warnings

import mpmath
import numpy as np
import pytest

import array_cases as cases
import simpleautodiff as ad
from simpleautodiff.fast import array_sweep, memory_pool
from simpleautodiff.fast.thresholds import THRESHOLDS


@pytest.fixture
def all_large(monkeypatch):
    for limit, size in {
        "small": 0,
        "repeated": 0,
        "medium": 0,
        "pooled": 1,
        "block": 2,
        "near": 0,
        "many": 1,
    }.items():
        monkeypatch.setattr(THRESHOLDS, limit, size)


@pytest.mark.parametrize(("name", "f", "x"), cases.CASES, ids=[case[0] for case in cases.CASES])
def test_every_case(name, f, x, request):
    total = lambda x: np.sum(np.sin(f(x)) * cases.weights(np.shape(f(x))))
    direction = cases.weights(x.shape)
    slope = lambda x: ad.grad(total)(x)
    expected = slope(x), ad.hvp(total, (x,), (direction,))
    _, pullback = ad.vjp(total, x)
    request.getfixturevalue("all_large")
    np.testing.assert_allclose(slope(x), expected[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        ad.hvp(total, (x,), (direction,)), expected[1], rtol=1e-10, atol=1e-11
    )
    again = ad.grad(lambda x: np.sum(slope(x) * direction))(x)
    np.testing.assert_allclose(again, expected[1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        ad.vjp(total, x)[1](1.0)[0], pullback(1.0)[0], rtol=1e-12, atol=1e-13
    )
    assert x.flags.writeable


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_logarithm_of_a_sum_of_many_powers(kind):
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(2, 3000)) * np.geomspace(1e-3, 300, 3000)
    b[:1000] = a[:1000]
    a, b = a.astype(kind), b.astype(kind)
    value, (to_a, to_b) = ad.value_and_grad(lambda a, b: (v := np.logaddexp(a, b)) @ v, (0, 1))(
        a, b
    )
    with mpmath.workprec(200):
        pairs = zip(mpmath.matrix(a), mpmath.matrix(b), strict=True)
        exact = np.array([float(mpmath.log(mpmath.exp(p) + mpmath.exp(q))) for p, q in pairs])
    computed = ad.logaddexp(a, b)
    assert computed.dtype == to_a.dtype == to_b.dtype == kind
    parts = np.abs(np.maximum(a, b)) + np.log(2)  # their sum may be smaller, not its rounding
    np.testing.assert_array_less(np.abs(computed - exact), 2 * np.finfo(kind).eps * parts)
    np.testing.assert_allclose(value, exact @ exact, rtol=1e3 * np.finfo(kind).eps)
    share = np.exp(a.astype(float) - exact)
    close = {"rtol": 1e3 * np.finfo(kind).eps, "atol": np.finfo(kind).tiny}
    np.testing.assert_allclose(to_a, 2 * exact * share, **close)
    np.testing.assert_allclose(to_b, 2 * exact * np.exp(b.astype(float) - exact), **close)


@pytest.mark.parametrize("other", [0, 0.0, -np.inf, np.float32(1.5), np.arange(4.0)[:, None]])
def test_the_logarithm_of_a_sum_of_many_powers_at_special_points(other):
    specials = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324, 800.0, -800.0]
    x = np.resize(specials, 2000)
    for chosen in (x, x[3::10], np.resize(specials[1:2], 2000), np.resize(specials[3:], 2000)):
        for kind in (float, np.float32, np.float16, np.longdouble):
            with np.errstate(over="ignore"):
                given = chosen.astype(kind)
            value, warned = _with_warnings(ad.logaddexp, other, given)
            expected, numpy_warned = _with_warnings(np.logaddexp, other, given)
            assert {*warned} <= {*numpy_warned}
            assert value.dtype == expected.dtype
            np.testing.assert_allclose(value, expected, rtol=4 * np.finfo(value.dtype).eps)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2])
def test_shares_of_a_sum_of_powers_add_up_to_one(function, kind):
    base = np.e if function is np.logaddexp else 2.0
    for large in (0.0, 1e5, 2.0**24, 1e12):
        a = np.full(2000, large, kind)
        b = a - np.linspace(0, 3, 2000).astype(kind)
        shares = ad.grad(lambda a, b: np.sum(function(a, b)), (0, 1))(a, b)
        expected = 1 / (1 + base ** (b.astype(float) - a))
        np.testing.assert_allclose(shares[0], expected, rtol=4 * np.finfo(kind).eps)
        np.testing.assert_allclose(shares[0] + shares[1], 1, rtol=4 * np.finfo(kind).eps)
    empty = np.zeros((0, 1), kind)
    assert ad.vjp(lambda a: function(a, np.ones(2000, kind)), empty)[0].shape == (0, 2000)


def _with_warnings(function, *args):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        return function(*args), [str(warning.message) for warning in warned]


LENGTH = 200_000  # elements: 1.6 MB, in recycled memory
POINTS = np.linspace(0.5, 1.5, LENGTH)


def energy(x):
    y = np.tanh(2.0 * x - 0.5) * x
    return np.sum((y / 4.0 + y) ** 2) - np.sum(np.roll(x, 3) * x)


def energy_slope(x):
    """Differentiate `energy` by hand."""
    t = np.tanh(2.0 * x - 0.5)
    of_y = 2 * 1.25**2 * t * x
    return of_y * (t + 2 * x * (1 - t * t)) - np.roll(x, 3) - np.roll(x, -3)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_recycled_memory_gives_what_the_formula_gives(kind):
    x = POINTS.astype(kind)
    value, slope = ad.value_and_grad(energy)(x)
    assert slope.dtype == kind
    assert slope.flags.writeable
    tolerance = 1e-13 if kind is np.float64 else 2e-5
    np.testing.assert_allclose(slope, energy_slope(POINTS), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(value, energy(POINTS), rtol=1e-13 if kind is np.float64 else 1e-4)


def test_results_are_not_touched_by_later_calls():
    gradient = ad.grad(energy)
    first = gradient(POINTS)
    kept = first.copy()
    others = [gradient(POINTS * scale) for scale in (0.5, 2.0)]
    np.testing.assert_array_equal(first, kept)
    assert not any(np.shares_memory(first, other) for other in [*others, POINTS])
    assert not np.shares_memory(*others)


def test_values_and_views_that_a_function_keeps_are_not_touched():
    seen = []

    def f(x):
        y = x * 3.0 + 1.0
        seen.extend([y.value, y.value[::2], (y - 1.0).value[5:]])
        return np.sum(np.exp(-y) * y)

    for _ in range(3):
        ad.grad(f)(POINTS)
    expected = 3 * POINTS + 1
    for whole, half, rest in zip(seen[::3], seen[1::3], seen[2::3], strict=True):
        np.testing.assert_array_equal(whole, expected)
        np.testing.assert_array_equal(half, expected[::2])
        np.testing.assert_array_equal(rest, expected[5:] - 1)


def test_several_gradients_do_not_share_memory():
    f = lambda x, y, z: np.sum(2.0 * (x + y - z) ** 2 + x)
    arrays = POINTS, POINTS / 2, POINTS / 3
    slopes = ad.grad(f, (0, 1, 2))(*arrays)
    common = 4 * (POINTS + POINTS / 2 - POINTS / 3)
    for slope, expected in zip(slopes, (common + 1, common, -common), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-14)
    assert not np.shares_memory(slopes[0], slopes[1])
    assert not np.shares_memory(slopes[1], slopes[2])


def test_derivatives_of_derivatives_in_recycled_memory():
    direction = np.cos(POINTS)
    step = 1e-6
    ahead, behind = (energy_slope(POINTS + sign * step * direction) for sign in (1, -1))
    expected = (ahead - behind) / (2 * step)
    again = ad.grad(lambda x: np.sum(ad.grad(energy)(x) * direction))(POINTS)
    np.testing.assert_allclose(again, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        ad.hvp(energy, (POINTS,), (direction,)), expected, rtol=1e-7, atol=1e-7
    )


def in_threads(work, scales):
    threads = [threading.Thread(target=work, args=(scale,)) for scale in scales]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_do_not_get_the_same_memory():
    found = {}

    def work(scale):
        for _ in range(5):
            found.setdefault(scale, []).append(ad.grad(energy)(POINTS * scale))

    in_threads(work, (0.5, 1.0, 1.5, 2.0))
    for scale, slopes in found.items():
        for slope in slopes:
            np.testing.assert_allclose(slope, energy_slope(POINTS * scale), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("quiet")
def test_memory_that_stays_is_bounded(monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "pool", 5 * POINTS.nbytes)
    tracemalloc.start()
    try:
        for size in (LENGTH, LENGTH // 2, LENGTH - 1):
            ad.grad(energy)(POINTS[:size])
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 5 * POINTS.nbytes + 100_000
    assert peak < 15 * POINTS.nbytes
    assert not memory_pool.POOL.open
    assert not memory_pool.POOL.loans


@pytest.mark.parametrize("times", [2, 7])
def test_an_adjoint_that_nothing_else_needs_is_multiplied_in_place(times, monkeypatch):
    """The way back through products with constants needs one array, however many they are."""
    factors = [np.linspace(1.0, 2.0, 20_000) + k for k in range(times)]
    fresh, compute = [], array_sweep.compute_pooled
    monkeypatch.setattr(
        array_sweep, "compute_pooled", lambda *args: fresh.append(args) or compute(*args)
    )

    def f(x):
        for factor in factors:
            x = x * factor
        return np.sum(x)

    slope = ad.grad(f)(np.linspace(0.5, 1.0, 20_000))
    np.testing.assert_allclose(slope, np.prod(factors, axis=0), rtol=1e-14)
    assert len(fresh) <= 1


def long_energy(x):
    """Need many arrays at once: each product is read again on the way back."""
    y = x
    for _ in range(12):
        y = np.sin(y) * x
    return np.sum(y)


def long_slope(x):
    """Differentiate `long_energy` by hand, forward."""
    y, dot = x, np.ones_like(x)
    for _ in range(12):
        y, dot = np.sin(y) * x, np.cos(y) * dot * x + np.sin(y)
    return dot


def empty_store():
    memory_pool.POOL.alone.clear()
    memory_pool.POOL.parts.clear()


def free_blocks():
    return [
        block
        for free in (memory_pool.POOL.alone, memory_pool.POOL.parts)
        for blocks in free.values()
        for block in blocks
    ]


def pieces_in_store():
    return {id(block.base): block.base.nbytes for block in free_blocks() if block.base is not None}


def test_pieces_are_not_small():
    for size, many in ((2**19, 64), (2**19 + 1, 64), (5 * 2**20, 20), (800_000, 96), (2**23, 31)):
        blocks = [*memory_pool._make_together(size, many)]
        assert [block.nbytes for block in blocks] == [size] * many
        pieces = {id(block.base): block.base.nbytes for block in blocks}
        assert min(pieces.values()) >= memory_pool.PIECE
        assert max(pieces.values()) < 2 * memory_pool.PIECE + 2 * size
    assert len({id(block.base) for block in memory_pool._make_together(2**19, 40)}) == 1


@pytest.mark.usefixtures("quiet")
def test_many_blocks_lie_together_in_the_next_derivative():
    empty_store()
    first = ad.grad(long_energy)(POINTS)
    pieces = pieces_in_store()
    assert pieces
    assert max(pieces.values()) < 2 * memory_pool.PIECE
    assert sum(pieces.values()) >= memory_pool.MIN_TOGETHER
    second = ad.grad(long_energy)(POINTS)
    assert pieces_in_store() == pieces  # they serve again
    for slope in (first, second):
        np.testing.assert_allclose(slope, long_slope(POINTS), rtol=1e-12, atol=1e-12)
        assert slope.flags.writeable
        assert not isinstance(slope.base, np.ndarray) or slope.base.nbytes == slope.nbytes


@pytest.mark.usefixtures("quiet")
def test_what_leaves_does_not_hold_on_to_a_piece():
    def f(x):
        return long_energy(x), {"doubled": 2.0 * x, "pair": (x + 1.0, 3)}

    for _ in range(2):
        (value, aux), slope = ad.value_and_grad(f, has_aux=True)(POINTS)
        np.testing.assert_allclose(slope, long_slope(POINTS), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(aux["doubled"], 2 * POINTS)
        np.testing.assert_array_equal(aux["pair"][0], POINTS + 1)
        np.testing.assert_allclose(value, long_energy(POINTS), rtol=1e-13)
    for array in (slope, aux["doubled"], aux["pair"][0]):
        assert array.base is None or array.base.base is None
    assert not memory_pool.POOL.loans


@pytest.mark.usefixtures("quiet")
def test_a_value_kept_from_a_piece_is_not_touched_and_comes_back():
    empty_store()
    seen = []

    def f(x):
        y = 2.0 * x
        seen.append(y.value)
        return long_energy(x) + np.sum(y)

    for _ in range(4):
        ad.grad(f)(POINTS)
    many = len(free_blocks())
    for value in seen:
        np.testing.assert_array_equal(value, 2 * POINTS)
    lent = len(memory_pool.POOL.loans)
    assert lent  # those in a piece; the first one's block was its own
    value = None
    seen.clear()
    assert len(free_blocks()) == many + lent
    assert not memory_pool.POOL.loans


@pytest.mark.usefixtures("quiet")
def test_pieces_go_when_they_are_too_much_or_in_the_way(monkeypatch):
    empty_store()
    tracemalloc.start()
    try:
        for _ in range(2):
            ad.grad(long_energy)(POINTS)
        assert pieces_in_store()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        ad.grad(long_energy)(POINTS[: LENGTH // 2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * held  # half as much again, had nothing gone
    monkeypatch.setattr(THRESHOLDS, "pool", 2**23)
    ad.grad(long_energy)(POINTS)
    assert sum(pieces_in_store().values()) <= 2**23


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_threads_share_pieces():
    found = {}

    def work(scale):
        for _ in range(4):
            found.setdefault(scale, []).append(ad.grad(long_energy)(POINTS * scale))

    for _ in range(2):
        in_threads(work, (0.5, 0.8, 1.0))
    for scale, slopes in found.items():
        for slope in slopes:
            np.testing.assert_allclose(slope, long_slope(POINTS * scale), rtol=1e-11, atol=1e-11)


def test_an_array_may_go_while_the_store_is_closed(monkeypatch):
    """As if another thread let go of one, of a size that the store has no free block of."""
    empty_store()
    seen = []

    def f(x):
        seen.append((2.0 * x).value)
        return long_energy(x)

    for size in (LENGTH, LENGTH // 2):
        for _ in range(2):
            ad.grad(f)(POINTS[:size])
    del memory_pool.POOL.parts[seen[-1].nbytes]
    by_piece = memory_pool._group_by_piece

    def and_lets_go(blocks):
        if not memory_pool.POOL.open:
            seen.clear()
        return by_piece(blocks)

    monkeypatch.setattr(memory_pool, "_group_by_piece", and_lets_go)
    slope = ad.grad(long_energy)(POINTS)
    np.testing.assert_allclose(slope, long_slope(POINTS), rtol=1e-12, atol=1e-12)
    assert not memory_pool.POOL.loans


GRID = np.random.default_rng(3).normal(size=(400, 500))


@pytest.mark.parametrize(
    "part",
    [np.s_[1:-1, 2:], np.s_[:, ::2], np.s_[::-1, 1:], np.s_[5:300, 7:11], np.s_[:, None, 3:]],
    ids=["inner", "every other", "reversed", "narrow", "new axis"],
)
def test_views_with_short_rows(part):
    f = lambda x: np.sum(np.cos(x[part] * 3.0 - x[part] * x[part]) + 2.5 * x[part])
    slope = ad.grad(f)(GRID)
    expected = np.zeros_like(GRID)
    seen = GRID[part]
    expected[part] = 2.5 - np.sin(3 * seen - seen * seen) * (3 - 2 * seen)
    np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-12)


def test_buffers_of_numpy_are_left_as_they_were():
    size = np.getbufsize()
    ad.grad(lambda x: np.sum(x[:, 1:] * x[:, :-1]))(GRID)
    assert np.getbufsize() == size
    with np.errstate(over="raise"), pytest.raises(ad.AutodiffError, match="overflow"):
        ad.grad(lambda x: np.sum((x[:, 1:] * 1e200) * (x[:, :-1] * 1e200)))(GRID)
    assert np.getbufsize() == size


@pytest.mark.parametrize("number", [1e-200, 1e200, 0.0, -1.0, np.inf])
def test_numbers_that_wait_do_not_lose_their_size(number):
    with np.errstate(all="ignore"):
        slope = ad.grad(lambda x: np.sum(x * number * 1e-200 * 1e200 / 2.0))(POINTS)
    np.testing.assert_allclose(slope, np.full(LENGTH, number / 2.0), rtol=1e-14, atol=0)


@pytest.mark.parametrize("part", [slice(None), slice(5, -5)])
@pytest.mark.parametrize("little_first", [False, True])
@pytest.mark.parametrize(("kind", "most", "room"), [("f4", 1e30, 2.0**15), ("f8", 1e290, 2.0**31)])
def test_numbers_that_wait_do_not_overflow_where_they_meet(part, little_first, kind, most, room):
    x = np.full(40_000, 1e-4, kind)
    first, second = np.full((2, 40_000), most, kind)

    def f(x):
        y = x * x
        if little_first:
            little, much = y * (1 / room), y[part] * room
        else:
            much, little = y[part] * room, y * (1 / room)
        return np.sum(little * first) + np.sum(much * second[part])

    expected = np.full(x.shape, 2e-4 * most / room)
    expected[part] += 2e-4 * most * room
    slope = ad.grad(f)(x)
    assert slope.dtype == kind
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def test_a_sum_with_a_matrix_is_a_fast_product():
    matrix = np.random.default_rng(1).normal(size=(30_000, 4))
    slope = ad.grad(lambda x: np.sum(matrix @ x))(np.ones(4))
    np.testing.assert_allclose(slope, matrix.sum(0), rtol=1e-10)


def spent_operands(x, keep):
    """Make arrays that the sweep reads once: it may write over those that nobody has."""
    low, high = x - 1.0, x * 3.0
    keep(low, high)
    return np.sum((low * high) ** 2) + np.sum((x + 2.0) ** 2) + np.sum((x - 3.0) * (x - 3.0))


def in_an_array(*nodes):
    array = np.empty(len(nodes), object)
    for i, one in enumerate(nodes):
        array[i] = one
    return array


SPENT_SLOPE = 6 * (POINTS - 1) * POINTS * (6 * POINTS - 3) + 2 * (POINTS + 2) + 2 * (POINTS - 3)


@pytest.mark.parametrize(
    "kept",
    [
        lambda low, high: (low, high),
        lambda low, high: (low.value, high.value),
        lambda low, high: (low.value[:], high.value[:]),
        lambda low, high: (low[:], high[:]),
        lambda low, high: (memoryview(low.value), memoryview(high.value)),
        lambda low, high: in_an_array(low, high),
    ],
    ids=["nodes", "values", "views", "nodes of views", "buffers", "an array of nodes"],
)
def test_operands_that_a_function_keeps_are_not_written_over(kept):
    seen = []
    slope = ad.grad(spent_operands)(POINTS, lambda *operands: seen.extend(kept(*operands)))
    np.testing.assert_allclose(slope, SPENT_SLOPE, rtol=1e-12, atol=1e-12)
    for found, expected in zip(seen, (POINTS - 1, POINTS * 3), strict=True):
        np.testing.assert_array_equal(np.asarray(getattr(found, "value", found)), expected)


def test_operands_in_auxiliary_results_are_not_written_over():
    def f(x):
        kept = []
        result = spent_operands(x, lambda *operands: kept.extend(operands))
        return result, kept

    slope, (low, high) = ad.grad(f, has_aux=True)(POINTS)
    np.testing.assert_allclose(slope, SPENT_SLOPE, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(low, POINTS - 1)
    np.testing.assert_array_equal(high, POINTS * 3)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_terms_with_different_numbers_are_added_in_one_pass(kind):
    x = POINTS.astype(kind).reshape(400, 500)

    def f(x):
        bend = 0.3 * (x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]) + x[:, 1:-1] / 0.7
        return np.sum(bend**2) + np.sum(2.5 * bend - x[:, 2:] * 0.1)

    slope = ad.grad(f)(x)
    assert slope.dtype == kind
    x = x.astype(float)
    bar = 2 * (0.3 * (x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]) + x[:, 1:-1] / 0.7) + 2.5
    expected = np.zeros_like(x)
    expected[:, 2:] += 0.3 * bar - 0.1
    expected[:, :-2] += 0.3 * bar
    expected[:, 1:-1] += (1 / 0.7 - 0.6) * bar
    tolerance = 1e-12 if kind is np.float64 else 1e-5
    np.testing.assert_allclose(slope, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("number", [1e-200, 1e200, 0.0, -3.0, np.inf, np.nan])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_number_waits_beside_the_slope(number, kind):
    x = POINTS[:20_000].astype(kind)
    with np.errstate(all="ignore"):
        number = kind(number)
        slope = ad.grad(lambda x: np.sum(np.sin(x)) * number)(x)
        expected = np.cos(x) * number
    assert slope.dtype == kind
    np.testing.assert_allclose(slope, expected, rtol=1e-14 if kind is np.float64 else 1e-6)


def test_a_slope_that_is_the_value_is_not_multiplied_by_a_number():
    seen = []

    def f(x):
        seen.append(np.exp(x))
        return np.mean(seen[-1])

    x = POINTS[:20_000]
    np.testing.assert_allclose(ad.grad(f)(x), np.exp(x) / x.size, rtol=1e-14)
    np.testing.assert_array_equal(seen[0].value, np.exp(x))


@pytest.mark.parametrize("extreme", [np.max, np.min])
def test_ties_share_even_beside_rows_without_any(extreme):
    x = np.array([[1.0, 1.0, 0.0], [np.nan, 2.0, 3.0], [4.0, 5.0, 6.0], [2.0, 2.0, 2.0]])
    sign = 1 if extreme is np.max else -1
    weights = np.array([1.0, 1.0, 1.0, 3.0])
    with np.errstate(all="ignore"):
        slope = ad.grad(lambda x: np.sum(extreme(x, axis=1) * weights))(sign * x)
    expected = [[0.5, 0.5, 0.0], [np.nan] * 3, [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    np.testing.assert_allclose(slope, expected)


@pytest.mark.parametrize("size", [300, 20_000, LENGTH])
@pytest.mark.parametrize(
    ("view", "turn"),
    [
        (lambda x: x[::-1], lambda bar: bar[::-1]),
        (lambda x: x.reshape(4, -1), np.ravel),
        (lambda x: x.reshape(4, -1).T, lambda bar: bar.T.ravel()),
        (np.ravel, lambda bar: bar),
    ],
    ids=["reversed", "reshaped", "transposed", "ravelled"],
)
def test_writes_to_an_argument_do_not_reach_views_in_a_pullback(view, turn, size):
    x = POINTS[:size].copy()
    _, pullback = ad.vjp(lambda x: view(x) ** 3, x)
    _, push = ad.linearize(lambda x: view(x) ** 3, x)
    x[:] = 7.0
    expected = 3 * POINTS[:size] ** 2
    seed = np.ones(view(x).shape)
    np.testing.assert_allclose(pullback(seed)[0], expected, rtol=1e-13)
    np.testing.assert_allclose(turn(push(np.ones(size))), expected, rtol=1e-13)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: 2.0 * x.T,
        lambda x: np.sin(x.T),
        lambda x: x.T + x.T[:1],
        lambda x: x + x.T,
        lambda x: np.roll(x.T, 3, axis=0),
        lambda x: x.T[::-1, 1:] ** 2,
        lambda x: np.swapaxes(x.reshape(20, 20, -1), 0, 1) * 3.0,
    ],
)
@pytest.mark.parametrize("side", [40, 400])
def test_results_lie_as_numpy_lays_them(made, side):
    def f(x):
        y = made(x)
        row = y.ravel()  # a view of some results, a copy of others
        row[:100] = 0.5
        return np.sum(y * y)

    x = np.random.default_rng(5).normal(size=(side, side))
    value, slope = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    step = 1e-6 * np.ascontiguousarray(slope)
    np.testing.assert_allclose(np.sum(slope * slope), (f(x + step) - f(x - step)) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("size", [30, 10_000, 20_000])
def test_a_masked_node_is_added_to_what_waits_for_its_number(size):
    f = lambda x: np.sum(np.where(x > 1, x**3, 0.0)) + np.sum(x * 0.5)
    x = POINTS[::10][:size]
    direction = np.cos(x)
    expected = np.where(x > 1, 6 * x * direction, 0)
    again = ad.grad(lambda x: np.sum(ad.grad(f)(x) * direction))(x)
    np.testing.assert_allclose(again, expected, rtol=1e-13)
    np.testing.assert_allclose(ad.hvp(f, (x,), (direction,)), expected, rtol=1e-13)


LARGE = 5000
CASES_OF_SIZE = [(np.float16, 1e4, 1e-3, 1.0), (np.float32, 1e8, 1e-9, 1e25)]


@pytest.mark.parametrize(("kind", "large", "small", "weight"), CASES_OF_SIZE)
def test_numbers_of_very_different_size_do_not_overflow_between(kind, large, small, weight):
    x, weights = np.linspace(0.1, 1.0, LARGE, dtype=kind), np.full(LARGE, weight, kind)

    def f(x):
        y = np.sin(x)
        total = (y * large) * weights + (y * small) * weights
        return np.sum(total[:8])

    expected = np.cos(x[:8].astype(float)) * (large + small) * weight
    np.testing.assert_allclose(ad.grad(f)(x)[:8], expected, rtol=5e-3)


def test_a_factor_that_leaves_the_range_does_not_wait():
    """1e30 × 1e30 is inf in float32, and stays it when 1e-30 follows."""
    f = lambda x: np.sum(x * 1e-30 * 1e30 * 1e30 * np.exp(0 * x))
    with np.errstate(over="ignore"):
        for size in (5, 50_000):
            assert np.all(ad.grad(f)(np.ones(size, np.float32)) == np.inf)


@pytest.mark.parametrize("size", [6, 5000, 300_000])
def test_squares_of_written_multiples_of_a_root_at_every_size(size):
    def f(x):
        root = np.sqrt(1 + x * x)
        part = root / (2 + root)
        part[: size // 2] = 0.0
        return np.sum(part) + 0.7 * np.sum(part * part) + np.sum(np.reshape(part, (2, -1)) ** 2)

    x = np.linspace(-1, 2, size)
    root = np.sqrt(1 + x * x)
    expected = (1 + 3.4 * root / (2 + root)) * 2 / (2 + root) ** 2 * x / root
    expected[: size // 2] = 0.0
    np.testing.assert_allclose(ad.grad(f)(x), expected, rtol=1e-13, atol=1e-15)
