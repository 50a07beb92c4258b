"""Random functions and their gradients: eager = tape = LLVM = NumPy export = C export."""

from typing import NamedTuple

import numpy as np
import pytest

import exports
import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")
TIERS = ("numpy", "tape", "cheap", "optimised")

# Functions whose values and slopes stay moderate, so that rounding errors do, too.
UNARY = [
    np.sin,
    np.cos,
    np.tanh,
    np.arctan,
    ad.sigmoid,
    ad.softplus,
    ad.erf,
    abs,
    lambda x: -x,
    lambda x: np.exp(-x * x),
    lambda x: np.log(1 + x * x),
    lambda x: np.sqrt(1 + x * x),
    lambda x: np.tanh(x) ** 3,
    lambda x: np.cbrt(2 + np.sin(x)),
    lambda x: 1 / (1 + x * x),
    lambda x: np.clip(x, -0.5, 0.75),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: 0.5 * x - y,
    lambda x, y: np.sin(x) * y,
    lambda x, y: x / (1 + y * y),
    lambda x, y: np.hypot(x, 1 + y * y),
    lambda x, y: np.arctan2(x, 1 + y * y),
    lambda x, y: np.power(1 + np.sin(x) ** 2, np.tanh(y)),
    lambda x, y: np.where(x > y, x, 0.5 * y),
    lambda x, y: np.where(x > 0.1, np.tanh(y), 0),
    np.maximum,
    np.minimum,
    np.logaddexp,
]


class Case(NamedTuple):
    """A function, the arguments it is recorded with, and others."""

    function: object
    points: list


def close(found, expected, tolerance):
    """Compare results leaf by leaf, relative to the largest number of a leaf."""
    found, expected = flatten(found)[0], flatten(expected)[0]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.result_type(x) == np.result_type(y)
        scale = max(1.0, np.max(np.abs(y), initial=0.0))
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)


def check_tiers(case, tolerance):
    """Compare what the tiers give with what the function gives; return the compiled functions."""
    made = [ad.jit(case.function, tier=tier) for tier in TIERS]
    expected = case.function(*case.points[0])
    for function in made:
        for _ in range(3):
            close(function(*case.points[0]), expected, tolerance)
        assert "as it is" not in function.explain()
    return made


def check_exports(folder, cases, made, tolerance):
    """Export all programs, those of C in one file, and compare what they give, or refuse."""
    texts = [function.to_c(f"f{n}") for n, function in enumerate(made)]
    library = exports.compiled(folder, ["\n".join(texts)], "-O1")
    refused = 0
    for n, (case, function) in enumerate(zip(cases, made, strict=True)):
        python = exports.imported(folder, function.to_python("f"))
        for point in case.points:
            expected = [np.asarray(leaf) for leaf in flatten(case.function(*point))[0]]
            leaves = [np.asarray(leaf) for leaf in flatten(point)[0]]
            results = [np.empty(leaf.shape, leaf.dtype) for leaf in expected]
            status = exports.called(library[f"f{n}"], leaves, results)
            if status == 0:
                close(results, expected, tolerance)
                found = python(*leaves)
                close(found if isinstance(found, tuple) else [found], expected, tolerance)
            else:
                refused += 1
                with pytest.raises(ValueError, match="no path that was recorded fits"):
                    python(*leaves)
    return refused


# Numbers, with control flow. ----------------------------------------------------------------------


def scalar_case(seed):
    """Return a random function of three numbers that decides, and repeats, by their values."""
    random = np.random.default_rng(seed)
    kinds = random.choice(["unary", "binary", "if", "while"], 12, p=[0.35, 0.4, 0.15, 0.1])
    steps = [(kind, *random.integers(0, 1000, 3)) for kind in kinds]

    def f(*numbers):
        values = list(numbers)
        for kind, which, a, b in steps:
            x, y = values[-1 - a % len(values)], values[-1 - b % len(values)]
            unary, binary = UNARY[which % len(UNARY)], BINARY[which % len(BINARY)]
            if kind == "while":
                while abs(x) > 0.7:
                    x = unary(x / 2 - 0.1) / 2
            elif kind == "unary" or (kind == "if" and x > y):
                x = unary(x)
            else:
                x = binary(x, y)
            values.append(x)
        return values[-1] + values[-2] * values[-3]

    points = [tuple(point) for point in random.normal(size=(4, 3)).tolist()]
    return Case(ad.value_and_grad(f, (0, 1, 2)), points)


SCALARS = [scalar_case(seed) for seed in range(24)]


@pytest.mark.slow
def test_random_functions_of_numbers(tmp_path):
    made = [check_tiers(case, 1e-12)[1] for case in SCALARS]
    whole = []
    for case, function in zip(SCALARS, made, strict=True):
        whole.append(ad.jit(case.function, tier="cheap"))  # goes other ways through the code
        for point in case.points * 2:
            close(whole[-1](*point), case.function(*point), 1e-12)
        assert "1 path " in function.explain()
    if exports.COMPILER:
        assert check_exports(tmp_path, SCALARS, made, 1e-12) > 10
        assert check_exports(tmp_path, SCALARS, whole, 1e-12) == 0


# Arrays. ------------------------------------------------------------------------------------------


def _take(x, random):
    return x[random.integers(-len(x), len(x), 5)] if x.ndim else x


def _along(function):
    def apply(x, random):
        axis = int(random.integers(x.ndim)) if x.ndim else None
        return function(x, axis)

    return apply


def _multiplied(x, random):
    if not x.ndim:
        return x * 2
    return x @ random.normal(size=(x.shape[-1], 3)).astype(x.dtype) / x.shape[-1]


def _sliced(x, random):
    index = [np.s_[..., ::2], np.s_[1:], np.s_[..., ::-1], np.s_[None], np.s_[..., -1]]
    return x[index[random.integers(len(index))]] if x.ndim and min(x.shape) > 1 else x + 1


def _written(x, random):
    return np.concatenate([x, 2 * x[:1], x[::-1]]) if x.ndim else np.stack([x, -x])


MOVES = [
    _take,
    _multiplied,
    _sliced,
    _written,
    _along(lambda x, axis: np.sum(x, axis) / 10),
    _along(lambda x, axis: np.max(x, axis, keepdims=axis is not None)),
    _along(lambda x, axis: np.mean(x, axis)),
    _along(lambda x, axis: np.log(np.sum(np.exp(x - np.max(x, axis, keepdims=True)), axis))),
    _along(lambda x, axis: x if axis is None else np.cumsum(x, axis) / x.shape[axis]),
    _along(lambda x, axis: x if axis is None else np.roll(x, 2, axis)),
    lambda x, random: x.T.reshape(-1),
    lambda x, random: np.where(x > 0, x, 0.1 * x),
    lambda x, random: np.var(x) + x,
]


def array_case(seed, rows, columns, dtype=np.float64):
    """Return a random function of arrays: of floats, of places, and of truths."""
    choices = np.random.default_rng(seed)
    plan = choices.integers(0, 1000, (9, 4)).tolist()

    def f(x, w, places, mask):
        values = [x, w, np.where(mask, x, 0), x[places]]
        for step, (kind, which, a, b) in enumerate(plan):
            one, other = values[-1 - a % len(values)], values[-1 - b % len(values)]
            if kind % 3 == 0:
                new = UNARY[which % len(UNARY)](one)
            elif kind % 3 == 1 and _fit(one, other):
                new = BINARY[which % len(BINARY)](one, other)
            else:
                new = MOVES[which % len(MOVES)](one, np.random.default_rng([seed, step]))
            values.append(new if np.size(new) < 20_000 else np.mean(new))
        return sum([np.mean(np.sin(value)) for value in values[-5:]])

    def point(random):
        x, w = random.normal(size=(rows, columns)), random.normal(size=columns)
        places = random.integers(-rows, rows, 7)
        return x.astype(dtype), w.astype(dtype), places, random.random((rows, columns)) < 0.6

    return Case(ad.value_and_grad(f, (0, 1)), [point(choices) for _ in range(2)])


def _fit(x, y):
    try:
        return bool(np.broadcast_shapes(np.shape(x), np.shape(y))) or True
    except ValueError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "tolerance"),
    [(3, 4, np.float64, 1e-12), (40, 30, np.float64, 1e-11), (17, 23, np.float32, 2e-5)],
)
def test_random_functions_of_arrays(tmp_path, rows, columns, dtype, tolerance):
    cases = [array_case(seed, rows, columns, dtype) for seed in range(12)]
    made = [check_tiers(case, tolerance)[0] for case in cases]
    if exports.COMPILER:
        check_exports(tmp_path, cases, made, tolerance)


# What only one of the two exports can do, and what was wrong once. --------------------------------


def exported(function, *args):
    """Return a compiled function that was called twice, so that it can be exported."""
    made = ad.jit(function, tier="numpy")
    made(*args)
    made(*args)
    return made


X = np.random.default_rng(0).normal(size=300)


def test_what_numpy_alone_computes_is_refused_by_name_in_c_and_written_in_python(tmp_path):
    def f(x):
        return np.sum(np.linalg.pinv(x[:256].reshape(16, 16)) ** 2)

    made = exported(ad.grad(f), X)
    with pytest.raises(ad.ArgumentError, match=r"only NumPy can compute pinv, .*to_python"):
        made.to_c()
    close(exports.imported(tmp_path, made.to_python("f"))(X), ad.grad(f)(X), 1e-13)


def test_functions_of_scipy_are_imported_only_where_they_are_needed(tmp_path):
    def f(x):
        return np.sum(ad.gamma(1 + x * x)) + np.sum(ad.erf(x) + ad.softplus(x))

    text = exported(ad.value_and_grad(f), X).to_python("f")
    assert "from scipy import special" in text
    close(exports.imported(tmp_path, text)(X), ad.value_and_grad(f)(X), 1e-12)
    assert "scipy" not in exported(lambda x: np.sum(ad.erf(x)), X).to_python()


def test_a_wrong_shape_and_another_path_are_refused_in_python(tmp_path):
    made = exported(lambda x: np.sum(x * x) if np.all(x > -9) else -x[0], X)
    python = exports.imported(tmp_path, made.to_python("f"))
    assert python(X.tolist()) == np.sum(X * X)
    with pytest.raises(ValueError, match=r"x has shape \(3,\); recorded was \(300,\)"):
        python(X[:3])
    with pytest.raises(ValueError, match="guard 0 failed"):
        python(X - 10)


def test_results_share_no_memory_with_arguments(tmp_path):
    made = exported(lambda x: (x, x.reshape(3, 100), 2 * x, np.zeros(2)), X)
    x = X.copy()
    results = exports.imported(tmp_path, made.to_python("f"))(x)
    assert [result.shape for result in results] == [(300,), (3, 100), (300,), (2,)]
    assert not any(np.shares_memory(x, result) for result in results)


@exports.needs_compiler
def test_an_index_that_does_not_fit_is_a_status_in_c(tmp_path):
    places = np.arange(-300, 300)
    made = exported(ad.grad(lambda x, i: np.sum(x[i] ** 2)), X, places)
    library = exports.compiled(tmp_path, [made.to_c("f")])
    result = np.empty(300)
    assert exports.called(library.f, [X, places], [result]) == 0
    close(result, 4 * X, 1e-15)
    assert exports.called(library.f, [X, places + 1], [result]) == -2
    assert exports.called(library.f, [X, places - 1], [result]) == -2


@exports.needs_compiler
def test_functions_of_rows_inside_a_program_in_c_and_python(tmp_path):
    def f(x, y):
        rows = ad.vmap(lambda row: (row[0] * np.sin(row[1:]) * y, row[0]))(x.reshape(3, 100).T * 2)
        return np.sum(rows[0], axis=0) + 1, rows[1]

    made = exported(f, X, 2.0)
    library, python = (
        exports.compiled(tmp_path, [made.to_c("f")]),
        exports.imported(tmp_path, made.to_python("f")),
    )
    results = [np.empty(2), np.empty(100)]
    assert exports.called(library.f, [X, np.float64(2)], results) == 0
    close(tuple(results), f(X, 2.0), 1e-13)
    close(python(X, 2.0), f(X, 2.0), 1e-13)


@exports.needs_compiler
def test_long_sums_in_c_are_accurate_and_truths_and_whole_numbers_are_results(tmp_path):
    def f(x):
        return np.sum(x), x > 0.5, np.sum(x > 0.5), np.any(x > 2)

    x = np.random.default_rng(1).random(1_000_000).astype(np.float32)
    made = exported(f, x)
    results = exports.empty(f(x))
    assert exports.called(exports.compiled(tmp_path, [made.to_c("f")], "-O2").f, [x], results) == 0
    assert abs(results[0] - np.sum(x, dtype=float)) < 2
    assert [np.array_equal(a, b) for a, b in zip(results[1:], f(x)[1:], strict=True)] == [True] * 3


@pytest.mark.parametrize("tier", TIERS)
def test_a_choice_between_kinds_of_numbers_is_of_their_common_kind(tier):
    choose = ad.jit(lambda x: np.where(x > 0, x, 0), tier=tier)
    assert [float(choose(x)) for x in (-1.0, -1.0, 0.5, -2.0, 2.5)] == [0, 0, 0.5, 0, 2.5]


@pytest.mark.parametrize("tier", TIERS)
def test_adjoints_of_a_choice_between_numbers_add_up(tier):
    slope = ad.jit(ad.grad(lambda x: np.where(x > 0, x, x**2 / 2) * x + x**2), tier=tier)
    assert [round(slope(x), 12) for x in (1.0, 1.0, 3.0, -4.0)] == [4.0, 4.0, 12.0, 16.0]
    assert "as it is" not in slope.explain()


def test_running_sums_of_float32_are_added_one_after_the_other():
    x = np.random.default_rng(3).normal(size=(17, 23)).astype(np.float32)
    places = np.arange(391) % 5

    def f(x):
        return np.cumsum(x, 1), ad.grad(lambda y: np.sum(y[places] * x.reshape(-1)))(x[0])

    made = ad.jit(f, tier="optimised")
    made(x)
    close(made(x), f(x), 1e-6)


def test_a_reshape_of_turned_axes_is_a_loop():
    made = ad.jit(lambda x: np.sin(x).T.reshape(90, 100), tier="optimised")
    x = np.random.default_rng(3).normal(size=(100, 90))
    made(x)
    close(made(x), np.sin(x).T.reshape(90, 100), 1e-15)
    assert "NumPy" not in made.explain()


def test_arrays_that_numpy_makes_are_written_to_without_a_derivative():
    def f(x):
        table = np.zeros((4, 3))
        table[0] = x
        for t in range(1, 4):
            table[t] = np.sin(table[t - 1])
            table[t, 0] = x[1] * t
        return table

    compiled, x = ad.jit(f, tier="tape"), np.array([0.1, 0.2, 0.3])
    for factor in (1.0, 2.0, -1.0):
        np.testing.assert_allclose(compiled(factor * x), f(factor * x), rtol=1e-15)
    assert "1 path" in compiled.explain()
